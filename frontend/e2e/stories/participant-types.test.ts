// Bob, with whom Ada has shared her Session, drives it with all that he has: his own cookie, the real WebSocket and the
// real API. The Hub refuses, and says so in its audit log. Then a Hub that was built without that check runs in its place:
// it lets everything through, and the Runner refuses it, by the author that each input, resize and prompt carries.
import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { Prompt, Session } from '../../src/api/types';
import { audit, type Caller, linked, makeAdmin, pair, scripted, signedIn } from '../caller';
import { root } from '../place';
import { Terminal } from '../terminal';
import { eventually } from '../wait';

const rig = scripted('participant-types', { shell: true, github: {} });
const size = { cols: 118, rows: 31 };
const other = { cols: 77, rows: 22 };

test('participant-types', async () => {
  const unguarded = build();
  const ada = await signedIn(rig, 'ada');
  await makeAdmin(rig, ada);
  const bob = await signedIn(rig, 'bob', '127.0.0.2');
  const runner = await pair(rig, ada);
  const { id } = await ada.call<Session>('POST', '/sessions', { runner: runner.id, title: 'Only Ada drives' });
  await eventually('the Session to be awake', async () => (await session(ada, id)).observed.phase === 'awake', 60);
  const before = (await audit(ada)).length;

  // A stranger to the Session is not even told that it is there.
  expect(await Terminal.try(bob, id)).toMatchObject({ status: 404 });
  await ada.call('POST', `/sessions/${id}/share`, { login: 'bob' });

  // What Ada types reaches the shell, and Bob sees it.
  let hers = await Terminal.open(ada, id, size);
  let his = await Terminal.open(bob, id, other);
  await claim(hers);
  await his.sees(/in the place of Claude Code/);
  expect((await hers.keys('echo $((40 + 2)) is what Ada typed\r')).state).toBe('applied');
  await his.sees(/42 is what Ada typed/);
  expect(hers.state.drive).toBe(true);
  expect(his.state.drive).toBe(false);

  // What Bob types does not, nor does his window change hers, nor what he asks of the API.
  for (const report of [await his.keys('touch by-keys\r'), await his.paste('touch by-paste\r')]) {
    expect(report.state).toBe('refused');
    expect(report.why).toMatch(/You watch this Session\. Only its Creator can type/);
  }
  his.send({ type: 'size', ...other });
  his.send({ type: 'claim' });
  expect(await his.refusal()).toMatch(/Only its Creator can type/);
  for (const [method, path, body] of deeds(id)) {
    const refusal = await bob.refused(method, path, body);
    expect([refusal.status, refusal.detail], `${method} ${path}`).toEqual([
      403,
      expect.stringMatching(/Only the person/),
    ]);
  }
  await untouched(hers, ada, id);
  const lines = (await audit(ada, before)).filter((line) => line.outcome === 'refused' && line.login === 'bob');
  for (const action of ['session.prompt', 'session.stop', 'session.sleep', 'session.archive', 'session.update'])
    expect(lines.map((line) => line.action)).toContain(action);

  // The same with a Hub that looks away. It says loudly what it is.
  await unguarded;
  for (const terminal of [hers, his]) terminal.end();
  await rig.hub.end();
  expect(readFileSync(rig.hub.out, 'utf8')).not.toMatch(/TEST BUILD/);
  rig.hubProgram = join(rig.home, 'claude-hub-unguarded');
  rig.hub.start();
  await rig.hub.says(/THIS IS A TEST BUILD: it does not refuse people who type into Sessions of others/);
  await linked(ada);
  hers = await Terminal.open(ada, id, size);
  his = await Terminal.open(bob, id, other);
  await claim(hers);
  const typed = async () => (await hers.keys('echo $((6 * 7)) again is what Ada typed\r')).state === 'applied';
  await eventually('the Runner to be back, and Ada to type', typed);
  await his.sees(/42 again is what Ada typed/);

  expect(his.state.drive, 'the Hub lets Bob type').toBe(true);
  for (const report of [await his.keys('touch by-keys\r'), await his.paste('touch by-paste\r')]) {
    expect(report.state).toBe('refused');
    expect(report.why).toMatch(/Only the Creator of this Session types in it\. The Runner did not type this/);
  }
  his.send({ type: 'claim' });
  await eventually('the Hub to let Bob have the size', () => his.state.owner);
  const prompt = await bob.call<Prompt>('POST', `/sessions/${id}/prompts`, { text: 'touch by-prompt' });
  const over = await eventually('the prompt to be over', async () => {
    const now = (await ada.items<Prompt>(`/sessions/${id}/prompts`)).find((p) => p.id === prompt.id);
    return now?.state === 'failed' ? now : undefined;
  });
  expect(over.why).toMatch(/Creator/);
  await claim(hers);
  await untouched(hers, ada, id);

  // Nor does the Runner let the Session sleep because Bob desires it. What Ada desires counts again.
  await bob.call('POST', `/sessions/${id}/sleep`);
  const refused = /what another than the Creator desires of a Session/;
  await eventually('the Runner to refuse that sleep', () => refused.test(rig.runner.log()));
  await hers.keys('echo $((7 * 7)) and still here\r');
  await hers.sees(/49 and still here/);
  const waits = await session(ada, id);
  expect(waits.observed.phase).toBe('awake');
  expect(waits.observed.generation).toBeLessThan(waits.generation);
  await ada.call('POST', `/sessions/${id}/wake`);
  await eventually('the Runner to act on what Ada desires', async () => {
    const now = await session(ada, id);
    return now.observed.generation === now.generation && now.observed.phase === 'awake';
  });

  // The Runner has counted, and says so where its owner looks.
  await rig.runner.end();
  const said =
    rig.runner
      .log()
      .match(/refused what the Hub sent in another person's name[^\n]*/g)
      ?.join('\n') ?? '';
  expect(said).toMatch(/"?inputs"?[=:]\s*2/);
  expect(said).toMatch(/"?resizes"?[=:]\s*[1-9]/);
  expect(said).toMatch(/"?prompts"?[=:]\s*1/);
  expect(said).toMatch(/"?desired states"?[=:]\s*[1-9]/);
});

/** Builds the Hub that lets Participants drive, beside what the story does meanwhile. */
function build(): Promise<void> {
  const args = ['build', '-tags', 'unguarded', '-o', join(rig.home, 'claude-hub-unguarded'), './hub/cmd/claude-hub'];
  const go = spawn('go', args, {
    cwd: root,
    env: { ...process.env, CGO_ENABLED: '0' },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let said = '';
  go.stderr.on('data', (part) => (said += part));
  return new Promise((done, fail) => {
    go.on('error', fail).on('exit', (code) => (code === 0 ? done() : fail(new Error(`go build: ${said}`))));
  });
}

const session = (who: Caller, id: string) => who.call<Session>('GET', `/sessions/${id}`);

/** What drives a Session beside its terminal. */
const deeds = (id: string): [string, string, unknown?][] => [
  ['POST', `/sessions/${id}/prompts`, { text: 'touch by-prompt' }],
  ['POST', `/sessions/${id}/stop`],
  ['POST', `/sessions/${id}/sleep`],
  ['POST', `/sessions/${id}/wake`],
  ['POST', `/sessions/${id}/archive`],
  ['POST', `/sessions/${id}/retry`],
  ['PATCH', `/sessions/${id}`, { title: 'Bob was here' }],
  ['DELETE', `/sessions/${id}`],
  ['POST', `/sessions/${id}/ports`, { port: 8000, same: false }],
  ['POST', `/sessions/${id}/share`, { login: 'cleo' }],
  ['POST', `/sessions/${id}/link`],
];

async function claim(terminal: Terminal): Promise<void> {
  terminal.send({ type: 'claim' });
  await eventually('the size to be theirs', () => terminal.state.owner);
}

let turn = 0;

/** Nothing that Bob sent has reached the shell: not before this, which comes after it. */
async function untouched(hers: Terminal, ada: Caller, id: string): Promise<void> {
  turn++;
  await hers.keys(`echo "turn $((${turn} + 100)): $(stty size) $(ls) :end"\r`);
  const [, found] = await hers.sees(new RegExp(`turn ${turn + 100}: ([^:]*) :end`));
  expect(found?.trim()).toBe(`${size.rows} ${size.cols}`);
  expect(hers.screen).not.toContain('by-');
  expect(await session(ada, id)).toMatchObject({
    title: 'Only Ada drives',
    desired: 'awake',
    observed: { phase: 'awake' },
  });
}
