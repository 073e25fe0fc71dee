import { useQuery } from '@tanstack/react-query';
import { useHubLink } from '~/api/live';
import { linksQuery, runnersQuery } from '~/api/queries';
import type { Session } from '~/api/types';
import { useNow } from '~/ui/time';
import { statusOf } from './status';

/** useStatuses gives the way to tell each Session's status now. */
export function useStatuses() {
  const hub = useHubLink();
  const runners = useQuery(runnersQuery);
  const links = useQuery(linksQuery);
  const now = useNow();
  const reached = (s: Session) => runners.data?.find((r) => r.id === s.runner) ?? links.data?.[s.runner];
  return {
    now,
    hub,
    runnerOf: (s: Session) => runners.data?.find((r) => r.id === s.runner),
    /** reachedBy is the name and the link of a Session's Runner, also of one that is another's. */
    reachedBy: reached,
    statusOf: (s: Session) => statusOf(s, reached(s), hub, now),
  };
}
