import { Fragment } from 'react';
import { useNow } from '~/ui/time';
import classes from './Link.module.css';
import { type Hop, hopText } from './LinkDot';

interface Props {
  hub: Hop;
  runnerName: string;
  runner: Hop;
  sandbox: Hop;
  /** rtt in milliseconds from here to the Hub. */
  rtt?: number;
}

/** LinkLine draws the way of each key, hop by hop: you ─●─ Hub ─●─ runner ─●─ sandbox. */
export function LinkLine({ hub, runnerName, runner, sandbox, rtt }: Props) {
  const now = useNow();
  // What lies behind a broken hop is not known.
  const behind = (hop: Hop, ...before: Hop[]): Hop =>
    before.some((b) => b.state !== 'up') && hop.state === 'up' ? { state: 'connecting', since: hop.since } : hop;
  const hops = [
    { hop: hub, to: 'Hub' },
    { hop: behind(runner, hub), to: runnerName },
    { hop: behind(sandbox, hub, runner), to: 'sandbox' },
  ];
  return (
    // biome-ignore lint/a11y/useSemanticElements: a fieldset is for forms
    <div className={classes.line} role="group" aria-label="Link" data-testid="link-line">
      <span>you</span>
      {hops.map(({ hop, to }, i) => {
        const unknown = hop.state === 'connecting' && i > 0;
        return (
          <Fragment key={to}>
            <span className={classes.hop} data-state={hop.state} data-testid={`hop-${i}`}>
              <span className={classes.wire} aria-hidden="true" />
              <span className={classes.shape} aria-hidden="true" />
              <span className={classes.wire} aria-hidden="true" />
              <span className={hop.state === 'down' ? classes.broken : classes.hidden}>
                {unknown ? 'cannot tell' : hopText(hop, now)}
              </span>
            </span>
            <span className={classes.place}>{to}</span>
          </Fragment>
        );
      })}
      {rtt !== undefined && hub.state === 'up' && (
        <span className={classes.rtt} title="From here to the Hub and back">
          {rtt < 10 ? rtt.toFixed(1) : Math.round(rtt)} ms
        </span>
      )}
    </div>
  );
}
