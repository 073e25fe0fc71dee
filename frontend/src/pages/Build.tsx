import { Anchor, Button, Skeleton } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link, useParams } from '@tanstack/react-router';
import { useHubLink } from '~/api/live';
import { Problem } from '~/api/problem';
import { buildQuery, runnersQuery } from '~/api/queries';
import type { Build } from '~/api/types';
import { useBuildActions } from '~/modules/build/actions';
import classes from '~/modules/build/Build.module.css';
import { BuildView } from '~/modules/build/BuildView';
import { final } from '~/modules/environment/recipe';
import { Empty } from '~/ui/Empty';
import { Trouble } from '~/ui/Trouble';
import { useTitle } from '~/ui/title';

/** BuildPage is a build that belongs to no Environment: of the default recipe, for a Session that has none. */
export function BuildPage() {
  useTitle('Build');
  const { id } = useParams({ from: '/shell/builds/$id' });
  const build = useQuery(buildQuery(id));
  if (build.isPending) return <Skeleton height="100%" radius={0} aria-label="Reading the build" />;
  if (build.isError) {
    if (build.error instanceof Problem && build.error.status === 404) {
      return (
        <Empty title="There is no such build">
          It is not there any more, or it is not yours.{' '}
          <Anchor component={Link} to="/environments">
            To the Environments
          </Anchor>
        </Empty>
      );
    }
    return <Trouble what="The build could not be read." error={build.error} retry={() => void build.refetch()} />;
  }
  return <Loaded build={build.data} />;
}

function Loaded({ build }: { build: Build }) {
  const hub = useHubLink();
  const runners = useQuery(runnersQuery);
  const actions = useBuildActions();
  const where = runners.data?.find((r) => r.id === build.runner);
  return (
    <div className={classes.panel} data-testid="build-panel">
      <div className={classes.tools}>
        <h1 className={classes.title}>The default recipe</h1>
        {!final(build) && (
          <Button
            variant="default"
            disabled={build.cancelling}
            loading={actions.cancelling}
            onClick={() => actions.cancel(build)}
          >
            {build.cancelling ? 'Cancelling …' : 'Cancel the build'}
          </Button>
        )}
      </div>
      <BuildView
        build={build}
        runnerName={where?.name ?? 'a Runner that is gone'}
        linked={hub.state === 'up' && where?.link.state === 'up'}
        goToLine={undefined}
      />
    </div>
  );
}
