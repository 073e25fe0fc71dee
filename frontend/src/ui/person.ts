/** initials are the one or two letters that stand for a person. */
export function initials(name: string, login: string): string {
  const words = (name.trim() || login).split(/[\s._-]+/).filter(Boolean);
  const first = [...(words[0] ?? '?')];
  const last = words.length > 1 ? [...(words.at(-1) ?? '')][0] : undefined;
  return ((first[0] ?? '?') + (last ?? '')).toUpperCase();
}

/** hues is how many colours there are for faces; Face.module.css has them. */
const hues = 8;

/** hueOf gives a person the same colour everywhere. */
export function hueOf(id: string): number {
  let h = 0;
  for (const c of id) h = (h * 31 + (c.codePointAt(0) ?? 0)) >>> 0;
  return h % hues;
}

/** called is what a person is called in a sentence. */
export function called(face: { name: string; login: string } | undefined): string {
  return face?.name.trim() || face?.login || 'its Creator';
}
