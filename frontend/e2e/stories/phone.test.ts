// A phone: the list, then the terminal full height with a key bar; typing, Escape, arrows; the prompt box; the drawer.
import { expect, test } from 'vitest';
import { phone } from '../pages';
import { story } from '../story';

const { rig, person } = story('phone');

test('phone', async () => {
  const me = await person({ viewport: phone, hasTouch: true, isMobile: true, deviceScaleFactor: 2 });
  await me.shot('empty');
  const id = await me.newSession({ title: 'On the phone' });
  await me.status(/ready/i);
  await me.sees('bypass permissions');
  await me.shot('terminal');
  const keys = me.page.getByRole('toolbar', { name: 'Keys' });
  for (const name of ['Escape', 'Tab', 'Shift Tab', 'Up', 'Down', 'Left', 'Right', 'Enter']) {
    await keys.getByRole('button', { name, exact: true }).waitFor();
  }
  // Nothing is wider than the screen.
  const width = await me.page.evaluate(() => document.documentElement.scrollWidth);
  expect(width).toBeLessThanOrEqual(phone.width);

  await me.type('typed on a phone');
  await me.sees('typed on a phone');
  await keys.getByRole('button', { name: 'Enter', exact: true }).tap();
  await me.sees('you said: typed on a phone');
  await me.status(/ready/i);

  // Up brings the last prompt back into the box; Control-C clears it. The box and not the same words above it: a key that
  // comes along with Up is lost on Claude.
  await keys.getByRole('button', { name: 'Up', exact: true }).tap();
  await me.sees(/History 1\/1.*\n[>❯]\s*typed on a phone\s*$/m);
  await me.page.getByRole('button', { name: /Control/ }).tap();
  await me.page.keyboard.type('c');
  await me.status(/ready/i);

  const box = me.page.getByTestId('prompt-box');
  await box.fill('from the box');
  await me.page.getByRole('button', { name: /^(Send|Queue) prompt$/ }).tap();
  await me.sees('you said: from the box');
  await me.shot('answered');

  await me.page.goto(`${rig.url}/sessions`);
  await me.page.getByTestId('session-row').first().waitFor();
  await me.shot('list');
  await me.page.getByTestId('session-row').first().getByRole('link').first().tap();
  await me.page.waitForURL(new RegExp(id));
});
