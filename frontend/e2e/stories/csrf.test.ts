// A page of somebody else's is open in the browser in which Ada is signed in, and tries to act as her: with forms of each
// kind, with fetch, with beacons, with links, with Ada's own sign-in and with a stranger's. It is on another port of the
// Hub's host, where the browser sends her cookie along, and on another site, where it does not. Nothing changes.
import type { Page, Request } from 'playwright-core';
import { afterAll, expect, test } from 'vitest';
import type { Environment, Session } from '../../src/api/types';
import { recipe } from '../api';
import { askCode, atGitHub, audit, Caller, type Line, makeAdmin, paperRunner, signedIn } from '../caller';
import { Site } from '../site';
import { story } from '../story';

const { rig, as } = story('csrf', { github: {} });
const site = new Site();
afterAll(() => site.stop());

test('csrf', async () => {
  await site.start();
  const victim = await as('ada');
  const { page } = victim;
  const ada = new Caller(rig.url); // what Ada's browser holds, to see what became of it
  for (const { name, value } of await victim.context.cookies(rig.url)) ada.jar.set(name, value);
  await makeAdmin(rig, ada);
  await signedIn(rig, 'bob', '127.0.0.2');

  // From the Hub's own page each of them works, so that each could.
  const own = deeds(await targets(ada, 'Own'));
  for (const deed of own) {
    const status = await page.evaluate(honest, deed);
    expect([deed.action, status], `${deed.method} ${deed.path}`).toEqual([deed.action, expect.toSatisfy(isOK)]);
  }
  const done = (await audit(ada)).filter((line) => line.outcome === 'ok').map((line) => line.action);
  expect(done).toEqual(expect.arrayContaining(own.map((deed) => deed.action)));
  await signedIn(rig, 'bob', '127.0.0.2');

  // From anywhere else none does.
  const wanted = await targets(ada, 'Ada');
  const list = [...deeds(wanted), signOut];
  const before = await state(ada, wanted);
  for (const [where, origin] of [
    ['the same site', site.near],
    ['another site', site.far],
  ] as const) {
    const last = (await audit(ada)).at(-1)?.seq ?? 0;
    const answers = listen(page);
    site.shows('');
    await page.goto(origin);
    const tried = await page.evaluate(attack, { hub: rig.url, deeds: list });
    expect(tried, where).toEqual({ read: 0, sent: tried.sent });
    expect(tried.sent).toBeGreaterThan(list.length * 6);
    await navigate(
      page,
      origin,
      list.filter(({ action }) => visited.includes(action)),
    );
    await page.goto('about:blank');
    expect(new Set(answers.statuses), where).toEqual(new Set([403]));
    expect(answers.asked, where).toBeGreaterThan(list.length * 7);

    // All that came with her cookie is in the audit log, and all that is there was refused.
    const lines = (await audit(ada, last)).filter((line) => !system(line));
    expect(
      lines.filter((line) => line.outcome === 'ok'),
      where,
    ).toEqual([]);
    const refused = new Set(lines.map((line) => line.action));
    const arrives = list.filter((deed) => deed.method === 'POST'); // of the others the browser asks first, in vain
    if (origin === site.near) for (const deed of arrives) expect(refused, deed.path).toContain(deed.action);
    expect(lines.every((line) => line.detail?.code === 'forbidden' && line.address === '127.0.0.1')).toBe(true);
    expect(await state(ada, wanted), where).toEqual(before);
  }

  // Nor is she signed in as somebody else: by the address that GitHub sent bob's browser back to.
  const mallory = new Caller(rig.url, '127.0.0.3');
  const begun = await mallory.ask('GET', '/api/auth/github/start?next=/');
  const answer = await atGitHub(begun.headers.location ?? '', 'bob');
  site.shows(`<script>location = ${JSON.stringify(answer)}</script>`);
  await page.goto(site.near);
  await page.waitForURL(`${rig.url}/sign-in?problem=unauthenticated`);
  expect(await ada.call('GET', '/me')).toMatchObject({ login: 'ada' });
  expect(await page.evaluate(() => fetch('/api/me').then((r) => r.json()))).toMatchObject({ login: 'ada' });
  expect(await state(ada, wanted)).toEqual(before);

  // And what was attacked works still, for her.
  await victim.goto('/sessions');
  await page.getByText('Ada Session').first().waitFor();
  await victim.shot('as-it-was');
  expect(await page.evaluate(honest, signOut)).toBeLessThan(300);
  expect((await ada.refused('GET', '/me')).status).toBe(401);
});

interface Deed {
  action: string;
  method: string;
  path: string;
  body?: unknown;
}

interface Targets {
  name: string;
  runner: string;
  spare: string;
  session: string;
  environment: string;
  code: string;
  bob: string;
}

const signOut: Deed = { action: 'sign-out', method: 'POST', path: '/api/sign-out' };
/** What is also tried by whole pages. */
const visited = ['session.prompt', 'session.share', 'device.approve', 'token.create', 'sign-out'];
const isOK = (status: number) => status >= 200 && status < 300;
const system = (line: Line) => line.actor_kind === 'system';

/** What there is to attack: all of it Ada's. */
async function targets(ada: Caller, name: string): Promise<Targets> {
  const runner = await paperRunner(ada, `${name} Runner`);
  const spare = await paperRunner(ada, `${name} spare Runner`);
  const session = await ada.call<Session>('POST', '/sessions', { runner: runner.id, title: `${name} Session` });
  const environment = await ada.call<Environment>('POST', '/environments', {
    name: `${name} Environment`,
    recipe: recipe(),
  });
  const { user_code } = await askCode(new Caller(rig.url, '127.0.0.4'), `${name} device`);
  const [bob] = await ada.items<{ id: string }>('/people?q=bob');
  if (!bob) throw new Error('bob is not on this Hub');
  return {
    name,
    runner: runner.id,
    spare: spare.id,
    session: session.id,
    environment: environment.id,
    code: user_code,
    bob: bob.id,
  };
}

/** What a stranger might want done, in an order in which all of it can be done. */
function deeds(t: Targets): Deed[] {
  const session = `/api/sessions/${t.session}`;
  return [
    {
      action: 'session.create',
      method: 'POST',
      path: '/api/sessions',
      body: { runner: t.runner, title: `${t.name} other` },
    },
    { action: 'session.update', method: 'PATCH', path: session, body: { title: `${t.name} Session, changed` } },
    { action: 'session.prompt', method: 'POST', path: `${session}/prompts`, body: { text: 'send me what you have' } },
    { action: 'session.share', method: 'POST', path: `${session}/share`, body: { login: 'bob' } },
    { action: 'session.link', method: 'POST', path: `${session}/link` },
    { action: 'session.sleep', method: 'POST', path: `${session}/sleep` },
    { action: 'session.archive', method: 'POST', path: `${session}/archive` },
    { action: 'token.create', method: 'POST', path: '/api/tokens', body: { name: t.name, scopes: ['sessions:drive'] } },
    { action: 'device.approve', method: 'POST', path: `/api/device/${t.code}/approve`, body: {} },
    {
      action: 'environment.create',
      method: 'POST',
      path: '/api/environments',
      body: { name: `${t.name} more`, recipe: recipe() },
    },
    {
      action: 'variable.set',
      method: 'PUT',
      path: `/api/environments/${t.environment}/variables/EVIL`,
      body: { value: 'yes', secret: false },
    },
    { action: 'person.role', method: 'POST', path: `/api/admin/people/${t.bob}/role`, body: { role: 'admin' } },
    { action: 'person.role', method: 'POST', path: `/api/admin/people/${t.bob}/role`, body: { role: 'member' } },
    { action: 'person.sign-out', method: 'POST', path: `/api/admin/people/${t.bob}/sign-out` },
    { action: 'runner.revoke', method: 'DELETE', path: `/api/runners/${t.spare}` },
  ];
}

/** All that these deeds could have changed. */
async function state(ada: Caller, t: Targets): Promise<unknown> {
  const people = await ada.items<{ id: string; role: string }>('/admin/people');
  const signIns = await ada.items<{ id: string }>('/sign-ins');
  const tokens = await ada.items<{ id: string }>('/tokens');
  return {
    sessions: await ada.items('/sessions'),
    prompts: await ada.items(`/sessions/${t.session}/prompts`),
    environments: await ada.items('/environments'),
    variables: await ada.items(`/environments/${t.environment}/variables`),
    runners: await ada.items('/runners'),
    device: await ada.call('GET', `/device/${t.code}`),
    people: people.map(({ id, role }) => [id, role]),
    signIns: signIns.map(({ id }) => id),
    tokens: tokens.map(({ id }) => id),
  };
}

/** What the Hub answers to what a page of the Hub itself sends. */
async function honest(deed: Deed): Promise<number> {
  const body =
    deed.body === undefined ? {} : { body: JSON.stringify(deed.body), headers: { 'Content-Type': 'application/json' } };
  return (await fetch(deed.path, { method: deed.method, ...body })).status;
}

/** In a stranger's page: everything that a script there can send. It gives how much it sent, and how much it could read. */
async function attack({ hub, deeds }: { hub: string; deeds: Deed[] }): Promise<{ sent: number; read: number }> {
  let sent = 0;
  let read = 0;
  const ask = async (path: string, how: RequestInit) => {
    sent++;
    const answer = await fetch(hub + path, { credentials: 'include', ...how }).catch(() => undefined);
    if (answer && answer.type !== 'opaque') read++;
  };
  const frames: Promise<unknown>[] = [];
  const form = (path: string, enctype: string, fields: [string, string][], sandbox = false) => {
    sent++;
    const frame = document.createElement('iframe');
    frame.name = `frame-${sent}`;
    document.body.append(frame);
    const made = document.createElement('form');
    Object.assign(made, { method: 'POST', action: hub + path, enctype, target: frame.name });
    for (const [name, value] of fields) made.append(Object.assign(document.createElement('input'), { name, value }));
    document.body.append(made);
    const loaded = new Promise((done) => frame.addEventListener('load', done));
    frames.push(Promise.race([loaded, new Promise((done) => setTimeout(done, 5000))]));
    if (!sandbox) return made.submit();
    frame.sandbox.add('allow-scripts', 'allow-forms'); // its origin is "null"
    made.target = '';
    frame.srcdoc = `${made.outerHTML}<script>document.forms[0].submit()</script>`;
  };
  for (const { method, path, body } of deeds) {
    const json = JSON.stringify(body ?? {});
    const plain = { 'Content-Type': 'text/plain' };
    await ask(path, { method: 'POST', mode: 'no-cors', headers: plain, body: json });
    await ask(path, { method: 'POST', mode: 'no-cors', body: new URLSearchParams({ a: json }) });
    await ask(path, { method: 'POST', mode: 'cors', headers: plain, body: json });
    await ask(path, { method, mode: 'cors', headers: { 'Content-Type': 'application/json' }, body: json });
    await ask(path, { method: 'GET', mode: 'cors' });
    await ask(path, { method: 'GET', mode: 'no-cors' });
    sent++;
    navigator.sendBeacon(hub + path, new Blob([json], { type: 'text/plain' }));
    const flat = Object.entries((body ?? {}) as object).map(([k, v]): [string, string] => [k, String(v)]);
    form(path, 'application/x-www-form-urlencoded', flat);
    form(path, 'multipart/form-data', flat);
    form(path, 'text/plain', [[`${json.slice(0, -1)}${json === '{}' ? '' : ','}"`, '":""}']]);
    form(path, 'text/plain', [[json, '']], true);
  }
  await Promise.all(frames);
  return { sent, read };
}

/** The same by going there: with links, which ask with GET, and with whole pages that are forms. */
async function navigate(page: Page, origin: string, list: Deed[]): Promise<void> {
  for (const { path, body } of list) {
    site.shows(`<a href="${rig.url}${path}">Your prize</a>`);
    await page.goto(origin);
    const gone = page.waitForResponse(rig.url + path);
    await page.getByText('Your prize').click();
    const answer = await gone;
    // What is a list shows her own to Ada, and nothing where her cookie does not come along.
    expect([origin === site.near ? 200 : 401, 404], `GET ${path}`).toContain(answer.status());
    const value = JSON.stringify(body ?? {}).replaceAll('"', '&quot;');
    site.shows(
      `<form method="POST" enctype="text/plain" action="${rig.url}${path}"><input name="${value}"><button>Go</button></form>`,
    );
    await page.goto(origin);
    const posted = page.waitForResponse((r) => r.url() === rig.url + path && r.request().method() === 'POST');
    await page.getByText('Go').click();
    expect((await posted).status(), `POST ${path}`).toBe(403);
  }
}

/** What a page has the Hub asked, but for what only reads: how often, and the answers that the browser tells of. */
function listen(page: Page): { asked: number; statuses: number[] } {
  const all = { asked: 0, statuses: [] as number[] };
  const counts = (asked: Request) =>
    asked.url().startsWith(`${rig.url}/api/`) && !['GET', 'HEAD', 'OPTIONS'].includes(asked.method());
  page.on('request', (asked) => {
    if (counts(asked)) all.asked++;
  });
  page.on('response', (answer) => {
    if (counts(answer.request())) all.statuses.push(answer.status());
  });
  return all;
}
