import { Button, Skeleton } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { meQuery, versionsQuery } from '~/api/queries';
import type { EnvironmentVersion, Recipe } from '~/api/types';
import { bytes } from '~/ui/bytes';
import { CopyButton } from '~/ui/Copyable';
import { Trouble } from '~/ui/Trouble';
import { moment, past, useNow } from '~/ui/time';
import { Difference } from './Difference';
import { baseText, changed, policies } from './recipe';
import classes from './Versions.module.css';
import { fieldName } from './words';

interface Props {
  environment: string;
  current: Recipe;
  restore: (v: EnvironmentVersion) => void;
}

/** Versions are the recipes as they were saved, newest first: who, when and what changed. */
export function Versions({ environment, current, restore }: Props) {
  const versions = useQuery(versionsQuery(environment));
  const me = useQuery(meQuery);
  const now = useNow(10_000);
  const [open, setOpen] = useState<number>();
  if (versions.isPending) return <Skeleton height={120} m="md" />;
  if (versions.isError) {
    return (
      <Trouble what="The versions could not be read." error={versions.error} retry={() => void versions.refetch()} />
    );
  }
  return (
    <ol className={classes.list}>
      {versions.data.map((v, i) => {
        const before = versions.data[i + 1];
        const what = before ? changed(before.recipe, v.recipe).map((f) => fieldName[f]) : [];
        return (
          <li key={v.version} data-testid="environment-version">
            <div className={classes.head}>
              <div className={classes.what}>
                <b>Version {v.version}</b>
                <span>
                  {i === 0 && 'the newest · '}
                  {v.by === me.data?.id ? 'you' : v.by} ·{' '}
                  <time dateTime={v.created} title={moment(v.created)}>
                    {past(Date.parse(v.created), now)}
                  </time>
                </span>
                <span>
                  {before ? (what.length > 0 ? `changed ${what.join(', ')}` : 'nothing changed') : 'the first'}
                </span>
              </div>
              <Button
                size="compact-sm"
                variant="subtle"
                aria-expanded={open === v.version}
                onClick={() => setOpen(open === v.version ? undefined : v.version)}
              >
                {open === v.version ? 'Close' : 'View'}
              </Button>
              {i > 0 && (
                <Button size="compact-sm" variant="default" onClick={() => restore(v)}>
                  Restore
                </Button>
              )}
            </div>
            {open === v.version && <Shown recipe={v.recipe} current={current} />}
          </li>
        );
      })}
    </ol>
  );
}

function Shown({ recipe, current }: { recipe: Recipe; current: Recipe }) {
  const [against, setAgainst] = useState(false);
  const differs = changed(recipe, current).length > 0;
  return (
    <div className={classes.shown}>
      <p className={classes.facts}>
        {baseText(recipe.base)} · {recipe.cpus} {recipe.cpus === 1 ? 'CPU' : 'CPUs'} · {bytes(recipe.memory)} memory ·{' '}
        {bytes(recipe.disk)} disk · {policies[recipe.network].name}
        {recipe.network === 'allow-list' && `: ${recipe.allow.join(', ') || 'no host'}`}
      </p>
      <div className={classes.tools}>
        {differs && (
          <Button size="compact-xs" variant="subtle" aria-pressed={against} onClick={() => setAgainst(!against)}>
            {against ? 'Show the script' : 'Compare with the editor'}
          </Button>
        )}
        <CopyButton text={recipe.setup} label="Copy the setup script" />
      </div>
      {against ? (
        <Difference mine={recipe} theirs={current} mineName="this version" theirsName="the editor" />
      ) : (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrolling region must be reachable by keyboard
        <pre tabIndex={0}>{recipe.setup || 'No setup script.'}</pre>
      )}
    </div>
  );
}
