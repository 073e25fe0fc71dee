import { describe, expect, it } from 'vitest';
import { bare, pieces, plain } from './ansi';
import { LogBuffer } from './buffer';

const utf8 = new TextEncoder();
const log =
  'step 한글 é 🙂\r\n10%\r 50%\r100%\n\x1b[31mred\nstill\x1b[0m\n\x1b]8;;http://x\x07link\x1b]8;;\x07\x1b[2K\nlast';
const want = ['step 한글 é 🙂', '100%', 'red', 'still', 'link', 'last'];
const shown = (b: LogBuffer) => b.rows(0, b.length).map((r) => bare(r.text));

describe('LogBuffer', () => {
  it('gives the same lines wherever the bytes are cut', () => {
    const bytes = utf8.encode(log);
    for (let cut = 0; cut <= bytes.length; cut++) {
      const b = new LogBuffer();
      b.add(0, bytes.subarray(0, cut));
      b.add(cut, bytes.subarray(cut));
      expect(shown(b)).toEqual(want);
      expect(b.offset).toBe(bytes.length);
    }
  });

  it('gives the same lines one byte at a time', () => {
    const b = new LogBuffer();
    utf8.encode(log).forEach((x, i) => {
      b.add(i, Uint8Array.of(x));
    });
    expect(shown(b)).toEqual(want);
    expect(b.text()).toBe(want.join('\n'));
  });

  it('takes what comes twice once, and refuses a hole', () => {
    const b = new LogBuffer();
    b.add(0, utf8.encode('one\ntwo\n'));
    expect(b.add(4, utf8.encode('two\nthree\n'))).toBe(true);
    expect(shown(b)).toEqual(['one', 'two', 'three']);
    expect(b.add(100, utf8.encode('x'))).toBe(false);
    expect(b.offset).toBe(14);
  });

  it('knows on which line a byte is', () => {
    const b = new LogBuffer();
    b.add(0, utf8.encode('é\ntwo\n\nfour'));
    expect([0, 2, 3, 6, 7, 8, 11].map((at) => b.lineAt(at))).toEqual([0, 0, 1, 1, 2, 3, 3]);
  });

  it('carries a colour over lines', () => {
    const b = new LogBuffer();
    b.add(0, utf8.encode(log));
    expect(b.rows(2, 4).map((r) => pieces(r.text, r.style)[0]?.fg)).toEqual([1, 1]);
    expect(b.rows(4, 5).map((r) => pieces(r.text, r.style)[0]?.fg)).toEqual([-1]);
  });

  it('keeps four megabytes of one-letter lines and of one line quickly, and bounded', () => {
    const before = performance.now();
    const b = new LogBuffer();
    const chunk = utf8.encode('y\n'.repeat(32 << 10));
    for (let at = 0; at < 4 << 20; at += chunk.length) b.add(at, chunk);
    expect(b.length).toBeLessThanOrEqual(200_000);
    expect(b.length + b.dropped).toBe(2 << 20);
    const long = new LogBuffer();
    const line = utf8.encode('x'.repeat(64 << 10));
    for (let at = 0; at < 4 << 20; at += line.length) long.add(at, line);
    expect(long.rows(0, 1)[0]?.text.length).toBeLessThan(5000);
    expect(performance.now() - before).toBeLessThan(20_000); // a fraction of a second; quadratic, it would be minutes
  }, 30_000);
});

describe('pieces', () => {
  it('cuts where the style changes', () => {
    expect(pieces('a\x1b[1;32mb\x1b[22mc\x1b[0md', plain)).toEqual([
      { text: 'a', fg: -1, bold: false, dim: false },
      { text: 'b', fg: 2, bold: true, dim: false },
      { text: 'c', fg: 2, bold: false, dim: false },
      { text: 'd', fg: -1, bold: false, dim: false },
    ]);
  });

  it('leaves out colours that cannot be shown on both grounds', () => {
    expect(pieces('\x1b[38;5;200mx\x1b[38;2;1;2;3my\x1b[48;5;1;33mz', plain).map((p) => p.fg)).toEqual([-1, -1, 3]);
    expect(pieces('\x1b[38;5;9mx\x1b[94my', plain).map((p) => p.fg)).toEqual([9, 12]);
  });
});
