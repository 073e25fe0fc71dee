// The setup token stays on the Runner's machine. A whole Session is lived with real Claude Code, with the right token and
// with one that Anthropic refuses, and then both are searched for wherever the Hub could have them, in every spelling: its
// database, its folder, its logs, its memory, every byte between it and the Runner and between it and the browser, and the
// audit log as it is exported. In each place the same search finds what is known to be there.
//
// What a person prints in their own terminal they show to whoever watches; this story prints nothing of the kind.
import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { quote, there } from '../place';
import { Recorder } from '../recorder';
import { folder, found, inMemory, spellings } from '../search';
import { story } from '../story';
import { eventually } from '../wait';

const [runnerWire, browserWire] = [new Recorder(), new Recorder()];
const { rig, nobody } = story('setup-token-never-leaves', { hubForRunner: (hub) => runnerWire.between(hub) });
afterAll(() => {
  for (const wire of [runnerWire, browserWire]) wire.stop();
});

test('setup-token-never-leaves', async () => {
  const marker = `marker-${randomBytes(12).toString('hex')}`;
  const refused = `sk-ant-oat01-refused-${randomBytes(24).toString('hex')}`;
  canFail(marker);

  // A Session is begun, prompted, typed into, put to sleep and woken.
  const me = await nobody();
  const hub = await browserWire.between(rig.url);
  await me.signIn(rig.signInLink().replace(rig.url, hub));
  const id = await me.newSession({ title: 'A whole Session', prompt: `Say ${marker}` });
  await me.sees(`you said: Say ${marker}`, 120);
  await me.status(/ready/i);
  await me.shell('echo typed-$((40 + 2))', 'typed-42');
  await me.act('Sleep');
  await me.status(/asleep/i);
  await me.act('Wake');
  await me.sees(`you said: Say ${marker}`, 120);
  await me.status(/ready/i);

  // And one with a token that is refused: what goes wrong is told to the Hub.
  rig.runnerCommand(['token', 'set', '--stdin'], refused);
  await me.page.goto(`${hub}/sessions`);
  await me.newSession({ title: 'Refused', prompt: 'with another token' });
  await eventually('Anthropic to refuse it', async () => (await rig.received()).requests.some((q) => !q.tokenOK), 120);
  await eventually('the page to say so', async () => /401|log ?in|authenticat|token/i.test(await me.text()), 60);
  await me.shot('refused');
  rig.setToken();
  await me.open(id);
  await me.sees(`you said: Say ${marker}`);

  // The tokens were in use, and are where they belong.
  const { requests } = await rig.received();
  expect(requests.some((q) => q.tokenOK && q.prompt?.includes(marker))).toBe(true);
  expect(there(`grep -rlF -f - ${quote(rig.runnerDir)} || true`, rig.token)).not.toBe('');

  // A question that is open holds a word in the Hub's memory for sure.
  const open = `open-${randomBytes(12).toString('hex')}`;
  await me.page.evaluate((path) => void fetch(path), `/api/events?${open}`);
  await eventually('the question to be asked', () => browserWire.bytes.includes(open));
  const memory = inMemory(rig.hub.pid, [open, rig.token, refused]);
  expect([...(memory.get(open) ?? [])], 'the memory of the Hub').toContain('plain');
  for (const token of [rig.token, refused]) expect([...(memory.get(token) ?? [])], 'the memory of the Hub').toEqual([]);

  const data = join(rig.home, 'hub');
  expect(existsSync(join(data, 'hub.db-wal'))).toBe(true);
  const audit = await me.page.request.get(`${hub}/api/admin/audit.jsonl`);
  for (const [place, bytes, known] of [
    ['the folder and the database of the Hub', folder(data), marker],
    ['the logs', folder(join(rig.home, 'logs')), rig.url],
    ['the wire between Runner and Hub', runnerWire.bytes, marker],
    ['the wire between browser and Hub', browserWire.bytes, marker],
    ['what is typed, on the wire', browserWire.bytes, '"type":"keys"'],
    ['the audit log', await audit.body(), id],
  ] as const) {
    expect(found(known, bytes), place).toContain('plain');
    for (const token of [rig.token, refused]) expect(found(token, bytes), place).toEqual([]);
  }
  expect(found(rig.token, await audit.body())).toEqual([]);
});

/** The search finds every spelling that it knows, and base64 wherever in a text the secret begins. */
function canFail(marker: string): void {
  const noise = randomBytes(1000);
  expect(found(marker, noise)).toEqual([]);
  for (const [name, spelling] of spellings(marker))
    expect(found(marker, Buffer.concat([noise, spelling, noise]))).toContain(name);
  for (const before of ['', 'a', 'ab', 'abc']) {
    const text = Buffer.from(`${before}${marker}and more`);
    for (const encoding of ['base64', 'base64url', 'hex'] as const)
      expect(found(marker, Buffer.from(text.toString(encoding))), `${encoding} after "${before}"`).not.toEqual([]);
  }
}
