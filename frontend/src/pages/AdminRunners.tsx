import { Badge, Button, Skeleton } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { allRunnersQuery } from '~/api/queries';
import type { OwnedRunner } from '~/api/types';
import classes from '~/modules/admin/Admin.module.css';
import { Frame } from '~/modules/admin/Frame';
import { hopText } from '~/modules/link/LinkDot';
import { RevokeRunner } from '~/modules/runner/RevokeRunner';
import { Empty } from '~/ui/Empty';
import { Named } from '~/ui/Face';
import { called } from '~/ui/person';
import { Trouble } from '~/ui/Trouble';
import { moment, past, useNow } from '~/ui/time';
import { useTitle } from '~/ui/title';

/** AdminRunners is every Runner of this Hub, whoever's it is. */
export function AdminRunners() {
  useTitle('All Runners');
  return (
    <Frame title="Runners">
      <p className={classes.lead}>
        Everyone’s machines. What runs on them stays their owners’: an admin can cut a Runner off, and nothing else.
      </p>
      <Runners />
    </Frame>
  );
}

function Runners() {
  const list = useQuery(allRunnersQuery);
  const now = useNow(10_000);
  const [revoking, setRevoking] = useState<OwnedRunner>();
  if (list.isPending) return <Skeleton height={200} role="status" aria-label="Reading the Runners" />;
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
    return <Empty title="No Runner yet">When someone pairs a machine with this Hub, it appears here.</Empty>;
  }
  return (
    <>
      <table className={classes.table}>
        <thead>
          <tr>
            <th scope="col">Runner</th>
            <th scope="col">Owner</th>
            <th scope="col">Link</th>
            <th scope="col">Last used</th>
            <th scope="col">Since</th>
            <th scope="col">
              <span className={classes.hidden}>Actions</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {list.data.map((r) => (
            <tr key={r.id} data-testid="any-runner">
              <th scope="row">
                {r.name}
                {r.machine.os && (
                  <span className={classes.quiet}>
                    {' '}
                    {r.machine.os}/{r.machine.arch}
                  </span>
                )}
              </th>
              <td>
                <Named person={r.by} size={24} />
              </td>
              <td>
                {r.revoked ? (
                  <Badge
                    size="sm"
                    variant="light"
                    color="red"
                    c="var(--mantine-color-text)"
                    className={classes.badge}
                    ml={0}
                  >
                    revoked {past(Date.parse(r.revoked), now)}
                  </Badge>
                ) : (
                  hopText({ state: r.link.state, since: Date.parse(r.link.since) }, now)
                )}
              </td>
              <td data-name="used">
                {r.last_used ? past(Date.parse(r.last_used), now) : <span className={classes.quiet}>never</span>}
                {r.address && <span className={classes.quiet}> from {r.address}</span>}
              </td>
              <td className={classes.late}>{moment(r.created)}</td>
              <td>
                {!r.revoked && (
                  <Button
                    variant="default"
                    size="compact-sm"
                    aria-label={`Revoke ${r.name}`}
                    onClick={() => setRevoking(r)}
                  >
                    Revoke …
                  </Button>
                )}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      {revoking && <RevokeRunner runner={revoking} whose={called(revoking.by)} close={() => setRevoking(undefined)} />}
    </>
  );
}
