// Searching for a secret wherever it may be, and however it may be written there.
import { closeSync, openSync, readdirSync, readFileSync, readSync } from 'node:fs';
import { join } from 'node:path';

/** How a secret may be written: what stands anywhere within it, so that a part of it is found as well. */
export function spellings(secret: string): Map<string, Buffer> {
  const part = secret.slice(-24); // what no other secret has
  const bytes = Buffer.from(part);
  const all = new Map<string, Buffer>();
  const add = (name: string, text: string) => all.set(name, Buffer.from(text, 'latin1'));
  const each = (spell: (code: string) => string) =>
    Array.from(bytes, (b) => spell(b.toString(16).padStart(2, '0'))).join('');
  add('plain', part);
  add('backwards', [...part].reverse().join(''));
  for (const shift of [0, 1, 2]) {
    // What does not depend on what stands before and after.
    const text = Buffer.concat([Buffer.alloc(shift), bytes]).toString('base64');
    const core = text.replace(/=+$/, '').slice(shift === 0 ? 0 : 4, -4);
    add(`base64, ${shift} bytes on`, core);
    add(`base64url, ${shift} bytes on`, core.replaceAll('+', '-').replaceAll('/', '_'));
  }
  add('hex', bytes.toString('hex'));
  add('HEX', bytes.toString('hex').toUpperCase());
  add('in an address', encodeURIComponent(part));
  add(
    'in an address, all of it',
    each((code) => `%${code}`),
  );
  add(
    'in an address, all of it, in capitals',
    each((code) => `%${code.toUpperCase()}`),
  );
  add(
    'in JSON, all of it',
    each((code) => `\\u00${code}`),
  );
  add(
    'in JSON, all of it, in capitals',
    each((code) => `\\u00${code.toUpperCase()}`),
  );
  all.set('in UTF-16', Buffer.from(part, 'utf16le'));
  return all;
}

/** The spellings in which bytes hold a secret. */
export function found(secret: string, bytes: Buffer): string[] {
  return [...spellings(secret)].filter(([, spelling]) => bytes.includes(spelling)).map(([name]) => name);
}

/** All that the files of a folder have, with their names. */
export function folder(path: string): Buffer {
  const parts: Buffer[] = [];
  for (const entry of readdirSync(path, { recursive: true, withFileTypes: true }))
    if (entry.isFile())
      parts.push(Buffer.from(`\n${entry.name}\n`), readFileSync(join(entry.parentPath ?? entry.path, entry.name)));
  return Buffer.concat(parts);
}

/** The spellings in which the memory of a process holds secrets, by the secret: all that it can read itself is read. */
export function inMemory(pid: number, secrets: string[]): Map<string, Set<string>> {
  const wanted = secrets.map((secret) => ({ secret, all: [...spellings(secret)] }));
  const out = new Map(secrets.map((secret) => [secret, new Set<string>()]));
  const file = openSync(`/proc/${pid}/mem`, 'r');
  try {
    for (const piece of memory(pid, file))
      for (const { secret, all } of wanted)
        for (const [name, spelling] of all) if (piece.includes(spelling)) out.get(secret)?.add(name);
  } finally {
    closeSync(file);
  }
  return out;
}

const most = 8 << 20;
const overlap = 512; // more than any spelling has

/** The readable memory of a process, in pieces that overlap. What the kernel keeps for itself cannot be read. */
function* memory(pid: number, file: number): Generator<Buffer> {
  const buffer = Buffer.alloc(most);
  for (const line of readFileSync(`/proc/${pid}/maps`, 'latin1').split('\n')) {
    const [, from, to, name] = line.match(/^([0-9a-f]+)-([0-9a-f]+) r\S+ \S+ \S+ \S+\s*(.*)$/) ?? [];
    if (!from || !to || name === '[vvar]' || name === '[vsyscall]') continue;
    const end = BigInt(`0x${to}`);
    for (let at = BigInt(`0x${from}`); at < end; at += BigInt(most - overlap)) {
      const size = Number(end - at < BigInt(most) ? end - at : BigInt(most));
      let read = 0;
      try {
        read = readSync(file, buffer, 0, size, at);
      } catch {
        break; // gone meanwhile
      }
      yield buffer.subarray(0, read);
      if (read < size) break;
    }
  }
}
