import { ask } from './http';
import type {
  APIToken,
  AuditEntry,
  Device,
  Face,
  Person,
  Role,
  Runner,
  Session,
  Suggestion,
  TokenScope,
} from './types';

const list = async <T>(path: string) => (await ask<{ items: T[] | null }>('GET', path)).items ?? [];
const part = encodeURIComponent;

/** NewToken is what a person asks a token to be. */
export interface NewToken {
  name: string;
  scopes: TokenScope[];
  expires?: string;
}

/** OwnedRunner is a Runner with whose it is. */
export type OwnedRunner = Runner & { by?: Face };

/** AuditFilter chooses lines of the audit log. */
export interface AuditFilter {
  actor?: string;
  action?: string;
  target?: string;
  from?: string;
  to?: string;
}

/** auditQuery is a filter as the Hub's routes take it. */
export function auditQuery(f: AuditFilter, before?: number): string {
  const q = new URLSearchParams();
  for (const [k, v] of Object.entries(f)) if (v) q.set(k, String(v));
  if (before) q.set('before', String(before));
  const text = q.toString();
  return text && `?${text}`;
}

/** identity is what the pages ask of the Hub about who may do what. */
export const identity = {
  setup: (code: string) => ask<Person>('POST', '/api/setup', { code }),
  device: (code: string) => ask<Device>('GET', `/api/device/${part(code)}`),
  approve: (code: string, name: string | undefined) =>
    ask<Device>('POST', `/api/device/${part(code)}/approve`, { name }),
  deny: (code: string) => ask<void>('POST', `/api/device/${part(code)}/deny`),

  tokens: () => list<APIToken>('/api/tokens'),
  makeToken: (body: NewToken) => ask<APIToken & { token: string }>('POST', '/api/tokens', body),
  revokeToken: (id: string) => ask<void>('DELETE', `/api/tokens/${part(id)}`),
  revokeRunner: (id: string) => ask<void>('DELETE', `/api/runners/${part(id)}`),

  people: (q: string) => list<Face>(`/api/people?q=${part(q)}`),
  share: (id: string, body: { login: string } | { everyone: boolean }) =>
    ask<Session>('POST', `/api/sessions/${part(id)}/share`, body),
  unshare: (id: string, person: string) => ask<Session>('DELETE', `/api/sessions/${part(id)}/share/${part(person)}`),
  makeLink: (id: string) => ask<{ url: string }>('POST', `/api/sessions/${part(id)}/link`),
  revokeLink: (id: string) => ask<Session>('DELETE', `/api/sessions/${part(id)}/link`),
  join: (token: string) => ask<Session>('POST', '/api/join', { token }),

  suggestions: (id: string) => list<Suggestion>(`/api/sessions/${part(id)}/suggestions`),
  suggest: (id: string, text: string) => ask<Suggestion>('POST', `/api/sessions/${part(id)}/suggestions`, { text }),
  accept: (id: string, text: string | undefined) =>
    ask<unknown>('POST', `/api/suggestions/${part(id)}/accept`, { text }),
  decline: (id: string, why: string | undefined) =>
    ask<Suggestion>('POST', `/api/suggestions/${part(id)}/decline`, { why }),
  withdraw: (id: string) => ask<Suggestion>('POST', `/api/suggestions/${part(id)}/withdraw`),

  allPeople: () => list<Person>('/api/admin/people'),
  setRole: (id: string, role: Role) => ask<Person>('POST', `/api/admin/people/${part(id)}/role`, { role }),
  signOutPerson: (id: string) => ask<void>('POST', `/api/admin/people/${part(id)}/sign-out`),
  allRunners: () => list<OwnedRunner>('/api/admin/runners'),
  audit: (f: AuditFilter, before?: number) => list<AuditEntry>(`/api/admin/audit${auditQuery(f, before)}`),
};
