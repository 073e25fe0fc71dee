/** Entry is one Variable that was found in a pasted text. */
export interface Entry {
  line: number;
  name: string;
  value: string;
  secret: boolean;
}

/** Unread is a line that says nothing we understand, and why. */
export interface Unread {
  line: number;
  text: string;
  why: string;
}

const start = /^\s*(?:export\s+)?([A-Za-z_][A-Za-z0-9_.-]*)\s*=[ \t]*/;

/**
 * parseEnv reads a .env text as people write them: comments, "export", quotes over several lines, escapes in double quotes.
 * Nothing is expanded: $OTHER stays as it is written. A name that comes twice counts the last time.
 */
export function parseEnv(text: string): { entries: Entry[]; unread: Unread[] } {
  const lines = text.replaceAll('\r\n', '\n').replaceAll('\r', '\n').split('\n');
  const entries = new Map<string, Entry>();
  const unread: Unread[] = [];
  for (let i = 0; i < lines.length; i++) {
    const line = lines[i] ?? '';
    if (/^\s*(#|$)/.test(line)) continue;
    const m = start.exec(line);
    if (!m) {
      unread.push({ line: i + 1, text: line, why: 'There is no NAME=value on this line.' });
      continue;
    }
    const name = m[1] ?? '';
    const rest = line.slice(m[0].length);
    const quote = /^["'`]/.exec(rest)?.[0];
    if (!quote) {
      put({ line: i + 1, name, value: rest.replace(/(^|\s)#.*$/, '').trim() });
      continue;
    }
    const read = quoted(lines, i, rest, quote);
    if (read === undefined) {
      unread.push({ line: i + 1, text: line, why: `The ${quote} that opens the value is never closed.` });
      continue;
    }
    put({ line: i + 1, name, value: read.value });
    i = read.last;
  }
  return { entries: [...entries.values()], unread };

  function put(e: Omit<Entry, 'secret'>) {
    entries.delete(e.name);
    entries.set(e.name, { ...e, secret: looksSecret(e.name, e.value) });
  }
}

/** quoted reads a value in quotes that begins on a line and may go on over the next ones. */
function quoted(
  lines: string[],
  first: number,
  rest: string,
  quote: string,
): { value: string; last: number } | undefined {
  let text = rest.slice(1);
  for (let last = first; ; last++) {
    const end = closing(text, quote);
    if (end >= 0) return { value: quote === '"' ? unescaped(text.slice(0, end)) : text.slice(0, end), last };
    const next = lines[last + 1];
    if (next === undefined) return undefined;
    text += `\n${next}`;
  }
}

function closing(text: string, quote: string): number {
  for (let i = 0; i < text.length; i++) {
    if (text[i] === '\\' && quote === '"') i++;
    else if (text[i] === quote) return i;
  }
  return -1;
}

const escapes: Record<string, string> = { n: '\n', r: '\r', t: '\t', '"': '"', '\\': '\\', $: '$' };

function unescaped(text: string): string {
  return text.replace(/\\([\s\S])/g, (all, c: string) => escapes[c] ?? all);
}

const secretName =
  /SECRET|TOKEN|PASS(WORD|WD|PHRASE)?$|PASSWORD|PRIVATE|CREDENTIAL|API_?KEY|ACCESS_?KEY|_KEY$|^KEY$|_DSN$|AUTH/i;
const secretValue =
  /-----BEGIN [A-Z ]*PRIVATE KEY|^(sk|pk|ghp|gho|ghs|github_pat|xox[abp]|glpat|AKIA)[-_A-Za-z0-9]{8}|:\/\/[^/\s:@]+:[^/\s@]+@/;

/** looksSecret guesses, so that what is pasted is rather hidden than shown. */
export function looksSecret(name: string, value: string): boolean {
  return secretName.test(name) || secretValue.test(value);
}

/** seemsEnv tells a pasted text that has several Variables, or one with its name. */
export function seemsEnv(text: string): boolean {
  return text.includes('\n') && parseEnv(text).entries.length > 1;
}
