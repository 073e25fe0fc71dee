import type { Face, Person, Session, Suggestion } from '~/api/types';

// People and things that several tests speak of.
export const at = '2026-01-01T12:00:00Z';

export const ada: Face = { id: 'per_a', login: 'ada', name: 'Ada Lovelace' };
export const ben: Face = { id: 'per_b', login: 'bgoode', name: 'Ben Goode' };
export const cleo: Face = { id: 'per_c', login: 'cleo', name: '' };

export const person = (f: Face, more: Partial<Person> = {}): Person => ({
  ...f,
  role: 'member',
  created: at,
  ...more,
});

export const gitHubHub = {
  version: '1',
  mode: 'github',
  github: { url: 'https://github.com' },
  setup: false,
  notice: '',
  protocol: 1,
  models: ['default'],
  efforts: ['default'],
  max_prompt: 1000,
  signed_in: true,
};

const link = { state: 'up' as const, since: at };

export function session(more: Partial<Session> = {}): Session {
  return {
    id: 'ses_1',
    title: 'fix it',
    creator: ada.id,
    runner: 'run_1',
    access: 'creator',
    by: ada,
    shared: { everyone: false, people: [], link: false },
    source: { git_url: 'https://github.com/acme/rocket' },
    kind: 'claude',
    forwards: [],
    desired: 'asleep',
    model: 'default',
    effort: 'default',
    generation: 1,
    observed: {
      phase: 'asleep',
      generation: 1,
      sandbox_link: { ...link, state: 'none' },
      since: at,
      figures: { cpu: 0, cpus: 0, memory: 0, memory_limit: 0, disk: 0, disk_limit: 0 },
      ports: [],
      checks: [],
    },
    created: at,
    updated: at,
    ...more,
  };
}

export const suggestion = (id: string, more: Partial<Suggestion> = {}): Suggestion => ({
  id,
  session: 'ses_1',
  author: ben,
  text: `text of ${id}`,
  state: 'open',
  created: at,
  updated: at,
  ...more,
});

/** events is a stream that says only that nothing is missed from here on. */
export const events = () =>
  new Response('event: ready\ndata: {}\n\n', { headers: { 'Content-Type': 'text/event-stream' } });
