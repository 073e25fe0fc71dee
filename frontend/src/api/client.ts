import { MutationCache, QueryCache, QueryClient } from '@tanstack/react-query';
import { Problem } from './problem';

/** toSignIn goes to the sign-in page, which says why. */
function toSignIn(err: unknown) {
  if (err instanceof Problem && err.status === 401 && window.location.pathname !== '/sign-in') {
    window.location.assign('/sign-in');
  }
}

/** client is the one query cache. What the Hub refused is not asked again; what got no answer is. */
export const client = new QueryClient({
  queryCache: new QueryCache({ onError: toSignIn }),
  mutationCache: new MutationCache({ onError: toSignIn }),
  defaultOptions: {
    queries: {
      retry: (count, err) => !(err instanceof Problem && err.status !== 0 && err.status < 500) && count < 3,
      refetchOnWindowFocus: false,
    },
  },
});
