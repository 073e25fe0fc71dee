import { keepPreviousData, queryOptions } from '@tanstack/react-query';
import { calls, type Scope } from './calls';
import { keys } from './keys';

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
