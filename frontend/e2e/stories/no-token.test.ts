// A Runner without a setup token: the Session says what it needs and does not start; once the token is there it starts by
// itself. A token of the wrong shape is refused with the reason.
import { expect, test } from 'vitest';
import { story } from '../story';

const { rig, person } = story('no-token', { noToken: true });

test('no-token', async () => {
  const me = await person();
  await me.page.goto(`${rig.url}/runners`);
  await me.page.getByText('claude-hub-runner token set').first().waitFor();
  await me.shot('runner');
  await me.page.goto(`${rig.url}/sessions`);
  await me.newSession({ prompt: 'waits for a token' });
  await me.status(/failed|token/i);
  await me.page
    .getByText(/needs a setup token/i)
    .first()
    .waitFor();
  await me.shot('needs-token');
  expect(rig.runnerCommand(['sandboxes', 'list']).trim()).toBe('');

  let refusal = '';
  try {
    rig.runnerCommand(['token', 'set', '--stdin'], 'not-a-token');
  } catch (error) {
    refusal = String((error as { stderr?: string }).stderr);
  }
  expect(refusal).toMatch(/token/i);
  expect(refusal).not.toContain('not-a-token');

  rig.setToken();
  await me.sees('you said: waits for a token', 120);
  await me.status(/ready/i);
  expect((await rig.received()).failures).toEqual([]);
});
