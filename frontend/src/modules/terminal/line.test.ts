import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { TerminalDown, TerminalUp } from '~/api/types';
import type { Socket } from './connection';
import type { Frame } from './frames';
import { Line } from './line';

const lifeA = 'a'.repeat(26);
const lifeB = 'b'.repeat(26);

function frame(kind: 1 | 2, life: string, seq: number, data: string): ArrayBuffer {
  const text = new TextEncoder().encode(data);
  const b = new Uint8Array(44 + text.length);
  const v = new DataView(b.buffer);
  v.setUint8(0, kind);
  b.set(new TextEncoder().encode(life), 2);
  v.setBigUint64(28, BigInt(seq));
  v.setUint16(36, 80);
  v.setUint16(38, 24);
  v.setUint32(40, text.length);
  b.set(text, 44);
  return b.buffer;
}

/** A Hub and a Runner in one: it applies each number of a terminal and life once, in order, like the real ones. */
class FarEnd {
  life = lifeA;
  typed = '';
  readonly seen: TerminalUp[] = [];
  sockets = 0;
  /** cutAfter cuts the connection after so many more messages in either direction; what was on its way is gone. */
  cutAfter = Number.POSITIVE_INFINITY;
  refuse = '';
  runner: 'up' | 'down' = 'up';
  #applied = new Map<string, number>();
  #socket: Pair | undefined;

  make = (): Socket => {
    this.sockets++;
    const pair = new Pair(this);
    this.#socket = pair;
    setTimeout(() => pair.onopen?.(new Event('open')), 1);
    return pair;
  };

  up(pair: Pair, text: string) {
    if (pair !== this.#socket || !this.#passes()) return;
    const m = JSON.parse(text) as TerminalUp;
    this.seen.push(m);
    setTimeout(() => pair === this.#socket && this.#take(m), 1);
  }

  #take(m: TerminalUp) {
    switch (m.type) {
      case 'hello':
        this.state();
        this.binary(frame(1, this.life, 0, ''));
        return this.#report(m.terminal ?? '', this.life, this.#get(m.terminal ?? ''));
      case 'ping':
        return this.down({ type: 'pong', id: m.id });
      case 'keys':
      case 'paste':
        return this.#input(m);
    }
  }

  #input(m: TerminalUp) {
    const terminal = this.terminal();
    const n = m.n ?? 0;
    if (m.life !== this.life) {
      return this.down({ type: 'input', input: { terminal, life: m.life ?? '', n, state: 'expired', why: 'over' } });
    }
    if (this.refuse) {
      return this.down({ type: 'input', input: { terminal, life: this.life, n, state: 'refused', why: this.refuse } });
    }
    if (n === this.#get(terminal) + 1) {
      this.#applied.set(`${terminal} ${this.life}`, n);
      this.typed += m.type === 'keys' ? atob(m.data ?? '') : m.data;
    }
    this.#report(terminal, this.life, this.#get(terminal));
  }

  terminal(): string {
    return this.seen.findLast((m) => m.type === 'hello')?.terminal ?? '';
  }

  state() {
    const since = '2026-01-01T00:00:00Z';
    this.down({
      type: 'state',
      state: {
        drive: true,
        owner: true,
        cols: 80,
        rows: 24,
        viewers: 1,
        watchers: [],
        runner: { state: this.runner, since },
        sandbox: { state: 'up', since },
      },
    });
  }

  down(m: TerminalDown) {
    this.#send(JSON.stringify(m));
  }

  binary(b: ArrayBuffer) {
    this.#send(b);
  }

  cut() {
    const pair = this.#socket;
    this.#socket = undefined;
    if (pair) setTimeout(() => pair.onclose?.(new CloseEvent('close')), 1);
  }

  #send(data: string | ArrayBuffer) {
    const pair = this.#socket;
    if (!pair || !this.#passes()) return;
    setTimeout(() => pair === this.#socket && pair.onmessage?.(new MessageEvent('message', { data })), 1);
  }

  #passes(): boolean {
    if (this.cutAfter-- > 0) return true;
    this.cutAfter = Number.POSITIVE_INFINITY;
    this.cut();
    return false;
  }

  #get(terminal: string): number {
    return this.#applied.get(`${terminal} ${this.life}`) ?? 0;
  }

  #report(terminal: string, life: string, n: number) {
    this.down({ type: 'input', input: { terminal, life, n, state: 'applied' } });
  }
}

class Pair implements Socket {
  binaryType: BinaryType = 'blob';
  onopen: Socket['onopen'] = null;
  onmessage: Socket['onmessage'] = null;
  onclose: Socket['onclose'] = null;
  readonly #far: FarEnd;

  constructor(far: FarEnd) {
    this.#far = far;
  }
  send(data: string) {
    this.#far.up(this, data);
  }
  close() {}
}

function start(far: FarEnd) {
  const said: string[] = [];
  const drawn: Frame[] = [];
  const line = new Line(far.make, {
    size: () => ({ cols: 80, rows: 24 }),
    active: () => true,
    draw: (f, done) => {
      drawn.push(f);
      done();
    },
    changed: () => {},
    say: (t) => said.push(t),
  });
  return { line, said, drawn };
}

const key = (c: string) => new TextEncoder().encode(c);
const quiet = () => vi.advanceTimersByTimeAsync(90_000);
const soon = () => vi.advanceTimersByTimeAsync(20);

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

describe('Line', () => {
  it('types', async () => {
    const far = new FarEnd();
    const { line, said } = start(far);
    await soon();
    expect(line.typing).toBe(true);
    for (const c of 'hello') line.keys(key(c));
    line.paste('pasted');
    await quiet();
    expect(far.typed).toBe('hellopasted');
    expect(said).toEqual([]);
    line.dispose();
  });

  // The far end counts messages of both directions, so a cut falls between any two of them: also between an input that
  // was applied and its report.
  it('loses and doubles nothing, wherever the connection is cut', async () => {
    const text = 'abcdefgh';
    for (let at = 0; at < 30; at++) {
      const far = new FarEnd();
      const { line, said } = start(far);
      await soon();
      far.cutAfter = at;
      for (const c of text) {
        line.keys(key(c));
        await vi.advanceTimersByTimeAsync(1);
      }
      await quiet();
      expect(far.typed, `cut after ${at} messages`).toBe(text);
      expect(said).toEqual([]);
      expect(far.sockets).toBeGreaterThanOrEqual(1);
      line.dispose();
    }
  });

  it('loses and doubles nothing when it is cut again and again', async () => {
    const far = new FarEnd();
    const { line, said } = start(far);
    await soon();
    let want = '';
    for (let i = 0; i < 200; i++) {
      const c = String.fromCharCode(97 + (i % 26));
      if (line.typing) {
        line.keys(key(c));
        want += c;
      }
      if (i % 7 === 0) far.cutAfter = i % 5;
      await vi.advanceTimersByTimeAsync(i % 11 === 0 ? 700 : 3);
    }
    await quiet();
    expect(want.length).toBeGreaterThan(20);
    expect(far.typed).toBe(want);
    expect(said).toEqual([]);
    line.dispose();
  });

  it('sends again what a Runner lost while its own link was down', async () => {
    const far = new FarEnd();
    const { line, said } = start(far);
    await soon();
    far.refuse = 'The Runner is away.';
    line.keys(key('a'));
    line.keys(key('b'));
    await soon();
    far.runner = 'down';
    far.state();
    await soon();
    expect(line.typing).toBe(false);
    far.refuse = '';
    far.runner = 'up';
    far.state();
    await quiet();
    expect(far.typed).toBe('ab');
    expect(said).toEqual([]);
    line.dispose();
  });

  it('says so when input is refused for good, and goes on under a new name', async () => {
    const far = new FarEnd();
    const { line, said } = start(far);
    await soon();
    const before = far.terminal();
    far.refuse = 'You watch this Session.';
    line.keys(key('x'));
    await quiet();
    expect(said).toEqual(['You watch this Session.']);
    far.refuse = '';
    line.keys(key('y'));
    await quiet();
    expect(far.terminal()).not.toBe(before);
    expect(far.typed).toBe('y');
    line.dispose();
  });

  it('sends nothing into another life of the terminal, and says so', async () => {
    const far = new FarEnd();
    const { line, said } = start(far);
    await soon();
    far.life = lifeB; // restarted; the page does not know yet
    line.keys(key('rm'));
    await soon();
    far.binary(frame(1, lifeB, 0, ''));
    await quiet();
    expect(far.typed).toBe('');
    expect(said).toHaveLength(1);
    line.keys(key('ok'));
    await quiet();
    expect(far.typed).toBe('ok');
    line.dispose();
  });

  it('draws deltas that follow, and asks for a new screen when one does not', async () => {
    const far = new FarEnd();
    const { line, drawn } = start(far);
    await soon();
    far.binary(frame(2, lifeA, 0, 'abc'));
    far.binary(frame(2, lifeA, 3, 'd'));
    await soon();
    expect(drawn.map((f) => f.kind)).toEqual(['snapshot', 'delta', 'delta']);
    far.binary(frame(2, lifeA, 9, 'gap'));
    await quiet();
    expect(far.sockets).toBe(2);
    expect(drawn.map((f) => f.kind)).toEqual(['snapshot', 'delta', 'delta', 'snapshot']);
    line.dispose();
  });

  it('acknowledges all that was drawn, of this connection only', async () => {
    const far = new FarEnd();
    const { line } = start(far);
    await soon();
    far.binary(frame(2, lifeA, 0, 'x'.repeat(100_000)));
    far.binary(frame(2, lifeA, 100_000, 'y'));
    await vi.advanceTimersByTimeAsync(200);
    const acks = () => far.seen.filter((m) => m.type === 'ack').map((m) => m.bytes);
    expect(acks().at(-1)).toBe(44 + 100_044 + 45);
    far.cut();
    await vi.advanceTimersByTimeAsync(2000);
    expect(acks().at(-1)).toBe(44);
    line.dispose();
  });

  it('finds out that a silent connection is dead', async () => {
    const far = new FarEnd();
    const { line } = start(far);
    await soon();
    far.down = () => {}; // nothing comes any more, no close either
    await vi.advanceTimersByTimeAsync(30_000);
    expect(far.sockets).toBeGreaterThan(1);
    line.dispose();
  });

  it('asks at once when the browser says that the network is gone, and believes the Hub more', async () => {
    const far = new FarEnd();
    const { line } = start(far);
    await soon();
    window.dispatchEvent(new Event('offline'));
    await vi.advanceTimersByTimeAsync(3000);
    expect(far.sockets).toBe(1); // it answered: the Hub is on this machine, say
    far.down = () => {};
    window.dispatchEvent(new Event('offline'));
    await vi.advanceTimersByTimeAsync(3000);
    expect(far.sockets).toBeGreaterThan(1);
    line.dispose();
  });

  it('stops for good when disposed', async () => {
    const far = new FarEnd();
    const { line } = start(far);
    await soon();
    line.dispose();
    far.cut();
    await quiet();
    expect(far.sockets).toBe(1);
    expect(vi.getTimerCount()).toBe(0);
  });
});
