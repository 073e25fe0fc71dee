import { useQuery } from '@tanstack/react-query';
import { buildsQuery, versionsQuery } from '~/api/queries';
import type { Environment, Runner } from '~/api/types';
import { past, useNow } from '~/ui/time';
import classes from './Environment.module.css';
import { builtOn, enforces, final, hasBuild, policies } from './recipe';

/** Built says what a Session on an Environment would find on a Runner: an image, a build under way, or one to be made. */
export function Built({ environment: e, runner }: { environment: Environment; runner: Runner }) {
  const builds = useQuery(buildsQuery(e.id));
  const versions = useQuery(versionsQuery(e.id));
  const now = useNow(30_000);
  const cannot = enforces(runner, e.recipe.network) === false;
  return (
    <p className={classes.built} role="status" data-warn={cannot}>
      {cannot
        ? `${runner.name} cannot enforce “${policies[e.recipe.network].name}”: the Session would not start there.`
        : text()}
    </p>
  );

  function text(): string {
    if (!hasBuild(e.recipe)) return `Version ${e.version}: nothing to build, it starts at once.`;
    if (builds.isError || versions.isError) return 'It cannot be told whether it is built there.';
    if (!builds.data || !versions.data) return ' ';
    const done = builtOn(runner.id, e.recipe, versions.data, builds.data);
    if (done) return `Version ${e.version}, built on ${runner.name} ${past(Date.parse(done.updated), now)}.`;
    const open = builds.data.find((b) => b.runner === runner.id && b.version === e.version && !final(b));
    if (open) return `Version ${e.version} is being built on ${runner.name}: the Session waits for it.`;
    const last = builds.data.find((b) => b.runner === runner.id && b.version === e.version);
    const failed = last?.state === 'failed' ? ' Its last build failed.' : '';
    return `Version ${e.version} is not built on ${runner.name} yet: the Session builds it first.${failed}`;
  }
}
