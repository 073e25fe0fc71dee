import { IconEye } from '@tabler/icons-react';
import type { Session } from '~/api/types';
import { Face } from '~/ui/Face';
import { creatorOf } from './mine';
import classes from './Watching.module.css';

/** Watching says to a Participant, for as long as they look, who drives. */
export function Watching({ session }: { session: Session }) {
  return (
    <div className={classes.banner} role="note" data-testid="watching">
      {session.by ? <Face person={session.by} size={20} /> : <IconEye size={16} aria-hidden />}
      <span>
        watching: only <b>{creatorOf(session)}</b> types here
      </span>
    </div>
  );
}
