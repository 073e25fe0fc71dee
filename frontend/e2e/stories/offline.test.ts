// T10 and T11: the Runner is away. Prompts wait, in order, each showing that it is queued; Stop cancels those before
// it; one that is asked for twice is there once. A second Runner with the same token is told so; one that takes over
// ends the first.
import { execFileSync, spawnSync } from 'node:child_process';
import { cpSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { root } from '../place';
import { story } from '../story';
import { eventually } from '../wait';

const { rig, person } = story('offline');

test('offline', async () => {
  const me = await person();
  const id = await me.newSession({ title: 'Offline' });
  await me.status(/ready/i);
  await rig.runner.end('SIGKILL');
  await me.status(/cannot tell/i);
  await me.shot('cannot-tell');

  const api = (path: string, data?: unknown) =>
    me.page.request.post(`${rig.url}/api/sessions/${id}${path}`, { data, headers: { Origin: rig.url } });
  const states = async () => {
    const { items } = (await (await me.page.request.get(`${rig.url}/api/sessions/${id}/prompts`)).json()) as {
      items: { text: string; state: string }[];
    };
    return Object.fromEntries(items.map((p) => [p.text, p.state]));
  };
  for (const text of ['prompt A', 'prompt B'])
    expect((await api('/prompts', { text, request: `r-${text.at(-1)}` })).status()).toBe(201);
  const twice = await api('/prompts', { text: 'prompt B', request: 'r-B' });
  expect([200, 201]).toContain(twice.status());
  expect(await states()).toEqual({ 'prompt A': 'queued', 'prompt B': 'queued' });
  expect((await api('/stop')).status()).toBe(200);
  expect(await states()).toEqual({ 'prompt A': 'cancelled', 'prompt B': 'cancelled' });
  expect((await api('/prompts', { text: 'prompt C' })).status()).toBe(201);
  expect((await api('/prompts', { text: 'prompt D' })).status()).toBe(201);

  rig.runner.start();
  await me.sees('you said: prompt D', 90);
  await eventually('the queue to be done', async () => (await states())['prompt D'] === 'done');
  const seen = await rig.received();
  expect(seen.prompts.map((p) => p.text).filter((t) => t.startsWith('prompt'))).toEqual(['prompt C', 'prompt D']);
  for (const p of seen.prompts) expect(p.occurrences, p.text).toBe(1);

  // A second process on the same folder, and one with a copy of it.
  const again = spawnSync(join(root, 'bin/claude-hub-runner'), ['--dir', rig.runnerDir, 'run'], {
    encoding: 'utf8',
    timeout: 30_000,
    env: { PATH: process.env.PATH, HOME: rig.home },
  });
  expect(again.status).toBe(1);
  expect(again.stderr).toMatch(/Another Runner \(process \d+\)/);
  const copy = join(rig.home, 'copy');
  cpSync(rig.runnerDir, copy, {
    recursive: true,
    filter: (p) => !p.includes('/sessions/') && !p.includes('/box') && !p.endsWith('/lock'),
  });
  const thief = spawnSync(join(root, 'bin/claude-hub-runner'), ['--dir', copy, 'run'], {
    encoding: 'utf8',
    timeout: 90_000,
    env: { PATH: process.env.PATH, HOME: rig.home },
  });
  expect(thief.status).toBe(1);
  expect(thief.stderr).toMatch(/(lease|already|another)/i);
  expect(rig.runner.running).toBe(true);
  const started = execFileSync(join(root, 'bin/claude-hub-runner'), ['--dir', copy, 'sandboxes', 'list'], {
    encoding: 'utf8',
  });
  expect(started.trim(), 'Sandboxes of the second one').toBe('');
  await me.type('still the first');
  await me.press('Enter');
  await me.sees('you said: still the first');
  expect(
    execFileSync(join(root, 'bin/claude-hub-runner'), ['--dir', rig.runnerDir, 'sandboxes', 'list'], {
      encoding: 'utf8',
    }).trim(),
  ).toContain(id);
});
