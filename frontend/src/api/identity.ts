import { by, got, http, items } from './http';
import type { NewAPIToken, Role } from './types';

/** AuditFilter chooses lines of the audit log. */
export interface AuditFilter {
  actor?: string;
  action?: string;
  target?: string;
  from?: string;
  to?: string;
}

/** exportPath is where the lines that a filter chooses are as JSON lines. */
export function exportPath(f: AuditFilter): string {
  const q = new URLSearchParams();
  for (const [k, v] of Object.entries(f)) if (v) q.set(k, String(v));
  return `/api/admin/audit.jsonl${q.size > 0 ? `?${q}` : ''}`;
}

const device = (code: string) => ({ params: { path: { user_code: code } } });

/** identity is what the pages ask of the Hub about who may do what. */
export const identity = {
  setup: (code: string) => got(http.POST('/api/setup', { body: { code } })),
  device: (code: string) => got(http.GET('/api/device/{user_code}', device(code))),
  approve: (code: string, name: string | undefined) =>
    got(http.POST('/api/device/{user_code}/approve', { ...device(code), body: { name } })),
  deny: (code: string) => got(http.POST('/api/device/{user_code}/deny', device(code))),

  tokens: () => items(http.GET('/api/tokens')),
  makeToken: (body: NewAPIToken) => got(http.POST('/api/tokens', { body })),
  revokeToken: (id: string) => got(http.DELETE('/api/tokens/{id}', by(id))),
  revokeRunner: (id: string) => got(http.DELETE('/api/runners/{id}', by(id))),

  people: (q: string) => items(http.GET('/api/people', { params: { query: { q } } })),
  share: (id: string, body: { login: string } | { everyone: boolean }) =>
    got(http.POST('/api/sessions/{id}/share', { ...by(id), body })),
  unshare: (id: string, person: string) =>
    got(http.DELETE('/api/sessions/{id}/share/{person}', { params: { path: { id, person } } })),
  makeLink: (id: string) => got(http.POST('/api/sessions/{id}/link', by(id))),
  revokeLink: (id: string) => got(http.DELETE('/api/sessions/{id}/link', by(id))),
  join: (token: string) => got(http.POST('/api/join', { body: { token } })),

  suggestions: (id: string) => items(http.GET('/api/sessions/{id}/suggestions', by(id))),
  suggest: (id: string, text: string) =>
    got(http.POST('/api/sessions/{id}/suggestions', { ...by(id), body: { text } })),
  accept: (id: string, text: string | undefined) =>
    got(http.POST('/api/suggestions/{id}/accept', { ...by(id), body: { text } })),
  decline: (id: string, why: string | undefined) =>
    got(http.POST('/api/suggestions/{id}/decline', { ...by(id), body: { why } })),
  withdraw: (id: string) => got(http.POST('/api/suggestions/{id}/withdraw', by(id))),

  allPeople: () => items(http.GET('/api/admin/people')),
  setRole: (id: string, role: Role) => got(http.POST('/api/admin/people/{id}/role', { ...by(id), body: { role } })),
  signOutPerson: (id: string) => got(http.POST('/api/admin/people/{id}/sign-out', by(id))),
  allRunners: () => items(http.GET('/api/admin/runners')),
  audit: (filter: AuditFilter, before: number | undefined) =>
    items(http.GET('/api/admin/audit', { params: { query: { ...filter, before } } })),
};
