import { problemFrom, unreachable } from './problem';
import type { HistoryItem, HubInfo, NewSession, Person, Prompt, Runner, Session, SessionVerb, SignIn } from './types';

const timeout = 20_000;

async function request<T>(method: string, path: string, body?: unknown): Promise<T> {
  let response: Response;
  try {
    response = await fetch(path, {
      method,
      headers: body === undefined ? {} : { 'Content-Type': 'application/json' },
      body: body === undefined ? undefined : JSON.stringify(body),
      signal: AbortSignal.timeout(timeout),
    });
  } catch {
    throw unreachable();
  }
  if (response.status === 204) return undefined as T;
  const json: unknown = await response.json().catch(() => null);
  if (!response.ok) throw problemFrom(response.status, json);
  return json as T;
}

async function items<T>(path: string): Promise<T[]> {
  return (await request<{ items: T[] | null }>('GET', path)).items ?? [];
}

const session = (id: string) => `/api/sessions/${encodeURIComponent(id)}`;

export const calls = {
  hub: () => request<HubInfo>('GET', '/api/hub'),
  me: () => request<Person>('GET', '/api/me'),
  signIn: (token: string) => request<void>('POST', '/api/sign-in', { token }),
  signOut: () => request<void>('POST', '/api/sign-out', {}),
  signIns: () => items<SignIn>('/api/sign-ins'),
  revoke: (id: string) => request<void>('DELETE', `/api/sign-ins/${encodeURIComponent(id)}`),
  sessions: (archived: boolean) => items<Session>(`/api/sessions?archived=${archived}`),
  session: (id: string) => request<Session>('GET', session(id)),
  create: (s: NewSession) => request<Session>('POST', '/api/sessions', s),
  change: (id: string, to: { title?: string; model?: string; effort?: string }) =>
    request<Session>('PATCH', session(id), to),
  verb: (id: string, verb: SessionVerb) => request<Session>('POST', `${session(id)}/${verb}`, {}),
  prompts: (id: string) => items<Prompt>(`${session(id)}/prompts`),
  prompt: (id: string, text: string, nonce: string) =>
    request<Prompt>('POST', `${session(id)}/prompts`, { text, request: nonce }),
  cancelPrompt: (id: string, prompt: string) =>
    request<Prompt>('POST', `${session(id)}/prompts/${encodeURIComponent(prompt)}/cancel`, {}),
  history: (id: string) => items<HistoryItem>(`${session(id)}/history`),
  runners: () => items<Runner>('/api/runners'),
  renameRunner: (id: string, name: string) =>
    request<Runner>('PATCH', `/api/runners/${encodeURIComponent(id)}`, { name }),
};
