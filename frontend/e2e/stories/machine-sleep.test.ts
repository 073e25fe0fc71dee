// The machine sleeps: its clock jumps, and its VMs stood still meanwhile. Each VM is looked at and mended, with the
// steps shown, and Claude works on.
import { afterAll, expect, test } from 'vitest';
import { recipe } from '../api';
import { place, there } from '../place';
import { signalVM } from '../sandbox';
import { story } from '../story';
import { eventually } from '../wait';

const { rig, person } = story('machine-sleep');
const hours = 3;
const setClock = (seconds: number) => there(`date -s "@${Math.round(seconds)}" >/dev/null`);

afterAll(() => {
  if (place.backend === 'microsandbox') setClock(Date.now() / 1000);
});

// This machine's own clock is not ours to move.
test.runIf(place.backend === 'microsandbox')('machine-sleep', async () => {
  const me = await person();
  const { api } = me;
  const environment = await api.environment('Small', recipe());
  const id = await api.start('Sleeps with the machine', { environment, prompt: 'before the machine sleeps' });
  await me.open(id);
  await api.ready(id, 150);

  // As a laptop does: nothing runs, and then it is later.
  rig.runner.signal('STOP');
  signalVM(id, 'STOP');
  await new Promise((later) => setTimeout(later, 20_000));
  setClock(Date.now() / 1000 + hours * 3600);
  signalVM(id, 'CONT');
  rig.runner.signal('CONT');

  const checked = await api.observe(
    id,
    'looked at',
    (s) => s.observed.checked && s.observed.checks.length > 0 && s.observed.checks.every((c) => c.state !== 'running'),
    120,
  );
  expect(checked.observed.checks.map((c) => c.name).sort()).toEqual(['agent', 'claude', 'clock', 'network', 'tmux']);
  for (const c of checked.observed.checks) expect(['ok', 'repaired'], `${c.name}: ${c.detail}`).toContain(c.state);
  await me.page.getByRole('button', { name: 'Details' }).click();
  await me.page.getByTestId('checks').waitFor();
  await me.shot('checked');

  await api.ready(id, 120);
  await me.sees('before the machine sleeps');
  const text = await eventually('the clock inside to be right', async () => {
    const shown = await me.shell('echo inside it is $(date +%s)', /inside it is \d{9,}/);
    const inside = Number([...shown.matchAll(/inside it is (\d+)/g)].at(-1)?.[1]);
    return Math.abs(inside - Number(there('date +%s'))) < 60 ? shown : undefined;
  });
  expect(text).toMatch(/inside it is/);
  await me.type('and it goes on');
  await me.press('Enter');
  await me.sees('you said: and it goes on');
  const seen = await rig.received();
  expect(seen.failures).toEqual([]);
  for (const p of seen.prompts) expect(p.occurrences, p.text).toBe(1);
});
