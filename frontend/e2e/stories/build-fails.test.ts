// Builds that cannot be made: each says why and where, keeps its log, and leaves nothing running. A look inside the
// failed Sandbox, through the same terminal; and one that hangs is cancelled.
import { expect, test } from 'vitest';
import type { Build, Session } from '../../src/api/types';
import { built, recipe } from '../api';
import { place, quote, there } from '../place';
import { story } from '../story';
import { eventually } from '../wait';

const { rig, person } = story('build-fails');

test('build-fails', async () => {
  const me = await person();
  const { api } = me;
  const over = (b: Build) => ['ready', 'failed', 'cancelled'].includes(b.state);
  let n = 0;
  const build = async (r = built()) => api.build((await api.environment(`Broken ${++n}`, r)).id);
  const failed = async (r = built(), seconds = 180) => {
    const b = await api.until((await build(r)).id, over, seconds);
    expect(b.state, JSON.stringify(b)).toBe('failed');
    expect(b.failure?.reason, JSON.stringify(b)).toMatch(/\w+ \w+/);
    expect(b.failure?.fix).toMatch(/\w+ \w+/);
    return b;
  };
  const said = (b: Build) => `${b.failure?.reason} ${b.failure?.fix} ${b.failure?.detail ?? ''}`;

  // The line that failed, the log, and the Sandbox as the script left it.
  const broken = await failed(
    built({ setup: 'echo before\ntouch /made-before\nno-such-command --now\necho after\n' }),
    240,
  );
  expect(broken.line).toBe(3);
  const log = await api.text(`/builds/${broken.id}/log.txt`);
  expect(log).toContain('before');
  expect(log).toContain('no-such-command');
  expect(log).not.toMatch(/^after/m);
  expect(Date.parse(broken.kept ?? '')).toBeGreaterThan(Date.now());
  const look = await api.call<Session>('POST', `/builds/${broken.id}/look`);
  expect((await api.call<Session>('POST', `/builds/${broken.id}/look`)).id).toBe(look.id);
  expect(look.kind).toBe('look');
  await me.open(look.id);
  await api.observe(look.id, 'awake', (s) => s.observed.phase === 'awake', 60);
  await me.type('ls -d /made-* && id -u');
  await me.press('Enter');
  await me.sees(/^\/made-before\s+0$/m);
  await me.shot('look-inside');
  await api.act(look.id, 'archive');
  await eventually('the kept Sandbox to be gone', () => rig.runnerCommand(['sandboxes', 'list']).trim() === '', 60);

  // One that hangs is cancelled, and is gone.
  const hanging = await build(built({ setup: 'echo hanging\nsleep 3000\n' }));
  await eventually(
    'the script to hang',
    async () => (await api.text(`/builds/${hanging.id}/log.txt`)).includes('hanging'),
    180,
  );
  await api.call('POST', `/builds/${hanging.id}/cancel`);
  const cancelled = await api.until(hanging.id, over, 60);
  expect(cancelled.state).toBe('cancelled');
  await eventually('its Sandbox to be gone', () => rig.runnerCommand(['sandboxes', 'list']).trim() === '', 60);

  // A script that asks for input gets none.
  const asks = await failed(built({ setup: 'set -e\nread -r answer\necho "$answer"\n' }));
  expect(asks.line).toBe(2);

  // Bases that are none.
  expect(said(await failed(recipe({ base: { kind: 'archive', ref: '/no/such/archive.tar' } })))).toContain(
    '/no/such/archive.tar',
  );
  expect(said(await failed(recipe({ base: { kind: 'directory', ref: '/no/such/folder' } })))).toContain(
    '/no/such/folder',
  );
  const junk = `${rig.far}/junk.tar`;
  there(`head -c 100000 /dev/urandom >${quote(junk)}; mkdir -p ${quote(`${rig.far}/empty/etc`)}`);
  expect(said(await failed(recipe({ base: { kind: 'archive', ref: junk } })))).toMatch(/archive|image|tar/i);
  expect(said(await failed(recipe({ base: { kind: 'directory', ref: `${rig.far}/empty` } })))).toMatch(/shell|sh\b/);

  // A script that ends its own Sandbox.
  if (place.backend === 'microsandbox') {
    expect(said(await failed(built({ setup: 'echo o >/proc/sysrq-trigger\nsleep 60\n' })))).toMatch(/Sandbox|VM/);
  }

  // Refused before anything is made: 64 MB of memory, a terabyte, no CPU.
  for (const [change, says] of [
    [{ memory: 64 << 20 }, /512 MB/],
    [{ memory: 2 ** 40 }, /256 GB/],
    [{ cpus: 0 }, /CPU/],
  ] as const) {
    const refused = await api.refused('POST', '/environments', { name: 'Refused', recipe: recipe(change) });
    expect(refused.detail).toMatch(says);
  }

  // Nothing is left running.
  await eventually('nothing to be left', () => {
    const left = rig
      .runnerCommand(['sandboxes', 'list'])
      .split('\n')
      .filter((l) => l.includes('running'));
    return left.length === 0;
  });
});
