import { describe, expect, it } from 'vitest';
import type { AuditEntry } from '~/api/types';
import { actions, actorName, kinds, phrase } from './sentence';

const entry = (more: Partial<AuditEntry>): AuditEntry => ({
  seq: 1,
  at: '2026-01-01T12:00:00Z',
  actor_kind: 'person',
  actor: 'per_a',
  login: 'ada',
  action: 'session.share',
  outcome: 'ok',
  prev: '',
  hash: '',
  ...more,
});

const read = (more: Partial<AuditEntry>) => {
  const e = entry(more);
  const { before, after, target } = phrase(e);
  return `${actorName(e)} ${before}${target ? ` <${e.target}>` : ''}${after}`;
};

describe('a line of the audit log', () => {
  it.each<[Partial<AuditEntry>, string]>([
    [{ target: 'ses_1', detail: { person: 'per_b', login: 'ben' } }, 'ada shared the Session <ses_1> with ben'],
    [
      { target: 'ses_1', detail: { everyone: 'on' } },
      'ada shared the Session <ses_1> with everyone who can see its Repo',
    ],
    [{ target: 'ses_1' }, 'ada shared the Session <ses_1>'],
    [{ action: 'person.role', target: 'per_b', detail: { role: 'admin' } }, 'ada made <per_b> admin'],
    [
      { action: 'token.create', target: 'tok_1', detail: { name: 'nightly' } },
      'ada made the API token “nightly” <tok_1>',
    ],
    [
      { action: 'runner.rename', target: 'run_1', detail: { from: 'a', to: 'b' } },
      'ada renamed the Runner <run_1> from “a” to “b”',
    ],
    [
      { action: 'sign-in', target: 'sgn_1', detail: { browser: 'Mozilla/5.0 (X11; Linux x86_64) Firefox/140.0' } },
      'ada signed in with Firefox on Linux',
    ],
    [{ action: 'sign-in' }, 'ada signed in'],
    [
      { action: 'session.prompt', target: 'ses_1', outcome: 'refused' },
      'ada tried to prompt the Session <ses_1>, and was refused',
    ],
    [
      { actor_kind: 'nobody', actor: undefined, login: undefined, action: 'sign-in', outcome: 'refused' },
      'Someone who is not signed in tried to sign in, and was refused',
    ],
    [
      { actor_kind: 'system', actor: undefined, login: undefined, action: 'person.remove', target: 'per_b' },
      'The Hub removed <per_b>: the allow-list has no place for them any more',
    ],
    [
      { actor_kind: 'runner', actor: 'run_1', login: undefined, action: 'runner.token', target: 'run_1' },
      'A Runner renewed the token of the Runner <run_1>',
    ],
    [
      { action: 'suggestion.make', target: 'sug_1', detail: { session: 'ses_1' } },
      'ada made the suggestion <sug_1> to the Session ses_1',
    ],
    [{ action: 'flux.charge', target: 'ses_1' }, 'ada did flux.charge on <ses_1>'],
    [{ action: 'constructor' }, 'ada did constructor'],
    [{ action: 'variable.set', detail: { name: '{t}' }, target: 'env_1' }, 'ada set the Variable (t) of <env_1>'],
  ])('reads as a sentence: %j', (more, text) => expect(read(more)).toBe(text));

  it('has words for every action, done and refused, with and without a target', () => {
    for (const action of actions) {
      for (const outcome of ['ok', 'refused'] as const) {
        for (const target of ['ses_1', undefined]) {
          const text = read({ action, outcome, target });
          expect(text).not.toMatch(/[[\]{}]|undefined| {2}| $/);
        }
      }
    }
  });

  it('can be chosen by its kind', () => {
    expect(kinds.map((k) => k.value)).toContain('session.');
    expect(kinds.map((k) => k.value)).not.toContain('sign-in.revoke');
  });
});
