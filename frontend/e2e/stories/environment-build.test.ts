// An Environment: a recipe becomes one build that everyone who needs it shares; Sessions start on what it made; a new
// version is built by itself and keeps the Session's workspace; two people who edit at once do not overwrite each other.
import { expect, test } from 'vitest';
import type { Build, Environment } from '../../src/api/types';
import { built } from '../api';
import { story } from '../story';

const { rig, person } = story('environment-build');

const setup = (answer: number) => `echo "making the answer"\nmkdir -p /opt/tools\necho ${answer} >/opt/tools/answer\n`;

test('environment-build', async () => {
  const me = await person();
  const { api } = me;
  const environment = await api.environment('Tools', built({ setup: setup(42) }));
  expect(environment.version).toBe(1);

  // Pressed twice it is one build. Its log is on the page while it runs, and whole afterwards.
  const build = await api.build(environment.id);
  expect((await api.build(environment.id)).id).toBe(build.id);
  await me.page.goto(`${rig.url}/environments/${environment.id}`);
  await api.until(build.id, (b) => b.steps.some((s) => s.state === 'running'));
  await me.shot('building');
  const made = await api.until(build.id, (b) => b.state === 'ready', 240);
  expect(made.steps.length).toBeGreaterThan(1);
  for (const s of made.steps) expect(['done', 'cached'], s.name).toContain(s.state);
  expect(await api.text(`/builds/${build.id}/log.txt`)).toMatch(/^making the answer\r?$/m);
  await me.page.getByText('making the answer', { exact: true }).first().waitFor();
  await me.shot('built');

  // Built before: nothing is done again.
  const again = await api.until((await api.build(environment.id)).id, (b) => b.state === 'ready');
  expect(again.hash).toBe(build.hash);
  for (const s of again.steps) expect(s.state, s.name).toBe('cached');

  // A Session on it, with what the script made.
  const id = await api.start('On version 1', { environment, prompt: 'hello from the Environment' });
  await me.open(id);
  await api.ready(id, 120);
  await me.sees('you said: hello from the Environment');
  await me.shell('cat /opt/tools/answer; echo kept >/workspace/kept', /^\W*42$/m);
  expect((await api.session(id)).observed.environment).toMatchObject({ id: environment.id, version: 1 });

  // A second version. Who began from the first one is told that it is not the newest.
  const second = await api.call<Environment>('PATCH', `/environments/${environment.id}`, {
    recipe: built({ setup: setup(43) }),
    base_version: 1,
  });
  expect(second.version).toBe(2);
  const late = await api.refused('PATCH', `/environments/${environment.id}`, {
    recipe: built({ setup: setup(44) }),
    base_version: 1,
  });
  expect(late.status).toBe(409);
  expect(late.detail).toMatch(/\w{3}/);

  // The Session goes over at its next wake, which builds what is missing. Workspace and conversation stay.
  await api.call('PATCH', `/sessions/${id}`, { environment: { id: environment.id, version: 2 } });
  await api.act(id, 'sleep');
  await api.observe(id, 'asleep', (s) => s.observed.phase === 'asleep');
  await api.act(id, 'wake');
  await api.observe(
    id,
    'on version 2',
    (s) => s.observed.environment?.version === 2 && s.observed.phase === 'awake',
    300,
  );
  await api.ready(id, 120);
  await me.sees('hello from the Environment');
  await me.shell('cat /opt/tools/answer /workspace/kept', /^\W*43\s+kept$/m);
  await me.shot('second-version');
  const builds = await api.items<Build>(`/environments/${environment.id}/builds`);
  expect(builds.filter((b) => b.version === 2).map((b) => b.state)).toEqual(['ready']);

  expect((await rig.received()).failures).toEqual([]);
  expect(me.trouble).toEqual([]);
});
