import createClient from 'openapi-fetch';
import { problemFrom, unreachable } from './problem';
import type { paths } from './schema.gen';
import type { NewSession, SessionChange, SessionVerb } from './types';

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

const by = (id: string) => ({ params: { path: { id } } });

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
  prompts: (id: string) => items(http.GET('/api/sessions/{id}/prompts', by(id))),
  prompt: (id: string, text: string, request: string) =>
    got(http.POST('/api/sessions/{id}/prompts', { ...by(id), body: { text, request } })),
  cancelPrompt: (id: string, prompt: string) =>
    got(http.POST('/api/sessions/{id}/prompts/{prompt}/cancel', { params: { path: { id, prompt } } })),
  history: (id: string) => items(http.GET('/api/sessions/{id}/history', by(id))),
  runners: () => items(http.GET('/api/runners')),
  renameRunner: (id: string, name: string) => got(http.PATCH('/api/runners/{id}', { ...by(id), body: { name } })),
};
