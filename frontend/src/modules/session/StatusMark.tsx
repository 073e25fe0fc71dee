import classes from './StatusMark.module.css';
import type { Status, Tone } from './status';

const shapes: Record<Tone, React.ReactNode> = {
  needs: <path d="M8 1.8 15 14H1z" className={classes.fill} />,
  failed: <path d="M3 3l10 10M13 3 3 13" className={classes.bold} />,
  working: (
    <>
      <circle cx="8" cy="8" r="5.5" className={classes.track} />
      <path d="M8 2.5A5.5 5.5 0 0 1 13.5 8" className={classes.bold} />
    </>
  ),
  ready: <circle cx="8" cy="8" r="5" className={classes.bold} />,
  unknown: (
    <>
      <circle cx="8" cy="8" r="6" className={classes.thin} />
      <path d="M4 10l6-6M5.5 12.5l7-7M3 7.5 7.5 3" className={classes.thin} />
    </>
  ),
  asleep: <circle cx="8" cy="8" r="5.5" className={classes.thin} />,
  archived: <path d="M2 3.5h12v3H2zM3.2 6.5h9.6v7H3.2zM6.5 9h3" className={classes.thin} />,
};

/** Mark is the shape and colour of a tone. The word stands beside it, so it is hidden from readers. */
export function Mark({ tone, moving = false, size = 16 }: { tone: Tone; moving?: boolean; size?: number }) {
  return (
    <svg
      viewBox="0 0 16 16"
      width={size}
      height={size}
      aria-hidden="true"
      className={classes.mark}
      data-tone={tone}
      data-moving={moving}
    >
      {shapes[tone]}
    </svg>
  );
}

/** StatusMark is the mark with its word. */
export function StatusMark({ status }: { status: Status }) {
  return (
    <span className={classes.status} data-tone={status.tone} data-testid="session-status">
      <Mark tone={status.tone} moving={status.moving} />
      <span className={classes.word}>{status.word}</span>
    </span>
  );
}
