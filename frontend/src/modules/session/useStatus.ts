import { useQuery } from '@tanstack/react-query';
import { useHubLink } from '~/api/live';
import { runnersQuery } from '~/api/queries';
import type { Session } from '~/api/types';
import { useNow } from '~/ui/time';
import { statusOf } from './status';

/** useStatuses gives the way to tell each Session's status now. */
export function useStatuses() {
  const hub = useHubLink();
  const runners = useQuery(runnersQuery);
  const now = useNow();
  return {
    now,
    hub,
    runnerOf: (s: Session) => runners.data?.find((r) => r.id === s.runner),
    statusOf: (s: Session) =>
      statusOf(
        s,
        runners.data?.find((r) => r.id === s.runner),
        hub,
        now,
      ),
  };
}
