// kill -9 of claude, tmux, the Sandbox, the Runner and the Hub, each in mid-Turn: the Session recovers by itself, no
// prompt is sent twice, the history is there.
import { expect, test } from 'vitest';
import { kill } from '../sandbox';
import { story } from '../story';
import { eventually } from '../wait';

const { rig, person } = story('kill');

test('kill', async () => {
  const me = await person();
  const id = await me.newSession({ prompt: 'remember heliotrope' });
  await me.sees('you said: remember heliotrope', 120);
  await me.status(/ready/i);

  const victims: [string, () => void | Promise<void>][] = [
    ['claude', () => kill(rig, id, 'claude')],
    ['tmux', () => kill(rig, id, 'tmux')],
    ['sandbox', () => kill(rig, id, 'sandbox')],
    [
      'runner',
      async () => {
        await rig.runner.end('SIGKILL');
        rig.runner.start();
      },
    ],
    [
      'hub',
      async () => {
        await rig.hub.end('SIGKILL');
        rig.hub.start();
      },
    ],
  ];
  for (const [name, strike] of victims) {
    const prompt = `take your time, ${name}`;
    await me.page.getByTestId('prompt-box').fill(prompt);
    await me.page.getByRole('button', { name: /^(Send|Queue) prompt$/ }).click();
    await eventually(
      `${name}: the Turn to begin`,
      async () => (await rig.received()).prompts.some((p) => p.text === prompt),
      60,
    );
    await me.status(/working/i);
    await strike();
    await rig.release('gate');
    await me.status(/ready/i, 120).catch((error) => {
      throw new Error(`${name}: ${error.message}\n${rig.runner.log().slice(-3000)}`);
    });
    // It works: another Turn goes through.
    await me.typing(60);
    await me.type(`alive after ${name}`);
    await me.press('Enter');
    await me.sees(`you said: alive after ${name}`);
    await me.status(/ready/i);
    await me.shot(`after-${name}`);
    // Every finished Turn is in the conversation, and no prompt twice. Of the one that was cut off Claude may not have
    // written anything yet.
    const seen = await rig.received();
    for (const p of seen.prompts) expect(p.occurrences, `${name}: ${p.text}`).toBe(1);
    const last = seen.requests.filter((r) => r.prompt === `alive after ${name}`).at(-1);
    const finished = 2 + victims.findIndex(([n]) => n === name);
    expect(last?.turns, name).toBeGreaterThanOrEqual(finished);
  }

  const answer = await me.page.request.get(`${rig.url}/api/sessions/${id}/prompts`);
  const { items } = (await answer.json()) as { items: { text: string; state: string; why?: string }[] };
  for (const p of items) expect(['done', 'failed'], `${p.text}: ${p.state}`).toContain(p.state);
  expect((await rig.received()).failures).toEqual([]);
});
