import { Tooltip } from '@mantine/core';
import { ago, useNow } from '~/ui/time';
import classes from './Link.module.css';

/** Hop is one link of the way from the person to the Sandbox. */
export interface Hop {
  state: 'up' | 'down' | 'none' | 'connecting';
  since: number;
}

const words: Record<Hop['state'], string> = {
  up: 'linked',
  down: 'link down',
  none: 'not running',
  connecting: 'linking',
};

/** hopText says how a hop is, and since when it is not up. */
export function hopText(hop: Hop, now: number): string {
  return hop.state === 'down' ? `${words.down} for ${ago(hop.since, now)}` : words[hop.state];
}

/** LinkDot is a name with its hop: filled when linked, hollow and struck when not. */
export function LinkDot({ name, hop }: { name: string; hop: Hop }) {
  const now = useNow(5000);
  const text = `${name}: ${hopText(hop, now)}`;
  return (
    <Tooltip label={text}>
      <span className={classes.dot} data-state={hop.state}>
        <span className={classes.shape} aria-hidden="true" />
        <span className={classes.name} aria-hidden="true">
          {name}
        </span>
        <span className={classes.hidden}>{text}</span>
      </span>
    </Tooltip>
  );
}
