/** A piece of one terminal's output, as internal/wire/frame.go encodes it. */
export interface Frame {
  kind: 'snapshot' | 'delta';
  fresh: boolean;
  /** life is new each time the terminal is started. */
  life: string;
  /** seq counts output bytes since the start of this life. */
  seq: number;
  cols: number;
  rows: number;
  data: Uint8Array;
}

const lifeLen = 26;
const header = 1 + 1 + lifeLen + 8 + 2 + 2 + 4;
const maxFrame = 768 << 10;
const kinds = new Map<number, Frame['kind']>([
  [1, 'snapshot'],
  [2, 'delta'],
]);

/** decodeFrames reads all frames of one binary message. A message that is not whole frames is refused. */
export function decodeFrames(message: Uint8Array): Frame[] {
  const out: Frame[] = [];
  for (let at = 0; at < message.length; ) {
    const [frame, size] = decode(message.subarray(at));
    out.push(frame);
    at += size;
  }
  return out;
}

function decode(b: Uint8Array): [Frame, number] {
  if (b.length < header) throw new Error('frame cut short');
  const view = new DataView(b.buffer, b.byteOffset, b.byteLength);
  const kind = kinds.get(view.getUint8(0));
  const size = view.getUint32(14 + lifeLen);
  if (!kind) throw new Error('frame of unknown kind');
  if (size > maxFrame) throw new Error('frame too large');
  if (b.length < header + size) throw new Error('frame cut short');
  const frame: Frame = {
    kind,
    fresh: (view.getUint8(1) & 1) !== 0,
    life: new TextDecoder('latin1').decode(b.subarray(2, 2 + lifeLen)),
    seq: Number(view.getBigUint64(2 + lifeLen)), // exact up to 2^53 bytes of output
    cols: view.getUint16(10 + lifeLen),
    rows: view.getUint16(12 + lifeLen),
    data: b.subarray(header, header + size),
  };
  return [frame, header + size];
}
