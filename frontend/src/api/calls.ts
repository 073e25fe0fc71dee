import { by, got, http, items } from './http';
import type {
  EnvironmentChange,
  Forward,
  NewSession,
  Recipe,
  SeedRequest,
  SessionChange,
  SessionVerb,
  StorageItem,
} from './types';

/** Scope is whose Variables: an Environment's or a Repo's. */
export type Scope = { environment: string } | { repo: string };

/** calls are all that the pages ask of the Hub, but for events and terminals. */
export const calls = {
  hub: () => got(http.GET('/api/hub')),
  me: () => got(http.GET('/api/me')),
  signIn: (token: string) => got(http.POST('/api/sign-in', { body: { token } })),
  signOut: () => got(http.POST('/api/sign-out')),
  signIns: () => items(http.GET('/api/sign-ins')),
  revoke: (id: string) => got(http.DELETE('/api/sign-ins/{id}', by(id))),
  sessions: (archived: boolean) => items(http.GET('/api/sessions', { params: { query: { archived } } })),
  session: (id: string) => got(http.GET('/api/sessions/{id}', by(id))),
  create: (body: NewSession) => got(http.POST('/api/sessions', { body })),
  change: (id: string, body: SessionChange) => got(http.PATCH('/api/sessions/{id}', { ...by(id), body })),
  verb: (id: string, verb: SessionVerb) => got(http.POST(`/api/sessions/{id}/${verb}`, by(id))),
  deleteSession: (id: string) => got(http.DELETE('/api/sessions/{id}', by(id))),
  forward: (id: string, body: Forward) => got(http.POST('/api/sessions/{id}/ports', { ...by(id), body })),
  unforward: (id: string, port: number) =>
    got(http.DELETE('/api/sessions/{id}/ports/{port}', { params: { path: { id, port: String(port) } } })),
  prompts: (id: string) => items(http.GET('/api/sessions/{id}/prompts', by(id))),
  prompt: (id: string, text: string, request: string) =>
    got(http.POST('/api/sessions/{id}/prompts', { ...by(id), body: { text, request } })),
  cancelPrompt: (id: string, prompt: string) =>
    got(http.POST('/api/sessions/{id}/prompts/{prompt}/cancel', { params: { path: { id, prompt } } })),
  history: (id: string) => items(http.GET('/api/sessions/{id}/history', by(id))),
  runners: () => items(http.GET('/api/runners')),
  renameRunner: (id: string, name: string) => got(http.PATCH('/api/runners/{id}', { ...by(id), body: { name } })),
  reclaim: (id: string, what: StorageItem['kind'][]) =>
    got(http.POST('/api/runners/{id}/reclaim', { ...by(id), body: { what } })),

  environments: (archived: boolean) => items(http.GET('/api/environments', { params: { query: { archived } } })),
  environment: (id: string) => got(http.GET('/api/environments/{id}', by(id))),
  newEnvironment: (name: string, recipe: Recipe) => got(http.POST('/api/environments', { body: { name, recipe } })),
  changeEnvironment: (id: string, body: EnvironmentChange) =>
    got(http.PATCH('/api/environments/{id}', { ...by(id), body })),
  environmentVerb: (id: string, verb: 'archive' | 'unarchive') =>
    got(http.POST(`/api/environments/{id}/${verb}`, by(id))),
  versions: (id: string) => items(http.GET('/api/environments/{id}/versions', by(id))),
  builds: (id: string) => items(http.GET('/api/environments/{id}/builds', by(id))),
  startBuild: (id: string, runner: string, again: boolean) =>
    got(http.POST('/api/environments/{id}/builds', { ...by(id), body: { runner, again } })),
  build: (id: string) => got(http.GET('/api/builds/{id}', by(id))),
  cancelBuild: (id: string) => got(http.POST('/api/builds/{id}/cancel', by(id))),
  lookInside: (id: string) => got(http.POST('/api/builds/{id}/look', by(id))),
  variables: (of: Scope) =>
    items(
      'environment' in of
        ? http.GET('/api/environments/{id}/variables', by(of.environment))
        : http.GET('/api/repo-variables', { params: { query: { repo: of.repo } } }),
    ),
  putVariable: (of: Scope, name: string, value: string, secret: boolean) => {
    const body = { value, secret };
    return got(
      'environment' in of
        ? http.PUT('/api/environments/{id}/variables/{name}', { params: { path: { id: of.environment, name } }, body })
        : http.PUT('/api/repo-variables/{name}', { params: { path: { name }, query: { repo: of.repo } }, body }),
    );
  },
  removeVariable: (of: Scope, name: string) =>
    got(
      'environment' in of
        ? http.DELETE('/api/environments/{id}/variables/{name}', { params: { path: { id: of.environment, name } } })
        : http.DELETE('/api/repo-variables/{name}', { params: { path: { name }, query: { repo: of.repo } } }),
    ),
  repos: () => items(http.GET('/api/repo-variables/repos')),
  seeds: () => items(http.GET('/api/seeds')),
  seed: (body: SeedRequest) => got(http.POST('/api/environments/seed', { body })),
};
