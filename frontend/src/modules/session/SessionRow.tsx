import { Checkbox } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { meQuery, presenceQuery } from '~/api/queries';
import type { Session } from '~/api/types';
import { Face, FaceRow } from '~/ui/Face';
import { ago, moment } from '~/ui/time';
import { creatorOf, isMine } from './mine';
import { repoName, settings } from './repo';
import classes from './SessionRow.module.css';
import { StatusMark } from './StatusMark';
import type { Status } from './status';

interface Props {
  session: Session;
  status: Status;
  runnerName: string;
  now: number;
  selected: boolean;
  select: (on: boolean) => void;
}

/** SessionRow is a Session in one line. */
export function SessionRow({ session, status, runnerName, now, selected, select }: Props) {
  const repo = repoName(session.source);
  const mine = isMine(session);
  const me = useQuery(meQuery);
  const present = useQuery(presenceQuery(session.id));
  const watchers = (present.data ?? []).filter((p) => p.id !== me.data?.id);
  const doing = session.observed.failure?.reason ?? session.observed.doing ?? '';
  return (
    <li className={classes.row} data-selected={selected} data-testid="session-row">
      {mine ? (
        <Checkbox
          size="xs"
          className={classes.check}
          aria-label={`Select ${session.title}`}
          checked={selected}
          onChange={(e) => select(e.currentTarget.checked)}
        />
      ) : (
        <span className={classes.check} title={`${creatorOf(session)}’s`}>
          {session.by && <Face person={session.by} size={20} />}
        </span>
      )}
      <Link to="/sessions/$id" params={{ id: session.id }} className={classes.link}>
        <span className={classes.title}>
          {session.kind === 'look' && <span className={classes.look}>look inside</span>}
          {session.title}
          {!mine && <span className={classes.whose}>{creatorOf(session)}’s</span>}
          <FaceRow people={watchers} />
        </span>
        <span className={classes.meta}>
          <span>
            {repo || <span className={classes.none}>–</span>}
            {session.source.branch && ` ${session.source.branch}`}
          </span>
          <span>{settings(session.model, session.effort)}</span>
          <span>{runnerName}</span>
        </span>
        <span className={classes.status}>
          <StatusMark status={status} />
        </span>
        <span className={classes.doing}>{doing}</span>
        <time
          className={classes.since}
          dateTime={new Date(status.since).toISOString()}
          title={moment(new Date(status.since).toISOString())}
        >
          {ago(status.since, now)}
        </time>
      </Link>
    </li>
  );
}
