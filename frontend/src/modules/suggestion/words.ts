import type { Suggestion } from '~/api/types';

export const colours: Record<Suggestion['state'], string> = {
  open: 'gray',
  accepted: 'green',
  declined: 'orange',
  withdrawn: 'gray',
};

/** openOf are the suggestions that wait for an answer, the oldest first. */
export function openOf(list: Suggestion[] | undefined): Suggestion[] {
  return (list ?? []).filter((s) => s.state === 'open').toSorted((a, b) => (a.created < b.created ? -1 : 1));
}

/** answeredOf are the others, the newest first. */
export function answeredOf(list: Suggestion[] | undefined): Suggestion[] {
  return (list ?? []).filter((s) => s.state !== 'open').toSorted((a, b) => (a.updated < b.updated ? 1 : -1));
}

const shownFor = 10 * 60_000; // ms

/** ownOf are an author's suggestions that still matter to them: open, or answered a moment ago. */
export function ownOf(list: Suggestion[] | undefined, me: string | undefined, now: number): Suggestion[] {
  return (list ?? [])
    .filter((s) => s.author.id === me)
    .filter((s) => s.state === 'open' || (s.state !== 'withdrawn' && now - Date.parse(s.updated) < shownFor))
    .toSorted((a, b) => (a.created < b.created ? -1 : 1));
}
