import { QueryClient } from '@tanstack/react-query';
import { describe, expect, it } from 'vitest';
import { keys } from './keys';
import { apply } from './live';
import type { Build, Environment, Session } from './types';

const session = (o: { desired: Session['desired']; phase: Session['observed']['phase']; updated: string }) =>
  ({ id: 'ses_1', desired: o.desired, updated: o.updated, observed: { phase: o.phase } }) as Session;

function cache() {
  const client = new QueryClient();
  client.setQueryData(keys.sessions(false), []);
  client.setQueryData(keys.sessions(true), []);
  const on = (archived: boolean) => client.getQueryData<Session[]>(keys.sessions(archived))?.length;
  return { client, say: (event: string, data: object) => apply(client, { event, data: JSON.stringify(data) }), on };
}

describe('a Session that is deleted', () => {
  it('stays among the archived until the Runner has done it, then it is in no list', () => {
    const { say, on } = cache();
    say('session', session({ desired: 'archived', phase: 'archived', updated: '1' }));
    expect([on(false), on(true)]).toEqual([0, 1]);
    say('session', session({ desired: 'deleted', phase: 'archived', updated: '2' }));
    expect([on(false), on(true)]).toEqual([0, 1]);
    say('session', session({ desired: 'deleted', phase: 'deleted', updated: '3' }));
    expect([on(false), on(true)]).toEqual([0, 0]);
  });
});

it('builds are in the order they were asked for, whatever order they are told in', () => {
  const { client, say } = cache();
  client.setQueryData(keys.builds('env_1'), []);
  const build = (id: string, created: string, updated: string, state: string) =>
    say('build', { id, environment: 'env_1', created, updated, state });
  build('bld_2', '2', '5', 'building');
  build('bld_1', '1', '6', 'ready');
  build('bld_2', '2', '7', 'ready');
  build('bld_2', '2', '6', 'building'); // an older word comes late
  expect(client.getQueryData<Build[]>(keys.builds('env_1'))?.map((b) => `${b.id} ${b.state}`)).toEqual([
    'bld_2 ready',
    'bld_1 ready',
  ]);
});

it('an Environment moves between its lists when it is archived', () => {
  const { client, say } = cache();
  client.setQueryData(keys.environments(false), []);
  client.setQueryData(keys.environments(true), []);
  const names = (archived: boolean) =>
    client.getQueryData<Environment[]>(keys.environments(archived))?.map((e) => e.name);
  const environment = (name: string, archived: boolean, updated: string) =>
    say('environment', { id: `env_${name}`, name, archived, updated, version: 1 });
  environment('b', false, '1');
  environment('a', false, '1');
  expect([names(false), names(true)]).toEqual([['a', 'b'], []]);
  environment('b', true, '2');
  expect([names(false), names(true)]).toEqual([['a'], ['b']]);
});
