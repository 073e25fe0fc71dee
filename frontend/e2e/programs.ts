// The real programs of one story: Hub, Runner and the stand-in for Anthropic, each in a folder of the story's own, on
// loopback, with their logs kept.
import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { GitHub, type GitHubOptions } from './github';
import type { Visitor } from './pages';
import { base, files, place, quote, root, there } from './place';
import { Program } from './program';
import { eventually, freePort, slower } from './wait';

const bin = (name: string) => join(root, 'bin', name);

export interface RigOptions {
  /** The stand-in's script: a file of scripts/. */
  script?: string;
  /** Gives the Runner no setup token. */
  noToken?: boolean;
  /** Puts something between Runner and Hub: the address that the Runner is paired with. */
  hubForRunner?: (hub: string) => Promise<string>;
  /** Begins without the base image that earlier stories have made. */
  cold?: boolean;
  /** Puts a plain shell in the place of Claude Code, for raw output. */
  shell?: boolean;
  /** How much Hub and Runner log. */
  logLevel?: 'debug';
  /** People sign in with a stand-in for GitHub; no Runner runs until one is paired. */
  github?: GitHubOptions;
}

/** Everything that one story runs on. */
export class Rig {
  readonly home = mkdtempSync('/tmp/che2e-');
  /** The story's folder on the Runner's machine. In the emulated one each story has the same, by its turn. */
  readonly far = place.home ?? this.home;
  readonly token = `sk-ant-oat01-stand-in-${'x'.repeat(40)}${Math.random().toString(36).slice(2).padEnd(20, '0')}`;
  port = 0;
  /** The Hub's program; a story may put another build in its place, for the next start. */
  hubProgram = bin('claude-hub');
  hub!: Program;
  runner!: Program;
  anthropic!: Program;
  anthropicURL = '';
  /** Only where people sign in with GitHub. */
  github!: GitHub;
  /** Every secret that this story has used, for whoever searches for them. */
  readonly secrets = new Set<string>([this.token]);

  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  private readonly opened: number[] = [];
  private hubForRunner = '';
  private pairings = 0;
  private readonly runnerProgram = join(place.bin, 'claude-hub-runner');

  private get hubDir(): string {
    return join(this.home, 'hub');
  }

  /** Of the Runner, on its machine. */
  get runnerDir(): string {
    return join(this.far, 'runner');
  }

  async start(options: RigOptions = {}): Promise<void> {
    this.port = await freePort();
    mkdirSync(join(this.home, 'logs'));
    place.prepare(this.far, options.cold ?? false);
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

    if (options.github) {
      this.github = new GitHub(this.home, this.url, options.github);
      this.secrets.add(this.github.secret);
      await this.github.start();
    }
    const signIn = this.github?.hubFlags ?? [];
    const logLevel = options.logLevel ? { CLAUDE_HUB_LOG_LEVEL: options.logLevel } : undefined;
    this.hub = new Program(
      'hub',
      () => [this.hubProgram, 'serve', '--listen', `127.0.0.1:${this.port}`, '--data', this.hubDir, ...signIn],
      logs,
      { env: logLevel },
    );
    this.hub.start();
    await this.hub.says(/Sign in: (\S+)/);

    this.hubForRunner = options.hubForRunner ? await options.hubForRunner(this.url) : this.url;
    this.open(this.hubForRunner);
    this.open(this.anthropicURL);
    this.runner = new Program(
      'runner',
      () => [
        this.runnerProgram,
        '--dir',
        this.runnerDir,
        'run',
        '--anthropic-url',
        this.anthropicURL,
        '--stand-in',
        ...claudeArgs(options.shell),
      ],
      logs,
      { there: this.far, env: { ...this.runnerEnv, ...logLevel } },
    );
    if (!options.noToken) this.setToken();
    if (options.github) return;
    const key = this.operate('runner', 'add', '--name', 'test-machine');
    this.secrets.add(key.trim());
    this.runnerCommand(['pair', '--hub', this.hubForRunner, '--token-stdin'], key);
    this.runner.start();
  }

  /** What an operator runs beside the Hub, with its data; gives what it printed. */
  operate(...args: string[]): string {
    return execFileSync(bin('claude-hub'), [...args, '--data', this.hubDir], { encoding: 'utf8', timeout: 20_000 });
  }

  /** The code that makes the first person admin who enters it, as the Hub printed it at its start. */
  async setupCode(): Promise<string> {
    const [code] = await this.hub.says(/chq_[\w-]+/);
    this.secrets.add(code);
    return code;
  }

  /** Has this machine ask to be a Runner; what it shows is the user code. */
  async askToPair(name = 'test-machine'): Promise<Pairing> {
    const program = new Program(
      `pair-${++this.pairings}`,
      () => [
        this.runnerProgram,
        '--dir',
        this.runnerDir,
        'pair',
        '--hub',
        this.hubForRunner,
        '--name',
        name,
        '--no-browser',
      ],
      join(this.home, 'logs'),
      { there: this.far, env: this.runnerEnv },
    );
    program.start();
    const [code] = await program.notes(/[A-Z]{4}-[A-Z]{4}/);
    return { program, code };
  }

  /** Pairs this machine with the Hub, as a person who approves its code in the browser, and runs the Runner. */
  async pair(visitor: Visitor, name?: string): Promise<void> {
    const { program, code } = await this.askToPair(name);
    await visitor.approve(code);
    await program.ended();
    if (!this.runner.running) this.runner.start();
    await eventually('the Runner to be linked', async () =>
      (await visitor.api.runners()).some((r) => r.link.state === 'up' && !r.revoked),
    );
  }

  setToken(): void {
    this.runnerCommand(['token', 'set', '--stdin'], this.token);
  }

  runnerCommand(args: string[], input = ''): string {
    const env = { HOME: this.far, ...this.runnerEnv };
    const words = [
      ...Object.entries(env).map(([name, value]) => `${name}=${value}`),
      this.runnerProgram,
      '--dir',
      this.runnerDir,
      ...args,
    ].map(quote);
    return there(`exec env ${words.join(' ')}`, input, 60 * slower);
  }

  /** Lets the Runner, wherever it is, reach an address of this machine's loopback. */
  private open(address: string): void {
    const port = Number(new URL(address).port);
    place.open(port);
    this.opened.push(port);
  }

  /** What the Runner is told of its machine. An emulated one has little, and needs patience. */
  private readonly runnerEnv: Record<string, string> =
    place.backend === 'bubblewrap'
      ? { CLAUDE_HUB_BACKEND: 'bubblewrap' }
      : {
          CLAUDE_HUB_BACKEND: 'microsandbox',
          CLAUDE_HUB_PATIENCE: '10',
          CLAUDE_HUB_LOG_LEVEL: 'debug',
          CLAUDE_HUB_SANDBOX_MEMORY: '1536',
          CLAUDE_HUB_SANDBOX_CPUS: '1',
          CLAUDE_HUB_BASE: base().archive,
        };

  /** A new sign-in link: each works once. */
  signInLink(): string {
    const out = this.operate('sign-in-link', '--public-url', this.url);
    const match = out.match(/https?:\/\/\S+/);
    if (!match) throw new Error(`no link in: ${out}`);
    this.secrets.add(match[0].replace(/.*#/, ''));
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
    try {
      this.runnerCommand(['sandboxes', 'stop']);
    } finally {
      await this.hub?.end();
      await this.anthropic?.end();
      await this.github?.end();
      for (const port of this.opened) place.close(port);
      cpSync(join(this.home, 'logs'), join(import.meta.dirname, 'out', story, 'logs'), { recursive: true });
      rmSync(this.home, { recursive: true, force: true });
      files.remove(this.far);
    }
  }
}

/** A machine that asks to be a Runner, and waits. */
export interface Pairing {
  program: Program;
  code: string;
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
  if (shell) return ['--claude', join(root, 'internal/rig/shell.sh')];
  const path = place.backend === 'bubblewrap' ? process.env.CLAUDE_HUB_TEST_CLAUDE : '/opt/claude/claude';
  return path ? ['--claude', path] : [];
}
