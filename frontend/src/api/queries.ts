import { keepPreviousData, queryOptions } from '@tanstack/react-query';
import { calls } from './calls';
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
