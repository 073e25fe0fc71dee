import { expect, it } from 'vitest';
import { isRepo, repoOf } from './repo';

it.each([
  'https://github.com/Owner/Name.git',
  'git@github.com:owner/name.git',
  'ssh://git@github.com/owner/name/',
  'https://user@github.com/owner/name',
  'github.com/owner/name',
])('repoOf %s', (url) => {
  expect(repoOf(url)).toBe('github.com/owner/name');
});

it('isRepo wants a host and a path', () => {
  expect(isRepo('github.com/owner/name')).toBe(true);
  expect(isRepo('')).toBe(false);
  expect(isRepo('owner')).toBe(false);
});
