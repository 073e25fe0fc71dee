import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useHubLink } from '~/api/live';
import { buildsQuery, runnersQuery, variablesQuery } from '~/api/queries';
import type { Environment } from '~/api/types';
import { buildTone, buildWord } from '~/modules/build/words';
import { Mark } from '~/modules/session/StatusMark';
import { bytes } from '~/ui/bytes';
import { ago, moment, useNow } from '~/ui/time';
import classes from './Environment.module.css';
import { baseText, final, hasBuild, lastBuilds } from './recipe';

/** EnvironmentRow is an Environment in one line: what it is, what it takes, and how its last builds went. */
export function EnvironmentRow({ environment: e }: { environment: Environment }) {
  const now = useNow(30_000);
  const variables = useQuery(variablesQuery({ environment: e.id }));
  const { recipe } = e;
  const count = variables.data?.length;
  return (
    <li className={classes.row} data-testid="environment-row">
      <Link to="/environments/$id" params={{ id: e.id }} className={classes.link}>
        <span className={classes.name}>
          {e.name} <span className={classes.quiet}>v{e.version}</span>
        </span>
        <span className={classes.base}>{baseText(recipe.base)}</span>
        <span className={classes.quiet}>
          {recipe.cpus} {recipe.cpus === 1 ? 'CPU' : 'CPUs'} · {bytes(recipe.memory)} · {bytes(recipe.disk)} disk
        </span>
        <Builds environment={e} />
        <span className={classes.count}>
          {count === undefined
            ? variables.isError
              ? 'cannot tell'
              : ''
            : count === 1
              ? '1 Variable'
              : `${count} Variables`}
        </span>
        <time className={classes.since} dateTime={e.updated} title={`Changed ${moment(e.updated)}`}>
          {ago(Date.parse(e.updated), now)}
        </time>
      </Link>
    </li>
  );
}

function Builds({ environment }: { environment: Environment }) {
  const hub = useHubLink();
  const builds = useQuery(buildsQuery(environment.id));
  const runners = useQuery(runnersQuery);
  if (builds.isError) return <span className={classes.quiet}>cannot tell how it is built</span>;
  if (!builds.data) return <span className={classes.quiet} />;
  const last = lastBuilds(builds.data);
  if (last.length === 0) {
    return <span className={classes.quiet}>{hasBuild(environment.recipe) ? 'not built yet' : 'nothing to build'}</span>;
  }
  return (
    <span className={classes.builds}>
      {last.slice(0, 3).map((b) => {
        const runner = runners.data?.find((r) => r.id === b.runner);
        const linked = hub.state === 'up' && runner?.link.state === 'up';
        const unknown = !final(b) && !linked;
        return (
          <span key={b.id} className={classes.build} data-tone={buildTone[b.state]}>
            <Mark tone={unknown ? 'unknown' : buildTone[b.state]} moving={!final(b) && !unknown} size={12} />
            <span className={classes.word}>
              {buildWord(b, linked)}
              {b.version !== environment.version && ` (v${b.version})`}
              {runner && ` · ${runner.name}`}
            </span>
          </span>
        );
      })}
    </span>
  );
}
