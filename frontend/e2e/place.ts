// Where the Runner and its Sandboxes are: on this machine, with bubblewrap, or in the emulated machine of build/microvm,
// with microVMs. Hub, browser and the stand-in for Anthropic are always here.
import { execFileSync } from 'node:child_process';
import { join, resolve } from 'node:path';
import { freePort } from './wait';

export const root = resolve(import.meta.dirname, '../..');

/** One word of a shell's command line. */
export const quote = (word: string) => `'${word.replaceAll("'", "'\\''")}'`;

interface Place {
  readonly backend: 'bubblewrap' | 'microsandbox';
  /** The folder of a story, where it is the same for all. */
  readonly home?: string;
  /** Makes the folder of a story, with the images that are kept between stories unless it shall begin cold. */
  prepare(folder: string, cold: boolean): void;
  /** Where the programs of bin/ are. */
  readonly bin: string;
  /** The argv that has a script run by a shell there. */
  shell(script: string): string[];
  /** Makes a port of this machine's loopback the same port of the loopback there, until closed. */
  open(port: number): void;
  close(port: number): void;
  /** A port of this machine's loopback that leads to one of the loopback there. */
  reach(port: number): Promise<number>;
}

const here: Place = {
  backend: 'bubblewrap',
  prepare: () => undefined,
  bin: join(root, 'bin'),
  shell: (script) => ['bash', '-c', script],
  open: () => undefined,
  close: () => undefined,
  reach: async (port) => port,
};

/** Where warm.ts keeps the images that the emulated machine has made: there it takes minutes. */
export const warm = '/srv/warm';

/** The machine is named by the folder that machine.sh up made. One ssh connection carries everything. */
function emulated(run: string): Place {
  const ssh = ['ssh', '-F', join(run, 'config')];
  const forward = (verb: string, ...what: string[]) =>
    execFileSync('ssh', [...ssh.slice(1), '-O', verb, ...what, 'machine'], { stdio: 'pipe', timeout: 60_000 });
  const same = (port: number) => `127.0.0.1:${port}:127.0.0.1:${port}`;
  return {
    backend: 'microsandbox',
    home: '/srv/story',
    prepare: (folder, cold) =>
      // What a story before left hanging ends here.
      void there(`pkill -9 -f '[m]sb sandbox' ; pkill -9 -f '/srv/bin/[c]laude-hub-runner'; sleep 0.5
        rm -rf ${folder} && mkdir -p -m 700 ${folder}/runner && chmod 700 ${folder}/runner
        ${cold ? '' : `[ ! -e ${warm} ] || cp -a --sparse=always ${warm}/. ${folder}/runner/`}`),
    bin: '/srv/bin',
    shell: (script) => [...ssh, 'machine', script],
    open: (port) => void forward('forward', '-R', same(port)),
    close: (port) => void forward('cancel', '-R', same(port)),
    async reach(port) {
      const near = await freePort();
      forward('forward', '-L', `127.0.0.1:${near}:127.0.0.1:${port}`);
      return near;
    },
  };
}

const run = process.env.CLAUDE_HUB_MACHINE;
export const place: Place = run ? emulated(run) : here;

/** The Debian that Environments are built from in the stories: a folder and an image's archive, on the Runner's machine. */
export function base(): { directory: string; archive: string } {
  const folder = run
    ? '/opt/base'
    : execFileSync(join(root, 'build/microvm/build.sh'), ['base'], {
        encoding: 'utf8',
        timeout: 900_000,
        stdio: ['ignore', 'pipe', 'inherit'],
      }).trim();
  return { directory: join(folder, 'rootfs'), archive: join(folder, 'archive.tar') };
}

/** Runs a script here, where the Hub is. */
export const locally = (script: string) =>
  execFileSync('bash', ['-c', script], { encoding: 'utf8', timeout: 120_000, maxBuffer: 64 << 20 });

/** Runs a script there and gives what it printed. A script that fails is an error with what it said. */
export function there(script: string, input: string | Buffer = '', seconds = 120): string {
  const [file = '', ...args] = place.shell(script);
  return execFileSync(file, args, {
    input,
    encoding: 'utf8',
    timeout: seconds * 1000,
    maxBuffer: 64 << 20,
    stdio: ['pipe', 'pipe', 'pipe'],
  });
}

/** Files there, as bytes. */
export const files = {
  read: (path: string) => Buffer.from(there(`base64 -w0 ${quote(path)}`), 'base64'),
  append: (path: string, data: Buffer) => void there(`base64 -d >>${quote(path)}`, data.toString('base64')),
  list: (path: string) =>
    there(`ls -A ${quote(path)}`)
      .split('\n')
      .filter(Boolean),
  remove: (path: string) => void there(`rm -rf ${quote(path)}`),
};
