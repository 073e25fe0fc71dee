// The main job: sign in, start a Session, watch its steps, drive Claude in the browser, close the tab, find the same
// screen on another device size, sleep, wake with the history, archive.
import { expect, test } from 'vitest';
import { story } from '../story';
import { eventually } from '../wait';

const { rig, person } = story('main-job');

test('main-job', async () => {
  const me = await person();
  await me.shot('empty');
  const id = await me.newSession({ title: 'The main job' });
  await me.shot('starting');
  await me.status(/ready/i);
  await me.sees('bypass permissions on');
  await me.shot('ready');

  await me.type('say hello to 한글 é 🙂');
  await me.sees('say hello to 한글 é 🙂');
  await me.press('Enter');
  await me.sees('stand-in: you said: say hello to 한글 é 🙂');
  await me.status(/ready/i);

  await me.type('now run a tool');
  await me.press('Enter');
  await me.sees('The tool ran.');
  await me.shot('tool');
  expect(await me.text()).not.toContain('\ufffd');

  // The tab is closed; the same screen is there on another size.
  await me.page.close();
  const tablet = await person({ viewport: { width: 1024, height: 768 } });
  await tablet.page.goto(`${rig.url}/sessions/${id}`);
  await tablet.sees('The tool ran.');
  await tablet.typing();
  await tablet.shot('tablet');

  await tablet.act('Sleep');
  await tablet.status(/asleep/i);
  await tablet.shot('asleep');
  await tablet.act('Wake');
  await tablet.status(/ready/i);
  await tablet.sees('The tool ran.');
  await tablet.sees('say hello to');
  await tablet.shot('awake-again');

  await tablet.type('still there?');
  await tablet.press('Enter');
  await tablet.sees('stand-in: you said: still there?');

  await tablet.menu('Archive');
  await tablet.status(/archived/i);
  await tablet.shot('archived');
  // Nothing is left behind: no Sandbox, no process of one.
  await eventually('the Sandbox to be gone', () => rig.runnerCommand(['sandboxes', 'list']).trim() === '');

  const seen = await rig.received();
  expect(seen.failures).toEqual([]);
  for (const p of seen.prompts) expect(p.occurrences, p.text).toBe(1);
  expect(seen.prompts.map((p) => p.text)).toEqual(
    expect.arrayContaining(['say hello to 한글 é 🙂', 'now run a tool', 'still there?']),
  );
  expect([...me.trouble, ...tablet.trouble]).toEqual([]);
});
