// Somebody else on this machine who looks at its processes, all the time, as ps does: what was each started with?
import { type ChildProcess, spawn } from 'node:child_process';
import { createWriteStream, readFileSync } from 'node:fs';

/** A process as it was seen. */
export interface Seen {
  pid: number;
  argv: string;
  environ: string;
  /** Whether it is in a Sandbox: in another world of processes than the story. */
  inside: boolean;
}

// Another process, so that it looks on while the story waits. It says each pair of process and argv once.
const look = `
const { readdirSync, readFileSync, readlinkSync } = require('fs');
const own = readlinkSync('/proc/self/ns/pid');
const seen = new Map();
setInterval(() => {
  for (const pid of readdirSync('/proc')) {
    if (!/^[0-9]+$/.test(pid)) continue;
    try {
      const argv = readFileSync('/proc/' + pid + '/cmdline', 'latin1');
      if (seen.get(pid) === argv) continue;
      seen.set(pid, argv);
      const environ = readFileSync('/proc/' + pid + '/environ', 'latin1');
      console.log(JSON.stringify({ pid: +pid, argv, environ, inside: readlinkSync('/proc/' + pid + '/ns/pid') !== own }));
    } catch {} // gone already
  }
}, 25);`;

export class Watch {
  private child?: ChildProcess;

  constructor(private readonly file: string) {}

  start(): void {
    this.child = spawn(process.execPath, ['-e', look], { stdio: ['ignore', 'pipe', 'inherit'] });
    this.child.stdout?.pipe(createWriteStream(this.file));
  }

  /** Ends, and gives all that was seen. */
  async stop(): Promise<Seen[]> {
    const child = this.child;
    if (!child) return [];
    this.child = undefined;
    const gone = new Promise((done) => child.stdout?.once('close', done));
    child.kill();
    await gone;
    const lines = readFileSync(this.file, 'utf8').split('\n').filter(Boolean);
    return lines.flatMap((line) => {
      try {
        return [JSON.parse(line) as Seen];
      } catch {
        return []; // the last one, cut off
      }
    });
  }
}
