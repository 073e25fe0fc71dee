/** dayStart is the first moment of a day as a date field writes it ("2026-01-31"), here where the person is; by adds
 * days. */
export function dayStart(day: string | undefined, by = 0): string | undefined {
  const [y, m, d] = (day ?? '').split('-').map(Number);
  if (!y || !m || !d) return undefined;
  const at = new Date(y, m - 1, d + by);
  return Number.isNaN(at.getTime()) ? undefined : at.toISOString();
}

/** clock is the time of day of a line. */
export function clock(iso: string): string {
  return new Date(iso).toLocaleTimeString(undefined, { hour: '2-digit', minute: '2-digit', second: '2-digit' });
}

/** dayName heads the lines of one day. */
export function dayName(iso: string): string {
  return new Date(iso).toLocaleDateString(undefined, {
    weekday: 'long',
    year: 'numeric',
    month: 'long',
    day: 'numeric',
  });
}
