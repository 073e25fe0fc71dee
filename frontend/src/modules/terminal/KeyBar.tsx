import { useState } from 'react';
import type { TerminalCore } from './core';
import classes from './Terminal.module.css';

interface Key {
  label: string;
  name: string;
  bytes: (applicationCursor: boolean) => string;
}

const arrow = (final: string) => (application: boolean) => `\x1b${application ? 'O' : '['}${final}`;

const before: Key[] = [
  { label: 'Esc', name: 'Escape', bytes: () => '\x1b' },
  { label: 'Tab', name: 'Tab', bytes: () => '\t' },
  { label: '⇧Tab', name: 'Shift Tab', bytes: () => '\x1b[Z' },
];
const after: Key[] = [
  { label: '↑', name: 'Up', bytes: arrow('A') },
  { label: '↓', name: 'Down', bytes: arrow('B') },
  { label: '←', name: 'Left', bytes: arrow('D') },
  { label: '→', name: 'Right', bytes: arrow('C') },
  { label: '⏎', name: 'Enter', bytes: () => '\r' },
];

/** KeyBar has the keys that a phone's keyboard lacks. Ctrl holds for the next key. It never takes the focus, so the
 * phone's keyboard stays where it is. */
export function KeyBar({ core }: { core: TerminalCore }) {
  const [ctrl, setCtrl] = useState(false);
  const key = (k: Key) => (
    <button
      key={k.name}
      type="button"
      className={classes.key}
      aria-label={k.name}
      onPointerDown={(e) => e.preventDefault()}
      onClick={() => core.type(new TextEncoder().encode(k.bytes(core.screen.applicationCursor)))}
    >
      {k.label}
    </button>
  );
  return (
    <div className={classes.keys} role="toolbar" aria-label="Keys">
      {before.map(key)}
      <button
        type="button"
        className={classes.key}
        aria-label="Ctrl, Control for the next key"
        aria-pressed={ctrl}
        onPointerDown={(e) => e.preventDefault()}
        onClick={() => {
          setCtrl(!ctrl);
          core.holdControl(!ctrl, () => setCtrl(false));
        }}
      >
        Ctrl
      </button>
      {after.map(key)}
    </div>
  );
}
