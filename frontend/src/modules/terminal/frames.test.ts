import { describe, expect, it } from 'vitest';
import { decodeFrames } from './frames';

// Made by wire.AppendFrame.
const snapshot =
  '0101303664386d6162636465666768696a6b6c6d6e6f7071727374750000000100000003007800280000000a1b5b324ac3a9f09f9982';
const delta = '0200303664386d6162636465666768696a6b6c6d6e6f707172737475000000010000000300780028000000026f6b';
const empty = '0200303664386d6162636465666768696a6b6c6d6e6f70717273747500000000000000000001000100000000';

const bytes = (hex: string) => Uint8Array.from(hex.match(/../g) ?? [], (h) => Number.parseInt(h, 16));
const life = '06d8mabcdefghijklmnopqrstu';

describe('decodeFrames', () => {
  it('reads what the Hub writes', () => {
    const [frame] = decodeFrames(bytes(snapshot));
    expect({ ...frame, data: new TextDecoder().decode(frame?.data) }).toEqual({
      kind: 'snapshot',
      fresh: true,
      life,
      seq: 4294967299,
      cols: 120,
      rows: 40,
      data: '\x1b[2Jé🙂',
    });
  });

  it('reads several frames of one message, and one without data', () => {
    const frames = decodeFrames(bytes(snapshot + delta + empty));
    expect(frames.map((f) => [f.kind, f.fresh, f.seq, f.data.length])).toEqual([
      ['snapshot', true, 4294967299, 10],
      ['delta', false, 4294967299, 2],
      ['delta', false, 0, 0],
    ]);
  });

  it('refuses a message cut anywhere', () => {
    const whole = bytes(snapshot);
    for (let cut = 1; cut < whole.length; cut++) {
      expect(() => decodeFrames(whole.subarray(0, cut)), `cut at ${cut}`).toThrow('cut short');
    }
  });

  it('refuses an unknown kind and a size beyond the bound', () => {
    const unknown = bytes(delta);
    unknown[0] = 3;
    expect(() => decodeFrames(unknown)).toThrow('unknown kind');
    const large = bytes(delta);
    large[40] = 0x7f;
    expect(() => decodeFrames(large)).toThrow('too large');
  });
});
