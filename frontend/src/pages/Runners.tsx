import { Skeleton } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { runnersQuery } from '~/api/queries';
import { pairCommand } from '~/modules/runner/pairing';
import { RunnerCard } from '~/modules/runner/RunnerCard';
import { Command } from '~/ui/Copyable';
import { Empty } from '~/ui/Empty';
import { Trouble } from '~/ui/Trouble';
import { useTitle } from '~/ui/title';
import classes from './Runners.module.css';

/** Runners are the machines that Sessions run on. */
export function Runners() {
  useTitle('Runners');
  const runners = useQuery(runnersQuery);
  return (
    <div className={classes.page}>
      <h1 className={classes.title}>Runners</h1>
      {runners.isPending && (
        <div className={classes.cards} role="status" aria-label="Reading the Runners">
          <Skeleton height={260} radius="md" />
          <Skeleton height={260} radius="md" />
        </div>
      )}
      {runners.isError && (
        <Trouble
          what="The Runners could not be read, so it cannot be told which there are."
          error={runners.error}
          retry={() => void runners.refetch()}
        />
      )}
      {runners.isSuccess && runners.data.length === 0 && (
        <Empty title="No Runner yet">
          <p>A Runner is a machine of yours that runs Sessions. It connects to this Hub by itself, outward only.</p>
          <Add />
        </Empty>
      )}
      {runners.isSuccess && (
        <div className={classes.cards}>
          {runners.data.map((r) => (
            <RunnerCard key={r.id} runner={r} />
          ))}
        </div>
      )}
      {runners.isSuccess && runners.data.length > 0 && (
        <details className={classes.add}>
          <summary>Add a Runner</summary>
          <Add />
        </details>
      )}
    </div>
  );
}

/** Add has the commands that make a machine a Runner of this Hub. */
function Add() {
  return (
    <ol className={classes.steps}>
      <li>
        On the new machine: <Command>{pairCommand()}</Command>
      </li>
      <li>
        It shows a code and opens this Hub. <Link to="/device">Enter the code here</Link> and approve it.
      </li>
      <li>
        Give it your setup token: <Command>claude-hub-runner token set</Command>
      </li>
      <li>
        Start it: <Command>claude-hub-runner run</Command>
      </li>
    </ol>
  );
}
