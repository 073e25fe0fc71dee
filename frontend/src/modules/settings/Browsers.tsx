import { Badge, Button, Skeleton } from '@mantine/core';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { calls } from '~/api/calls';
import { keys } from '~/api/keys';
import { signInsQuery } from '~/api/queries';
import type { SignIn } from '~/api/types';
import { browserName } from '~/ui/browser';
import { complain, say } from '~/ui/notify';
import { Trouble } from '~/ui/Trouble';
import { moment, past, useNow } from '~/ui/time';
import classes from './Settings.module.css';

/** Browsers are where the person is signed in. */
export function Browsers() {
  const list = useQuery(signInsQuery);
  const client = useQueryClient();
  const revoke = useMutation({
    mutationFn: (s: SignIn) => calls.revoke(s.id),
    onSuccess: (_, s) => {
      say(`${browserName(s.user_agent)} is signed out.`);
      return client.invalidateQueries({ queryKey: keys.signIns });
    },
    onError: complain,
  });
  const now = useNow(10_000);
  if (list.isPending) return <Skeleton height={60} />;
  if (list.isError) {
    return <Trouble what="The browsers could not be read." error={list.error} retry={() => void list.refetch()} />;
  }
  return (
    <ul className={classes.list}>
      {list.data.map((s) => (
        <li key={s.id} data-testid="browser">
          <div>
            <div className={classes.first} title={s.user_agent}>
              {browserName(s.user_agent)}
              {s.current && (
                <Badge variant="light" size="sm" className={classes.badge}>
                  this browser
                </Badge>
              )}
            </div>
            <div className={classes.quiet}>
              {s.address} · since {moment(s.created)} · used {past(Date.parse(s.last_used), now)}
            </div>
          </div>
          {!s.current && (
            <Button
              variant="default"
              size="compact-sm"
              aria-label={`Revoke ${browserName(s.user_agent)}`}
              loading={revoke.isPending && revoke.variables.id === s.id}
              onClick={() => revoke.mutate(s)}
            >
              Revoke
            </Button>
          )}
        </li>
      ))}
    </ul>
  );
}
