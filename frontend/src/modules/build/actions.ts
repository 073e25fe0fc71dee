import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { calls } from '~/api/calls';
import { putBuild, putSession } from '~/api/live';
import type { Build } from '~/api/types';
import { complain } from '~/ui/notify';

/** useBuildActions are the things a person does to builds. What the Hub answers is what the pages show. */
export function useBuildActions() {
  const client = useQueryClient();
  const navigate = useNavigate();
  const start = useMutation({
    mutationFn: (o: { environment: string; runner: string; again: boolean }) =>
      calls.startBuild(o.environment, o.runner, o.again),
    onSuccess: (b) => putBuild(client, b),
    onError: complain,
  });
  const cancel = useMutation({
    mutationFn: (b: Build) => calls.cancelBuild(b.id),
    onSuccess: (b) => putBuild(client, b),
    onError: complain,
  });
  const look = useMutation({
    mutationFn: (b: Build) => calls.lookInside(b.id),
    onSuccess: (s) => {
      putSession(client, s);
      void navigate({ to: '/sessions/$id', params: { id: s.id } });
    },
    onError: complain,
  });
  return {
    start: (environment: string, runner: string, again: boolean) =>
      start.mutateAsync({ environment, runner, again }).catch(() => undefined),
    cancel: (b: Build) => cancel.mutate(b),
    look: (b: Build) => look.mutate(b),
    starting: start.isPending,
    cancelling: cancel.isPending,
    looking: look.isPending,
  };
}
