// Two viewers of different sizes, one of them slow. One owns the size; the other is letterboxed and can claim it. A flood
// does not delay Ctrl-C, the fast one is not held up by the slow one, and the slow one ends at the current screen.
import { expect, test } from 'vitest';
import { story } from '../story';
import { eventually } from '../wait';

const { rig, person } = story('two-viewers', { shell: true });

test('two-viewers', async () => {
  const big = await person();
  const id = await big.newSession({ title: 'Two viewers' });
  await big.sees('$');
  const small = await person({ viewport: { width: 800, height: 600 } });
  await small.page.goto(`${rig.url}/sessions/${id}`);
  await small.sees('in the place of Claude Code');
  await big.type('echo who owns the size');
  await small.sees('echo who owns the size');
  await big.shot('owner');
  await small.shot('letterboxed');
  expect(await small.page.locator('[data-letterboxed="true"]').count()).toBe(1);
  expect(await big.page.locator('[data-letterboxed="true"]').count()).toBe(0);
  await big.press('Enter');
  await small.sees(/^who owns the size$/m);

  // T4: a flood, with a viewer that takes 50 KB a second.
  const slow = await small.context.newCDPSession(small.page);
  await slow.send('Network.enable');
  await slow.send('Network.emulateNetworkConditions', {
    offline: false,
    latency: 50,
    downloadThroughput: 50 << 10,
    uploadThroughput: 50 << 10,
  });
  await big.type('yes flooding');
  await big.press('Enter');
  await big.sees(/(flooding\n){5}/);
  await big.page.waitForTimeout(8000); // let it flood
  const began = Date.now();
  await big.press('Control+c');
  await big.sees(/\^C\s*\$\s*$/, 20);
  expect(Date.now() - began, 'Ctrl-C to prompt, in ms').toBeLessThan(5000);
  await big.type('echo after the flood');
  await big.press('Enter');
  await big.sees(/^after the flood$/m, 10);
  await small.sees(/^after the flood$/m, 60);
  await slow.send('Network.emulateNetworkConditions', {
    offline: false,
    latency: 0,
    downloadThroughput: -1,
    uploadThroughput: -1,
  });
  await small.shot('caught-up');

  // T1: wide and joined characters, cut anywhere on the way.
  await big.type("for i in 1 2 3 4 5 6 7 8; do printf '한글 é 🙂 %d\\n' $i; done");
  await big.press('Enter');
  for (const v of [big, small]) {
    await v.sees('한글 é 🙂 8');
    expect(await v.text()).not.toContain('\ufffd');
  }

  // The other claims the size.
  await small.page.getByRole('button', { name: 'Fit it here' }).click();
  await eventually(
    'the size to change hands',
    async () => (await big.page.locator('[data-letterboxed="true"]').count()) === 1,
  );
  await small.type('echo mine now');
  await big.sees('echo mine now');
});
