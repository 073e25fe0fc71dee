// Codes of devices are guessed: by a person who is signed in and types user codes, and by a stranger who polls with device
// codes. Neither learns which codes there are, or were; both are soon told to wait, and nobody else has to. A device that
// polls too fast is slowed down, and what a code opens it opens once.
import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { Runner, Session } from '../../src/api/types';
import { type Answer, askCode, audit, Caller, type Device, makeAdmin, problemOf, scripted, signedIn } from '../caller';

const rig = scripted('device-code-guess', { github: {} });
const letters = 'BCDFGHJKLMNPQRSTVWXZ';

test('device-code-guess', async () => {
  const [ada, bob, cleo] = [
    await signedIn(rig, 'ada'),
    await signedIn(rig, 'bob', '127.0.0.2'),
    await signedIn(rig, 'cleo', '127.0.0.3'),
  ];
  await makeAdmin(rig, ada);
  const devices = new Caller(rig.url, '127.0.0.4');

  // The honest way: a code is shown, seen, approved, and comes back as a token.
  const used = await askCode(devices, 'used');
  expect(await ada.call('GET', `/device/${used.user_code}`)).toMatchObject({ name: 'used', address: '127.0.0.4' });
  expect(word(await poll(devices, used))).toBe('authorization_pending');
  await ada.call('POST', `/device/${used.user_code}/approve`, {});
  expect(JSON.parse((await poll(devices, used)).text)).toMatchObject({
    token: expect.stringMatching(/^chr_/),
    login: 'ada',
  });
  expect(await ada.items<Runner>('/runners')).toMatchObject([{ name: 'used' }]);

  // It was good once: also for who polls with it.
  expect(word(await poll(devices, used))).toBe('expired_token');

  // A code that nobody has, one that was used, one that was denied, one that is over, and what is no code at all: one answer.
  const denied = await askCode(devices, 'denied');
  await ada.call('POST', `/device/${denied.user_code}/deny`);
  expect(word(await poll(devices, denied))).toBe('access_denied');
  const over = await askCode(devices, 'over');
  expect(await ada.call('GET', `/device/${over.user_code}`)).toMatchObject({ name: 'over' });
  makeOld(over);
  expect(word(await poll(devices, over))).toBe('expired_token');
  const before = (await audit(ada)).at(-1)?.seq;
  const useless = [guess(), used.user_code, denied.user_code, over.user_code];
  const answers: string[] = [];
  for (const code of useless) {
    answers.push(seen(await ada.ask('GET', `/api/device/${code}`)));
    answers.push(seen(await bob.ask('POST', `/api/device/${code}/approve`, { json: {} })));
    answers.push(seen(await cleo.ask('POST', `/api/device/${code}/deny`)));
  }
  answers.push(seen(await cleo.ask('GET', `/api/device/${encodeURIComponent("' OR 1=1 --")}`)));
  expect(new Set(answers)).toEqual(new Set([answers[0]]));
  expect(JSON.parse(answers[0] ?? '')).toMatchObject([
    404,
    { detail: expect.stringMatching(/No device waits with that code/) },
  ]);

  // Bob has had four wrong ones, and gets a fifth; then he has to wait, wherever he is, also with a code that is right.
  const open = await askCode(devices, 'open');
  expect((await bob.ask('POST', `/api/device/${guess()}/approve`, { json: {} })).status).toBe(404);
  const elsewhere = new Caller(rig.url, '127.0.0.5');
  for (const [name, value] of bob.jar) elsewhere.jar.set(name, value);
  for (const who of [bob, elsewhere])
    for (const code of [guess(), open.user_code]) {
      const answer = await who.ask('POST', `/api/device/${code}/approve`, { json: {} });
      expect(answer.status, code).toBe(429);
      expect(Number(answer.headers['retry-after'])).toBeGreaterThanOrEqual(1);
      expect(Number(answer.headers['retry-after'])).toBeLessThanOrEqual(60);
      expect(answer.headers.ratelimit).toMatch(/"codes";r=0;t=\d+/);
      expect(problemOf(answer)).toMatchObject({
        code: 'too_many',
        detail: expect.stringMatching(/Try again in \d+ seconds/),
      });
    }
  expect(await bob.items<Session>('/sessions')).toEqual([]); // he is in all the same

  // A stranger polls with device codes: well made, badly made, long. The answer is that for a code that is over, and then to wait.
  const stranger = new Caller(rig.url, '127.0.0.9');
  const tries = [wellMade(), `${wellMade()}0`, wellMade().replace(/.$/, 'x'), 'chd_', '', used.device_code];
  const told: string[] = [];
  let wait: Answer | undefined;
  for (let n = 0; n < 30 && !wait; n++) {
    const answer = await poll(stranger, { device_code: tries[n % tries.length] ?? '' });
    if (answer.status === 429) wait = answer;
    else told.push(seen(answer));
  }
  expect(told).toHaveLength(20);
  expect(new Set(told)).toEqual(new Set([seen(await poll(devices, used))]));
  expect(Number(wait?.headers['retry-after'])).toBeGreaterThanOrEqual(1);
  expect((await poll(stranger, open)).status).toBe(429);

  // A device that asks too fast is slowed down, each time more, and loses nothing by it.
  expect(open.interval).toBe(5);
  expect(word(await poll(devices, open))).toBe('authorization_pending');
  const slow = [await poll(devices, open), await poll(devices, open)];
  expect(slow.map(word)).toEqual(['slow_down', 'slow_down']);
  expect(slow.map((answer) => problemOf(answer).detail)).toEqual([
    expect.stringContaining('Wait 10 seconds'),
    expect.stringContaining('Wait 15 seconds'),
  ]);

  // A page of another site approves nothing with Ada's cookie, whatever its browser says or leaves out.
  for (const headers of [
    { Origin: 'http://127.0.0.1:1', 'Sec-Fetch-Site': 'same-site' },
    { Origin: 'https://evil.example', 'Sec-Fetch-Site': 'cross-site' },
    { Origin: 'null', 'Sec-Fetch-Site': 'cross-site' },
    { Origin: 'https://evil.example' },
    { Origin: 'null' },
  ] as Record<string, string>[]) {
    for (const type of ['application/json', 'text/plain', 'application/x-www-form-urlencoded']) {
      const question = { body: '{}', headers: { ...headers, 'Content-Type': type } };
      const answer = await ada.ask('POST', `/api/device/${open.user_code}/approve`, question);
      expect(answer.status, JSON.stringify(question)).toBe(403);
    }
  }
  expect((await ada.ask('GET', `/api/device/${open.user_code}/approve`)).status).toBe(404);
  expect(word(await poll(devices, open))).toBe('slow_down');

  // Ada, who has a wrong one left, approves it. Whoever has seen the device's code polls at the same moment as the device:
  // one of them gets the token, and the other what a code that is over gets.
  await ada.call('POST', `/device/${open.user_code}/approve`, {});
  const thief = new Caller(rig.url, '127.0.0.6');
  const both = await Promise.all([poll(devices, open), poll(thief, open)]);
  expect(both.map((answer) => answer.status).sort()).toEqual([200, 400]);
  expect(both.filter((answer) => answer.status === 400).map(word)).toEqual(['expired_token']);
  expect((await ada.items<Runner>('/runners')).map((r) => r.name).sort()).toEqual(['open', 'used']);

  // Nor are codes made without end for somebody to hit upon.
  const greedy = new Caller(rig.url, '127.0.0.7');
  const made: Answer[] = [];
  for (let n = 0; n < 12; n++)
    made.push(await greedy.ask('POST', '/api/device/code', { json: { client: 'cli', name: 'many', machine: 'x' } }));
  expect(made.map((answer) => answer.status)).toEqual([...Array(10).fill(200), 429, 429]);

  // The audit log says who guessed, from where; of a flood the first ten, and never what was guessed.
  const lines = (await audit(ada, before)).filter((line) => line.outcome === 'refused');
  const by = (login: string | undefined, action: string, code: string) =>
    lines.filter((l) => l.login === login && l.action === action && l.detail?.code === code);
  expect(by('bob', 'device.approve', 'not_found')).toHaveLength(5);
  expect(by('bob', 'device.approve', 'too_many').map((l) => l.address)).toEqual(
    expect.arrayContaining(['127.0.0.2', '127.0.0.5']),
  );
  expect(by('cleo', 'device.deny', 'not_found')).toHaveLength(4);
  expect(by('ada', 'device.get', 'not_found')).toHaveLength(4);
  expect(lines.filter((l) => l.action === 'device.approve' && l.detail?.code === 'forbidden').length).toBeGreaterThan(
    0,
  );
  expect(lines.filter((l) => l.action === 'device.poll' && l.address === '127.0.0.9')).toHaveLength(10);
  expect(JSON.stringify(await audit(ada))).not.toMatch(/ch[a-z]_[\w-]{20}/);
  for (const code of [...useless, open.user_code]) expect(JSON.stringify(await audit(ada))).not.toContain(code);
}, 60_000);

const poll = (who: Caller, { device_code }: Pick<Device, 'device_code'>) =>
  who.ask('POST', '/api/device/token', { json: { device_code } });

const word = (answer: Answer) => problemOf(answer).error;

/** All of an answer that whoever guesses could tell from another. */
const seen = (answer: Answer) => JSON.stringify([answer.status, JSON.parse(answer.text)]);

const guess = () => {
  const all = Array.from(randomBytes(8), (b) => letters[b % letters.length]).join('');
  return `${all.slice(0, 4)}-${all.slice(4)}`;
};

/** A device code whose checksum is right, and that the Hub never gave out. */
function wellMade(): string {
  const body = `chd_${randomBytes(32).toString('base64url')}`;
  return body + crc32(Buffer.from(body)).toString(16).padStart(8, '0');
}

function crc32(data: Buffer): number {
  let crc = ~0;
  for (const byte of data) {
    crc ^= byte;
    for (let bit = 0; bit < 8; bit++) crc = (crc >>> 1) ^ (crc & 1 ? 0xedb88320 : 0);
  }
  return ~crc >>> 0;
}

/** Lets the 15 minutes of a code be over. */
function makeOld(device: Device): void {
  const change = `PRAGMA busy_timeout = 5000; UPDATE devices SET expires = created WHERE user_code = '${device.user_code}' RETURNING name`;
  const changed = execFileSync('sqlite3', [join(rig.home, 'hub/hub.db'), change], { encoding: 'utf8' });
  if (!changed.includes('over')) throw new Error(`no code was made old: ${changed}`);
}
