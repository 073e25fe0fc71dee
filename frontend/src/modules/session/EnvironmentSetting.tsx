import { Button, Select } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { environmentsQuery } from '~/api/queries';
import type { Session } from '~/api/types';
import { useSessionActions } from './actions';
import classes from './Drawer.module.css';

const none = 'none';

/** EnvironmentSetting is what a Session runs on, and from its next wake. */
export function EnvironmentSetting({ session }: { session: Session }) {
  const list = useQuery(environmentsQuery(false));
  const actions = useSessionActions();
  const wanted = session.environment;
  const runs = session.observed.environment;
  const known = list.data?.find((e) => e.id === wanted?.id);
  const data = [
    { value: none, label: 'none: the Runner’s own system' },
    ...(list.data ?? []).map((e) => ({ value: e.id, label: e.name })),
    ...(wanted && !known ? [{ value: wanted.id, label: wanted.name }] : []),
  ];
  const differs = (wanted?.id ?? '') !== (runs?.id ?? '') || (wanted?.version ?? 0) !== (runs?.version ?? 0);
  const awake = session.observed.phase === 'awake';
  return (
    <div className={classes.environment}>
      <Select
        aria-label="Environment"
        size="xs"
        allowDeselect={false}
        disabled={session.desired === 'archived' || session.desired === 'deleted'}
        data={data}
        value={wanted?.id ?? none}
        onChange={(id) => actions.change(session, { environment: { id: id === none || id === null ? '' : id } })}
      />
      <p className={classes.quiet}>
        {wanted && (
          <>
            <Link to="/environments/$id" params={{ id: wanted.id }} className={classes.link}>
              Version {wanted.version}
            </Link>
            .{' '}
          </>
        )}
        {awake && differs
          ? `It runs on ${runs ? `${runs.name}, version ${runs.version}` : 'the Runner’s own system'} until it sleeps; the change counts from the next wake.`
          : 'A change counts from the next wake.'}
      </p>
      {known && wanted && known.version > wanted.version && (
        <Button
          size="compact-xs"
          variant="default"
          onClick={() => actions.change(session, { environment: { id: known.id, version: known.version } })}
        >
          Use version {known.version} from the next wake
        </Button>
      )}
    </div>
  );
}
