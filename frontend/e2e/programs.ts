// The real programs of one story: Hub, Runner and the stand-in for Anthropic, each in a folder of the story's own, on
// loopback, with their logs kept.
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { cpSync, createWriteStream, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join, resolve } from 'node:path';

export const root = resolve(import.meta.dirname, '../..');
const bin = (name: string) => join(root, 'bin', name);

/** A port that was free a moment ago. */
export async function freePort(): Promise<number> {
  return new Promise((done, fail) => {
    const server = createServer();
    server.once('error', fail);
    server.listen(0, '127.0.0.1', () => {
      const address = server.address();
      server.close(() => done(typeof address === 'object' && address ? address.port : 0));
    });
  });
}

/** Waits until a probe gives something, or fails with what it was waiting for. */
export async function eventually<T>(what: string, probe: () => T | Promise<T>, seconds = 30): Promise<NonNullable<T>> {
  const end = Date.now() + seconds * 1000;
  let last: unknown;
  for (;;) {
    try {
      const value = await probe();
      if (value !== undefined && value !== null && value !== false) return value as NonNullable<T>;
    } catch (error) {
      last = error;
    }
    if (Date.now() > end) throw new Error(`waited ${seconds} s for ${what}${last ? `: ${last}` : ''}`);
    await new Promise((tick) => setTimeout(tick, 50));
  }
}

/** One program that can be ended politely or not, and started again. */
export class Program {
  private child?: ChildProcess;
  readonly out: string;

  constructor(
    readonly name: string,
    private readonly argv: () => string[],
    private readonly folder: string,
    private readonly env: Record<string, string> = {},
  ) {
    this.out = join(folder, `${name}.out`);
  }

  get pid(): number {
    if (!this.child?.pid) throw new Error(`${this.name} does not run`);
    return this.child.pid;
  }

  get running(): boolean {
    return this.child !== undefined && this.child.exitCode === null && this.child.signalCode === null;
  }

  start(): void {
    const [file = '', ...args] = this.argv();
    writeFileSync(this.out, '');
    const child = spawn(file, args, {
      cwd: this.folder,
      env: { PATH: process.env.PATH ?? '', HOME: this.folder, LANG: 'C.UTF-8', ...this.env },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    child.stdout.pipe(createWriteStream(this.out, { flags: 'a' }));
    child.stderr.pipe(createWriteStream(join(this.folder, `${this.name}.log`), { flags: 'a' }));
    child.on('error', (error) => writeFileSync(join(this.folder, `${this.name}.log`), String(error), { flag: 'a' }));
    this.child = child;
  }

  /** Ends the program with a signal and waits until it is gone. */
  async end(signal: NodeJS.Signals = 'SIGTERM'): Promise<void> {
    const child = this.child;
    if (!child || !this.running) return;
    const gone = new Promise((done) => child.once('exit', done));
    child.kill(signal);
    await gone;
  }

  /** The first match of a pattern in what it printed. */
  async says(pattern: RegExp, seconds = 30): Promise<RegExpMatchArray> {
    return eventually(
      `${this.name} to print ${pattern}`,
      () => {
        const match = readFileSync(this.out, 'utf8').match(pattern);
        if (!match && !this.running) throw new Error(`${this.name} ended: ${this.log().slice(-2000)}`);
        return match;
      },
      seconds,
    );
  }

  log(): string {
    try {
      return readFileSync(join(this.folder, `${this.name}.log`), 'utf8');
    } catch {
      return '';
    }
  }
}

export interface RigOptions {
  /** The stand-in's script: a file of scripts/. */
  script?: string;
  /** Gives the Runner no setup token. */
  noToken?: boolean;
  /** Puts something between Runner and Hub: the address that the Runner is paired with. */
  hubForRunner?: (hub: string) => Promise<string>;
  /** Puts a plain shell in the place of Claude Code, for raw output. */
  shell?: boolean;
}

/** Everything that one story runs on. */
export class Rig {
  readonly home = mkdtempSync('/tmp/che2e-');
  readonly token = `sk-ant-oat01-stand-in-${'x'.repeat(40)}${Math.random().toString(36).slice(2).padEnd(20, '0')}`;
  port = 0;
  hub!: Program;
  runner!: Program;
  anthropic!: Program;
  anthropicURL = '';

  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  get runnerDir(): string {
    return join(this.home, 'runner');
  }

  async start(options: RigOptions = {}): Promise<void> {
    this.port = await freePort();
    mkdirSync(join(this.home, 'logs'));
    const logs = join(this.home, 'logs');
    const tokenFile = join(this.home, 'token');
    writeFileSync(tokenFile, this.token, { mode: 0o600 });

    this.anthropic = new Program(
      'anthropic',
      () => [
        bin('standin-anthropic'),
        '--listen',
        '127.0.0.1:0',
        '--script',
        join(root, 'frontend/e2e/scripts', options.script ?? 'chat.json'),
        '--token-file',
        tokenFile,
      ],
      logs,
    );
    this.anthropic.start();
    this.anthropicURL = (await this.anthropic.says(/http:\/\/127\.0\.0\.1:\d+/))[0];

    this.hub = new Program(
      'hub',
      () => [bin('claude-hub'), 'serve', '--listen', `127.0.0.1:${this.port}`, '--data', join(this.home, 'hub')],
      logs,
    );
    this.hub.start();
    await this.hub.says(/Sign in: (\S+)/);

    const hubForRunner = options.hubForRunner ? await options.hubForRunner(this.url) : this.url;
    const key = execFileSync(
      bin('claude-hub'),
      ['runner', 'add', '--data', join(this.home, 'hub'), '--name', 'test-machine'],
      { encoding: 'utf8', timeout: 20_000 },
    );
    this.runnerCommand(['pair', '--hub', hubForRunner], key);
    if (!options.noToken) this.setToken();

    this.runner = new Program(
      'runner',
      () => [
        bin('claude-hub-runner'),
        '--dir',
        this.runnerDir,
        'run',
        '--anthropic-url',
        this.anthropicURL,
        '--stand-in',
        ...claudeArgs(options.shell),
      ],
      logs,
    );
    this.runner.start();
  }

  setToken(): void {
    this.runnerCommand(['token', 'set', '--stdin'], this.token);
  }

  runnerCommand(args: string[], input = ''): string {
    return execFileSync(bin('claude-hub-runner'), ['--dir', this.runnerDir, ...args], {
      input,
      encoding: 'utf8',
      timeout: 60_000,
      env: { PATH: process.env.PATH ?? '', HOME: this.home },
    });
  }

  /** A new sign-in link: each works once. */
  signInLink(): string {
    const out = execFileSync(
      bin('claude-hub'),
      ['sign-in-link', '--data', join(this.home, 'hub'), '--public-url', this.url],
      { encoding: 'utf8', timeout: 20_000 },
    );
    const match = out.match(/https?:\/\/\S+/);
    if (!match) throw new Error(`no link in: ${out}`);
    return match[0];
  }

  /** What the stand-in received. */
  async received(): Promise<StandInLog> {
    const answer = await fetch(`${this.anthropicURL}/standin/log`);
    const log = (await answer.json()) as StandInLog;
    return { ...log, failures: log.failures ?? [] };
  }

  /** Lets an answer go on that hangs at a name. */
  async release(name: string): Promise<void> {
    await fetch(`${this.anthropicURL}/standin/release?name=${name}`, { method: 'POST' });
  }

  /** Ends everything. The logs stay, in a folder beside the story's pictures. */
  async stop(story: string): Promise<void> {
    await this.runner?.end();
    this.runnerCommand(['sandboxes', 'stop']);
    await this.hub?.end();
    await this.anthropic?.end();
    cpSync(join(this.home, 'logs'), join(import.meta.dirname, 'out', story, 'logs'), { recursive: true });
    rmSync(this.home, { recursive: true, force: true });
  }
}

export interface StandInLog {
  prompts: { text: string; bytes: number; sha256: string; requests: number; starts: number; occurrences: number }[];
  requests: {
    kind: string;
    model?: string;
    effort?: string;
    tokenOK: boolean;
    outcome: string;
    prompt?: string;
    turns?: number;
  }[];
  failures: string[];
}

/** One copy of Claude Code serves all stories. */
function claudeArgs(shell = false): string[] {
  const path = shell ? join(root, 'internal/rig/shell.sh') : process.env.CLAUDE_HUB_TEST_CLAUDE;
  return path ? ['--claude', path] : [];
}
