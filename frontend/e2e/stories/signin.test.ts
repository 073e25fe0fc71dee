// Signing in with GitHub: a person comes for a page and gets there; the first one with the set-up code is admin. Who
// declines, is on no list, or comes while GitHub is away is told so, and those who are in go on. What is forged, stolen or
// used again opens nothing. A renamed login is the same person.
import { expect, test } from 'vitest';
import type { Person } from '../../src/api/types';
import { people } from '../github';
import type { Visitor } from '../pages';
import { story } from '../story';
import { eventually } from '../wait';

const { rig, as, nobody } = story('signin', { github: { recheck: '2s' } });
const me = (who: Visitor) => who.api.call<Person>('GET', '/me');

test('signin', async () => {
  const code = await rig.setupCode();

  // Ada comes for the settings. What GitHub is asked has state and PKCE, and exactly one way back.
  const ada = await nobody();
  await ada.goto('/settings');
  await ada.page.getByTestId('sign-in-github').waitFor();
  await ada.shot('sign-in');
  await ada.atGitHub();
  await ada.shot('at-github');
  const question = new URL(ada.page.url()).searchParams;
  expect(question.get('state')).toMatch(/^[\w-]{20,}$/);
  expect(question.get('code_challenge')).toMatch(/^[\w-]{43}$/);
  expect(question.get('code_challenge_method')).toBe('S256');
  expect(question.get('redirect_uri')).toBe(`${rig.url}/api/auth/github/callback`);
  await ada.pick('ada');
  await ada.page.waitForURL(`${rig.url}/settings`);
  await ada.page.getByRole('heading', { name: 'Settings' }).waitFor();
  expect(await me(ada)).toMatchObject({ login: 'ada', role: 'member' });
  expect(await rig.github.asked('authorize')).toSatisfy((all: { pkce?: boolean }[]) => all.every((q) => q.pkce));
  expect(await rig.github.asked('access_token')).toMatchObject([{ pkce: true, outcome: 'answered' }]);

  // The set-up code makes the first one admin who enters it, and nobody after.
  const bob = await as('bob');
  await ada.goto('/setup');
  await ada.page.getByLabel('Set-up code').fill(code);
  await ada.act('Become admin');
  await ada.page.waitForURL(/\/admin\/people$/);
  await ada.page.getByText('Bob of Acme').first().waitFor();
  await ada.shot('admin');
  await bob.goto('/setup');
  await bob.page.getByLabel('Set-up code').fill(code);
  await bob.act('Become admin');
  await bob.page.getByText(/set-up code is not valid, or not any more/).waitFor();
  await bob.shot('set-up-again');
  expect((await me(bob)).role).toBe('member');

  // Declined at GitHub, and on no list.
  const other = await nobody();
  await other.goto('/');
  await other.atGitHub();
  await other.page.getByRole('button', { name: 'Decline' }).click();
  await said(other, /declined at GitHub/);
  await other.shot('declined');
  await other.atGitHub();
  await other.pick('mallory');
  await said(other, /list has no place for you/);
  await stranger(other);

  // GitHub goes away while somebody signs in. Who is in notices nothing, also when they are asked about again.
  await other.atGitHub();
  const before = (await rig.github.asked()).length;
  await rig.github.fail({ endpoint: '*', kind: 'down' });
  await rig.github.fail({ endpoint: 'authorize', kind: 'slow' }); // by nothing: its page alone stays
  await other.pick('cleo');
  await said(other, /GitHub does not answer/);
  await other.shot('github-away');
  await eventually('GitHub to be asked about those who are in', async () =>
    (await rig.github.asked()).slice(before).some((q) => q.outcome === 'failed' && q.path.startsWith('/api/v3/user')),
  );
  await ada.page.reload();
  await ada.page.getByText('Bob of Acme').first().waitFor();
  expect((await me(bob)).login).toBe('bob');
  await rig.github.heal();

  // A made-up answer, in a browser that did begin to sign in.
  await other.atGitHub();
  await other.goto('/api/auth/github/callback?code=made-up&state=made-up');
  await said(other, /That sign-in/);

  // Cleo's own answer, caught on its way: it opens nothing in a browser of somebody else's, and in hers once.
  await other.atGitHub();
  const answer = await caught(other, 'cleo');
  const [pending] = (await other.context.cookies(`${rig.url}/api/auth`)).filter((c) => c.path === '/api/auth');
  const thief = await nobody();
  await thief.page.goto(answer);
  await said(thief, /That sign-in/);
  await stranger(thief);
  await other.page.goto(answer);
  await other.page.waitForURL(`${rig.url}/sessions`);
  expect((await me(other)).login).toBe('cleo');
  if (!pending) throw new Error('there was no cookie of the sign-in that had begun');
  await thief.context.addCookies([pending]); // and with all that her browser had
  await thief.page.goto(answer);
  await said(thief, /That sign-in/);
  await stranger(thief);

  // Ada is renamed, and Bob takes the login that she gave up: each stays who they are.
  const first = await me(ada);
  const second = await me(bob);
  await rig.github.rename('ada', 'lovelace');
  await rig.github.rename('bob', 'ada');
  await thief.signInAs('lovelace');
  expect(await me(thief)).toMatchObject({ id: first.id, login: 'lovelace', role: 'admin' });
  await eventually('Bob to be called ada', async () => (await me(bob)).login === 'ada');
  expect((await me(bob)).id).toBe(second.id);
  expect(await rig.github.asked('user')).toSatisfy((all: { person?: number }[]) =>
    all.some((q) => q.person === people.ada),
  );

  // Signed out is signed out, also for who kept the cookie.
  const kept = (await bob.context.cookies(rig.url)).filter((c) => c.name === 'claude_hub');
  expect(kept).toHaveLength(1);
  await bob.goto('/sessions');
  await bob.page.getByRole('button', { name: /^You: / }).click();
  await bob.page.getByRole('menuitem', { name: 'Sign out' }).click();
  await bob.page.waitForURL(`${rig.url}/sign-in`);
  await bob.context.addCookies(kept);
  await stranger(bob);
});

/** What the sign-in page says is wrong. */
async function said(who: Visitor, what: RegExp): Promise<void> {
  await who.page.getByTestId('sign-in-error').filter({ hasText: what }).waitFor();
}

async function stranger(who: Visitor): Promise<void> {
  expect((await who.api.refused('GET', '/me')).status).toBe(401);
}

/** The address that GitHub sends a browser back to, where it does not arrive. */
async function caught(who: Visitor, login: string): Promise<string> {
  const address = new Promise<string>((found) =>
    who.page.route('**/login/oauth/authorize*', async (route) => {
      const answer = await route.fetch({ maxRedirects: 0 });
      found(answer.headers().location ?? '');
      await route.abort();
    }),
  );
  await who.pick(login);
  const there = await address;
  await who.page.unroute('**/login/oauth/authorize*');
  return there;
}
