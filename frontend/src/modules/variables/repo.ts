/** repoOf names a repository the same for each way to write its URL: "github.com/owner/name", in lower case. */
export function repoOf(url: string): string {
  let u = url.trim().toLowerCase();
  const scheme = u.indexOf('://');
  u = scheme >= 0 ? u.slice(scheme + 3) : u.replace(':', '/'); // user@host:path
  const at = u.indexOf('@');
  const slash = `${u}/`.indexOf('/');
  if (at >= 0 && at < slash) u = u.slice(at + 1);
  return u.replace(/\/+$/, '').replace(/\.git$/, '');
}

/** isRepo tells a name that can be one: a host and a path. */
export function isRepo(name: string): boolean {
  return /^[a-z0-9.-]+(:\d+)?(\/[^\s/]+)+$/.test(name);
}
