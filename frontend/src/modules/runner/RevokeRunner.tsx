import { useMutation, useQueryClient } from '@tanstack/react-query';
import { identity } from '~/api/identity';
import { keys } from '~/api/keys';
import type { Runner } from '~/api/types';
import { Command } from '~/ui/Copyable';
import { complain, say } from '~/ui/notify';
import { Sure } from '~/ui/Sure';
import { pairCommand } from './pairing';

/** RevokeRunner says what revoking does, and what it does not, and does it. */
export function RevokeRunner({ runner, whose, close }: { runner: Runner; whose?: string; close: () => void }) {
  const client = useQueryClient();
  const revoke = useMutation({
    mutationFn: () => identity.revokeRunner(runner.id),
    onSuccess: () => {
      close();
      say(`${runner.name} is cut off from this Hub.`);
      void client.invalidateQueries({ queryKey: keys.allRunners });
      return client.invalidateQueries({ queryKey: keys.runners });
    },
    onError: complain,
  });
  return (
    <Sure
      title={`Revoke ${runner.name}?`}
      verb="Revoke"
      busy={revoke.isPending}
      close={close}
      act={() => revoke.mutate()}
    >
      <p>{whose && `It is ${whose}’s. `}Its link is cut at once, and its token opens nothing any more.</p>
      <p>
        Sessions that run there go on there, with all their work; nobody reaches them through this Hub until the Runner
        is paired again. On that machine:
      </p>
      <Command>{pairCommand()}</Command>
    </Sure>
  );
}
