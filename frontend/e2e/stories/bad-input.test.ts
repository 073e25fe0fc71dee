// Bad input: each gets a clear sentence with what to do, and nothing is lost, hung or half done.
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { root } from '../place';
import { Program } from '../program';
import { story } from '../story';
import { eventually, freePort } from '../wait';

const { rig, person } = story('bad-input');
const bin = (name: string) => join(root, 'bin', name);
let daemon: ReturnType<typeof spawn> | undefined;
afterAll(() => void daemon?.kill());

/** A git server with one repository on loopback. */
async function gitServer(): Promise<string> {
  const work = join(rig.home, 'git/work');
  mkdirSync(work, { recursive: true });
  const git = (...args: string[]) =>
    execFileSync('git', ['-c', 'user.name=t', '-c', 'user.email=t@example.org', ...args], { cwd: work, stdio: 'pipe' });
  git('init', '-q', '-b', 'main');
  writeFileSync(join(work, 'README.md'), 'hello\n');
  git('add', '.');
  git('commit', '-qm', 'first');
  execFileSync('git', ['clone', '-q', '--bare', work, join(rig.home, 'git/repo.git')]);
  const port = await freePort();
  daemon = spawn(
    'git',
    [
      'daemon',
      '--reuseaddr',
      '--export-all',
      '--listen=127.0.0.1',
      `--port=${port}`,
      `--base-path=${join(rig.home, 'git')}`,
    ],
    { stdio: 'ignore' },
  );
  await eventually(
    'the git server',
    () => spawnSync('git', ['ls-remote', `git://127.0.0.1:${port}/repo.git`]).status === 0,
  );
  return `git://127.0.0.1:${port}`;
}

test('bad-input', async () => {
  const me = await person();
  const server = await gitServer();
  const api = (method: 'post' | 'patch' | 'get', path: string, data?: unknown) =>
    me.page.request[method](`${rig.url}/api${path}`, { data, headers: { Origin: rig.url } });
  const detail = async (r: { json(): Promise<unknown> }) => ((await r.json()) as { detail: string }).detail;
  const home = () => me.page.goto(`${rig.url}/sessions`);

  // A URL that cannot be cloned; a branch that does not exist; then one that works.
  await me.newSession({ title: 'No such repository', git: `${server}/nothing.git` });
  await me.status(/failed/i);
  await me.page
    .getByText(/There is no git repository at|cannot be reached/)
    .first()
    .waitFor();
  await me.shot('no-repository');
  await home();
  await me.newSession({ title: 'No such branch', git: `${server}/repo.git`, branch: 'nope' });
  await me.status(/failed/i);
  await me.page
    .getByText(/has no branch called "nope"/)
    .first()
    .waitFor();
  await me.shot('no-branch');
  execFileSync('git', ['push', '-q', join(rig.home, 'git/repo.git'), 'main:nope'], { cwd: join(rig.home, 'git/work') });
  await me.page
    .getByRole('button', { name: /^(Retry|Try again)$/ })
    .first()
    .click();
  await me.status(/ready/i);
  await me.type('!ls');
  await me.press('Enter');
  await me.sees('README.md');

  // Refused before anything is made.
  const { items: runners } = (await (await api('get', '/runners')).json()) as { items: { id: string }[] };
  const fresh = { runner: runners[0]?.id, source: {}, model: 'default', effort: 'default' };
  const count = async () => ((await (await api('get', '/sessions')).json()) as { items: unknown[] }).items.length;
  const before = await count();
  for (const [what, body, says] of [
    ['a git URL that is none', { ...fresh, source: { git_url: '--upload-pack=touch /tmp/x' } }, /git URL/],
    ['a password in the URL', { ...fresh, source: { git_url: 'https://me:pw@example.org/a' } }, /password/],
    ['a file URL', { ...fresh, source: { git_url: 'file:///etc' } }, /git URL/],
    ['an unknown model', { ...fresh, model: 'gpt' }, /no model called/],
    ['an unknown effort', { ...fresh, effort: 'extreme' }, /effort/i],
    ['a Runner that is not there', { ...fresh, runner: 'run_00000000000000000000000000' }, /Runner/],
  ] as const) {
    const refused = await api('post', '/sessions', body);
    expect(refused.status(), what).toBeGreaterThanOrEqual(400);
    expect(refused.status(), what).toBeLessThan(500);
    expect(await detail(refused), what).toMatch(says);
  }
  expect(await count()).toBe(before);

  // A Session that is not there, or not yours, looks the same; so does an id that is none.
  for (const id of ['ses_00000000000000000000000000', 'ses_x', '..%2fetc']) {
    const answer = await api('get', `/sessions/${id}`);
    expect(answer.status()).toBe(404);
  }
  await me.page.goto(`${rig.url}/sessions/ses_00000000000000000000000000`);
  await me.page
    .getByText(/no such Session/i)
    .first()
    .waitFor();
  await me.shot('no-session');

  // Too large a paste in the terminal: refused whole, in words, and the keyboard still works.
  await home();
  await me.page.getByTestId('session-row').filter({ hasText: 'No such branch' }).getByRole('link').first().click();
  await me.typing();
  await me.page.getByTestId('terminal').first().click();
  await me.page.evaluate(() => {
    const data = new DataTransfer();
    data.setData('text/plain', 'x'.repeat(5 << 20));
    document.activeElement?.dispatchEvent(
      new ClipboardEvent('paste', { clipboardData: data, bubbles: true, cancelable: true }),
    );
  });
  await me.page
    .getByText(/paste.*(MB|KB)/i)
    .first()
    .waitFor();
  await me.shot('big-paste');
  await me.type('keyboard works');
  await me.sees('keyboard works');

  // Programs that cannot start say why, in one sentence.
  const run = (name: string, ...args: string[]) =>
    spawnSync(bin(name), args, { encoding: 'utf8', timeout: 60_000, env: { PATH: process.env.PATH, HOME: rig.home } });
  const taken = run('claude-hub', 'serve', '--listen', `127.0.0.1:${rig.port}`, '--data', join(rig.home, 'hub2'));
  expect(taken.status).toBe(1);
  expect(taken.stderr).toMatch(/in use|already/i);
  const open = run('claude-hub', 'serve', '--listen', `0.0.0.0:${await freePort()}`, '--data', join(rig.home, 'hub3'));
  expect(open.status).toBe(1);
  expect(open.stderr).toMatch(/does not listen on 0\.0\.0\.0/);
  mkdirSync(join(rig.home, 'broken'));
  execFileSync(bin('claude-hub-runner'), ['--dir', join(rig.home, 'broken'), 'pair', '--hub', rig.url], {
    input: execFileSync(bin('claude-hub'), ['runner', 'add', '--data', join(rig.home, 'hub'), '--name', 'second']),
    env: { PATH: process.env.PATH, HOME: rig.home },
  });
  writeFileSync(join(rig.home, 'broken/runner.db'), 'not a database'.repeat(1000));
  const corrupt = run('claude-hub-runner', '--dir', join(rig.home, 'broken'), 'run');
  expect(corrupt.status).toBe(1);
  expect(corrupt.stderr).toMatch(/Move that file away/);
  const unpaired = run('claude-hub-runner', '--dir', join(rig.home, 'new'), 'run');
  expect(unpaired.stderr).toMatch(/not paired/);
  const away = new Program(
    'away',
    () => [bin('claude-hub-runner'), '--dir', join(rig.home, 'away'), 'run'],
    join(rig.home, 'logs'),
  );
  const key = execFileSync(bin('claude-hub'), ['runner', 'add', '--data', join(rig.home, 'hub'), '--name', 'third'], {
    encoding: 'utf8',
  });
  execFileSync(
    bin('claude-hub-runner'),
    ['--dir', join(rig.home, 'away'), 'pair', '--hub', `http://127.0.0.1:${await freePort()}`],
    { input: key, env: { PATH: process.env.PATH, HOME: rig.home } },
  );
  away.start();
  await eventually('the log to say that the Hub is away', () => /link to the Hub is down/.test(away.log()));
  expect(away.running).toBe(true);
  await away.end();

  // Nothing secret is in any log.
  for (const name of ['hub', 'runner', 'anthropic', 'away']) {
    const log = execFileSync('cat', [join(rig.home, 'logs', `${name}.log`)], { encoding: 'utf8' });
    expect(log.includes(rig.token)).toBe(false);
    expect(log).not.toMatch(/ch[rbl]_[A-Za-z0-9_-]{20,}/);
  }
});
