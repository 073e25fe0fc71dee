// A Runner is revoked in the settings: the Hub cuts its stream at once and knows it no more, while the Session's Sandbox
// works on. Paired again, it is the same Runner with the same Session, which never stopped.
import { expect, test } from 'vitest';
import { story } from '../story';
import { eventually } from '../wait';

const { rig, as } = story('revoke-runner', { shell: true, github: {} });
const every = 0.2; // seconds

test('revoke-runner', async () => {
  const ada = await as('ada');
  await rig.pair(ada, 'workshop');
  const before = await ada.api.runner();
  await ada.goto('/sessions');
  const id = await ada.newSession({ title: 'Counts on' });
  await ada.sees('$');
  await ada.type(`i=0; while sleep ${every}; do i=$((i+1)); echo "count $i"; done`);
  await ada.press('Enter');
  await ada.sees('count 3');
  const count = async () => Number((await ada.text()).match(/count (\d+)(?![\s\S]*count \d)/)?.[1] ?? 0);

  const settings = await ada.another();
  await settings.goto('/settings');
  await settings.page.getByRole('button', { name: 'Revoke workshop' }).click();
  await settings.shot('sure');
  await settings.page.getByRole('dialog').getByRole('button', { name: 'Revoke', exact: true }).click();
  const cut = Date.now();
  await ada.page.getByTestId('typing-off').waitFor();
  expect(Date.now() - cut, 'until its stream is cut, in ms').toBeLessThan(3000);
  const last = await count();
  await ada.shot('cut');
  await settings.page.getByTestId('own-runner').getByText('revoked', { exact: true }).waitFor();
  await settings.shot('revoked');
  await rig.runner.notes(/refuse/i);
  expect(rig.runner.running).toBe(true);
  expect(await ada.api.runner()).toMatchObject({ id: before.id, link: { state: 'down' } });
  expect((await ada.api.session(id)).desired).toBe('awake');

  // What it shows meanwhile is old; what comes back has gone on all the time.
  expect(await count()).toBe(last);
  await rig.pair(settings, 'workshop');
  expect(await ada.api.runners()).toMatchObject([{ id: before.id, name: 'workshop' }]);
  await ada.typing();
  await eventually('the counter to have gone on', async () => (await count()) > last);
  const away = (Date.now() - cut) / 1000;
  expect((await count()) - last, `in ${away} s`).toBeGreaterThan(0.3 * (away / every));
  await ada.shot('back');
  await ada.press('Control+c');
  await ada.say('and it is driven again');
});
