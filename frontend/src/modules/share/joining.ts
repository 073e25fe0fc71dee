const key = 'claude-hub.join';
const within = 15 * 60_000; // ms: longer than it takes to sign in

// A link's token waits in this tab alone while its holder signs in, and no longer than that takes.

/** keepToken puts a link's token aside. */
export function keepToken(token: string) {
  try {
    sessionStorage.setItem(key, JSON.stringify({ token, at: Date.now() }));
  } catch {
    // Off: the link has to be opened once more after signing in.
  }
}

/** takeToken gives the token that was put aside, once. */
export function takeToken(): string {
  try {
    const kept = JSON.parse(sessionStorage.getItem(key) ?? 'null') as { token: string; at: number } | null;
    sessionStorage.removeItem(key);
    return kept && Date.now() - kept.at < within ? kept.token : '';
  } catch {
    return '';
  }
}
