// One VM hangs: its Session says so, and nobody else waits for it. Let go again, it works on; stopped by hand, it ends.
import { expect, test } from 'vitest';
import { recipe } from '../api';
import { place } from '../place';
import { signalVM, vmProcesses } from '../sandbox';
import { story } from '../story';
import { eventually } from '../wait';

const { rig, person } = story('two-vms-one-wedged');

// A Sandbox without a kernel of its own does not hang as a whole.
test.runIf(place.backend === 'microsandbox')('two-vms-one-wedged', async () => {
  const me = await person();
  const { api } = me;
  const environment = await api.environment('Small', recipe());
  const wedged = await api.start('Wedged', { environment, prompt: 'before it hangs' });
  const other = await api.start('Other', { environment, prompt: 'beside it' });
  await api.ready(wedged, 150);
  await api.ready(other, 150);

  signalVM(wedged, 'STOP');
  await me.open(other);
  await me.sees('you said: beside it');
  const began = Date.now();
  await me.type('is anybody waiting');
  await me.press('Enter');
  await me.sees('you said: is anybody waiting', 20);
  console.log(`a Turn beside a wedged VM took ${Date.now() - began} ms`);
  await api.observe(
    wedged,
    'known to hang',
    (s) => s.observed.sandbox_link.state === 'down' || s.observed.phase !== 'awake',
    90,
  );
  await me.open(wedged);
  await me.shot('wedged');

  // The other one sleeps and wakes meanwhile.
  await api.act(other, 'sleep');
  await api.observe(other, 'asleep', (s) => s.observed.phase === 'asleep', 30);
  await api.act(other, 'wake');
  await api.ready(other, 150);

  // Let go, the wedged one works on or was started anew; its conversation is there.
  if (vmProcesses(wedged).length > 0) signalVM(wedged, 'CONT');
  await api.ready(wedged, 180);
  await me.open(wedged);
  await me.sees('before it hangs');
  await me.type('back again');
  await me.press('Enter');
  await me.sees('you said: back again');

  // Wedged for good: Sleep ends it by force.
  signalVM(wedged, 'STOP');
  await api.act(wedged, 'sleep');
  await api.observe(wedged, 'asleep', (s) => s.observed.phase === 'asleep', 60);
  await eventually('its process to be gone', () => vmProcesses(wedged).length === 0);
  const seen = await rig.received();
  expect(seen.failures).toEqual([]);
  for (const p of seen.prompts) expect(p.occurrences, p.text).toBe(1);
});
