// Variables: in the processes of a Session, and nowhere else: not in the Hub's database, not in what the VM was made
// with, not in a log, an image, or a command line. A changed value counts from the next wake.
import { createHash, randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import type { Environment, Variable } from '../../src/api/types';
import { built } from '../api';
import { locally, place, quote, there } from '../place';
import { inspect } from '../sandbox';
import { story } from '../story';

const { rig, person } = story('variables');

const sha = (s: string) => createHash('sha256').update(s).digest('hex').slice(0, 24);
const fresh = (n: number) => `val-${randomBytes(n).toString('hex')}`;

/** Files below a folder that hold a text, or its base64. */
function holders(run: (script: string) => string, folder: string, text: string): string[] {
  const encoded = Buffer.from(text).toString('base64').replace(/=+$/, '').slice(0, -2);
  const grep = `grep -aF -e ${quote(text)} -e ${quote(encoded)}`;
  // Of a disk, which is mostly holes, tar reads only what is there.
  return run(`find ${quote(folder)} -type f -size -64M -exec ${grep} -l {} + 2>/dev/null
    find ${quote(folder)} -type f -size +63M | while read -r file; do
      tar -cSf - "$file" 2>/dev/null | ${grep} -q && echo "$file"
    done; true`)
    .split('\n')
    .filter(Boolean);
}

test('variables', async () => {
  const me = await person();
  const { api } = me;
  // The build gets them too, and what it prints of them is not kept.
  const setup = 'test -n "$DEPLOY_KEY"\nprintf %s "$DEPLOY_KEY" | sha256sum >/seen\n';
  const environment = await api.environment('With variables', built({ setup }));
  const of = `/environments/${environment.id}`;
  const secret = fresh(20);
  const lines = `first line\nsecond ${fresh(4)}\n`;
  await api.variable(of, 'DEPLOY_KEY', secret, true);
  await api.variable(of, 'PLAIN', 'seen by all', false);
  await api.variable(of, 'LINES', lines, false);
  await api.variable(of, 'LARGE', 'x'.repeat(90 << 10), false);
  const listed = await api.items<Variable>(`${of}/variables`);
  expect(listed.find((v) => v.name === 'DEPLOY_KEY')).toMatchObject({ secret: true, value: '', bytes: secret.length });
  expect(listed.find((v) => v.name === 'PLAIN')).toMatchObject({ secret: false, value: 'seen by all' });

  for (const [name, value, says] of [
    ['PATH', '/tmp', /which programs run/],
    ['LD_PRELOAD', 'x.so', /which programs run/],
    ['CLAUDE_CONFIG_DIR', '/tmp', /Claude Code/],
    ['IS_SANDBOX', '0', /Sandbox/],
    ['1ST', 'x', /not a Variable's name/],
    ['BIG', 'x'.repeat(200 << 10), /KB/],
  ] as const) {
    const refused = await api.refused('PUT', `${of}/variables/${name}`, { value, secret: false });
    expect(refused.detail, name).toMatch(says);
  }

  await api.until((await api.build(environment.id)).id, (b) => b.state === 'ready', 240);
  const id = await api.start('With variables', { environment });
  await me.open(id);
  await api.ready(id, 120);
  const hash = (name: string) => `printf %s "$${name}" | sha256sum | cut -c1-24`;
  await me.shell(hash('DEPLOY_KEY'), sha(secret));
  await me.shell(hash('LINES'), sha(lines));
  await me.shell(hash('LARGE'), sha('x'.repeat(90 << 10)));
  await me.shell('echo plain is $PLAIN', 'plain is seen by all');
  await me.shell('cut -c1-24 /seen', sha(secret));
  await me.shot('present');

  // Absent everywhere else.
  const absent = (text: string) => {
    expect(holders(locally, `${rig.home}/hub`, text), 'the Hub').toEqual([]);
    expect(holders(locally, `${rig.home}/logs`, text), 'the logs').toEqual([]);
    expect(
      holders((script) => there(script, '', 600), rig.far, text),
      "the Runner's machine",
    ).toEqual([]);
    expect(
      there(`cat /proc/[0-9]*/cmdline | tr '\\0' ' ' | grep -c "${text.slice(0, 12)}[${text[12]}]" || true`).trim(),
      'argv',
    ).toBe('0');
  };
  absent(secret);
  if (place.backend === 'microsandbox') {
    expect(inspect(rig, id)).not.toContain(secret);
    expect(inspect(rig, id)).not.toContain('DEPLOY_KEY');
    // Not even the environment of a process of that machine, the VM's own included.
    expect(there(`grep -laF ${quote(secret)} /proc/[0-9]*/environ 2>/dev/null | grep -v self || true`).trim()).toBe('');
  }
  for (const name of ['hub', 'runner', 'anthropic'])
    expect(readFileSync(`${rig.home}/logs/${name}.log`, 'utf8')).not.toContain(secret);

  // A new value counts from the next wake; one that was removed is gone then.
  const other = fresh(20);
  await api.variable(of, 'DEPLOY_KEY', other, true);
  await api.call('DELETE', `${of}/variables/PLAIN`);
  await me.shell(`echo still; ${hash('DEPLOY_KEY')}`, sha(secret));
  await api.act(id, 'sleep');
  await api.observe(id, 'asleep', (s) => s.observed.phase === 'asleep');
  absent(other);
  await api.act(id, 'wake');
  await api.ready(id, 150);
  await me.shell(hash('DEPLOY_KEY'), sha(other));
  await me.shell('echo "plain is [$PLAIN]"', 'plain is []');
  absent(other);
  expect((await api.call<Environment>('GET', of)).version).toBe(1); // no new version: a value is not part of the recipe
});
