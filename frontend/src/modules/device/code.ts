const letters = 'BCDFGHJKLMNPQRSTVWXZ';
const length = 8;

/** userCode reads what a person typed as a device's code: any case, with or without a hyphen or spaces. */
export function userCode(typed: string): { code: string; whole: boolean; fault?: string } {
  const read = [...typed.toUpperCase()].filter((c) => /[\p{L}\p{N}]/u.test(c));
  const wrong = read.find((c) => !letters.includes(c));
  const code = read.slice(0, length).join('');
  const shown = code.length > length / 2 ? `${code.slice(0, length / 2)}-${code.slice(length / 2)}` : code;
  if (wrong)
    return { code: shown, whole: false, fault: `No code has “${wrong}”: it is eight letters, none a vowel or a Y.` };
  if (read.length > length) return { code: shown, whole: false, fault: 'That is too long: a code is eight letters.' };
  return { code: shown, whole: read.length === length };
}
