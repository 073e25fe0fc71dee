import { useEffect, useRef } from 'react';

/** Keys: one key ("n", "/", "?"), a chord of two ("g s"), or "mod+k", which also works inside text fields. */
export type Hotkeys = Record<string, () => void>;

const chordWithin = 1200; // ms

function inTerminal(target: EventTarget | null): boolean {
  return target instanceof Element && target.closest('[data-testid="terminal"]') !== null;
}

function inField(target: EventTarget | null): boolean {
  return target instanceof Element && target.closest('input, textarea, select, [contenteditable="true"]') !== null;
}

/** useHotkeys binds keys while the component is there. While the terminal has the focus, none of them counts. */
export function useHotkeys(keys: Hotkeys) {
  const latest = useRef(keys);
  latest.current = keys;
  useEffect(() => {
    let first = '';
    let at = 0;
    const down = (e: KeyboardEvent) => {
      if (e.defaultPrevented || e.isComposing || inTerminal(e.target)) return;
      if ((e.metaKey || e.ctrlKey) && !e.altKey && !e.shiftKey) {
        return run(e, `mod+${e.key.toLowerCase()}`);
      }
      if (e.metaKey || e.ctrlKey || e.altKey || inField(e.target)) return;
      if (document.querySelector('[role="dialog"]')) return;
      const chord = e.timeStamp - at < chordWithin ? `${first} ${e.key}` : '';
      first = e.key;
      at = e.timeStamp;
      if (chord && latest.current[chord]) return run(e, chord);
      run(e, e.key);
    };
    const run = (e: KeyboardEvent, name: string) => {
      const action = latest.current[name];
      if (!action) return;
      e.preventDefault();
      first = '';
      action();
    };
    window.addEventListener('keydown', down);
    return () => window.removeEventListener('keydown', down);
  }, []);
}

const apple = /Mac|iPhone|iPad/.test(navigator.platform);

/** mod is how this keyboard writes the command key. */
export const mod = apple ? '⌘' : 'Ctrl ';
