import { Badge, Button, Skeleton } from '@mantine/core';
import { IconPlus } from '@tabler/icons-react';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { identity } from '~/api/identity';
import { keys } from '~/api/keys';
import { tokensQuery } from '~/api/queries';
import type { APIToken } from '~/api/types';
import { complain, say } from '~/ui/notify';
import { Sure } from '~/ui/Sure';
import { Trouble } from '~/ui/Trouble';
import { ago, moment, past, useNow } from '~/ui/time';
import { NewToken } from './NewToken';
import classes from './Settings.module.css';

/** Tokens are what scripts and the command line open this Hub with, in the person's name. */
export function Tokens() {
  const list = useQuery(tokensQuery);
  const client = useQueryClient();
  const [over, setOver] = useState<{ is: 'new' } | { is: 'revoke'; token: APIToken }>();
  const close = () => setOver(undefined);
  const revoke = useMutation({
    mutationFn: (t: APIToken) => identity.revokeToken(t.id),
    onSuccess: (_, t) => {
      close();
      say(`“${t.name}” opens nothing any more.`);
      return client.invalidateQueries({ queryKey: keys.tokens });
    },
    onError: complain,
  });
  const now = useNow(10_000);
  return (
    <>
      <p className={classes.lead}>
        For scripts and the command line. Each has scopes, and is shown once, when it is made.{' '}
        <code>claude-hub login</code> makes one by itself.
      </p>
      {list.isPending && <Skeleton height={60} />}
      {list.isError && (
        <Trouble
          what="The tokens could not be read, so it cannot be told which there are."
          error={list.error}
          retry={() => void list.refetch()}
        />
      )}
      {list.data && list.data.length > 0 && (
        <ul className={classes.list}>
          {list.data.map((t) => (
            <Row key={t.id} t={t} now={now} revoke={() => setOver({ is: 'revoke', token: t })} />
          ))}
        </ul>
      )}
      {list.isSuccess && (
        <Button
          className={list.data.length > 0 ? classes.after : undefined}
          variant="default"
          size="xs"
          leftSection={<IconPlus size={14} aria-hidden />}
          onClick={() => setOver({ is: 'new' })}
        >
          New token
        </Button>
      )}
      {over?.is === 'new' && <NewToken close={close} />}
      {over?.is === 'revoke' && (
        <Sure
          title={`Revoke “${over.token.name}”?`}
          verb="Revoke"
          busy={revoke.isPending}
          close={close}
          act={() => revoke.mutate(over.token)}
        >
          Whatever uses it is refused from then on, at once. It cannot be undone; a new token can be made.
        </Sure>
      )}
    </>
  );
}

function Row({ t, now, revoke }: { t: APIToken; now: number; revoke: () => void }) {
  const end = t.expires ? Date.parse(t.expires) : undefined;
  const over = end !== undefined && end <= now;
  return (
    <li data-testid="api-token">
      <div>
        <div className={classes.first}>
          {t.name}
          {t.scopes.map((s) => (
            <Badge
              key={s}
              size="sm"
              variant="light"
              color="gray"
              c="var(--mantine-color-text)"
              className={classes.badge}
            >
              {s}
            </Badge>
          ))}
        </div>
        <div className={classes.quiet}>
          {t.last_used
            ? `used ${past(Date.parse(t.last_used), now)}${t.address ? ` from ${t.address}` : ''}`
            : 'never used'}{' '}
          · made {moment(t.created)} ·{' '}
          {end === undefined ? (
            'lives until it is revoked'
          ) : over ? (
            <b className={classes.bad}>expired {past(end, now)}</b>
          ) : (
            <span title={moment(t.expires ?? '')}>expires in {ago(now, end)}</span>
          )}
        </div>
      </div>
      <Button variant="default" size="compact-sm" aria-label={`Revoke ${t.name}`} onClick={revoke}>
        Revoke …
      </Button>
    </li>
  );
}
