// The Hub's API, as the person whose browser it is: for what a story prepares, and for what no page says exactly.
import type { Page } from 'playwright-core';
import type { Build, Environment, Recipe, Runner, Session, Variable } from '../src/api/types';
import { base } from './place';
import { eventually, Hopeless, slower } from './wait';

type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
export interface Refusal {
  status: number;
  detail: string;
}

/** The smallest recipe that Claude Code runs well on. */
export function recipe(change: Partial<Recipe> = {}): Recipe {
  return {
    base: { kind: 'default' },
    setup: '',
    cpus: 1,
    memory: 1 << 30,
    disk: 4 * 2 ** 30,
    network: 'open',
    allow: [],
    ...change,
  };
}

/** A recipe that is really built: from the Debian that build/microvm makes. */
export function built(change: Partial<Recipe> = {}): Recipe {
  return recipe({ base: { kind: 'archive', ref: base().archive }, ...change });
}

export class Api {
  constructor(
    private readonly page: Page,
    private readonly url: string,
  ) {}

  private async send(method: Method, path: string, data?: unknown) {
    return this.page.request.fetch(`${this.url}/api${path}`, {
      method,
      headers: { Origin: this.url, ...(data === undefined ? {} : { 'Content-Type': 'application/json' }) },
      ...(data === undefined ? {} : { data: JSON.stringify(data) }),
      timeout: 30_000 * slower,
    });
  }

  /** Asks and gives the answer; a refusal is an error. */
  async call<T>(method: Method, path: string, data?: unknown): Promise<T> {
    const answer = await this.send(method, path, data);
    const text = await answer.text();
    if (!answer.ok()) throw new Error(`${method} ${path}: ${answer.status()} ${text}`);
    return (text ? JSON.parse(text) : undefined) as T;
  }

  /** Asks for what must be refused and gives the words. */
  async refused(method: Method, path: string, data?: unknown): Promise<Refusal> {
    const answer = await this.send(method, path, data);
    if (answer.ok()) throw new Error(`${method} ${path} was not refused: ${await answer.text()}`);
    const { detail } = (await answer.json()) as { detail: string };
    return { status: answer.status(), detail };
  }

  async text(path: string): Promise<string> {
    return (await this.send('GET', path)).text();
  }

  async items<T>(path: string): Promise<T[]> {
    return (await this.call<{ items: T[] }>('GET', path)).items;
  }

  runners(): Promise<Runner[]> {
    return this.items('/runners');
  }

  async runner(): Promise<Runner> {
    const [runner] = await this.runners();
    if (!runner) throw new Error('there is no Runner');
    return runner;
  }

  environment(name: string, r: Recipe): Promise<Environment> {
    return this.call('POST', '/environments', { name, recipe: r });
  }

  async build(environment: string, more: { version?: number; again?: boolean } = {}): Promise<Build> {
    const { id } = await this.runner();
    return this.call('POST', `/environments/${environment}/builds`, { runner: id, ...more });
  }

  /** Waits until a build is what it should be. One that ends otherwise is an error, with the end of its log. */
  async until(id: string, wanted: (b: Build) => boolean, seconds = 180): Promise<Build> {
    let last: Build | undefined;
    const found = await eventually(
      `build ${id}`,
      async () => {
        last = await this.call<Build>('GET', `/builds/${id}`);
        return wanted(last) ? last : ['ready', 'failed', 'cancelled'].includes(last.state) ? 'over' : undefined;
      },
      seconds,
    ).catch((error) => {
      throw new Error(`${error.message}; it is ${JSON.stringify(last, undefined, 1)}`);
    });
    if (found === 'over') {
      const log = await this.text(`/builds/${id}/log.txt`);
      throw new Error(`the build ended: ${JSON.stringify(last, undefined, 1)}\n${log.slice(-3000)}`);
    }
    return found;
  }

  async start(title: string, more: { prompt?: string; environment?: Environment; git?: string } = {}): Promise<string> {
    const { id } = await this.runner();
    const session = await this.call<Session>('POST', '/sessions', {
      runner: id,
      title,
      source: more.git ? { git_url: more.git } : {},
      model: 'default',
      effort: 'default',
      prompt: more.prompt,
      environment: more.environment && { id: more.environment.id, version: more.environment.version },
    });
    return session.id;
  }

  session(id: string): Promise<Session> {
    return this.call('GET', `/sessions/${id}`);
  }

  act(id: string, verb: string): Promise<Session> {
    return this.call('POST', `/sessions/${id}/${verb}`);
  }

  /** Waits until a Session is what it should be. */
  async observe(id: string, what: string, wanted: (s: Session) => unknown, seconds = 90): Promise<Session> {
    let last: Session | undefined;
    return eventually(
      `the Session to be ${what}`,
      async () => {
        last = await this.session(id);
        if (wanted(last)) return last;
        const { phase, generation } = last.observed;
        if (phase === 'failed' && generation === last.generation)
          throw new Hopeless(`waited for the Session to be ${what}`);
        return undefined;
      },
      seconds,
    ).catch((error) => {
      throw new Error(`${error.message}; it is ${JSON.stringify(last?.observed, undefined, 1)}`);
    });
  }

  ready(id: string, seconds = 90): Promise<Session> {
    return this.observe(id, 'ready', (s) => s.observed.phase === 'awake' && s.observed.activity === 'ready', seconds);
  }

  variable(of: string, name: string, value: string, secret: boolean): Promise<Variable> {
    return this.call('PUT', `${of}/variables/${name}`, { value, secret });
  }
}
