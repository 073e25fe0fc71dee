import { CloseButton } from '@mantine/core';
import type { Session } from '~/api/types';
import { useStored } from '~/ui/stored';
import { moment, past, useNow } from '~/ui/time';
import classes from './Notice.module.css';

/** Notice is what the person should know and need not act on. Who has read it closes it; the history keeps it. */
export function Notice({ session }: { session: Session }) {
  const { notice, noticed } = session.observed;
  const now = useNow(30_000);
  const which = noticed ?? notice ?? ''; // a Runner of an older version tells no time
  const [closed, close] = useStored<string>(`notice.${session.id}`, '');
  if (!notice || closed === which) return null;
  return (
    <div className={classes.notice} role="status" data-testid="session-notice">
      <span className={classes.text}>{notice}</span>
      {noticed && (
        <time className={classes.since} dateTime={noticed} title={moment(noticed)}>
          {past(Date.parse(noticed), now)}
        </time>
      )}
      <CloseButton size="sm" aria-label="Close this notice" onClick={() => close(which)} />
    </div>
  );
}
