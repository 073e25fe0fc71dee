// Ada signs in from her own terminal by a code, lists and attaches. Her token stands in the settings; revoked there, it ends
// what is attached within seconds, and opens nothing after.
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import type { Session } from '../../src/api/types';
import { root } from '../place';
import { story } from '../story';
import { Tmux } from '../tmux';

const { rig, as } = story('revoke-token', { shell: true, github: {} });
const program = join(root, 'bin/claude-hub');
const mine = new Tmux();
afterAll(() => mine.end());

/** Runs the command line beside the terminal, as a script does. */
const command = (...args: string[]) =>
  spawnSync(program, args, { encoding: 'utf8', timeout: 30_000, env: { PATH: process.env.PATH, HOME: rig.home } });

test('revoke-token', async () => {
  const ada = await as('ada');
  const pairing = rig.pair(ada);
  mine.start({ HOME: rig.home });
  mine.line(`${program} login --hub ${rig.url}`);
  const [code] = await mine.sees(/[A-Z]{4}-[A-Z]{4}/);
  await pairing;
  const settings = await ada.another();
  await settings.enter(code);
  await settings.page.getByText('asks to be signed in as you').waitFor();
  await settings.shot('asks');
  await settings.act('Approve');
  await mine.sees(`Signed in to ${rig.url} as ada.`);
  const kept = readFileSync(join(rig.home, '.config/claude-hub/sign-in.json'), 'utf8').match(/chp_[\w-]+/);
  rig.secrets.add(kept?.[0] ?? '');

  await ada.goto('/sessions');
  const id = await ada.newSession({ title: 'From two places' });
  await ada.sees('$');
  const list = command('sessions', 'list', '--json');
  expect(list.status, list.stderr).toBe(0);
  expect((JSON.parse(list.stdout) as { items: Session[] }).items).toMatchObject([{ id, title: 'From two places' }]);

  mine.line(`clear; ${program} sessions attach ${id}`);
  await mine.sees('in the place of Claude Code');
  mine.line('echo typed in my own terminal');
  await ada.sees(/^typed in my own terminal$/m);
  await ada.say('typed in the browser');
  await mine.sees(/^typed in the browser\s*$/m);

  await settings.goto('/settings');
  const token = settings.page.getByTestId('api-token').filter({ hasText: hostname() });
  await token.getByText(/^used .* from 127\.0\.0\.1/).waitFor();
  await settings.shot('token');
  await token.getByRole('button', { name: /^Revoke/ }).click();
  await settings.page.getByRole('dialog').getByRole('button', { name: 'Revoke', exact: true }).click();
  const revoked = Date.now();
  await mine.sees(/^>\s*$/m, 10);
  expect(Date.now() - revoked, 'until the attach is over, in ms').toBeLessThan(5000);
  expect(mine.screen()).toContain('The Hub does not know this API token, or it is over.');
  expect(mine.screen()).not.toContain('close frame');
  await token.waitFor({ state: 'detached' });
  const refused = command('sessions', 'list', '--json');
  expect([refused.status, refused.stdout]).toEqual([3, '']);
  expect(refused.stderr).toContain('claude-hub login');
  await ada.say('the browser goes on');
});
