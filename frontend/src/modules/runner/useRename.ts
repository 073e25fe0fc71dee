import { useMutation, useQueryClient } from '@tanstack/react-query';
import { calls } from '~/api/calls';
import { putRunner } from '~/api/live';
import type { Runner } from '~/api/types';
import { complain } from '~/ui/notify';

/** useRename gives a Runner another name, if it is one. */
export function useRename(runner: Runner) {
  const client = useQueryClient();
  const rename = useMutation({
    mutationFn: (name: string) => calls.renameRunner(runner.id, name),
    onSuccess: (r) => putRunner(client, r),
    onError: complain,
  });
  return (name: string) => {
    const to = name.trim();
    if (to !== '' && to !== runner.name) rename.mutate(to);
  };
}
