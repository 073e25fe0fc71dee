// Somebody without a browser who asks the Hub: a script of their own, with whatever headers it likes, from whatever
// address of this machine's loopback it likes.
import { type IncomingHttpHeaders, request } from 'node:http';
import { afterAll, beforeAll } from 'vitest';
import type { Runner } from '../src/api/types';
import { type Login, people } from './github';
import { Rig, type RigOptions } from './programs';
import { eventually } from './wait';

export interface Question {
  json?: unknown;
  body?: string;
  headers?: Record<string, string>;
}

export interface Answer {
  status: number;
  headers: IncomingHttpHeaders;
  text: string;
}

/** What a refusal has in its body. */
export interface Problem {
  status: number;
  code: string;
  detail: string;
  error?: string;
}

export const problemOf = (answer: Answer) => JSON.parse(answer.text) as Problem;

export class Caller {
  readonly jar = new Map<string, string>();

  constructor(
    readonly url: string,
    readonly from = '127.0.0.1',
  ) {}

  /** Asks as it is told to, and takes any answer. The path is sent as it stands. */
  ask(method: string, path: string, question: Question = {}): Promise<Answer> {
    const { hostname, port } = new URL(this.url);
    const body = question.json === undefined ? question.body : JSON.stringify(question.json);
    const headers = {
      ...this.cookies,
      ...(question.json === undefined ? {} : { 'Content-Type': 'application/json' }),
      ...(body === undefined ? {} : { 'Content-Length': String(Buffer.byteLength(body)) }),
      ...question.headers,
    };
    return new Promise((done, fail) => {
      const asked = request({ hostname, port, path, method, headers, localAddress: this.from, timeout: 30_000 });
      asked.on('error', fail).on('timeout', () => asked.destroy(new Error(`${method} ${path}: no answer`)));
      asked.on('response', (answer) => {
        const parts: Buffer[] = [];
        answer.on('data', (part: Buffer) => parts.push(part)).on('error', fail);
        answer.on('end', () => {
          for (const line of answer.headers['set-cookie'] ?? []) this.keep(line);
          done({ status: answer.statusCode ?? 0, headers: answer.headers, text: Buffer.concat(parts).toString() });
        });
      });
      asked.end(body);
    });
  }

  /** What goes with each question. */
  get cookies(): Record<string, string> {
    const all = [...this.jar].map(([name, value]) => `${name}=${value}`);
    return all.length > 0 ? { Cookie: all.join('; ') } : {};
  }

  private keep(line: string): void {
    const [, name = '', value = ''] = line.match(/^([^=]+)=([^;]*)/) ?? [];
    if (value) this.jar.set(name, value);
    else this.jar.delete(name);
  }

  /** Asks the API for what must work. */
  async call<T>(method: string, path: string, json?: unknown): Promise<T> {
    const answer = await this.ask(method, `/api${path}`, { json });
    if (answer.status >= 300) throw new Error(`${method} ${path}: ${answer.status} ${answer.text}`);
    return (answer.text ? JSON.parse(answer.text) : undefined) as T;
  }

  /** Asks the API for what must be refused. */
  async refused(method: string, path: string, json?: unknown): Promise<Problem> {
    const answer = await this.ask(method, `/api${path}`, { json });
    if (answer.status < 400) throw new Error(`${method} ${path} was not refused: ${answer.status} ${answer.text}`);
    return problemOf(answer);
  }

  async items<T>(path: string): Promise<T[]> {
    return (await this.call<{ items: T[] }>('GET', path)).items;
  }

  /** Signs in at the stand-in for GitHub, from the Hub's question to where the Hub sends this person in the end. */
  async signIn(login: Login, next = '/'): Promise<Answer> {
    const begun = await this.ask('GET', `/api/auth/github/start?next=${encodeURIComponent(next)}`);
    const answer = new URL(await atGitHub(begun.headers.location ?? '', login));
    return this.ask('GET', answer.pathname + answer.search);
  }
}

/** Presses a person's button on the stand-in's page, and gives the address that the browser is sent back to. */
export async function atGitHub(question: string, login: Login): Promise<string> {
  const body = new URLSearchParams({ person: String(people[login]) });
  const answer = await fetch(question, { method: 'POST', body, redirect: 'manual' });
  const back = answer.headers.get('location');
  if (!back) throw new Error(`GitHub answers with ${answer.status}: ${await answer.text()}`);
  return back;
}

/** A rig without a browser beside it. */
export function scripted(name: string, options: RigOptions): Rig {
  const rig = new Rig();
  beforeAll(() => rig.start(options));
  afterAll(() => rig.stop(name));
  return rig;
}

/** A person who has signed in with GitHub by a script, from an address of their own. */
export async function signedIn(rig: Rig, login: Login, from?: string): Promise<Caller> {
  const caller = new Caller(rig.url, from);
  const { headers } = await caller.signIn(login);
  if (headers.location !== '/') throw new Error(`${login} was sent to ${headers.location}`);
  for (const cookie of caller.jar.values()) rig.secrets.add(cookie);
  return caller;
}

/** Makes a person admin by the code that the Hub printed. */
export async function makeAdmin(rig: Rig, caller: Caller): Promise<void> {
  await caller.call('POST', '/setup', { code: await rig.setupCode() });
}

/** Pairs the rig's machine with the Hub as a person's, and runs the Runner. */
export async function pair(rig: Rig, owner: Caller): Promise<Runner> {
  const { program, code } = await rig.askToPair();
  await owner.call('POST', `/device/${code}/approve`, {});
  await program.ended();
  rig.runner.start();
  return linked(owner);
}

/** Waits until a person's Runner is linked. */
export function linked(owner: Caller): Promise<Runner> {
  return eventually('the Runner to be linked', async () =>
    (await owner.items<Runner>('/runners')).find((r) => r.link.state === 'up' && !r.revoked),
  );
}

export interface Device {
  device_code: string;
  user_code: string;
  interval: number;
}

/** Has the Hub make codes for a device. */
export function askCode(device: Caller, name: string, client: 'runner' | 'cli' = 'runner'): Promise<Device> {
  return device.call('POST', '/device/code', { client, name, machine: 'linux/amd64' });
}

/** Makes a Runner of a person's that no machine runs: enough for what the Hub alone decides. */
export async function paperRunner(owner: Caller, name: string): Promise<Runner> {
  const device = await askCode(owner, name);
  await owner.call('POST', `/device/${device.user_code}/approve`, {});
  const made = await owner.call<{ runner: string }>('POST', '/device/token', { device_code: device.device_code });
  const runner = (await owner.items<Runner>('/runners')).find((r) => r.id === made.runner);
  if (!runner) throw new Error(`${name} is not among the Runners`);
  return runner;
}

/** A line of the audit log. */
export interface Line {
  seq: number;
  actor_kind: string;
  actor?: string;
  login?: string;
  action: string;
  target?: string;
  address?: string;
  outcome: 'ok' | 'refused';
  detail?: Record<string, string>;
}

/** The audit log as an admin exports it, oldest first. */
export async function audit(admin: Caller, after = 0): Promise<Line[]> {
  const { text, status } = await admin.ask('GET', '/api/admin/audit.jsonl');
  if (status !== 200) throw new Error(`the audit log: ${status} ${text}`);
  return text
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line) as Line)
    .filter((line) => line.seq > after);
}
