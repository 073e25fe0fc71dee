import '@xterm/xterm/css/xterm.css';
import './font.css';
import { Button, CloseButton } from '@mantine/core';
import { type ReactNode, useEffect, useState } from 'react';
import { copy } from './clipboard';
import type { TerminalStatus } from './core';
import { KeyBar } from './KeyBar';
import { OffLine } from './OffLine';
import type { Look } from './screen';
import classes from './Terminal.module.css';
import { useTerminal } from './useTerminal';

interface Props {
  session: string;
  look: Look;
  /** keyBar shows the keys that a phone's keyboard lacks. */
  keyBar: boolean;
  /** watching: this person never types here. */
  watching: boolean;
  runnerName: string;
  onStatus: (s: TerminalStatus) => void;
  onNotice: (text: string) => void;
  /** onLeave: the person leaves the terminal with the keyboard. */
  onLeave: () => void;
  /** children lie over the terminal's top for a while, and do not resize the program. */
  children?: ReactNode;
}

/** Terminal is the live screen of one Session. Props in, status out. */
export function Terminal({
  session,
  look,
  keyBar,
  watching,
  runnerName,
  onStatus,
  onNotice,
  onLeave,
  children,
}: Props) {
  const [status, setStatus] = useState<TerminalStatus>();
  const [offered, setOffered] = useState<string>();
  const { host, core } = useTerminal(session, look, {
    status: (s) => {
      setStatus(s);
      onStatus(s);
    },
    notice: onNotice,
    offer: setOffered,
    leave: () => {
      core?.screen.blur();
      onLeave();
    },
  });

  // Who only watches keeps the keyboard for the page.
  useEffect(() => {
    if (!watching) core?.screen.focus();
  }, [core, watching]);

  const state = status?.state;
  const letterboxed = !!state && !state.owner && status.drawn;
  const fittable = letterboxed && state.drive;
  return (
    <section
      className={classes.frame}
      aria-label={
        watching
          ? 'Terminal, watching. Press Control Shift Full Stop to leave it with the keyboard.'
          : 'Terminal. Press Control Shift Full Stop to leave it with the keyboard.'
      }
      data-watching={watching}
      data-typing={status?.typing ?? false}
      data-stale={status?.drawn && status.link.state !== 'up'}
      style={{ background: look.theme.background }}
    >
      <div className={classes.over}>
        {children}
        <OffLine status={status} runnerName={runnerName} />
        {offered !== undefined && (
          <div className={classes.strip} role="status">
            <span>The program wants to copy {offered.length} characters.</span>
            <Button
              size="compact-xs"
              onClick={() => {
                void copy(offered);
                setOffered(undefined);
              }}
            >
              Copy
            </Button>
            <CloseButton size="sm" aria-label="Do not copy" onClick={() => setOffered(undefined)} />
          </div>
        )}
        {fittable && (
          <div className={classes.strip} role="status">
            <span>
              Sized for another window: {state.cols}×{state.rows}
            </span>
            <Button size="compact-xs" variant="default" onClick={() => core?.claim()}>
              Fit it here
            </Button>
          </div>
        )}
      </div>
      <div
        className={classes.host}
        data-letterboxed={letterboxed}
        data-below-strip={fittable}
        data-testid="terminal"
        ref={host}
      />
      {keyBar && core && <KeyBar core={core} />}
    </section>
  );
}
