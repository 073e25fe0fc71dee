import { Checkbox } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import type { Session } from '~/api/types';
import { ago, moment } from '~/ui/time';
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
  const doing = session.observed.failure?.reason ?? session.observed.doing ?? '';
  return (
    <li className={classes.row} data-selected={selected} data-testid="session-row">
      <Checkbox
        size="xs"
        className={classes.check}
        aria-label={`Select ${session.title}`}
        checked={selected}
        onChange={(e) => select(e.currentTarget.checked)}
      />
      <Link to="/sessions/$id" params={{ id: session.id }} className={classes.link}>
        <span className={classes.title}>
          {session.kind === 'look' && <span className={classes.look}>look inside</span>}
          {session.title}
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
