/** bytes writes a size for people: "1.4 GB". Powers of 1024, as memory and disks of machines are spoken of. */
export function bytes(n: number): string {
  const units = ['B', 'KB', 'MB', 'GB', 'TB'];
  let i = 0;
  let v = n;
  while (v >= 1024 && i < units.length - 1) {
    v /= 1024;
    i++;
  }
  return `${v >= 100 || i === 0 || Number.isInteger(v) ? Math.round(v) : v.toFixed(1)} ${units[i]}`;
}
