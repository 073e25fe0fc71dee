// A page of somebody else's opens the terminal of Ada's Session, and the stream of what happens on her Hub, in the browser in
// which she is signed in: with a WebSocket, as events, with fetch. Browsers ask nobody before a WebSocket, and send cookies
// along. No byte of the screen comes, and none of the places that Ada's own pages need is taken.
import { afterAll, expect, test } from 'vitest';
import { audit, Caller, makeAdmin, pair } from '../caller';
import { Site } from '../site';
import { story } from '../story';
import { Terminal } from '../terminal';
import { eventually } from '../wait';

const { rig, as } = story('cswsh', { shell: true, github: {} });
const site = new Site();
afterAll(() => site.stop());
const secret = 'only-for-her-eyes';

test('cswsh', async () => {
  await site.start();
  site.shows('');
  const victim = await as('ada');
  const { page } = victim;
  const ada = new Caller(rig.url);
  for (const { name, value } of await victim.context.cookies(rig.url)) ada.jar.set(name, value);
  await makeAdmin(rig, ada);
  await pair(rig, ada);
  await victim.goto('/sessions');
  const id = await victim.newSession({ title: 'A screen that is hers' });
  await victim.sees('$');
  await victim.type(`echo ${secret}`);
  await victim.press('Enter');
  await victim.sees(new RegExp(`^${secret}`, 'm'));
  await victim.shot('hers');

  // From the Hub's own page each way gives what is there.
  const ways = { hub: rig.url, session: id, title: 'A screen that is hers' };
  const own = await page.evaluate(spy, ways);
  expect(own).toMatchObject({
    socket: expect.stringContaining(secret),
    events: 'open',
    text: expect.stringContaining('ready'),
  });
  await page.goto('about:blank');

  // From another origin none gives anything: neither a page of the same site, which has the cookie, nor of another.
  for (const origin of [site.near, site.far]) {
    await page.goto(origin);
    const last = (await audit(ada)).at(-1)?.seq;
    expect(await page.evaluate(spy, ways), origin).toEqual({
      socket: 'closed 1006',
      events: 'closed',
      text: '',
      script: 'error',
    });
    expect(await page.evaluate(sandboxed, ways), origin).toBe('closed 1006');
    if (origin !== site.near) continue; // without the cookie it is nobody
    const lines = await eventually('the refusals to be in the audit log', async () => {
      const refused = (await audit(ada, last)).filter((line) => line.outcome === 'refused');
      const has = (action: string) => refused.some((line) => line.action === action);
      return has('session.attach') && has('events') ? refused : undefined;
    });
    expect(lines.find((line) => line.action === 'session.attach')).toMatchObject({
      target: id,
      address: '127.0.0.1',
      detail: { code: 'forbidden', why: expect.stringMatching(/came from another site/) },
    });
  }

  // However an origin is made to look like the Hub's: with Ada's cookie, without a browser that would say more.
  const { port } = new URL(rig.url);
  const own101 = await Terminal.try(ada, id, { Origin: rig.url });
  expect(own101).toBeInstanceOf(Terminal);
  (own101 as Terminal).end();
  for (const headers of [
    ...[
      'null',
      'http://127.0.0.1',
      `http://127.0.0.1:${port}0`,
      `http://127.0.0.1:${port}.evil.example`,
      `http://127.0.0.1:${port}@evil.example`,
      `http://127.0.0.1.evil.example:${port}`,
      `http://evil.example/127.0.0.1:${port}`,
      `http://evil.example#127.0.0.1:${port}`,
      `http://localhost:${port}`,
      `http://[::1]:${port}`,
      `127.0.0.1:${port}`,
      `//127.0.0.1:${port}x`,
      'file://',
      'chrome-extension://abcdefghijklmnopabcdefghijklmnop',
    ].map((origin) => ({ Origin: origin })),
    { 'Sec-Fetch-Site': 'cross-site' },
    { 'Sec-Fetch-Site': 'same-site' },
  ] as Record<string, string>[]) {
    const refused = await Terminal.try(ada, id, headers);
    expect(refused, JSON.stringify(headers)).toMatchObject({ status: 403 });
    expect((refused as { text: string }).text).not.toContain(secret);
    expect((await ada.ask('GET', '/api/events', { headers })).status, JSON.stringify(headers)).toBe(403);
  }

  // Ada's own page still opens, and nothing was typed meanwhile.
  await victim.open(id);
  const screen = await victim.sees(secret);
  expect(screen).not.toContain('stolen');
  await victim.type('echo still $((40 + 2))');
  await victim.press('Enter');
  await victim.sees(/^still 42/m);
});

interface Ways {
  hub: string;
  session: string;
}

/** In a page: opens what can be opened, more often than a person may, and says what came of it. */
async function spy({ hub, session }: Ways): Promise<Record<string, string>> {
  const socket = await new Promise<string>((done) => {
    const opened = new WebSocket(
      `${hub.replace('http', 'ws')}/api/sessions/${session}/terminal`,
      'claude-hub.terminal.v1',
    );
    opened.binaryType = 'arraybuffer';
    let got = '';
    opened.onopen = () => {
      opened.send(JSON.stringify({ type: 'hello', terminal: 'evil', cols: 80, rows: 24, active: true }));
      const data = btoa('echo stolen\r');
      if (window.origin !== hub) opened.send(JSON.stringify({ type: 'keys', n: 1, life: 'x'.repeat(26), data }));
    };
    opened.onmessage = ({ data }) => {
      if (typeof data === 'string') return;
      got += new TextDecoder().decode(data as ArrayBuffer);
      if (got.includes('only-for-her-eyes')) {
        opened.close();
        done(got);
      }
    };
    opened.onclose = ({ code }) => done(`${got}closed ${code}`);
    setTimeout(() => done(`${got}nothing in 10 s`), 10_000);
  });
  // As many streams as a person may have, so that none would be left for her.
  const streams = Array.from(
    { length: window.origin === hub ? 1 : 25 },
    () => new EventSource(`${hub}/api/events`, { withCredentials: true }),
  );
  const events = await Promise.all(
    streams.map(
      (stream) =>
        new Promise<string>((done) => {
          stream.onopen = () => done('open');
          stream.onmessage = ({ data }) => done(String(data));
          stream.onerror = () => done('closed');
        }),
    ),
  );
  const stop = new AbortController();
  const text = await fetch(`${hub}/api/events`, { credentials: 'include', signal: stop.signal })
    .then(async (answer) => new TextDecoder().decode((await answer.body?.getReader().read())?.value))
    .catch(() => '');
  await fetch(`${hub}/api/events`, { credentials: 'include', mode: 'no-cors', signal: stop.signal }).catch(
    () => undefined,
  );
  stop.abort();
  const script =
    window.origin === hub
      ? ''
      : await new Promise<string>((done) => {
          const script = Object.assign(document.createElement('script'), { src: `${hub}/api/sessions/${session}` });
          script.onload = () => done('loaded');
          script.onerror = () => done('error');
          document.body.append(script);
        });
  return { socket, events: [...new Set(events)].join(), text, script };
}

/** In a page: opens the terminal out of a frame whose origin is "null". */
function sandboxed({ hub, session }: Ways): Promise<string> {
  const address = `${hub.replace('http', 'ws')}/api/sessions/${session}/terminal`;
  const frame = document.createElement('iframe');
  frame.sandbox.add('allow-scripts');
  frame.srcdoc = `<script>
    const s = new WebSocket(${JSON.stringify(address)}, 'claude-hub.terminal.v1');
    s.onmessage = (m) => parent.postMessage('got ' + m.data, '*');
    s.onclose = (e) => parent.postMessage('closed ' + e.code, '*');
  </script>`;
  const said = new Promise<string>((done) => addEventListener('message', ({ data }) => done(String(data))));
  document.body.append(frame);
  return said;
}
