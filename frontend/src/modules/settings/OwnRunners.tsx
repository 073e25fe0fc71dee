import { ActionIcon, Badge, Button, Group, Skeleton, TextInput, Tooltip } from '@mantine/core';
import { IconPencil } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { runnersQuery } from '~/api/queries';
import type { Runner } from '~/api/types';
import { RevokeRunner } from '~/modules/runner/RevokeRunner';
import { useRename } from '~/modules/runner/useRename';
import { Trouble } from '~/ui/Trouble';
import { past, useNow } from '~/ui/time';
import classes from './Settings.module.css';

/** OwnRunners are the machines that run Sessions in the person's name. */
export function OwnRunners() {
  const list = useQuery(runnersQuery);
  const [revoking, setRevoking] = useState<Runner>();
  const now = useNow(10_000);
  if (list.isPending) return <Skeleton height={60} />;
  if (list.isError) {
    return (
      <Trouble
        what="The Runners could not be read, so it cannot be told which there are."
        error={list.error}
        retry={() => void list.refetch()}
      />
    );
  }
  if (list.data.length === 0) {
    return (
      <p className={classes.lead}>
        No Runner yet. <Link to="/runners">The Runners page</Link> has the commands.
      </p>
    );
  }
  return (
    <>
      <ul className={classes.list}>
        {list.data.map((r) => (
          <Row key={r.id} r={r} now={now} revoke={() => setRevoking(r)} />
        ))}
      </ul>
      {revoking && <RevokeRunner runner={revoking} close={() => setRevoking(undefined)} />}
    </>
  );
}

/** usedWords says when a Runner's token was last used, and from where. */
function usedWords(r: Runner, now: number): string {
  if (r.revoked) return `revoked ${past(Date.parse(r.revoked), now)}; pair it again to reach its Sessions`;
  const from = r.address ? ` from ${r.address}` : '';
  if (r.link.state === 'up') return `linked now${from}`;
  return r.last_used ? `used ${past(Date.parse(r.last_used), now)}${from}` : 'never used';
}

function Row({ r, now, revoke }: { r: Runner; now: number; revoke: () => void }) {
  const rename = useRename(r);
  const [text, setText] = useState<string>();
  const done = (name: string) => {
    setText(undefined);
    rename(name);
  };
  return (
    <li data-testid="own-runner">
      <div>
        {text === undefined ? (
          <Group gap={4}>
            {r.name}
            {!r.revoked && (
              <Tooltip label="Rename">
                <ActionIcon
                  variant="subtle"
                  color="gray"
                  size="sm"
                  aria-label={`Rename ${r.name}`}
                  onClick={() => setText(r.name)}
                >
                  <IconPencil size={14} />
                </ActionIcon>
              </Tooltip>
            )}
            {r.revoked && (
              <Badge size="sm" variant="light" color="red" c="var(--mantine-color-text)" className={classes.badge}>
                revoked
              </Badge>
            )}
          </Group>
        ) : (
          <TextInput
            aria-label="Name of this Runner"
            size="xs"
            autoFocus
            maxLength={60}
            value={text}
            onChange={(e) => setText(e.currentTarget.value)}
            onBlur={() => done(text)}
            onKeyDown={(e) => {
              if (e.key === 'Enter') done(text);
              if (e.key === 'Escape') setText(undefined);
            }}
          />
        )}
        <div className={classes.quiet}>
          {r.machine.hostname && `${r.machine.hostname} · ${r.machine.os}/${r.machine.arch} · `}
          {usedWords(r, now)}
        </div>
      </div>
      {!r.revoked && (
        <Button variant="default" size="compact-sm" aria-label={`Revoke ${r.name}`} onClick={revoke}>
          Revoke …
        </Button>
      )}
    </li>
  );
}
