// A machine becomes a Runner: it shows a code, its owner sees at the Hub what asks and approves it, and a Session runs on
// it. One that is denied gets nothing, and neither a wrong code nor a used one says more than that nobody waits with it.
import { expect, test } from 'vitest';
import { there } from '../place';
import { story } from '../story';

const { rig, as } = story('pair', { shell: true, github: {} });

test('pair', async () => {
  const ada = await as('ada');
  await ada.goto('/runners');
  await ada.page.getByText('No Runner yet').waitFor();
  await ada.shot('none-yet');
  const [mine, other] = await Promise.all([rig.askToPair('my workshop'), rig.askToPair("somebody else's")]);
  expect(mine.code).not.toBe(other.code);

  // A code that nobody has.
  await ada.enter(mine.code === 'BCDF-GHJK' ? 'BCDF-GHJL' : 'BCDF-GHJK');
  await ada.page.getByText('No device waits with that code.').waitFor();
  await ada.shot('wrong-code');

  // Ada sees what asks before she says yes or no. How she types the code makes no difference.
  await ada.enter(other.code.toLowerCase().replace('-', ' '));
  await ada.page.getByText("somebody else's asks to be a Runner of yours.").waitFor();
  await ada.act('Deny');
  await ada.page.getByRole('heading', { name: 'Denied' }).waitFor();
  await ada.enter(mine.code);
  await ada.page.getByText('my workshop asks to be a Runner of yours.').waitFor();
  for (const fact of [mine.code, /(linux|darwin)\/(amd64|arm64)/, '127.0.0.1'])
    await ada.page.getByRole('definition').filter({ hasText: fact }).waitFor();
  await ada.shot('asks');
  await ada.page.getByLabel('Name').fill('workshop');
  await ada.act('Approve');
  await ada.page.getByRole('heading', { name: 'Approved' }).waitFor();
  await ada.enter(mine.code);
  await ada.page.getByText('No device waits with that code.').waitFor();
  await mine.program.ended();
  await other.program.ended(1);
  expect(mine.program.log()).toContain('as workshop. It belongs to ada');
  expect(other.program.log()).toMatch(/declined|denied/i);
  expect(await ada.api.runners()).toMatchObject([{ name: 'workshop' }]);

  // It runs, and a Session on it.
  rig.runner.start();
  await ada.goto('/runners');
  await ada.page.getByText(there('hostname').trim()).first().waitFor();
  await ada.shot('linked');
  await ada.goto('/sessions');
  await ada.newSession({ title: 'On the workshop' });
  await ada.sees('$');
  await ada.say('it runs here');
  await ada.shot('session');
});
