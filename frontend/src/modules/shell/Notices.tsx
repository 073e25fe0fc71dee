import { IconAlertTriangle } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { hubQuery } from '~/api/queries';
import classes from './Shell.module.css';

/** Strip is one line that stands above a page for as long as it is true. */
export function Strip({ children }: { children: ReactNode }) {
  return (
    <div className={classes.notice} role="note" data-testid="notice">
      <IconAlertTriangle size={14} aria-hidden />
      <span>{children}</span>
    </div>
  );
}

/** Notices shows what the Hub wants said on every page. */
export function Notices() {
  const hub = useQuery(hubQuery);
  return (
    <>
      {hub.data?.notice && <Strip>{hub.data.notice}</Strip>}
      {hub.data?.setup && (
        <Strip>
          This Hub has no admin yet. Whoever has the code that it printed can <Link to="/setup">set it up</Link>.
        </Strip>
      )}
    </>
  );
}
