/**
 * takeHash reads a token from behind the # of this page's address and removes it there, so that it stays in no history
 * and in no picture of the screen. What is behind the # never reaches the Hub in a request line.
 */
export function takeHash(page: string): string {
  if (window.location.pathname !== page) return '';
  const token = window.location.hash.slice(1);
  if (token !== '') window.history.replaceState(null, '', window.location.pathname + window.location.search);
  return token;
}
