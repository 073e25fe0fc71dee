import { describe, expect, it } from 'vitest';
import { compare, fold } from './lines';

const text = (mine: string, theirs: string) =>
  compare(mine, theirs).map((l) => `${{ same: ' ', mine: '-', theirs: '+' }[l.kind]}${l.text}`);

describe('compare', () => {
  it('finds the lines that are shared', () => {
    expect(text('a\nb\nc\nd', 'a\nx\nc\nd\ne')).toEqual([' a', '-b', '+x', ' c', ' d', '+e']);
  });

  it.each([
    ['', 'a'],
    ['a', ''],
    ['a\na\na', 'a\na'],
    ['same', 'same'],
  ])('gives each side back: %j and %j', (mine, theirs) => {
    const lines = compare(mine, theirs);
    const side = (not: string) =>
      lines
        .filter((l) => l.kind !== not)
        .map((l) => l.text)
        .join('\n');
    expect(side('theirs')).toBe(mine);
    expect(side('mine')).toBe(theirs);
  });

  it('is quick for what is large', () => {
    const many = (s: string) => Array.from({ length: 9000 }, (_, i) => `${s}${i}`).join('\n');
    const before = performance.now();
    expect(compare(many('a'), many('b'))).toHaveLength(18_000);
    expect(performance.now() - before).toBeLessThan(20_000);
  }, 30_000);
});

it('fold keeps what is near', () => {
  const mine = Array.from({ length: 50 }, (_, i) => `${i}`).join('\n');
  const folded = fold(compare(mine, mine.replace('\n25\n', '\nxx\n')), 1);
  expect(folded.map((l) => (l.kind === 'fold' ? l.lines : l.text))).toEqual([24, '24', '25', 'xx', '26', 23]);
});
