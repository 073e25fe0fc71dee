// The way to the sign-in page and back.

const page = '/sign-in';

/** toSignIn goes to the sign-in page, which leads back to this one. */
export function toSignIn() {
  const { pathname, search } = window.location;
  if (pathname === page) return;
  const here = pathname + search;
  window.location.assign(here === '/' || here === '/sessions' ? page : `${page}?next=${encodeURIComponent(here)}`);
}

/** localPath is a path of this Hub, or the Sessions for anything that a browser could take for another site's. */
export function localPath(next: string | null | undefined): string {
  const home = '/sessions';
  if (!next?.startsWith('/')) return home;
  try {
    const to = new URL(next, window.location.origin);
    if (to.origin !== window.location.origin || to.pathname === page || to.pathname.startsWith('/api/')) return home;
    // Written anew from its parts: "/\\host" and "/<tab>/host" have become a host by now, and were refused above.
    return to.pathname.startsWith('//') ? home : to.pathname + to.search;
  } catch {
    return home;
  }
}

/** gitHubStart is where signing in at GitHub begins. */
export function gitHubStart(next: string): string {
  return `/api/auth/github/start?next=${encodeURIComponent(next)}`;
}

const problems: Record<string, string> = {
  forbidden:
    'GitHub knows who you are, but this Hub’s list has no place for you, or you declined at GitHub. Ask whoever runs this Hub to add you, then sign in again.',
  unauthenticated: 'That sign-in is not valid, or not any more: it works once, within ten minutes. Start again.',
  invalid: 'That sign-in did not begin on this page. Start again.',
  expired: 'That sign-in took longer than ten minutes. Start again.',
  unavailable:
    'GitHub does not answer as it should at present. Whoever is signed in stays signed in; try again in a minute.',
  too_many: 'There were too many sign-ins from your address. Wait a minute, then try again.',
  conflict: 'That sign-in was used already. Start again.',
};

/** problemOf puts the code that the Hub came back with from GitHub in a sentence. */
export function problemOf(code: string): string {
  return Object.hasOwn(problems, code)
    ? (problems[code] as string)
    : 'Signing in did not work. Start again; if it happens once more, tell whoever runs this Hub.';
}
