// Somebody gives Ada a link to her own Hub that is meant to lead her on to their page, once she has signed in: with a next
// that is spelled in every way that browsers read as another site, with an answer of GitHub that names another way back, and
// with headers that a proxy could bring. Her browser ends on the Hub.
import { afterAll, expect, test } from 'vitest';
import { type Answer, atGitHub, audit, Caller, makeAdmin, signedIn } from '../caller';
import type { Visitor } from '../pages';
import { Site } from '../site';
import { story } from '../story';

const { rig, as, nobody } = story('open-redirect', { github: {} });
const site = new Site();
afterAll(() => site.stop());

test('open-redirect', async () => {
  await site.start();
  site.shows('You are somewhere else');
  const evil = new URL(site.far).host;
  const admin = await signedIn(rig, 'bob', '127.0.0.2');
  await makeAdmin(rig, admin);

  // An honest link leads where it says: for a script, and for Ada, who comes for a page and signs in on the way.
  const script = address();
  expect((await script.signIn('ada', '/settings?a=b')).headers.location).toBe('/settings?a=b');
  const ada = await nobody();
  await ada.signInAs('ada', '/settings');
  await ada.goto('/sign-in?next=%2Frunners');
  await onward(ada);
  await ada.page.waitForURL(`${rig.url}/runners`);

  // The Hub's own way back from GitHub, for each spelling. What it does not take becomes its first page.
  const led = new Set<string>();
  const all = spellings(evil, new URL(rig.url).host);
  for (const next of [...all, ...all.filter((one) => one.length < 100).map(encodeURIComponent)]) {
    const answer = await address().signIn('ada', next);
    expect(answer.status, next).toBe(302);
    led.add(answer.headers.location ?? '');
    expect(leads(answer), next).toBe(rig.url);
    expect(Object.keys(answer.headers), next).not.toContain('evil');
  }
  expect(led).toContain('/');
  for (const path of led) await lands(ada, () => ada.goto(path));

  // The page that Ada sees when she is signed in already: the link there, as the browser reads it.
  for (const next of all) {
    await ada.goto(`/sign-in?next=${encodeURIComponent(next)}`);
    const link = ada.page.getByText(/^You are signed in: go/).locator('xpath=ancestor-or-self::a');
    const href = new URL(await link.evaluate((a) => (a as HTMLAnchorElement).href));
    expect(href.origin, next).toBe(rig.url);
    if (href.pathname !== '/sessions') await lands(ada, () => onward(ada));
  }

  // The whole way in a browser, for the spellings that have fooled others.
  for (const next of [`//${evil}`, `/\\${evil}`, `/\t/${evil}`]) {
    for (const begin of ['/sign-in', '/api/auth/github/start']) {
      const fresh = await nobody();
      await fresh.goto(`${begin}?next=${encodeURIComponent(next)}`);
      if (begin === '/sign-in') await fresh.atGitHub();
      await lands(fresh, () => fresh.pick('ada'));
      await fresh.page.waitForURL((url) => url.origin === rig.url && !url.pathname.startsWith('/api/'));
      expect((await fresh.api.call<{ login: string }>('GET', '/me')).login).toBe('ada');
      await fresh.context.close();
    }
  }

  // An answer of GitHub that names another place, or an error with an address and a page in it.
  const more = `&next=//${evil}&redirect_uri=http://${evil}&redirect=//${evil}&return_to=//${evil}`;
  const turned = address();
  const back = new URL(await atGitHub((await begin(turned)).headers.location ?? '', 'ada'));
  expect((await turned.ask('GET', back.pathname + back.search + more)).headers.location).toBe('/');
  const last = (await audit(admin)).at(-1)?.seq;
  const failed = address();
  const state = new URL((await begin(failed)).headers.location ?? '').searchParams.get('state');
  const error = `error=access_denied&error_uri=http://${evil}&error_description=%3Cscript%3E`;
  const declined = await failed.ask('GET', `/api/auth/github/callback?${error}&state=${state}${more}`);
  expect(declined.headers.location).toMatch(/^\/sign-in\?problem=[a-z_]+$/);
  const forged = await address().ask('GET', `/api/auth/github/callback?code=x&state=x${more}`);
  expect(forged.headers.location).toBe('/sign-in?problem=unauthenticated');
  const lines = (await audit(admin, last)).filter((line) => line.action === 'sign-in' && line.outcome === 'refused');
  expect(lines).toHaveLength(2);

  // Headers by which a proxy tells of other names change nothing: neither where GitHub is asked to send people, nor where
  // the Hub does.
  for (const headers of [
    { 'X-Forwarded-Host': evil },
    { 'X-Forwarded-Host': evil, 'X-Forwarded-Proto': 'https', 'X-Forwarded-For': '203.0.113.9' },
    { Forwarded: `host=${evil};proto=https` },
    { 'X-Original-URL': `//${evil}`, 'X-Rewrite-URL': `//${evil}` },
    { Host: evil },
    { Referer: `http://${evil}/` },
  ] as Record<string, string>[]) {
    const caller = address();
    const asked = new URL((await begin(caller, headers)).headers.location ?? '');
    expect(asked.origin, JSON.stringify(headers)).toBe(rig.github.url);
    expect(asked.searchParams.get('redirect_uri')).toBe(`${rig.url}/api/auth/github/callback`);
    const answer = new URL(await atGitHub(asked.href, 'ada'));
    expect(answer.origin).toBe(rig.url);
    expect((await caller.ask('GET', answer.pathname + answer.search, { headers })).headers.location).toBe('/');
  }

  // Nor does the Hub tidy up a path into another site.
  for (const path of [
    `//${evil}`,
    `///${evil}/..`,
    `//${evil}/%2e%2e`,
    `//${evil}//`,
    `/\\${evil}`,
    `/%5c${evil}`,
    `/%2f%2f${evil}`,
    `/.//${evil}`,
    `/sessions/..//${evil}/`,
    `/assets/..//${evil}/`,
    `/api//${evil}/..`,
    `/api/hub/..%2f..%2f/${evil}`,
  ]) {
    for (const method of ['GET', 'HEAD']) {
      const answer = await address().ask(method, path);
      if (answer.headers.location !== undefined) expect(leads(answer), path).toBe(rig.url);
    }
    await lands(ada, () => ada.page.goto(rig.url + path).catch(() => undefined));
  }
  await ada.shot('still-here');
  expect(site.asked).toEqual([]);
  // She could have got there: the story would have noticed.
  await ada.page.goto(site.far);
  expect(site.asked).toEqual([`${evil}/`]);
  await as('cleo');
});

/** The ways to write another site of which somebody may think that they name none. */
function spellings(evil: string, hub: string): string[] {
  const plain = [
    `http://${evil}`,
    `HtTp://${evil}`,
    `//${evil}`,
    `///${evil}`,
    `////${evil}/%2e%2e`,
    `/\\${evil}`,
    `\\\\${evil}`,
    `\\/${evil}`,
    `/\\/${evil}`,
    `http:${evil}`,
    `http:/${evil}`,
    `http:\\\\${evil}`,
    `/\t/${evil}`,
    `/\n/${evil}`,
    `\t//${evil}`,
    ` //${evil}`,
    `/ /${evil}`,
    `/\0/${evil}`,
    `\x01//${evil}`,
    `/\r\nLocation: http://${evil}\r\nEvil: 1`,
    `//user:pass@${evil}`,
    `//${hub}@${evil}`,
    `http://${hub}@${evil}`,
    `http://${hub}.${evil}`,
    `@${evil}`,
    `.${evil}`,
    `:80@${evil}`,
    `/.//${evil}`,
    `/..//${evil}`,
    `/sessions/../..//${evil}`,
    `/sessions//${evil}`,
    `/api/../..//${evil}`,
    `/;@${evil}`,
    `/?next=//${evil}`,
    `/sessions?next=http://${evil}#//${evil}`,
    `/sign-in?next=//${evil}`,
    `/api/auth/github/start?next=//${evil}`,
    `／／${evil}`,
    `/\u2028/${evil}`,
    `/\u0085/${evil}`,
    'javascript:location="//evil.example"',
    'data:text/html,evil',
    `//${evil}/${'a'.repeat(4000)}`,
    `/${'a'.repeat(4000)}//${evil}`,
    '',
  ];
  return [...plain, `/%2f%2f${evil}`, `/%5c${evil}`, `%2f%2f${evil}`, `%252f%252f${evil}`];
}

let addresses = 0;

/** Somebody at an address from which nobody has asked yet, since one may not sign in so often. */
const address = () => new Caller(rig.url, `127.0.1.${++addresses}`);

const begin = (caller: Caller, headers: Record<string, string> = {}) =>
  caller.ask('GET', '/api/auth/github/start?next=/', { headers });

/** Where a browser that stands on the Hub goes by an answer. */
const leads = (answer: Answer) => new URL(answer.headers.location ?? 'http://nowhere', rig.url).origin;

const onward = (visitor: Visitor) => visitor.page.getByText(/^You are signed in: go/).click();

/** What a person does there leads to no other site than the Hub, or GitHub on the way to it. */
async function lands(visitor: Visitor, act: () => Promise<unknown>): Promise<void> {
  await act();
  await visitor.page.waitForLoadState('domcontentloaded');
  expect([rig.url, rig.github.url]).toContain(new URL(visitor.page.url()).origin);
}
