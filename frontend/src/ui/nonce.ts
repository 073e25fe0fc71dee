/**
 * The Hub writes a fresh nonce into index.html each time it serves it, and allows style elements that carry it. Under
 * `npm run dev` the placeholder is still there, and nothing checks.
 */
export function styleNonce(): string {
  return document.querySelector<HTMLMetaElement>('meta[name="csp-nonce"]')?.content ?? '';
}
