import type { HubLink } from '~/api/events';
import type { Runner, Session } from '~/api/types';
import { ago } from '~/ui/time';
import { creatorOf, isMine } from './mine';

/** A tone is one colour with one shape. The same everywhere: list, page, favicon, link line. */
export type Tone = 'needs' | 'failed' | 'working' | 'ready' | 'unknown' | 'asleep' | 'archived';

/** Status is the one word about a Session, and since when it holds. */
export interface Status {
  tone: Tone;
  /** word is short and always shown: "needs you", "starting: Cloning …". */
  word: string;
  since: number;
  /** moving: something goes on without the person. */
  moving: boolean;
}

/** tones in the order of a list: what wants the person first. */
export const tones: Tone[] = ['needs', 'failed', 'working', 'ready', 'unknown', 'asleep', 'archived'];

export const toneName: Record<Tone, string> = {
  needs: 'needs you',
  failed: 'failed',
  working: 'working',
  ready: 'ready',
  unknown: 'cannot tell',
  asleep: 'asleep',
  archived: 'archived',
};

const time = (iso: string) => Date.parse(iso) || 0;

/**
 * statusOf says what is true of a Session now. A broken hop beats what was last seen: never a stale green. What cannot
 * change without the hop (asleep, failed, archived, and nothing else asked for) stays what it is when the Runner is away.
 */
export function statusOf(s: Session, runner: Pick<Runner, 'link'> | undefined, hub: HubLink, now: number): Status {
  const seen = observed(s);
  if (s.observed.phase === 'deleted') return seen;
  if (hub.state === 'down') return cannotTell(hub.since, now, 'no link to the Hub');
  const settled = seen.tone === 'asleep' || seen.tone === 'archived' || seen.tone === 'failed';
  if (s.desired === 'deleted' && runner && runner.link.state !== 'up') {
    return { tone: 'unknown', word: 'deleting: waits for its Runner', since: time(s.updated), moving: false };
  }
  if (runner && runner.link.state !== 'up' && !settled) {
    return cannotTell(time(runner.link.since), now, 'link down');
  }
  if (s.observed.phase === 'awake' && s.observed.sandbox_link.state === 'down') {
    return cannotTell(time(s.observed.sandbox_link.since), now, 'Sandbox link down');
  }
  return seen;
}

function cannotTell(since: number, now: number, what: string): Status {
  return { tone: 'unknown', word: `cannot tell: ${what} for ${ago(since, now)}`, since, moving: false };
}

function observed(s: Session): Status {
  const o = s.observed;
  const since = time(o.since);
  const as = (tone: Tone, word: string, at = since): Status => ({ tone, word, since: at, moving: tone === 'working' });
  const step = (verb: string) =>
    as('working', o.step ? `${verb}: ${o.step.name}` : verb, o.step ? time(o.step.since) : since);
  const pending = o.generation < s.generation;
  if (o.phase === 'deleted') return as('archived', 'deleted');
  if (s.desired === 'deleted') return as('working', 'deleting', time(s.updated));
  switch (o.phase) {
    case 'new':
      return as('working', 'starting: waiting for its Runner', time(s.created));
    case 'preparing':
    case 'starting':
      return step('starting');
    case 'stopping':
      return step('stopping');
    case 'awake':
      if (pending && s.desired !== 'awake') return as('working', 'stopping', time(s.updated));
      return s.kind === 'look' ? as('ready', 'open') : awake(s, as);
    case 'asleep':
      if (pending && s.desired === 'awake') return as('working', 'starting', time(s.updated));
      if (s.desired === 'archived') return as('working', 'archiving', time(s.updated));
      return as('asleep', 'asleep');
    case 'failed':
      if (pending && s.desired === 'awake') return as('working', 'starting', time(s.updated));
      return as('failed', o.failure?.step ? `failed: ${o.failure.step}` : 'failed');
    case 'archived':
      return as('archived', 'archived');
  }
}

function awake(s: Session, as: (tone: Tone, word: string) => Status): Status {
  switch (s.observed.activity) {
    case 'ready':
      return as('ready', 'ready');
    case 'busy':
      return as('working', 'working');
    case 'needs_you':
      // It shouts at who can answer, and at nobody else.
      return isMine(s) ? as('needs', 'needs you') : as('ready', `waits for ${creatorOf(s)}`);
    default:
      return as('unknown', 'awake: cannot tell what Claude does');
  }
}

/** counts tells how many Sessions have each tone. */
export function counts(list: Status[]): Map<Tone, number> {
  const out = new Map<Tone, number>();
  for (const s of list) out.set(s.tone, (out.get(s.tone) ?? 0) + 1);
  return out;
}

/** allowed tells which verbs make sense now: none to someone who only watches. */
export function allowed(s: Session, tone: Tone) {
  const { phase } = s.observed;
  const look = s.kind === 'look';
  const mine = isMine(s);
  const running = phase === 'awake' || phase === 'starting' || phase === 'preparing' || phase === 'new';
  return {
    sleep: mine && !look && s.desired === 'awake' && phase === 'awake',
    wake: mine && !look && s.desired === 'asleep' && !running,
    cancel: mine && s.desired === 'awake' && (phase === 'new' || phase === 'preparing' || phase === 'starting'),
    retry: mine && phase === 'failed' && (s.observed.failure?.retry ?? false),
    choose: mine && phase === 'failed' && s.observed.failure?.choice === 'new_conversation',
    stop: mine && !look && phase === 'awake' && tone === 'working',
    archive: mine && !look && (s.desired === 'awake' || s.desired === 'asleep'),
    unarchive: mine && !look && s.desired === 'archived',
    close: mine && look && (s.desired === 'awake' || s.desired === 'asleep'),
    delete: mine && s.desired === 'archived',
  };
}
