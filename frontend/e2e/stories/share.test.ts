// A Session is shared: with Bob by his login, with Cleo by a link, with everyone who sees its Repo at GitHub. They watch it
// live and are seen to be there, and cannot type. Who it is not shared with cannot tell it from one that is not there, and
// when the link is revoked, who came by it is out within seconds.
import { expect, test } from 'vitest';
import type { Session } from '../../src/api/types';
import type { Login } from '../github';
import type { Visitor } from '../pages';
import { story } from '../story';
import { eventually } from '../wait';

const readers: Login[] = ['ada', 'bob'];
const { rig, as } = story('share', { shell: true, github: { repos: { app: readers } } });
const nowhere = 'ses_00000000000000000000000000';

test('share', async () => {
  const [ada, bob, cleo] = await Promise.all([as('ada'), as('bob'), as('cleo')]);
  await rig.pair(ada);
  await ada.goto('/sessions');
  const id = await ada.newSession({ title: 'Shared work' });
  await ada.sees('$');

  // By login. It comes up in Bob's list by itself, and he watches what Ada types.
  await ada.act('Share');
  await ada.page.getByRole('combobox', { name: 'Add by GitHub login' }).fill('bob');
  await ada.act('Add');
  await ada.page.getByTestId('shared-with').getByText('Bob of Acme').waitFor();
  await ada.shot('shared-with-bob');
  await ada.act('Close');
  await row(bob, 'Shared work').getByRole('link').first().click();
  await ada.say('hello to who watches');
  await bob.sees(/^hello to who watches$/m);
  await bob.page.getByTestId('watching').getByText('Ada of Acme').waitFor();
  await ada.page.getByRole('button', { name: 'Here now: Bob of Acme' }).waitFor();
  await ada.shot('bob-is-here');

  // Bob cannot type: his keys go nowhere, and nothing that drives is there for him, nor taken from him.
  await bob.page.getByTestId('terminal').first().click();
  await bob.page.keyboard.type('echo typed by bob\n');
  for (const name of ['Sleep', 'Share', 'More', 'Stop'])
    expect(await bob.page.getByRole('button', { name, exact: true }).count(), name).toBe(0);
  expect(await bob.page.locator('[data-typing="true"]').count()).toBe(0);
  expect(await bob.page.getByTestId('prompt-box').count()).toBe(0);
  for (const [path, body] of [
    ['prompts', { text: 'by bob' }],
    ['sleep', undefined],
    ['share', { login: 'cleo' }],
    ['ports', { port: 3000, same: false }],
  ] as const)
    expect((await bob.api.refused('POST', `/sessions/${id}/${path}`, body)).status, path).toBe(403);
  await ada.say('nothing came between');
  await bob.sees(/^nothing came between$/m);
  expect(await ada.text()).not.toContain('typed by bob');
  await bob.shot('watching');

  // Cleo sees nothing, and cannot tell it from nothing.
  expect(await cleo.api.items<Session>('/sessions')).toEqual([]);
  for (const path of ['', '/history', '/prompts', '/suggestions'])
    expect(await answer(cleo, `/sessions/${id}${path}`), path).toEqual(
      await answer(cleo, `/sessions/${nowhere}${path}`),
    );
  await cleo.open(id);
  await cleo.page.getByText('There is no such Session').waitFor();

  // By a link, which is good until it is revoked; then Cleo is out, with the terminal open before her.
  await ada.act('Share');
  await ada.act('Make a link');
  const link = (await ada.page.getByText(/\/join#chj_/).textContent())?.trim() ?? '';
  rig.secrets.add(link.replace(/.*#/, ''));
  await ada.shot('link');
  await cleo.page.goto(link);
  await cleo.page.waitForURL(new RegExp(id));
  await cleo.sees(/^nothing came between$/m);
  expect(new URL(cleo.page.url()).hash).toBe('');
  await ada.act('Revoke the link');
  const revoked = Date.now();
  await cleo.page.getByText('There is no such Session').waitFor();
  expect(Date.now() - revoked, 'until the terminal is gone, in ms').toBeLessThan(5000);
  expect((await cleo.api.refused('GET', `/sessions/${id}`)).status).toBe(404);
  await cleo.shot('revoked');
  await cleo.page.goto(link);
  await cleo.page.getByTestId('join-error').waitFor();
  await ada.act('Close');
  await ada.say('bob is still here');
  await bob.sees(/^bob is still here$/m);

  // With everyone who sees the Repo, as GitHub says it. The stand-in has no git, so that this one never gets further.
  const app = await ada.api.start('Work on the app', { git: rig.github.repo('app') });
  await ada.open(app);
  await ada.act('Share');
  await ada.page.getByRole('switch', { name: /Everyone who can see/ }).click();
  await ada.page.getByRole('switch', { checked: true }).waitFor();
  await ada.shot('everyone');
  await bob.goto('/sessions');
  await row(bob, 'Work on the app').waitFor();
  await bob.shot('list');
  await cleo.goto('/sessions');
  expect(await cleo.api.items<Session>('/sessions')).toEqual([]);
  expect(await answer(cleo, `/sessions/${app}`)).toEqual(await answer(cleo, `/sessions/${nowhere}`));
  await eventually('GitHub to be asked about Bob and Cleo', async () => {
    const asked = await rig.github.asked('repo');
    return [200, 404].every((status) => asked.some((q) => q.status === status));
  });
});

const row = (who: Visitor, title: string) => who.page.getByTestId('session-row').filter({ hasText: title });

/** All that an answer says, but for its number. */
async function answer(who: Visitor, path: string): Promise<unknown> {
  return JSON.parse(await who.api.text(path), (key, value) =>
    key === 'instance' || key === 'request' ? undefined : value,
  );
}
