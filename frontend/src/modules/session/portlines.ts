import type { Port, Session } from '~/api/types';

/** PortLine is a port as it is shown: what listens, and what became of a forward that was asked for. */
export interface PortLine extends Port {
  /** wanted: a forward was asked for; same: to the same number on the Runner's machine. */
  wanted: boolean;
  same: boolean;
  state: 'listens' | 'asked' | 'forwarded' | 'failed' | 'stopping' | 'quiet';
}

/** portLines puts together what the Runner sees and what was asked for, by number. */
export function portLines(s: Pick<Session, 'forwards' | 'observed'>): PortLine[] {
  const seen = new Map(s.observed.ports.map((p) => [p.port, p]));
  for (const f of s.forwards) if (!seen.has(f.port)) seen.set(f.port, { port: f.port, listens: false });
  return [...seen.values()]
    .map((p) => {
      const forward = s.forwards.find((f) => f.port === p.port);
      return {
        ...p,
        wanted: forward !== undefined,
        same: forward?.same ?? false,
        state: stateOf(p, forward !== undefined),
      };
    })
    .sort((a, b) => a.port - b.port);
}

function stateOf(p: Port, wanted: boolean): PortLine['state'] {
  if (wanted && p.error) return 'failed';
  if (wanted && p.local) return 'forwarded';
  if (wanted) return 'asked';
  if (p.local) return 'stopping';
  return p.listens ? 'listens' : 'quiet';
}

/** portNumber reads what a person typed; undefined when it is no port. */
export function portNumber(text: string): number | undefined {
  if (!/^\d{1,5}$/.test(text.trim())) return undefined;
  const n = Number(text.trim());
  return n >= 1 && n <= 65535 ? n : undefined;
}
