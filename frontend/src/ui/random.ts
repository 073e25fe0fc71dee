/** nonce is 128 random bits in hexadecimal, to tell one request from another. */
export function nonce(): string {
  const b = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(b, (x) => x.toString(16).padStart(2, '0')).join('');
}
