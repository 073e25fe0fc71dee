// The stand-in for GitHub of one story: who there is, how the Hub is told of it, and what happens there meanwhile.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from './place';
import { Program } from './program';

/** Who there is, with the ids that they keep. All but mallory are members of the organisation acme, which may sign in. */
export const people = { ada: 1001, bob: 1002, cleo: 1003, mallory: 1666 } as const;
export type Login = keyof typeof people;

const clientID = 'Iv-standin';
const org = 'acme';

export interface GitHubOptions {
  /** The repositories of the organisation, each with those who see it. */
  repos?: Record<string, Login[]>;
  /** Puts something between GitHub and whoever asks it, the Hub and browsers: the address that they are given. */
  between?: (github: string) => Promise<string>;
  /** How often the Hub asks again who may be there. */
  recheck?: string;
}

/** How GitHub answers instead; internal/standin/github lists the kinds. */
export interface Failure {
  endpoint: string;
  kind: string;
  times?: number;
}

/** One question that the stand-in was asked. */
export interface Asked {
  method: string;
  path: string;
  endpoint: string;
  person?: number;
  pkce?: boolean;
  status: number;
  outcome: string;
  reason?: string;
}

export class GitHub {
  url = '';
  /** The application's secret, which nothing may ever print. */
  readonly secret = `standin-client-secret-${crypto.randomUUID()}`;
  private readonly program: Program;
  private readonly secretFile: string;

  constructor(
    home: string,
    hub: string,
    private readonly options: GitHubOptions,
  ) {
    const script = join(home, 'github.json');
    this.secretFile = join(home, 'client-secret');
    writeFileSync(this.secretFile, this.secret, { mode: 0o600 });
    writeFileSync(script, JSON.stringify(scriptOf(hub, options)));
    this.program = new Program(
      'github',
      () => [
        join(root, 'bin/standin-github'),
        '--listen',
        '127.0.0.1:0',
        '--script',
        script,
        '--client-secret-file',
        this.secretFile,
      ],
      join(home, 'logs'),
    );
  }

  async start(): Promise<void> {
    this.program.start();
    const [url] = await this.program.says(/http:\/\/127\.0\.0\.1:\d+/);
    this.url = (await this.options.between?.(url)) ?? url;
  }

  /** What the Hub is started with. */
  get hubFlags(): string[] {
    return [
      '--github-client-id',
      clientID,
      '--github-client-secret-file',
      this.secretFile,
      '--github-url',
      this.url,
      '--allow',
      `org:${org}`,
      '--recheck',
      this.options.recheck ?? '15m',
    ];
  }

  /** From now on an endpoint fails, or every one ("*"), until it is healed. */
  fail(failure: Failure): Promise<void> {
    return this.steer('fail', failure);
  }

  heal(): Promise<void> {
    return this.steer('heal', {});
  }

  /** Gives a person another login; the id stays. */
  rename(login: Login, to: string): Promise<void> {
    return this.steer('person', { id: people[login], login: to });
  }

  /** Takes a person out of the organisation that may sign in, or into it again. */
  member(login: Login, is: boolean): Promise<void> {
    return this.steer('member', { org, person: people[login], state: is ? 'active' : '' });
  }

  /** Shows a repository of the organisation to a person, or hides it. */
  reader(repo: string, login: Login, sees: boolean): Promise<void> {
    return this.steer('reader', { repo: `${org}/${repo}`, person: people[login], sees });
  }

  /** The address that git is given for a repository. */
  repo(name: string): string {
    return `${this.url}/${org}/${name}.git`;
  }

  /** What it was asked, in order: at one endpoint, or at all. */
  async asked(endpoint?: string): Promise<Asked[]> {
    const answer = await fetch(`${this.url}/standin/log`);
    const { requests } = (await answer.json()) as { requests: Asked[] };
    return requests.filter((q) => !endpoint || q.endpoint === endpoint);
  }

  private async steer(what: string, body: unknown): Promise<void> {
    const answer = await fetch(`${this.url}/standin/${what}`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify(body),
    });
    if (!answer.ok) throw new Error(`stand-in: ${answer.status} ${await answer.text()}`);
  }

  end(): Promise<void> {
    return this.program.end();
  }
}

function scriptOf(hub: string, options: GitHubOptions) {
  const members = Object.entries(people).filter(([login]) => login !== 'mallory');
  return {
    app: { clientID, redirects: [`${hub}/api/auth/github/callback`] },
    people: Object.entries(people).map(([login, id]) => ({ id, login, name: nameOf(login) })),
    orgs: [{ id: 501, login: org, members: members.map(([, person]) => ({ person })), teams: [] }],
    installations: [],
    repos: Object.entries(options.repos ?? {}).map(([name, readers], i) => ({
      id: 7001 + i,
      name: `${org}/${name}`,
      readers: readers.map((login) => people[login]),
    })),
  };
}

/** What the stand-in calls a person beside the login. */
export const nameOf = (login: string) => `${login.charAt(0).toUpperCase()}${login.slice(1)} of Acme`;
