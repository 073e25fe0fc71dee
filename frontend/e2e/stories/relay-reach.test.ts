// What a Sandbox reaches: Claude's API through the Runner, whatever the network policy is, and with an allow-list
// nothing that is not on it: not the Runner's machine, not the Hub, not the internet.
import { expect, test } from 'vitest';
import { recipe } from '../api';
import { place } from '../place';
import { story } from '../story';

const { rig, person } = story('relay-reach');

test('relay-reach', async () => {
  const me = await person();
  const { api } = me;
  const closed = place.backend === 'microsandbox';
  const environment = await api.environment(
    'Closed',
    recipe(closed ? { network: 'allow-list', allow: ['example.org'] } : {}),
  );
  const id = await api.start('Closed in', { environment, prompt: 'can you be reached' });
  await me.open(id);
  await api.ready(id, 120);
  await me.sees('you said: can you be reached', 60);
  // The address that Claude was given works for other programs of the Sandbox as well.
  await me.shell(
    'curl -s -o /dev/null -w "relay says %{http_code}\\n" $ANTHROPIC_BASE_URL/nothing',
    /relay says [2-5]\d\d/,
  );
  if (closed) {
    for (const [name, address] of [
      ['hub', rig.url],
      ['internet', 'http://1.1.1.1'],
      ['host', `http://host.microsandbox.internal:${rig.port}`],
      ['machine', `http://host.microsandbox.internal:22`],
    ]) {
      await me.shell(
        `curl -s -m 20 ${address} -o /dev/null; echo ${name} gave $?`,
        new RegExp(`${name} gave ([67]|28|56)\\b`),
        60,
      );
    }
    await me.shot('closed');
  } else {
    // What a Backend cannot enforce it refuses, in words.
    const strict = await api.environment('Strict', recipe({ network: 'allow-list', allow: ['example.org'] }));
    const refused = await api.start('Strict', { environment: strict });
    const s = await api.observe(refused, 'refused', (x) => x.observed.phase === 'failed', 60);
    expect(s.observed.failure?.reason).toMatch(/network|allow-list/i);
  }
  // It sleeps and wakes: the way out is there again.
  await api.act(id, 'sleep');
  await api.observe(id, 'asleep', (s) => s.observed.phase === 'asleep');
  await api.act(id, 'wake');
  await api.ready(id, 150);
  await me.type('and after a sleep');
  await me.press('Enter');
  await me.sees('you said: and after a sleep');
  // The other program had no token, and the stand-in says so of its request alone.
  expect((await rig.received()).failures.filter((f) => !f.includes('/nothing'))).toEqual([]);
});
