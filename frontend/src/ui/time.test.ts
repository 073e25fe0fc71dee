import { expect, it } from 'vitest';
import { ago, past } from './time';

it('names a length of time by its largest unit', () => {
  const cases: [seconds: number, length: string, when: string][] = [
    [-5, '0 s', 'just now'],
    [0, '0 s', 'just now'],
    [9.9, '9 s', 'just now'],
    [10, '10 s', '10 s ago'],
    [59, '59 s', '59 s ago'],
    [60, '1 min', '1 min ago'],
    [3600, '1 h', '1 h ago'],
    [86_400, '1 d', '1 d ago'],
  ];
  for (const [seconds, length, when] of cases) {
    expect(ago(0, seconds * 1000)).toBe(length);
    expect(past(0, seconds * 1000)).toBe(when);
  }
});
