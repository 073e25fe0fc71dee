// Bob is taken out of the organisation at GitHub: within the interval his browsers, his open terminal and his API token are
// out, and the audit log says why; his work goes on where it runs. When he is back, all of it is there. That GitHub is away
// throws nobody out.
import { expect, test } from 'vitest';
import type { AuditEntry, Person, Session } from '../../src/api/types';
import { story } from '../story';
import { eventually } from '../wait';

const recheck = 3; // seconds
const { rig, as } = story('removed-from-org', { shell: true, github: { recheck: `${recheck}s` } });

test('removed-from-org', async () => {
  const code = await rig.setupCode();
  const [ada, bob] = await Promise.all([as('ada'), as('bob')]);
  await ada.api.call<Person>('POST', '/setup', { code });
  await rig.pair(bob, 'workshop');
  await bob.goto('/sessions');
  const id = await bob.newSession({ title: 'Goes on without him' });
  await bob.sees('$');
  await bob.type('i=0; while sleep 0.2; do i=$((i+1)); echo "count $i"; done');
  await bob.press('Enter');
  await bob.sees('count 3');
  const count = async () => Number((await bob.text()).match(/count (\d+)(?![\s\S]*count \d)/)?.[1] ?? 0);
  const made = await bob.api.call<{ token: string }>('POST', '/tokens', {
    name: 'a script',
    scopes: ['sessions:read'],
  });
  rig.secrets.add(made.token);
  const script = async () => {
    const answer = await fetch(`${rig.url}/api/sessions`, { headers: { Authorization: `Bearer ${made.token}` } });
    return answer.status;
  };
  expect(await script()).toBe(200);
  const who = await bob.api.call<Person>('GET', '/me');

  // Out, with everything that was open.
  const last = await count();
  await rig.github.member('bob', false);
  const removed = Date.now();
  const pageGone = bob.page.waitForURL(/\/sign-in/);
  await eventually('the token to open nothing', async () => (await script()) === 401);
  expect(Date.now() - removed, 'until he is out, in ms').toBeLessThan((recheck + 2) * 1000);
  expect((await bob.api.refused('GET', '/me')).status).toBe(401);
  await pageGone;
  await bob.shot('out');
  await bob.atGitHub();
  await bob.pick('bob');
  await bob.page.getByTestId('sign-in-error').filter({ hasText: 'list has no place for you' }).waitFor();
  await bob.shot('not-back');
  expect((await ada.api.call<Person>('GET', '/me')).role).toBe('admin');

  // Ada reads who was removed, and that it was GitHub's word.
  const [row] = await ada.api.items<AuditEntry>('/admin/audit?action=person.remove');
  expect(row).toMatchObject({ action: 'person.remove', target: who.id, outcome: 'ok', actor_kind: 'system' });
  await ada.goto('/admin/audit?action=person.remove');
  await ada.page.getByText('bob').first().waitFor();
  await ada.shot('audit');

  // Back, as the same person, with the Session, which never stopped. What was signed in is not: it was ended.
  await rig.github.member('bob', true);
  await bob.signInAs('bob');
  expect((await bob.api.call<Person>('GET', '/me')).id).toBe(who.id);
  expect(await bob.api.items<Session>('/sessions')).toMatchObject([{ id, title: 'Goes on without him' }]);
  expect(await bob.api.runners()).toMatchObject([{ name: 'workshop' }]);
  expect(await script()).toBe(401);
  await bob.open(id);
  await bob.typing(60);
  await eventually('the counter to have gone on', async () => (await count()) > last);
  const away = (Date.now() - removed) / 1000;
  expect((await count()) - last, `in ${away} s`).toBeGreaterThan(away);
  await bob.shot('back');

  // GitHub goes away, and is asked about both meanwhile: nobody is out.
  const before = (await rig.github.asked()).length;
  await rig.github.fail({ endpoint: '*', kind: 'down' });
  await eventually('GitHub to be asked in vain', async () =>
    (await rig.github.asked()).slice(before).some((q) => q.outcome === 'failed'),
  );
  for (const v of [ada, bob]) expect((await v.api.call<Person>('GET', '/me')).id).toBeTruthy();
  await bob.press('Control+c');
  await bob.say('still here');
});
