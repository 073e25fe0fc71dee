import { MutationCache, QueryCache, QueryClient } from '@tanstack/react-query';
import { keys } from './keys';
import { Problem } from './problem';
import { toSignIn } from './signin';

function onError(err: unknown) {
  if (err instanceof Problem && err.status === 401) toSignIn();
}

/** client is the one query cache. What the Hub refused is not asked again; what got no answer is. */
export const client = new QueryClient({
  queryCache: new QueryCache({ onError }),
  mutationCache: new MutationCache({ onError }),
  defaultOptions: {
    queries: {
      retry: (count, err) => !(err instanceof Problem && err.status !== 0 && err.status < 500) && count < 3,
      refetchOnWindowFocus: false,
    },
  },
});

// Who watches, and how others' Runners are reached, is told when it changes, and not again for someone who asks later.
client.setQueryDefaults(['presence'], { gcTime: Number.POSITIVE_INFINITY });
client.setQueryDefaults(keys.links, { gcTime: Number.POSITIVE_INFINITY });
