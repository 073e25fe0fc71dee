// Two Sessions on an Environment that nobody has built: they wait for one build, and both start from it.
import { expect, test } from 'vitest';
import type { Build } from '../../src/api/types';
import { built } from '../api';
import { story } from '../story';

const { person } = story('shared-build');

test('shared-build', async () => {
  const me = await person();
  const { api } = me;
  const environment = await api.environment('Shared', built({ setup: 'date +%s%N >/made-at\n' }));
  const ids = [await api.start('One', { environment }), await api.start('Two', { environment })];
  const waiting = await Promise.all(
    ids.map((id) =>
      api.observe(id, 'waiting for the build', (s) => s.observed.build !== undefined && s.observed.build !== ''),
    ),
  );
  expect(waiting[0]?.observed.build).toBe(waiting[1]?.observed.build);
  await me.open(ids[0] ?? '');
  await me.shot('waiting');
  const made = new Set<string>();
  for (const id of ids) {
    await api.ready(id, 300);
    await me.open(id);
    made.add((await me.shell('echo made at $(cat /made-at)', /made at \d{10,}/)).match(/made at (\d+)/)?.[1] ?? '');
  }
  expect([...made]).toHaveLength(1);
  expect(await api.items<Build>(`/environments/${environment.id}/builds`)).toHaveLength(1);
});
