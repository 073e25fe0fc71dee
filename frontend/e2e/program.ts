// One program of a story that can be ended politely or not, and started again. Where it runs makes no difference.
import { type ChildProcess, spawn } from 'node:child_process';
import { createWriteStream, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { place, quote, there } from './place';
import { eventually } from './wait';

export interface ProgramOptions {
  /** Added to the small environment that programs get. */
  env?: Record<string, string>;
  /** The folder to run in where the Runner runs; without it the program runs here. */
  there?: string;
}

export class Program {
  private child?: ChildProcess;
  readonly out: string;

  constructor(
    readonly name: string,
    private readonly argv: () => string[],
    private readonly folder: string,
    private readonly options: ProgramOptions = {},
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

  private get pidFile(): string {
    return join(this.options.there ?? this.folder, `${this.name}.pid`);
  }

  private command(): string[] {
    const far = this.options.there;
    if (!far) return this.argv();
    const env = { HOME: far, LANG: 'C.UTF-8', ...this.options.env };
    const words = [...Object.entries(env).map(([name, value]) => `${name}=${value}`), ...this.argv()].map(quote);
    return place.shell(`cd ${quote(far)} && echo $$ >${quote(this.pidFile)} && exec env ${words.join(' ')}`);
  }

  start(): void {
    const [file = '', ...args] = this.command();
    writeFileSync(this.out, '');
    const child = spawn(file, args, {
      cwd: this.folder,
      env: { PATH: process.env.PATH ?? '', HOME: this.folder, LANG: 'C.UTF-8', ...this.options.env },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    child.stdout.pipe(createWriteStream(this.out, { flags: 'a' }));
    child.stderr.pipe(createWriteStream(join(this.folder, `${this.name}.log`), { flags: 'a' }));
    child.on('error', (error) => writeFileSync(join(this.folder, `${this.name}.log`), String(error), { flag: 'a' }));
    this.child = child;
  }

  private get pidThere(): string {
    return there(`cat ${quote(this.pidFile)}`).trim();
  }

  /** Sends a signal to a program that runs where the Runner runs. */
  signal(name: 'STOP' | 'CONT'): void {
    there(`kill -${name} ${this.pidThere}`);
  }

  /** Ends the program with a signal and waits until it is gone. */
  async end(signal: NodeJS.Signals = 'SIGTERM'): Promise<void> {
    const child = this.child;
    if (!child || !this.running) return;
    const gone = new Promise((done) => child.once('exit', done));
    if (this.options.there) {
      const pid = this.pidThere;
      there(`kill -${signal.slice(3)} ${pid} || true`);
      await eventually(
        `${this.name} to end`,
        () => !this.running || there(`kill -0 ${pid} 2>/dev/null || echo gone`) !== '',
        60,
      );
      // What carried its output may hang on a child that it left.
      setTimeout(() => child.kill('SIGKILL'), 1000);
    } else {
      child.kill(signal);
    }
    await gone;
  }

  /** The first match of a pattern in what it printed. */
  says(pattern: RegExp, seconds = 30): Promise<RegExpMatchArray> {
    return this.finds(pattern, () => readFileSync(this.out, 'utf8'), seconds);
  }

  /** The first match of a pattern in what it printed beside its output: its log, and what it tells a person. */
  notes(pattern: RegExp, seconds = 30): Promise<RegExpMatchArray> {
    return this.finds(pattern, () => this.log(), seconds);
  }

  private finds(pattern: RegExp, read: () => string, seconds: number): Promise<RegExpMatchArray> {
    return eventually(
      `${this.name} to print ${pattern}`,
      () => {
        const match = read().match(pattern);
        if (!match && !this.running) throw new Error(`${this.name} ended: ${this.log().slice(-2000)}`);
        return match;
      },
      seconds,
    );
  }

  /** Waits until it ends by itself, well unless another code is expected. */
  async ended(code = 0, seconds = 30): Promise<void> {
    await eventually(`${this.name} to end`, () => this.child !== undefined && !this.running, seconds);
    if (this.child?.exitCode !== code)
      throw new Error(`${this.name} ended with ${this.child?.exitCode}: ${this.log()}`);
  }

  log(): string {
    try {
      return readFileSync(join(this.folder, `${this.name}.log`), 'utf8');
    } catch {
      return '';
    }
  }
}
