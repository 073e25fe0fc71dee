import createClient from 'openapi-fetch';
import { problemFrom, unreachable } from './problem';
import type { paths } from './schema.gen';

const timeout = 20_000; // ms for any answer

export const http = createClient<paths>({
  fetch: async (request) => {
    try {
      return await fetch(request, { signal: AbortSignal.timeout(timeout) });
    } catch {
      throw unreachable();
    }
  },
});

/** got gives the answer, or throws what the Hub said instead. */
export async function got<T>(call: Promise<{ data?: T; error?: unknown; response: Response }>): Promise<T> {
  const { data, error, response } = await call;
  if (!response.ok) throw problemFrom(response.status, error);
  return data as T;
}

export async function items<T>(
  call: Promise<{ data?: { items: T[] | null }; error?: unknown; response: Response }>,
): Promise<T[]> {
  return (await got(call)).items ?? [];
}

/** by names what a path is about. */
export const by = (id: string) => ({ params: { path: { id } } });
