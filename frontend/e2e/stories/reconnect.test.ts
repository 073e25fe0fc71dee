// The link breaks and comes back: the tab is closed, the browser's network is cut five times while Claude answers, an idle
// link is cut, the Hub is restarted, the Runner is restarted. Each time the same screen is there, typing works again,
// and nothing typed is lost or doubled.
import { expect, test } from 'vitest';
import { story } from '../story';
import { eventually } from '../wait';
import { Wire } from '../wire';

const toHub = new Wire(() => rig.port); // between Runner and Hub
const { rig, person } = story('reconnect', {
  hubForRunner: async () => {
    await toHub.start();
    return `http://127.0.0.1:${toHub.port}`;
  },
});

test('reconnect', async () => {
  const me = await person();
  const id = await me.newSession({ title: 'Reconnect' });
  await me.status(/ready/i);
  const boxes = async () => (await me.text()).split('\n').filter((l) => /^[>❯]/.test(l.trim())).length;

  // T6: cut five times in mid-stream, typing in between.
  await me.type('a long answer');
  await me.press('Enter');
  await me.sees('A line of the long answer');
  for (let i = 0; i < 5; i++) {
    await me.context.setOffline(true);
    await me.page.getByTestId('typing-off').waitFor();
    if (i === 0) await me.shot('offline');
    await me.context.setOffline(false);
    await me.typing(60);
    await me.type(`<${i}>`);
  }
  await me.status(/ready/i, 120);
  await me.sees('<0><1><2><3><4>');
  expect(await me.text()).not.toContain('\ufffd');
  expect((await me.text()).split('<0><1><2><3><4>').length).toBe(2);
  for (let i = 0; i < 15; i++) await me.press('Backspace');

  // The link between Runner and Hub: cut while typing. What the page took is applied once.
  for (let i = 0; i < 5; i++) {
    await me.type(`[${i}]`);
    toHub.cut();
    await me.page.getByTestId('typing-off').waitFor();
    if (i === 0) await me.shot('runner-away');
    toHub.mend();
    await me.typing(60);
  }
  await me.sees('[0][1][2][3][4]');
  expect((await me.text()).split('[0][1][2][3][4]').length).toBe(2);
  for (let i = 0; i < 15; i++) await me.press('Backspace');

  // A fresh viewer sees the whole screen.
  const other = await me.another();
  await other.page.goto(`${rig.url}/sessions/${id}`);
  await other.sees('A line of the long answer');
  await other.page.close();

  // The Hub goes without warning and comes back. The program is not resized by what the page says meanwhile.
  const height = () => me.page.getByTestId('terminal').evaluate((e) => e.clientHeight);
  const before = await height();
  await rig.hub.end('SIGKILL');
  await me.page.getByTestId('typing-off').waitFor();
  expect(await height()).toBe(before);
  await me.shot('hub-away');
  rig.hub.start();
  await me.typing(60);
  await me.type('after the hub');
  await me.sees('after the hub');
  for (let i = 0; i < 'after the hub'.length; i++) await me.press('Backspace');

  // The Runner goes without warning and comes back; the Session never stopped.
  await rig.runner.end('SIGKILL');
  await me.page.getByTestId('typing-off').waitFor();
  rig.runner.start();
  await me.typing(60);
  await me.type('say it once more');
  await me.press('Enter');
  await me.sees('stand-in: you said: say it once more');
  await me.status(/ready/i);
  expect(await boxes()).toBeGreaterThan(0);

  const seen = await rig.received();
  expect(seen.failures).toEqual([]);
  for (const p of seen.prompts) expect(p.occurrences, p.text).toBe(1);
  expect(seen.prompts.map((p) => p.text)).toContain('say it once more');
  await eventually('the list to be whole', async () => {
    const answer = await me.page.request.get(`${rig.url}/api/sessions`);
    return ((await answer.json()) as { items: unknown[] }).items.length === 1;
  });
  toHub.stop();
});
