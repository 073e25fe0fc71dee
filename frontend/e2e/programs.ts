// The real programs of one story: Hub, Runner and the stand-in for Anthropic, each in a folder of the story's own, on
// loopback, with their logs kept.
import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { base, files, place, quote, root, there } from './place';
import { Program } from './program';
import { freePort, slower } from './wait';

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
}

/** Everything that one story runs on. */
export class Rig {
  readonly home = mkdtempSync('/tmp/che2e-');
  /** The story's folder on the Runner's machine. In the emulated one each story has the same, by its turn. */
  readonly far = place.home ?? this.home;
  readonly token = `sk-ant-oat01-stand-in-${'x'.repeat(40)}${Math.random().toString(36).slice(2).padEnd(20, '0')}`;
  port = 0;
  hub!: Program;
  runner!: Program;
  anthropic!: Program;
  anthropicURL = '';

  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  private readonly opened: number[] = [];
  private readonly runnerProgram = join(place.bin, 'claude-hub-runner');

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

    this.hub = new Program(
      'hub',
      () => [bin('claude-hub'), 'serve', '--listen', `127.0.0.1:${this.port}`, '--data', join(this.home, 'hub')],
      logs,
    );
    this.hub.start();
    await this.hub.says(/Sign in: (\S+)/);

    const hubForRunner = options.hubForRunner ? await options.hubForRunner(this.url) : this.url;
    this.open(hubForRunner);
    this.open(this.anthropicURL);
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
        this.runnerProgram,
        '--dir',
        this.runnerDir,
        'run',
        '--anthropic-url',
        place.fromSandbox(this.anthropicURL),
        '--stand-in',
        ...claudeArgs(options.shell),
      ],
      logs,
      { there: this.far, env: this.runnerEnv },
    );
    this.runner.start();
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
    try {
      this.runnerCommand(['sandboxes', 'stop']);
    } finally {
      await this.hub?.end();
      await this.anthropic?.end();
      for (const port of this.opened) place.close(port);
      cpSync(join(this.home, 'logs'), join(import.meta.dirname, 'out', story, 'logs'), { recursive: true });
      rmSync(this.home, { recursive: true, force: true });
      files.remove(this.far);
    }
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
  if (shell) return ['--claude', join(root, 'internal/rig/shell.sh')];
  const path = place.backend === 'bubblewrap' ? process.env.CLAUDE_HUB_TEST_CLAUDE : '/opt/claude/claude';
  return path ? ['--claude', path] : [];
}
