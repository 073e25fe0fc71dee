import { useEffect, useRef, useState } from 'react';
import { TerminalCore, type TerminalStatus } from './core';
import { type Look, loadFont } from './screen';

interface Handlers {
  status: (s: TerminalStatus) => void;
  notice: (text: string) => void;
  offer: (text: string) => void;
  leave: () => void;
}

/** TerminalElement lets a test or a tool read what the terminal shows, at no cost while nobody asks. */
export interface TerminalElement extends HTMLDivElement {
  terminalText?: () => string;
}

/**
 * useTerminal makes the terminal of a Session in an element, and takes all of it away again when the Session changes or
 * the page goes: screen, addons, observers, timers and socket in one effect.
 */
export function useTerminal(session: string, look: Look, on: Handlers) {
  const host = useRef<TerminalElement>(null);
  const [core, setCore] = useState<TerminalCore>();
  const latest = useRef({ look, on });
  latest.current = { look, on };

  useEffect(() => {
    const element = host.current;
    if (!element) return;
    let made: TerminalCore | undefined;
    let gone = false;
    void loadFont(latest.current.look.fontSize).then(() => {
      if (gone) return;
      made = new TerminalCore(element, session, latest.current.look, {
        status: (s) => latest.current.on.status(s),
        notice: (t) => latest.current.on.notice(t),
        offer: (t) => latest.current.on.offer(t),
        leave: () => latest.current.on.leave(),
      });
      const { screen } = made;
      element.terminalText = () => screen.text();
      setCore(made);
    });
    return () => {
      gone = true;
      made?.dispose();
      delete element.terminalText;
      setCore(undefined);
    };
  }, [session]);

  const { theme, dark, fontSize, screenReader } = look;
  useEffect(
    () => core?.screen.look({ theme, dark, fontSize, screenReader }),
    [core, theme, dark, fontSize, screenReader],
  );

  return { host, core };
}
