import { IconPlugConnectedX } from '@tabler/icons-react';
import { ago, useNow } from '~/ui/time';
import type { TerminalStatus } from './core';
import classes from './Terminal.module.css';

/** whyOff says why keys do not go to the program, or nothing when they do. */
function whyOff(s: TerminalStatus | undefined, runnerName: string, now: number): string | undefined {
  if (!s || s.typing) return undefined;
  const since = (at: string | number) => ago(typeof at === 'number' ? at : Date.parse(at), now);
  const { link, state } = s;
  if (link.state === 'connecting') return s.drawn ? 'Linking to the Hub… Typing is off.' : undefined;
  if (link.state === 'down') {
    return `No link to the Hub for ${since(link.since)}. Typing is off; trying again.`;
  }
  if (!state) return undefined;
  if (state.runner.state === 'down') {
    return `No link from the Hub to ${runnerName} for ${since(state.runner.since)}. The Session goes on there; typing is off until the link is back.`;
  }
  if (state.sandbox.state === 'down') {
    return `No link from ${runnerName} to the Sandbox for ${since(state.sandbox.since)}. Typing is off until it is back.`;
  }
  return undefined; // to someone who watches, the page itself says so
}

/** OffLine is the line at the top of the terminal while typing is off. */
export function OffLine({ status, runnerName }: { status: TerminalStatus | undefined; runnerName: string }) {
  const now = useNow();
  const why = whyOff(status, runnerName, now);
  if (!why) return null;
  return (
    <div className={classes.off} data-testid="typing-off">
      <IconPlugConnectedX size={16} aria-hidden />
      <span>{why}</span>
    </div>
  );
}
