import { describe, expect, it } from 'vitest';
import { gitHubStart, localPath, problemOf } from './signin';

describe('localPath', () => {
  it.each([
    ['/sessions/ses_1?tab=x', '/sessions/ses_1?tab=x'],
    ['/device?code=BDFG-HJKL', '/device?code=BDFG-HJKL'],
    ['/join', '/join'],
  ])('leads to %s', (next, to) => expect(localPath(next)).toBe(to));

  it.each([
    'https://evil.test/x',
    '//evil.test/x',
    '/\\evil.test',
    '/\t/evil.test',
    '/\n/evil.test',
    '\\\\evil.test',
    '/x/..//evil.test',
    'javascript:alert(1)',
    'sessions',
    '',
    undefined,
    null,
    '/sign-in?next=/sign-in',
    '/api/auth/github/start',
    'http://[',
  ])('takes %j for no path of this Hub', (next) => expect(localPath(next)).toBe('/sessions'));
});

it('hands the way back to GitHub’s start as one value', () => {
  const q = new URL(gitHubStart('/sessions?q=a&b=c#d'), 'http://hub.test').searchParams;
  expect([...q]).toEqual([['next', '/sessions?q=a&b=c#d']]);
});

it('has a sentence for each code, and for one that it does not know', () => {
  for (const code of ['forbidden', 'expired', 'unavailable', 'invalid', 'too_many', 'unauthenticated', 'nonsense']) {
    expect(problemOf(code)).toMatch(/^[A-Z].*\.$/);
  }
  expect(problemOf('forbidden')).toContain('list');
  expect(problemOf('constructor')).toBe(problemOf('nonsense'));
});
