// What Sessions of one Environment take of their machine, one and four, and what Archive and Delete give back.
import { expect, test } from 'vitest';
import { recipe } from '../api';
import { place, quote, there } from '../place';
import { vmProcesses } from '../sandbox';
import { story } from '../story';
import { eventually } from '../wait';

const { rig, person } = story('footprint');
const mb = 1 << 20;
const many = 4;

/** What the Runner's folder takes on its disk, in bytes. The journals of its databases and msb's are no Session's. */
const disk = () =>
  Number(there(`sync; du -s --block-size=1 --exclude='*.db-*' ${quote(rig.runnerDir)}`).split(/\s/)[0]);

const youngest = () =>
  there(`find ${quote(rig.runnerDir)} -type f -mmin -20 ! -name '*.db-*' -printf '%k KB %p\\n' | sort -n | tail -n 20`);

/** What the VMs of Sessions take of their machine's memory, in bytes; what they share is counted once. */
function memory(sessions: string[]): number {
  const pids = sessions.flatMap(vmProcesses);
  return Number(
    there(
      `cat ${pids.map((p) => `/proc/${p}/smaps_rollup`).join(' ')} | awk '/^Pss:/ {kb += $2} END {print kb * 1024}'`,
    ),
  );
}

// A Sandbox of bubblewrap has no disk or memory of its own to measure.
test.runIf(place.backend === 'microsandbox')('footprint', async () => {
  const me = await person();
  const { api } = me;
  const environment = await api.environment('Small', recipe());
  const empty = disk();
  const sessions: string[] = [];
  const say = (what: string, d: number, m: number) =>
    console.log(`${what}: ${(d / mb).toFixed(1)} MB of disk, ${(m / mb).toFixed(0)} MB of memory`);
  let taken = 0;
  for (let n = 1; n <= many; n++) {
    const id = await api.start(`Session ${n}`, { environment, prompt: `this is number ${n}` });
    sessions.push(id);
    await api.ready(id, 300);
    taken = disk() - empty;
    if (n === 1 || n === many) say(`${n} of them`, taken, memory(sessions));
  }
  const image = (await api.runner()).machine.storage.items.reduce(
    (sum, i) => sum + (i.kind === 'image' || i.kind === 'base' ? i.bytes : 0),
    0,
  );
  console.log(`their image: ${(image / mb).toFixed(1)} MB`);
  expect(taken / many, 'a Session has no image of its own').toBeLessThan(image / 2);

  for (const id of sessions) await api.act(id, 'archive');
  for (const id of sessions) await api.observe(id, 'archived', (s) => s.observed.phase === 'archived', 60);
  expect(sessions.flatMap(vmProcesses)).toEqual([]);
  const archived = disk() - empty;
  say('archived', archived, 0);
  expect(archived).toBeLessThan(taken);

  for (const id of sessions) await api.call('DELETE', `/sessions/${id}`);
  await eventually('the Sessions to be gone', async () => (await api.items('/sessions')).length === 0, 60);
  const left = await eventually(
    'their space to be free',
    () => {
      const now = disk() - empty;
      if (now >= mb) throw new Error(`${now} bytes are left, the youngest files being\n${youngest()}`);
      return { now };
    },
    60,
  );
  say('deleted', left.now, 0);
});
