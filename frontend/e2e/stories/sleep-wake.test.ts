// Sleep and wake: the history is intact, resumed by its id; no prompt is sent again; model and effort can be changed
// awake and asleep; a cut transcript is mended and said; a lost one comes back from the Runner's copy, and when that is gone
// too the person chooses.
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { files } from '../place';
import { story } from '../story';

const { rig, person } = story('sleep-wake');

test('sleep-wake', async () => {
  const me = await person();
  const id = await me.newSession({ prompt: 'remember the word heliotrope' });
  await me.sees('you said: remember the word heliotrope', 120);
  await me.status(/ready/i);
  const folder = join(rig.runnerDir, 'sessions', id);
  const transcripts = join(folder, 'config/projects/-workspace');
  const name = files.list(transcripts).find((f) => f.endsWith('.jsonl'));
  expect(name).toBeDefined();
  const transcript = join(transcripts, name ?? '');
  const sleep = async () => {
    await me.act('Sleep');
    await me.status(/asleep/i);
  };
  const wake = async () => {
    await me.act('Wake');
    await me.status(/ready/i);
  };

  await sleep();
  await wake();
  await me.sees('remember the word heliotrope');

  // The model is changed awake: Claude restarts with its history.
  await me.page.getByRole('button', { name: /(default model|^model: )/ }).click();
  await me.page.locator('[role^=menuitem]', { hasText: 'haiku' }).click();
  await me.status(/starting/i, 20).catch(() => undefined); // it may be over already
  await me.status(/ready/i);
  await me.sees('remember the word heliotrope');
  await me.type('which model is this');
  await me.press('Enter');
  await me.sees('you said: which model is this');
  const asked = (await rig.received()).requests.filter((r) => r.prompt === 'which model is this');
  expect(asked.length).toBeGreaterThan(0);
  for (const r of asked) expect(r.model).toContain('haiku');

  // T9: the last line is cut in half, in the middle of an emoji. The earlier Turns are there, and a notice says so.
  await me.status(/ready/i);
  await sleep();
  const whole = files.read(transcript);
  const half = Buffer.from('{"type":"user","message":{"role":"user","content":"half 🙂"}}');
  files.append(transcript, half.subarray(0, half.indexOf(0xf0) + 2));
  await wake();
  await me.sees('which model is this');
  await me.page
    .getByText(/cut off in the middle/)
    .first()
    .waitFor();
  await me.shot('mended');
  expect(files.read(transcript).subarray(0, whole.length).equals(whole)).toBe(true);

  // The transcript is gone: the Runner's copy takes its place.
  await sleep();
  files.remove(transcript);
  await wake();
  await me.sees('remember the word heliotrope');
  await me.page
    .getByText(/restored from the Runner/)
    .first()
    .waitFor();

  // The copy is gone too: a clear choice, no bare shell.
  await sleep();
  files.remove(transcript);
  for (const f of files.list(join(folder, 'backup'))) files.remove(join(folder, 'backup', f));
  await me.act('Wake');
  await me.status(/failed/i);
  await me.page
    .getByText(/conversation is gone/)
    .first()
    .waitFor();
  await me.shot('lost');
  await me.page
    .getByRole('button', { name: /new conversation/i })
    .first()
    .click();
  await me.status(/ready/i);
  await me.type('a new beginning');
  await me.press('Enter');
  await me.sees('you said: a new beginning');
  expect(await me.text()).not.toContain('heliotrope');

  const seen = await rig.received();
  expect(seen.failures).toEqual([]);
  for (const p of seen.prompts) expect(p.occurrences, p.text).toBe(1);
  expect(seen.prompts.find((p) => p.text === 'remember the word heliotrope')?.starts).toBe(1);
});
