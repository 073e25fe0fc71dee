import { describe, expect, it } from 'vitest';
import type { Runner, Session } from '~/api/types';
import { allowed, statusOf } from './status';

const now = Date.parse('2026-01-01T12:00:00Z');
const at = (secondsAgo: number) => new Date(now - secondsAgo * 1000).toISOString();
const hubUp = { state: 'up' as const, since: now - 1e6 };

function session(observed: Partial<Session['observed']>, o: Partial<Session> = {}): Session {
  return {
    id: 'ses_1',
    title: 't',
    creator: 'per_1',
    runner: 'run_1',
    source: {},
    kind: 'claude',
    forwards: [],
    desired: 'awake',
    model: 'default',
    effort: 'default',
    generation: 2,
    created: at(900),
    updated: at(5),
    access: 'creator',
    shared: { everyone: false, link: false },
    ...o,
    observed: {
      phase: 'awake',
      generation: 2,
      sandbox_link: { state: 'up', since: at(60) },
      since: at(60),
      figures: { cpu: 0, cpus: 0, memory: 0, memory_limit: 0, disk: 0, disk_limit: 0 },
      ports: [],
      checks: [],
      ...observed,
    },
  };
}

function runner(state: 'up' | 'down', ago = 120): Runner {
  return { id: 'run_1', link: { state, since: at(ago) } } as Runner;
}

const say = (s: Session, r = runner('up'), hub: Parameters<typeof statusOf>[2] = hubUp) => {
  const { tone, word } = statusOf(s, r, hub, now);
  return `${tone} | ${word}`;
};

describe('statusOf', () => {
  it.each([
    ['ready | ready', { activity: 'ready' as const }],
    ['working | working', { activity: 'busy' as const }],
    ['needs | needs you', { activity: 'needs_you' as const }],
    ['unknown | awake: cannot tell what Claude does', { activity: 'unknown' as const }],
  ])('%s', (want, observed) => {
    expect(say(session(observed))).toBe(want);
  });

  it('names the step, and what failed', () => {
    const step = { name: 'Cloning app', progress: -1, since: at(3), deadline: at(-60) };
    expect(say(session({ phase: 'preparing', step }))).toBe('working | starting: Cloning app');
    expect(say(session({ phase: 'stopping', step: undefined }))).toBe('working | stopping');
    const failure = { step: 'Cloning app', reason: 'r', fix: 'f', retry: true };
    expect(say(session({ phase: 'failed', failure }))).toBe('failed | failed: Cloning app');
  });

  it('never shows what was last seen across a broken hop', () => {
    const ready = session({ activity: 'ready' });
    expect(say(ready, runner('down', 120))).toBe('unknown | cannot tell: link down for 2 min');
    expect(say(ready, runner('up'), { state: 'down', since: now - 30_000 })).toBe(
      'unknown | cannot tell: no link to the Hub for 30 s',
    );
    const lost = session({ activity: 'busy', sandbox_link: { state: 'down', since: at(33) } });
    expect(say(lost)).toBe('unknown | cannot tell: Sandbox link down for 33 s');
  });

  it('keeps what cannot change while the Runner is away', () => {
    const away = runner('down');
    expect(say(session({ phase: 'asleep' }, { desired: 'asleep' }), away)).toBe('asleep | asleep');
    expect(say(session({ phase: 'archived' }, { desired: 'archived' }), away)).toBe('archived | archived');
    expect(say(session({ phase: 'asleep', generation: 1 }), away)).toBe('unknown | cannot tell: link down for 2 min');
  });

  it('says what was asked for, before the Runner has acted', () => {
    expect(say(session({ phase: 'asleep', generation: 1 }))).toBe('working | starting');
    expect(say(session({ activity: 'ready', generation: 1 }, { desired: 'asleep' }))).toBe('working | stopping');
  });
});

describe('a delete', () => {
  const gone = { desired: 'deleted' as const, updated: at(30) };

  it('is under way until the Runner has done it', () => {
    expect(say(session({ phase: 'archived' }, gone))).toBe('working | deleting');
    expect(say(session({ phase: 'deleted' }, gone))).toBe('archived | deleted');
  });

  it('waits while the Runner is away', () => {
    expect(say(session({ phase: 'archived' }, gone), runner('down'))).toBe('unknown | deleting: waits for its Runner');
    expect(say(session({ phase: 'deleted' }, gone), runner('down'))).toBe('archived | deleted');
  });
});

it('a look inside is open, whatever runs in it', () => {
  expect(say(session({}, { kind: 'look' }))).toBe('ready | open');
});

describe('allowed', () => {
  it('offers what makes sense', () => {
    const on = (s: Session) =>
      Object.entries(allowed(s, statusOf(s, runner('up'), hubUp, now).tone))
        .filter(([, yes]) => yes)
        .map(([verb]) => verb);
    expect(on(session({ activity: 'busy' }))).toEqual(['sleep', 'stop', 'archive']);
    expect(on(session({ activity: 'ready' }))).toEqual(['sleep', 'archive']);
    expect(on(session({ phase: 'asleep' }, { desired: 'asleep' }))).toEqual(['wake', 'archive']);
    expect(on(session({ phase: 'preparing' }))).toEqual(['cancel', 'archive']);
    expect(on(session({ phase: 'archived' }, { desired: 'archived' }))).toEqual(['unarchive', 'delete']);
    expect(on(session({}, { kind: 'look' }))).toEqual(['close']);
    expect(on(session({ phase: 'archived' }, { desired: 'deleted' }))).toEqual([]);
    const failure = { step: 's', reason: 'r', fix: 'f', retry: false, choice: 'new_conversation' as const };
    expect(on(session({ phase: 'failed', failure }))).toEqual(['choose', 'archive']);
  });
});
