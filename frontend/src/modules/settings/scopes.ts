import type { TokenScope } from '~/api/types';

/** scopes are what a token may be for, with what each opens. */
export const scopes: { scope: TokenScope; does: string }[] = [
  { scope: 'sessions:read', does: 'List Sessions and watch them: terminals, prompts, history.' },
  { scope: 'sessions:drive', does: 'Make Sessions, type, prompt, wake, sleep, archive; answer and make suggestions.' },
  { scope: 'environments', does: 'Read and change Environments, build them, set Variables.' },
  { scope: 'runners', does: 'List, rename and tidy your Runners.' },
];

/** lives are how long a token may live, in days. Zero is until it is revoked. */
export const lives: { value: string; label: string }[] = [
  { value: '7', label: '7 days' },
  { value: '30', label: '30 days' },
  { value: '90', label: '90 days' },
  { value: '365', label: 'one year' },
  { value: '0', label: 'until it is revoked' },
];

/** endOf is when a token of so many days expires; undefined when it does not. */
export function endOf(days: string, now: number): string | undefined {
  const n = Number(days);
  return n > 0 ? new Date(now + n * 86_400_000).toISOString() : undefined;
}
