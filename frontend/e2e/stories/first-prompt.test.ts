// A first prompt given with the Session goes in once, as soon as Claude is ready; more are queued, in order, cancelled
// or answered; each shows how far it is. Long ones go in whole.
import { expect, test } from 'vitest';
import { story } from '../story';
import { eventually } from '../wait';

const { rig, person } = story('first-prompt');

async function promptStates(me: Awaited<ReturnType<typeof person>>, id: string): Promise<Record<string, string>> {
  const answer = await me.page.request.get(`${rig.url}/api/sessions/${id}/prompts`);
  const { items } = (await answer.json()) as { items: { text: string; state: string }[] };
  return Object.fromEntries(items.map((p) => [p.text.slice(0, 40), p.state]));
}

test('first-prompt', async () => {
  const me = await person();
  const id = await me.newSession({ prompt: 'the very first prompt' });
  await me.sees('stand-in: you said: the very first prompt', 120);
  await eventually(
    'the first prompt to be done',
    async () => (await promptStates(me, id))['the very first prompt'] === 'done',
  );
  await me.shot('answered');

  // A queue, in order, while Claude is busy. One of it is cancelled.
  const box = me.page.getByTestId('prompt-box');
  for (const text of [
    'take your time with this',
    'second in the queue',
    'third, to be cancelled',
    'fourth in the queue',
  ]) {
    await box.fill(text);
    await me.page.getByRole('button', { name: /^(Send|Queue) prompt$/ }).click();
    await eventually(`"${text}" to be taken`, async () => (await promptStates(me, id))[text] !== undefined);
  }
  await me.sees('Thinking about it.');
  const third = await me.page.request.get(`${rig.url}/api/sessions/${id}/prompts`);
  const { items } = (await third.json()) as { items: { id: string; text: string }[] };
  const cancelled = items.find((p) => p.text.startsWith('third'));
  await me.shot('queue');
  const answer = await me.page.request.post(`${rig.url}/api/sessions/${id}/prompts/${cancelled?.id}/cancel`, {
    headers: { Origin: rig.url },
  });
  expect(answer.status()).toBe(200);
  await rig.release('gate');
  await me.sees('stand-in: you said: fourth in the queue', 120);
  await eventually('the queue to be done', async () => (await promptStates(me, id))['fourth in the queue'] === 'done');
  expect(await promptStates(me, id)).toMatchObject({
    'take your time with this': 'done',
    'second in the queue': 'done',
    'third, to be cancelled': 'cancelled',
    'fourth in the queue': 'done',
  });

  // T3: 1.6 KB on one line and 17 KB on many, each whole, each once.
  const line = `one line: ${'abcdefgh '.repeat(180)}end`;
  const lines = `many lines:\n${'a line of text with é and 한글 in it\n'.repeat(440)}end`;
  for (const text of [line, lines]) {
    const sent = await me.page.request.post(`${rig.url}/api/sessions/${id}/prompts`, {
      data: { text },
      headers: { Origin: rig.url },
    });
    expect(sent.status()).toBe(201);
    await eventually(
      'the long prompt to be done',
      async () => (await promptStates(me, id))[text.slice(0, 40)] === 'done',
      60,
    );
  }
  // And one that is too long is refused whole, in words.
  const huge = await me.page.request.post(`${rig.url}/api/sessions/${id}/prompts`, {
    data: { text: 'x'.repeat(5 << 20) },
    headers: { Origin: rig.url },
  });
  expect([413, 422, 400]).toContain(huge.status());
  expect(((await huge.json()) as { detail: string }).detail).toMatch(/KB|MB|large/i);

  const seen = await rig.received();
  expect(seen.failures).toEqual([]);
  for (const p of seen.prompts) expect(p.occurrences, p.text).toBe(1);
  const bytesOf = (text: string) => Buffer.byteLength(text.trim());
  expect(seen.prompts.map((p) => p.bytes)).toEqual(expect.arrayContaining([bytesOf(line), bytesOf(lines)]));
  expect(seen.prompts.some((p) => p.text.startsWith('third'))).toBe(false);
});
