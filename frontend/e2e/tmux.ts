// A person's own terminal: a shell in a real tmux, for what is typed and seen there.
import { execFileSync } from 'node:child_process';
import { eventually } from './wait';

export class Tmux {
  private readonly socket = `che2e-${crypto.randomUUID().slice(0, 8)}`;

  private run(...args: string[]): string {
    return execFileSync('tmux', ['-L', this.socket, '-f', '/dev/null', ...args], { encoding: 'utf8', timeout: 20_000 });
  }

  /** Starts a shell with this environment and nothing else. */
  start(env: Record<string, string>): void {
    const words = Object.entries({
      PATH: process.env.PATH ?? '',
      LANG: 'C.UTF-8',
      TERM: 'tmux-256color',
      PS1: '> ',
      ...env,
    });
    const argv = ['env', '-i', ...words.map(([name, value]) => `${name}=${value}`), 'sh'];
    this.run('new-session', '-d', '-x', '120', '-y', '40', ...argv);
  }

  /** Types a line, with Enter. */
  line(text: string): void {
    this.run('send-keys', '-l', text);
    this.run('send-keys', 'Enter');
  }

  screen(): string {
    return this.run('capture-pane', '-p');
  }

  async sees(what: string | RegExp, seconds = 30): Promise<RegExpMatchArray> {
    const pattern = typeof what === 'string' ? new RegExp(what.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'), 'm') : what;
    let last = '';
    return eventually(
      `a terminal to show ${what}`,
      () => {
        last = this.screen();
        return last.match(pattern);
      },
      seconds,
    ).catch((error) => {
      throw new Error(`${error.message}\n--- it has:\n${last}`);
    });
  }

  end(): void {
    this.run('kill-server');
  }
}
