import { IconBolt, IconCheck, IconCircleDashed, IconLoader2, IconX } from '@tabler/icons-react';
import type { ReactNode } from 'react';
import type { Build, BuildStep } from '~/api/types';
import { useNow } from '~/ui/time';
import classes from './Build.module.css';
import { duration, lasted } from './words';

const icons: Record<BuildStep['state'], ReactNode> = {
  waiting: <IconCircleDashed size={16} aria-hidden />,
  running: <IconLoader2 size={16} aria-hidden className={classes.turning} />,
  cached: <IconBolt size={16} aria-hidden />,
  done: <IconCheck size={16} aria-hidden />,
  failed: <IconX size={16} aria-hidden />,
};

interface Props {
  build: Build;
  /** show scrolls the log to a step. */
  show?: (step: BuildStep) => void;
}

/** Steps are the parts of a build, each with its state, what it found and how long it took. */
export function Steps({ build, show }: Props) {
  const running = build.state === 'queued' || build.state === 'building';
  const now = useNow(running ? 1000 : 3_600_000);
  return (
    <ol className={classes.steps} aria-label="Steps" data-testid="build-steps">
      {build.steps.map((s) => (
        <li key={s.name} data-state={s.state} data-testid="build-step">
          <span className={classes.icon}>{icons[s.state]}</span>
          <span className={classes.what}>
            {show && s.started ? (
              <button type="button" title="Show it in the log" onClick={() => show(s)}>
                {s.name}
              </button>
            ) : (
              s.name
            )}
            {s.detail && <span className={classes.detail}>{s.detail}</span>}
          </span>
          <span className={classes.time}>{s.state === 'waiting' && !running ? 'not reached' : told(s, now)}</span>
          {s.state === 'running' && s.progress >= 0 && (
            <progress className={classes.progress} max={1} value={s.progress} aria-label={s.name} />
          )}
        </li>
      ))}
    </ol>
  );
}

function told(s: BuildStep, now: number): string {
  const ms = lasted(s, now);
  const time = ms === undefined ? '' : duration(s.state === 'running' ? Math.floor(ms / 1000) * 1000 : ms);
  if (s.state === 'waiting') return 'waiting';
  if (s.state === 'cached') return 'cached';
  if (s.state === 'running' && s.progress >= 0) return `${Math.round(s.progress * 100)} % · ${time}`;
  return s.state === 'failed' ? `failed${time && ` after ${time}`}` : time;
}
