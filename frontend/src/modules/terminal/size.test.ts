import { describe, expect, it } from 'vitest';
import { cellsIn, letterbox } from './size';

describe('cellsIn', () => {
  it('counts whole cells', () => {
    expect(cellsIn({ width: 805, height: 409 }, { width: 8, height: 17 })).toEqual({ cols: 100, rows: 24 });
  });

  it.each([
    [
      { width: 0, height: 0 },
      { width: 8, height: 17 },
    ],
    [
      { width: 800, height: 10 },
      { width: 8, height: 17 },
    ],
    [
      { width: 800, height: 400 },
      { width: 0, height: 0 },
    ],
    [
      { width: Number.NaN, height: 400 },
      { width: 8, height: 17 },
    ],
    [
      { width: -5, height: 400 },
      { width: 8, height: 17 },
    ],
  ])('gives no size for a box of %o with cells of %o', (box, cell) => {
    expect(cellsIn(box, cell)).toBeUndefined();
  });

  it('stays within what a terminal may be', () => {
    expect(cellsIn({ width: 1e6, height: 1e6 }, { width: 1, height: 1 })).toEqual({ cols: 1000, rows: 500 });
  });
});

describe('letterbox', () => {
  const at = { cell: { width: 8, height: 16 }, font: 14 };

  it('keeps the person’s font when the other size fits', () => {
    expect(letterbox({ width: 800, height: 600 }, at, { cols: 80, rows: 24 }, 14)).toBe(14);
  });

  it('makes the font smaller until it fits', () => {
    const font = letterbox({ width: 400, height: 600 }, at, { cols: 80, rows: 24 }, 14);
    expect(font).toBeLessThanOrEqual(9);
    expect((font / 14) * 8 * 80).toBeLessThanOrEqual(400 + 80);
  });

  it('never goes below what can be read', () => {
    expect(letterbox({ width: 50, height: 50 }, at, { cols: 300, rows: 100 }, 14)).toBe(7);
  });
});
