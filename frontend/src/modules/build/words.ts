import type { Build, BuildStep } from '~/api/types';
import type { Tone } from '~/modules/session/status';

/** buildTone is a build's state in the colours and shapes that Sessions have. */
export const buildTone: Record<Build['state'], Tone> = {
  queued: 'working',
  building: 'working',
  ready: 'ready',
  failed: 'failed',
  cancelled: 'asleep',
};

/** buildWord says in a few words how a build is. */
export function buildWord(b: Build, linked: boolean): string {
  if (b.state === 'queued') return linked ? 'waiting for its Runner' : 'waits: no link to its Runner';
  if (b.state === 'building') {
    if (!linked) return 'cannot tell: no link to its Runner';
    if (b.cancelling) return 'cancelling';
    const step = b.steps.find((s) => s.state === 'running');
    return step ? `building: ${step.name}` : 'building';
  }
  if (b.state === 'failed') return `failed${b.failure?.step ? `: ${b.failure.step}` : ''}`;
  return b.state;
}

/** lasted is how long a step took, or takes until now, in milliseconds; undefined when it has not begun. */
export function lasted(s: BuildStep, now: number): number | undefined {
  const from = Date.parse(s.started ?? '');
  if (Number.isNaN(from)) return undefined;
  const to = Date.parse(s.ended ?? '');
  return Math.max(0, (Number.isNaN(to) ? now : to) - from);
}

/** duration writes a length of time: "0.4 s", "12 s", "3 min 5 s". */
export function duration(ms: number): string {
  const s = ms / 1000;
  if (s < 10) return `${s.toFixed(1)} s`;
  if (s < 60) return `${Math.floor(s)} s`;
  if (s < 3600) return `${Math.floor(s / 60)} min ${Math.floor(s % 60)} s`;
  return `${Math.floor(s / 3600)} h ${Math.floor((s % 3600) / 60)} min`;
}
