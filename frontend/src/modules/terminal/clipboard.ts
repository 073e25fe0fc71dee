const maxCopy = 1 << 20; // characters of base64

/** decodeOsc52 gives the text of an OSC 52 write. A read ("?") or anything else gives nothing: the terminal never
 * tells a program what is in the person's clipboard. */
export function decodeOsc52(payload: string): string | undefined {
  const semi = payload.indexOf(';');
  if (semi < 0) return undefined;
  const data = payload.slice(semi + 1);
  if (data === '' || data === '?' || data.length > maxCopy) return undefined;
  try {
    return new TextDecoder().decode(Uint8Array.from(atob(data), (c) => c.charCodeAt(0)));
  } catch {
    return undefined;
  }
}

/** copy puts text in the clipboard; false when the browser refuses, which it does without a click or key before. */
export async function copy(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return false;
  }
}
