import { infiniteQueryOptions, keepPreviousData, queryOptions, skipToken } from '@tanstack/react-query';
import { calls, type Scope } from './calls';
import { type AuditFilter, identity } from './identity';
import { keys } from './keys';
import type { Face, Links } from './types';

// Events keep these fresh, so nothing goes stale by age; "ready" after a reconnect refetches all.
const live = { staleTime: Number.POSITIVE_INFINITY } as const;

export const hubQuery = queryOptions({ queryKey: keys.hub, queryFn: calls.hub, ...live });
export const meQuery = queryOptions({ queryKey: keys.me, queryFn: calls.me, ...live });
export const signInsQuery = queryOptions({ queryKey: keys.signIns, queryFn: calls.signIns });
export const runnersQuery = queryOptions({ queryKey: keys.runners, queryFn: calls.runners, ...live });

export const sessionsQuery = (archived: boolean) =>
  queryOptions({ queryKey: keys.sessions(archived), queryFn: () => calls.sessions(archived), ...live });
export const sessionQuery = (id: string) =>
  queryOptions({ queryKey: keys.session(id), queryFn: () => calls.session(id), ...live });
export const promptsQuery = (id: string) =>
  queryOptions({ queryKey: keys.prompts(id), queryFn: () => calls.prompts(id), ...live });
/** The history is read again when the Session changed, which is when it may have grown. */
export const historyQuery = (id: string, updated: string) =>
  queryOptions({
    queryKey: keys.history(id, updated),
    queryFn: () => calls.history(id),
    placeholderData: keepPreviousData,
  });

export const environmentsQuery = (archived: boolean) =>
  queryOptions({ queryKey: keys.environments(archived), queryFn: () => calls.environments(archived), ...live });
export const environmentQuery = (id: string) =>
  queryOptions({ queryKey: keys.environment(id), queryFn: () => calls.environment(id), ...live });
export const versionsQuery = (id: string) =>
  queryOptions({ queryKey: keys.versions(id), queryFn: () => calls.versions(id), ...live });
export const buildsQuery = (environment: string) =>
  queryOptions({ queryKey: keys.builds(environment), queryFn: () => calls.builds(environment), ...live });
export const buildQuery = (id: string) =>
  queryOptions({ queryKey: keys.build(id), queryFn: () => calls.build(id), ...live });
// Variables have no events: what another page changed is seen when this one is opened again.
export const variablesQuery = (scope: Scope) =>
  queryOptions({
    queryKey: keys.variables('environment' in scope ? scope.environment : scope.repo),
    queryFn: () => calls.variables(scope),
  });
export const reposQuery = queryOptions({ queryKey: keys.repos, queryFn: calls.repos });
export const seedsQuery = queryOptions({ queryKey: keys.seeds, queryFn: calls.seeds });

export const suggestionsQuery = (session: string) =>
  queryOptions({ queryKey: keys.suggestions(session), queryFn: () => identity.suggestions(session), ...live });
/** How the Runners of others' Sessions are reached comes by events alone, when it changes. */
export const linksQuery = queryOptions<Links>({ queryKey: keys.links, queryFn: skipToken, ...live });
/** Presence comes by events alone. */
export const presenceQuery = (session: string) =>
  queryOptions<Face[]>({ queryKey: keys.presence(session), queryFn: skipToken, ...live });
export const peopleQuery = (q: string) =>
  queryOptions({
    queryKey: keys.people(q),
    queryFn: () => identity.people(q),
    placeholderData: keepPreviousData,
    staleTime: 30_000,
  });

// What follows has no events: it is read again when its page is opened.
export const tokensQuery = queryOptions({ queryKey: keys.tokens, queryFn: identity.tokens });
export const allPeopleQuery = queryOptions({ queryKey: keys.allPeople, queryFn: identity.allPeople });
export const allRunnersQuery = queryOptions({ queryKey: keys.allRunners, queryFn: identity.allRunners });
export const auditQuery = (filter: AuditFilter) =>
  infiniteQueryOptions({
    queryKey: keys.audit(filter),
    queryFn: ({ pageParam }) => identity.audit(filter, pageParam),
    initialPageParam: undefined as number | undefined,
    getNextPageParam: (last) => {
      const seq = last.at(-1)?.seq ?? 1;
      return seq > 1 ? seq : undefined;
    },
  });
