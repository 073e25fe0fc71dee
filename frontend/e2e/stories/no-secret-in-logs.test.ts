// A whole run in which every kind of credential is used, rightly and wrongly, with all that Hub and Runner can log. Then
// every log and all that a program printed is searched for every one of them, and so is what each process on the machine was
// started with. The same search finds a word that is known to be there.
//
// What a program shows to the person who started it is no log: the Hub prints the set-up code once, at its first start, and
// a machine that asks to be a Runner shows its code. Each may stand in that one place, and in no other.
import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import type { Environment, Prompt, Session } from '../../src/api/types';
import { recipe } from '../api';
import { askCode, atGitHub, audit, Caller, makeAdmin, pair, paperRunner, scripted, signedIn } from '../caller';
import { place, root } from '../place';
import { Watch } from '../processes';
import { Recorder } from '../recorder';
import { found } from '../search';
import { eventually } from '../wait';

const [runnerWire, githubWire] = [new Recorder(), new Recorder()];
const rig = scripted('no-secret-in-logs', {
  logLevel: 'debug',
  github: { between: (github) => githubWire.between(github) },
  hubForRunner: (hub) => runnerWire.between(hub),
});
const watch = new Watch(join(rig.home, 'processes'));
afterAll(async () => {
  for (const wire of [runnerWire, githubWire]) wire.stop();
  await watch.stop();
});

/** What went over a wire by design, and is kept to be searched for. */
const passing = [
  /\bch[a-z]_[\w-]{51}/g, // our tokens, checksum and all
  /(?<="access_token":")[^"]+/g,
  /(?<="refresh_token":")[^"]+/g,
  /(?<=[?&]code=)[\w-]{16,}/g,
  /(?<=[?&]state=)[\w-]{16,}/g,
  /(?<=code_verifier=)[\w-]{43,}/g,
];

test('no-secret-in-logs', async () => {
  watch.start();
  const keep = (secret: string) => {
    rig.secrets.add(secret);
    return secret;
  };
  const wrong = (secret: string) => keep(secret.replace(/.{12}$/, randomBytes(6).toString('hex')));

  // Sign-in with GitHub: right, forged, replayed, and while GitHub is away. The set-up code, wrong and right.
  const setup = await rig.setupCode();
  const ada = await signedIn(rig, 'ada');
  const bob = await signedIn(rig, 'bob', '127.0.0.2');
  await ada.refused('POST', '/setup', { code: wrong(setup) });
  await makeAdmin(rig, ada);
  await bob.refused('POST', '/setup', { code: setup });
  const forged = new Caller(rig.url, '127.0.0.3');
  const begun = await forged.ask('GET', '/api/auth/github/start?next=/');
  keep(forged.jar.get('claude_hub_sign_in') ?? '');
  const answer = new URL(await atGitHub(begun.headers.location ?? '', 'cleo'));
  for (const name of ['code', 'state']) {
    const bad = new URL(answer);
    bad.searchParams.set(name, wrong(keep(bad.searchParams.get(name) ?? '')));
    await forged.ask('GET', bad.pathname + bad.search);
  }
  await rig.github.fail({ endpoint: 'access_token', kind: 'down' });
  await forged.signIn('cleo');
  await rig.github.heal();
  expect((await forged.signIn('mallory')).headers.location).toBe('/sign-in?problem=forbidden');

  // Pairing, with codes of a person and of a device that are wrong.
  const runner = await pair(rig, ada);
  await ada.refused('GET', `/device/${keep('BCDF-GHJK')}`);
  const device = await askCode(forged, 'another machine');
  keep(device.user_code);
  await ada.call('POST', `/device/${device.user_code}/deny`);
  for (const code of [keep(device.device_code), wrong(device.device_code)])
    await forged.refused('POST', '/device/token', { device_code: code });
  const spare = await paperRunner(ada, 'spare');
  await ada.call('DELETE', `/runners/${spare.id}`);

  // A secret Variable, stored rightly and in ways that are refused, in a Session that lives with the setup token.
  const value = keep(`variable-${randomBytes(16).toString('hex')}`);
  const { id: environment } = await ada.call<Environment>('POST', '/environments', {
    name: 'With secrets',
    recipe: recipe(),
  });
  const variable = `/environments/${environment}/variables/PASSWORD`;
  for (const body of [
    { value },
    { value: [value], secret: true },
    { value, secret: true, more: value },
    { value, secret: value },
  ])
    await ada.refused('PUT', variable, body);
  await ada.ask('PUT', `/api${variable}`, {
    body: `{"value":"${value}",`,
    headers: { 'Content-Type': 'application/json' },
  });
  await ada.call('PUT', variable, { value, secret: true });
  const { id } = await ada.call<Session>('POST', '/sessions', {
    runner: runner.id,
    title: 'With secrets',
    environment: { id: environment },
    prompt: 'hello there',
  });
  await prompted(ada, id, 'hello there');

  // A link, a suggestion, and an API token; each also wrong.
  const { url } = await ada.call<{ url: string }>('POST', `/sessions/${id}/link`);
  const link = keep(url.replace(/.*#/, ''));
  await bob.refused('POST', '/join', { token: wrong(link) });
  await bob.refused('POST', '/join', { token: [link] });
  await bob.call('POST', '/join', { token: link });
  const suggestion = await bob.call<{ id: string }>('POST', `/sessions/${id}/suggestions`, { text: 'and hello again' });
  await ada.call('POST', `/suggestions/${suggestion.id}/accept`, {});
  await prompted(ada, id, 'and hello again');
  const { token } = await ada.call<{ token: string }>('POST', '/tokens', {
    name: 'script',
    scopes: ['sessions:read', 'runners'],
  });
  const cli = (secret: string) => {
    const env = { PATH: process.env.PATH, HOME: rig.home, CLAUDE_HUB_TOKEN: secret };
    const args = ['sessions', 'list', '--hub', rig.url];
    return execFileSync(join(root, 'bin/claude-hub'), args, { env, encoding: 'utf8', stdio: 'pipe', timeout: 20_000 });
  };
  expect(cli(keep(token))).toContain('With secrets');
  const printed = [refusalOf(() => cli(wrong(token)))];

  // Every credential where it does not belong: as another kind, in an address, in a body that is none.
  const stray = new Caller(rig.url, '127.0.0.4');
  const cookie = ada.jar.get('claude_hub') ?? '';
  const paths = ['/api/me', '/api/sessions', '/runner/v1/stream', '/api/nothing'];
  for (const secret of [token, cookie, link, setup, wrong(cookie), rig.token, rig.github.secret]) {
    for (const path of paths) {
      await stray.ask('GET', path, { headers: { Authorization: `Bearer ${secret}` } });
      await stray.ask('GET', path, { headers: { Cookie: `claude_hub=${secret}` } });
      await stray.ask('GET', `${path}?token=${encodeURIComponent(secret)}`);
      await ada.ask('GET', `${path}/${encodeURIComponent(secret)}`, { headers: { Referer: `${rig.url}/x?${secret}` } });
    }
    await ada.ask('POST', '/api/sessions', { json: { runner: secret, title: [secret] } });
    await ada.ask('POST', '/api/sessions', { body: secret, headers: { 'Content-Type': 'application/json' } });
  }
  printed.push(
    refusalOf(() =>
      rig.runnerCommand(['token', 'set', '--stdin'], keep(`sk-ant-bad-${randomBytes(12).toString('hex')} x`)),
    ),
  );

  // Out again; what was good is good no more.
  await bob.call('POST', '/sign-out');
  await ada.call('POST', `/sessions/${id}/sleep`);
  await eventually(
    'it to sleep',
    async () => (await ada.call<Session>('GET', `/sessions/${id}`)).observed.phase === 'asleep',
    60,
  );
  const lines = JSON.stringify(await audit(ada));
  await rig.runner.end();
  await rig.hub.end();

  // All that was used, also what only programs said to each other.
  for (const wire of [runnerWire, githubWire]) {
    const text = wire.bytes.toString('latin1');
    for (const shape of passing) for (const [secret] of text.matchAll(shape)) keep(secret);
  }
  const secrets = [...rig.secrets].filter(Boolean);
  for (const kind of ['chp_', 'chr_', 'chd_', 'chj_', 'chb_', 'chq_', 'sk-ant-oat01-', 'variable-'])
    expect(
      secrets.some((secret) => secret.startsWith(kind)),
      kind,
    ).toBe(true);
  expect(secrets.length).toBeGreaterThan(30);

  const logs = join(rig.home, 'logs');
  const places = new Map<string, string>([
    ['the audit log', lines],
    ['what commands printed', printed.join('\n')],
    ['what GitHub’s stand-in noted', JSON.stringify(await rig.github.asked())],
    ...readdirSync(logs).map((name): [string, string] => [name, readFileSync(join(logs, name), 'utf8')]),
  ]);
  const known = {
    'hub.log': id,
    'runner.log': 'Runner starts',
    'hub.out': 'Sign in:',
    'pair-1.log': 'test-machine',
    'the audit log': id,
  };
  for (const [name, word] of Object.entries(known))
    expect(found(word, Buffer.from(places.get(name) ?? '')), name).toContain('plain');
  expect(places.get('hub.log')).toContain('"level":"DEBUG"');
  expect(places.get('what commands printed')).toMatch(/token/);

  // In the one place where each is shown.
  const shown = places.get('pair-1.log')?.match(/[A-Z]{4}-[A-Z]{4}/)?.[0] ?? '';
  places.set('hub.out', places.get('hub.out')?.replace(setup, '') ?? '');
  places.set('pair-1.log', places.get('pair-1.log')?.replaceAll(shown, '') ?? '');
  for (const [name, text] of places)
    for (const secret of [...secrets, keep(shown)])
      expect(leaks(secret, text), `${name} has ${secret.slice(0, 12)}…`).toEqual([]);

  // What processes were started with. In a Sandbox, and nowhere else, are what it is given: the setup token and Variables.
  const seen = await watch.stop();
  if (place.backend !== 'bubblewrap') return; // elsewhere they are another machine's
  expect(seen.filter((p) => p.argv.includes(rig.home) && p.argv.includes('pair')).length).toBeGreaterThan(0);
  for (const given of [rig.token, value]) expect(seen.some((p) => p.inside && p.environ.includes(given))).toBe(true);
  for (const { argv, environ, inside } of seen) {
    for (const secret of secrets) {
      expect(leaks(secret, argv), `${argv.slice(0, 60)} was started with ${secret.slice(0, 12)}…`).toEqual([]);
      const own = environ.includes(`CLAUDE_HUB_TOKEN=${secret}`); // of who asks by the command line
      const given = inside && [rig.token, value].includes(secret);
      if (!own && !given)
        expect(leaks(secret, environ), `${argv.slice(0, 60)} has ${secret.slice(0, 12)}…`).toEqual([]);
    }
  }
});

const leaks = (secret: string, text: string) =>
  [secret, encodeURIComponent(secret)].filter((one) => text.includes(one));

/** Waits until Claude has answered a prompt. */
async function prompted(ada: Caller, id: string, text: string): Promise<void> {
  await eventually(
    `"${text}" to be done`,
    async () => (await ada.items<Prompt>(`/sessions/${id}/prompts`)).some((p) => p.text === text && p.state === 'done'),
    120,
  );
}

/** What a command says that must fail. */
function refusalOf(run: () => string): string {
  try {
    run();
  } catch (error) {
    return String((error as { stderr?: string }).stderr);
  }
  throw new Error('a wrong credential was taken');
}
