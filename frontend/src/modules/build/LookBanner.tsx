import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { buildQuery, environmentQuery } from '~/api/queries';
import type { Build } from '~/api/types';
import { ago, useNow } from '~/ui/time';
import classes from './Build.module.css';

/** LookBanner says what a look inside is: a shell in the Sandbox that a failed build left, and until when. */
export function LookBanner({ build: id }: { build: string }) {
  const build = useQuery(buildQuery(id));
  return (
    <div className={classes.banner} role="note" data-testid="look-banner">
      {build.data ? <Told build={build.data} /> : 'A look inside a build: a shell as root in the Sandbox that it left.'}
    </div>
  );
}

function Told({ build: b }: { build: Build }) {
  const environment = useQuery({ ...environmentQuery(b.environment), enabled: b.environment !== '' });
  const now = useNow(30_000);
  const kept = Date.parse(b.kept ?? '');
  return (
    <>
      A look inside a build of{' '}
      {b.environment ? (
        <Link to="/environments/$id" params={{ id: b.environment }} search={{ build: b.id }}>
          {environment.data?.name ?? 'an Environment'}, version {b.version}
        </Link>
      ) : (
        <Link to="/builds/$id" params={{ id: b.id }}>
          the default recipe
        </Link>
      )}
      : a shell as root in the Sandbox that it left. Nothing you change here goes into an image.
      {kept > now && ` It is kept for another ${ago(now, kept)}.`}
    </>
  );
}
