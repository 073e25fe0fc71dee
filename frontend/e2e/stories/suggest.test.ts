// Bob watches Ada's Session and suggests prompts: she takes one as it is and one that she edits, declines one with a word,
// and he takes one back. Claude gets what she accepted, each once, and nothing else.
import { expect, test } from 'vitest';
import type { Session, Suggestion } from '../../src/api/types';
import { story } from '../story';

const { rig, as } = story('suggest', { github: {} });
const texts = ['say the first thing', 'say the second thing', 'say the third thing', 'say the fourth thing'] as const;

test('suggest', async () => {
  const [ada, bob] = await Promise.all([as('ada'), as('bob')]);
  await rig.pair(ada);
  await ada.goto('/sessions');
  const id = await ada.newSession({ title: 'Ideas are welcome' });
  await ada.api.call<Session>('POST', `/sessions/${id}/share`, { login: 'bob' });
  await bob.open(id);
  for (const text of texts) {
    await bob.page.getByTestId('suggest-box').fill(text);
    await bob.page.getByTestId('suggest-box').press('Enter');
    await bob.page.getByTestId('own-suggestions').getByText(text).waitFor();
  }
  await bob.shot('suggested');

  // None of it reaches Claude before Ada says so, and nobody else says it for her.
  const [first] = await bob.api.items<Suggestion>(`/sessions/${id}/suggestions`);
  expect((await bob.api.refused('POST', `/suggestions/${first?.id}/accept`)).status).toBe(403);
  await ada.status(/ready/i);
  const tray = ada.page.getByTestId('suggested');
  await tray.getByText('4 suggestions for you').waitFor();
  await tray.getByRole('button', { name: 'Show all' }).click();
  await ada.shot('tray');
  expect((await rig.received()).prompts).toEqual([]);

  await bob.page
    .getByTestId('own-suggestions')
    .getByRole('listitem')
    .filter({ hasText: texts[3] })
    .getByText('Withdraw')
    .click();
  await tray.getByText('3 suggestions for you').waitFor();
  const item = (text: string) => tray.getByTestId('suggestion').filter({ hasText: text });
  await item(texts[0]).getByRole('button', { name: 'Accept' }).click();
  await ada.sees(`you said: ${texts[0]}`);
  await item(texts[1]).getByRole('button', { name: 'Edit' }).click();
  await ada.page.getByLabel('The prompt, edited').fill('say the second thing, but kindly');
  await ada.act('Accept as edited');
  await ada.sees('you said: say the second thing, but kindly');
  await item(texts[2]).getByRole('button', { name: 'Decline' }).click();
  await ada.page.getByLabel('A word on why, which may stay empty').fill('We did that yesterday.');
  await ada.shot('declines');
  await tray.getByRole('button', { name: 'Decline', exact: true }).click();
  await tray.waitFor({ state: 'detached' });
  await ada.status(/ready/i);
  await ada.shot('answered');

  // Bob sees what became of each, and what Claude said to it.
  await bob.sees('you said: say the second thing, but kindly');
  await bob.page.getByText('“We did that yesterday.”').first().waitFor();
  await bob.shot('what-became');
  const states = (await bob.api.items<Suggestion>(`/sessions/${id}/suggestions`)).map((s) => [s.text, s.state]);
  expect(states.sort()).toEqual([
    [texts[0], 'accepted'],
    [texts[3], 'withdrawn'],
    [texts[1], 'accepted'],
    [texts[2], 'declined'],
  ]);
  const seen = await rig.received();
  expect(seen.failures).toEqual([]);
  expect(seen.prompts.map((p) => [p.text, p.occurrences])).toEqual([
    [texts[0], 1],
    ['say the second thing, but kindly', 1],
  ]);
});
