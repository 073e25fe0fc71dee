import createClient from 'openapi-fetch';
import { problemFrom, unreachable } from './problem';
import type { paths } from './schema.gen';
import type {
  Build,
  Environment,
  EnvironmentChange,
  EnvironmentVersion,
  Forward,
  FoundSeed,
  NewSession,
  Recipe,
  RepoItem,
  Runner,
  Seeded,
  SeedRequest,
  Session,
  SessionChange,
  SessionVerb,
  StorageItem,
  Variable,
} from './types';

const timeout = 20_000; // ms for any answer

const http = createClient<paths>({
  fetch: async (request) => {
    try {
      return await fetch(request, { signal: AbortSignal.timeout(timeout) });
    } catch {
      throw unreachable();
    }
  },
});

/** got gives the answer, or throws what the Hub said instead. */
async function got<T>(call: Promise<{ data?: T; error?: unknown; response: Response }>): Promise<T> {
  const { data, error, response } = await call;
  if (!response.ok) throw problemFrom(response.status, error);
  return data as T;
}

async function items<T>(call: Promise<{ data?: { items: T[] | null }; error?: unknown; response: Response }>) {
  return (await got(call)).items ?? [];
}

async function ask<T>(method: string, path: string, body?: unknown): Promise<T> {
  let response: Response;
  try {
    response = await fetch(path, {
      method,
      headers: body === undefined ? {} : { 'Content-Type': 'application/json' },
      body: body === undefined ? null : JSON.stringify(body),
      signal: AbortSignal.timeout(timeout),
    });
  } catch {
    throw unreachable();
  }
  const text = await response.text();
  let data: unknown;
  try {
    data = text === '' ? undefined : JSON.parse(text);
  } catch {
    data = undefined;
  }
  if (!response.ok) throw problemFrom(response.status, data);
  return data as T;
}
const listOf = async <T>(path: string) => (await ask<{ items: T[] | null }>('GET', path)).items ?? [];

/** Scope is whose Variables: an Environment's or a Repo's. */
export type Scope = { environment: string } | { repo: string };

function variablesPath(scope: Scope, name?: string): string {
  const last = name === undefined ? '' : `/${encodeURIComponent(name)}`;
  return 'environment' in scope
    ? `/api/environments/${scope.environment}/variables${last}`
    : `/api/repo-variables${last}?repo=${encodeURIComponent(scope.repo)}`;
}

const by = (id: string) => ({ params: { path: { id } } });

/** calls are all that the pages ask of the Hub, but for events and terminals. */
export const calls = {
  hub: () => got(http.GET('/api/hub')),
  me: () => got(http.GET('/api/me')),
  signIn: (token: string) => got(http.POST('/api/sign-in', { body: { token } })),
  signOut: () => got(http.POST('/api/sign-out')),
  signIns: () => items(http.GET('/api/sign-ins')),
  revoke: (id: string) => got(http.DELETE('/api/sign-ins/{id}', by(id))),
  sessions: (archived: boolean) => listOf<Session>(`/api/sessions?archived=${archived}`),
  session: (id: string) => ask<Session>('GET', `/api/sessions/${id}`),
  create: (body: NewSession) => ask<Session>('POST', '/api/sessions', body),
  change: (id: string, body: SessionChange) => ask<Session>('PATCH', `/api/sessions/${id}`, body),
  verb: (id: string, verb: SessionVerb) => ask<Session>('POST', `/api/sessions/${id}/${verb}`),
  deleteSession: (id: string) => ask<Session>('DELETE', `/api/sessions/${id}`),
  forward: (id: string, body: Forward) => ask<Session>('POST', `/api/sessions/${id}/ports`, body),
  unforward: (id: string, port: number) => ask<Session>('DELETE', `/api/sessions/${id}/ports/${port}`),
  prompts: (id: string) => items(http.GET('/api/sessions/{id}/prompts', by(id))),
  prompt: (id: string, text: string, request: string) =>
    got(http.POST('/api/sessions/{id}/prompts', { ...by(id), body: { text, request } })),
  cancelPrompt: (id: string, prompt: string) =>
    got(http.POST('/api/sessions/{id}/prompts/{prompt}/cancel', { params: { path: { id, prompt } } })),
  history: (id: string) => items(http.GET('/api/sessions/{id}/history', by(id))),
  runners: () => listOf<Runner>('/api/runners'),
  renameRunner: (id: string, name: string) => ask<Runner>('PATCH', `/api/runners/${id}`, { name }),
  reclaim: (id: string, what: StorageItem['kind'][]) => ask<Runner>('POST', `/api/runners/${id}/reclaim`, { what }),

  environments: (archived: boolean) => listOf<Environment>(`/api/environments?archived=${archived}`),
  environment: (id: string) => ask<Environment>('GET', `/api/environments/${id}`),
  newEnvironment: (name: string, recipe: Recipe) => ask<Environment>('POST', '/api/environments', { name, recipe }),
  changeEnvironment: (id: string, body: EnvironmentChange) =>
    ask<Environment>('PATCH', `/api/environments/${id}`, body),
  environmentVerb: (id: string, verb: 'archive' | 'unarchive') =>
    ask<Environment>('POST', `/api/environments/${id}/${verb}`),
  versions: (id: string) => listOf<EnvironmentVersion>(`/api/environments/${id}/versions`),
  builds: (id: string) => listOf<Build>(`/api/environments/${id}/builds`),
  startBuild: (id: string, runner: string, again: boolean) =>
    ask<Build>('POST', `/api/environments/${id}/builds`, { runner, again }),
  build: (id: string) => ask<Build>('GET', `/api/builds/${id}`),
  cancelBuild: (id: string) => ask<Build>('POST', `/api/builds/${id}/cancel`),
  lookInside: (id: string) => ask<Session>('POST', `/api/builds/${id}/look`),
  variables: (scope: Scope) => listOf<Variable>(variablesPath(scope)),
  putVariable: (scope: Scope, name: string, value: string, secret: boolean) =>
    ask<Variable>('PUT', variablesPath(scope, name), { value, secret }),
  removeVariable: (scope: Scope, name: string) => ask<undefined>('DELETE', variablesPath(scope, name)),
  repos: () => listOf<RepoItem>('/api/repo-variables/repos'),
  seeds: () => listOf<FoundSeed>('/api/seeds'),
  seed: (body: SeedRequest) => ask<Seeded>('POST', '/api/environments/seed', body),
};
