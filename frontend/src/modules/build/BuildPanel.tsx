import { Button, Select, Skeleton } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useHubLink } from '~/api/live';
import { buildsQuery, runnersQuery } from '~/api/queries';
import type { Build, Environment, EnvironmentVersion, Recipe, Runner } from '~/api/types';
import { builtOn, final, hasBuild } from '~/modules/environment/recipe';
import { paired } from '~/modules/runner/pairing';
import { Empty } from '~/ui/Empty';
import { Trouble } from '~/ui/Trouble';
import { ago, useNow } from '~/ui/time';
import { useBuildActions } from './actions';
import classes from './Build.module.css';
import { BuildView } from './BuildView';

interface Props {
  environment: Environment;
  versions: EnvironmentVersion[];
  runner: Runner | undefined;
  setRunner: (id: string) => void;
  /** build is the one that the person chose to see; otherwise the newest on the Runner is. */
  build: string | undefined;
  showBuild: (id: string | undefined) => void;
  /** dirty: what is in the editor is saved before it is built. */
  dirty: boolean;
  draft: Recipe;
  /** save makes a version of what is in the editor; undefined when that did not work. */
  save: () => Promise<Environment | undefined>;
  sound: boolean;
  goToLine: (line: number) => void;
}

/** BuildPanel builds an Environment on a Runner, and shows how that goes. */
export function BuildPanel(p: Props) {
  const { environment, versions, runner, draft } = p;
  const hub = useHubLink();
  const runners = useQuery(runnersQuery);
  const builds = useQuery(buildsQuery(environment.id));
  const all = builds.data ?? [];
  const shown = all.find((b) => b.id === p.build) ?? all.find((b) => b.runner === runner?.id) ?? undefined;
  const where = runners.data?.find((r) => r.id === shown?.runner);
  const script = versions.find((v) => v.version === shown?.version)?.recipe.setup;

  return (
    <div className={classes.panel} data-testid="build-panel">
      <Tools {...p} builds={all} shown={shown} />
      {builds.isPending && <Skeleton height={180} />}
      {builds.isError && (
        <Trouble
          what="The builds could not be read, so it cannot be told whether there are any."
          error={builds.error}
          retry={() => void builds.refetch()}
        />
      )}
      {builds.isSuccess && !shown && <NoBuild runner={runner} known={runners.isSuccess} recipe={draft} />}
      {shown && (
        <BuildView
          build={shown}
          runnerName={where?.name ?? 'a Runner that is gone'}
          linked={hub.state === 'up' && where?.link.state === 'up'}
          goToLine={script !== undefined && script === environment.recipe.setup ? p.goToLine : undefined}
        />
      )}
    </div>
  );
}

function Tools(p: Props & { builds: Build[]; shown: Build | undefined }) {
  const { environment, versions, runner, builds, shown, dirty, draft } = p;
  const runners = useQuery(runnersQuery);
  const actions = useBuildActions();
  const now = useNow(10_000);
  const open = builds.find((b) => b.runner === runner?.id && !final(b));
  const there = runner && builtOn(runner.id, environment.recipe, versions, builds);
  const again = !dirty && there !== undefined;
  const can = runner !== undefined && hasBuild(draft) && p.sound && !environment.archived;

  const build = async () => {
    const saved = dirty ? await p.save() : environment;
    if (!saved || !runner) return;
    const b = await actions.start(saved.id, runner.id, again);
    if (b) p.showBuild(undefined);
  };
  return (
    <div className={classes.tools}>
      <Select
        className={classes.runner}
        aria-label="Runner to build on"
        placeholder="No Runner"
        allowDeselect={false}
        data={paired(runners.data).map((r) => ({
          value: r.id,
          label: r.link.state === 'up' ? r.name : `${r.name} (link down)`,
        }))}
        value={runner?.id ?? null}
        onChange={(id) => {
          p.setRunner(id ?? '');
          p.showBuild(undefined);
        }}
      />
      {open && !dirty ? (
        <Button
          variant="default"
          disabled={open.cancelling}
          loading={actions.cancelling}
          onClick={() => actions.cancel(open)}
        >
          {open.cancelling ? 'Cancelling …' : 'Cancel the build'}
        </Button>
      ) : (
        <Button
          variant={again ? 'default' : 'filled'}
          disabled={!can}
          loading={actions.starting}
          title={again ? 'There is an image of this. Fetches the base again and runs the whole script.' : undefined}
          onClick={() => void build()}
        >
          {dirty ? 'Save and build' : again ? 'Build again' : 'Build'}
        </Button>
      )}
      {builds.length > 1 && (
        <Select
          className={classes.which}
          aria-label="Which build is shown"
          allowDeselect={false}
          value={shown?.id ?? null}
          placeholder="Earlier builds"
          data={builds.map((b) => ({
            value: b.id,
            label: `v${b.version} ${b.state}, ${runners.data?.find((r) => r.id === b.runner)?.name ?? '?'}, ${ago(Date.parse(b.created), now)}`,
          }))}
          onChange={(id) => p.showBuild(id ?? undefined)}
        />
      )}
    </div>
  );
}

function NoBuild({ runner, known, recipe }: { runner: Runner | undefined; known: boolean; recipe: Recipe }) {
  if (known && !runner)
    return <Empty title="No Runner yet">Builds run on a Runner. The Runners page has the way.</Empty>;
  if (!hasBuild(recipe)) {
    return (
      <Empty title="Nothing to build yet">
        Choose a base of its own or write a setup script. Until then Sessions run on the Runner’s own system, within the
        limits that are set here.
      </Empty>
    );
  }
  return (
    <Empty title={`Not built on ${runner?.name ?? 'this Runner'} yet`}>
      Build makes the image now, and the log appears here. Otherwise the first Session that needs it does, and waits for
      it.
    </Empty>
  );
}
