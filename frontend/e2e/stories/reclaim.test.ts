// Space: what a Session takes and what the machine holds is shown; deleting a Session gives its space back, and what
// nothing uses any more is reclaimed when asked, and nothing else.
import { expect, test } from 'vitest';
import type { Runner, Session } from '../../src/api/types';
import { built } from '../api';
import { quote, there } from '../place';
import { story } from '../story';
import { eventually } from '../wait';

const { rig, person } = story('reclaim');
const mb = 1 << 20;

/** What the Runner's folder takes on its disk. */
const taken = () => Number(there(`sync; du -s --block-size=1 ${quote(rig.runnerDir)}`).split(/\s/)[0]);

test('reclaim', async () => {
  const me = await person();
  const { api } = me;
  const used = await api.environment('Used', built({ setup: 'echo used >/which\n' }));
  const unused = await api.environment('Unused', built({ setup: 'head -c 30000000 /dev/urandom >/ballast\n' }));
  await api.until((await api.build(unused.id)).id, (b) => b.state === 'ready', 240);
  const kept = await api.start('Kept', { environment: used });
  const gone = await api.start('To be deleted', { environment: used });
  await api.ready(kept, 300);
  await api.ready(gone, 150);
  await me.open(gone);
  const size = 60 * mb;
  await me.shell(
    `head -c ${size} /dev/urandom >/workspace/big && echo has $(stat -c %s /workspace/big)`,
    `has ${size}`,
  );

  // What a Session takes is on its figures.
  await api.observe(gone, 'measured', (s) => s.observed.figures.disk >= size, 120);
  await me.page.getByRole('button', { name: 'Details' }).click();
  await me.page.getByTestId('figures').waitFor();
  await me.shot('figures');

  // Archived it keeps its files; deleting is refused before, and gives the space back.
  const early = await api.refused('DELETE', `/sessions/${gone}`);
  expect(early.status).toBe(409);
  expect(early.detail).toMatch(/archive/i);
  await api.act(gone, 'archive');
  await api.observe(gone, 'archived', (s) => s.observed.phase === 'archived', 60);
  const before = taken();
  const deleted = await api.call<Session>('DELETE', `/sessions/${gone}`);
  expect(deleted.desired).toBe('deleted');
  await eventually(
    'the Session to be gone',
    async () => (await me.page.request.get(`${rig.url}/api/sessions/${gone}`)).status() === 404,
    60,
  );
  await eventually('its space to be free', () => before - taken() >= size * 0.9, 60);
  expect((await api.items<Session>('/sessions')).some((s) => s.id === gone)).toBe(false);

  // The image that no Session uses is reclaimable; the one that one uses is not.
  const images = (r: Runner) => r.machine.storage.items.filter((i) => i.kind === 'image');
  const runner = await eventually(
    'the storage to be counted',
    async () => {
      const r = await api.runner();
      return images(r).some((i) => i.sessions === 0) && images(r).some((i) => i.sessions > 0) ? r : undefined;
    },
    120,
  );
  expect(runner.machine.storage.reclaimable).toBeGreaterThan(25 * mb);
  await me.page.goto(`${rig.url}/runners`);
  await me.page
    .getByText(/reclaim/i)
    .first()
    .waitFor();
  await me.shot('reclaimable');
  const full = taken();
  const asked = await api.call<Runner>('POST', `/runners/${runner.id}/reclaim`, { what: ['image', 'leftover'] });
  const done = await eventually(
    'the Reclaim to be done',
    async () => {
      const r = await api.runner();
      return r.machine.storage.reclaimed.request >= asked.reclaim ? r : undefined;
    },
    120,
  );
  expect(done.machine.storage.reclaimed.error ?? '').toBe('');
  expect(done.machine.storage.reclaimed.freed).toBeGreaterThan(25 * mb);
  expect(full - taken()).toBeGreaterThan(25 * mb);
  await eventually('the card to follow', async () => images(await api.runner()).every((i) => i.sessions > 0), 60);
  await me.shot('reclaimed');

  // The Session that stayed works, also after a sleep: its image is there.
  await api.act(kept, 'sleep');
  await api.observe(kept, 'asleep', (s) => s.observed.phase === 'asleep');
  await api.act(kept, 'wake');
  await api.ready(kept, 150);
  await me.open(kept);
  await me.shell('echo made as $(cat /which)', 'made as used');
});
