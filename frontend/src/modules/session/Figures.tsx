import type { Session } from '~/api/types';
import { past, useNow } from '~/ui/time';
import { figuresOf } from './bars';
import classes from './Drawer.module.css';

/** FigureBars are what a Session takes of its machine, against its limits. */
export function FigureBars({ session, stale }: { session: Session; stale: boolean }) {
  const figures = figuresOf(session.observed.figures, session.observed.phase === 'awake');
  const awake = session.observed.phase === 'awake';
  if (figures.length === 0 && !awake) return null;
  return (
    <section className={classes.figures} aria-label="What it takes" data-stale={stale} data-testid="figures">
      {figures.map((f) => (
        <div key={f.label} className={classes.figure}>
          <span>{f.label}</span>
          {f.part === undefined ? (
            <span className={classes.nobar}>no limit</span>
          ) : (
            // biome-ignore lint/a11y/useSemanticElements: a meter element cannot be coloured in every browser
            <span
              className={classes.bar}
              role="meter"
              aria-label={f.label}
              aria-valuemin={0}
              aria-valuemax={100}
              aria-valuenow={Math.round(f.part * 100)}
              aria-valuetext={f.text}
              data-high={f.high}
            >
              <span style={{ width: `${f.part * 100}%` }} />
            </span>
          )}
          <span className={classes.number}>{f.text}</span>
        </div>
      ))}
      {figures.length === 0 && <p className={classes.quiet}>Not measured yet.</p>}
      {stale && <p className={classes.quiet}>As last reported: there is no link to its Runner now.</p>}
    </section>
  );
}

const names = { clock: 'Clock', agent: 'Sandbox answers', network: 'Network', tmux: 'Terminal', claude: 'Claude' };
const signs = { running: '…', ok: '✓', repaired: '↻', failed: '✕' };

/** Checks are what was looked at after the machine slept. */
export function Checks({ session }: { session: Session }) {
  const now = useNow(10_000);
  const { checks, checked } = session.observed;
  if (checks.length === 0) return null;
  return (
    <section className={classes.checks} aria-label="After the machine’s sleep" data-testid="checks">
      <h3>After the machine’s sleep{checked && `, ${past(Date.parse(checked), now)}`}</h3>
      <ul>
        {checks.map((c) => (
          <li key={c.name} data-state={c.state}>
            <span aria-hidden="true">{signs[c.state]}</span>
            <span>
              {names[c.name]}: {c.state}
              {c.detail && <span className={classes.quiet}> {c.detail}</span>}
            </span>
          </li>
        ))}
      </ul>
    </section>
  );
}
