import type { TerminalDown, TerminalState, TerminalUp } from '~/api/types';
import { nonce } from '~/ui/random';
import { Connection, type LinkStatus, type Socket } from './connection';
import { decodeFrames, type Frame } from './frames';
import { InputQueue } from './input';
import type { Size } from './size';

interface Handlers {
  /** size is what fits on this page now; undefined while it has no extent. */
  size: () => Size | undefined;
  /** active: the person looks at this page, so its size should count. */
  active: () => boolean;
  /** draw is given each frame once and in order, and calls back when it is on the screen. */
  draw: (f: Frame, drawn: () => void) => void;
  /** changed: link, state or typing may be another now. */
  changed: () => void;
  /** say is one sentence that the person should read now. */
  say: (text: string) => void;
}

const settle = 120; // ms that a size must hold before it is sent
const ackAt = 32 << 10; // bytes drawn and not yet acknowledged
const ackWithin = 80; // ms

/**
 * Line is a terminal's side of the protocol: one connection at a time, frames that follow each other, drawn bytes
 * acknowledged, input numbered, one size. It draws nothing itself.
 *
 * Its name (the token) lives as long as it does. One kept for the tab would be shared by a duplicated tab, and two
 * terminals would number their input as one.
 */
export class Line {
  readonly #on: Handlers;
  readonly #queue: InputQueue;
  readonly #connection: Connection;
  #token = nonce();
  #link: LinkStatus = { state: 'connecting', since: Date.now() };
  #state: TerminalState | undefined;
  #life = '';
  #seq = 0;
  #epoch = 0;
  #drawn = 0;
  #acked = 0;
  #ackTimer: ReturnType<typeof setTimeout> | undefined;
  #sizeTimer: ReturnType<typeof setTimeout> | undefined;
  #told: Size | undefined;
  /** owner: this terminal's size was the one in force, when it was last told. */
  #owner = false;

  constructor(make: () => Socket, on: Handlers) {
    this.#on = on;
    this.#queue = new InputQueue({
      send: (m) => void this.#connection.send(m),
      lost: on.say,
      renew: () => this.#renew(),
    });
    this.#connection = new Connection(make, {
      hello: () => this.#hello(),
      opened: () => {
        this.#epoch++;
        this.#drawn = this.#acked = 0;
      },
      closed: () => this.#closed(),
      text: (m) => this.#text(m),
      binary: (b) => this.#binary(b),
      status: (s) => {
        this.#link = s;
        on.changed();
      },
    });
  }

  dispose() {
    clearTimeout(this.#ackTimer);
    clearTimeout(this.#sizeTimer);
    this.#connection.dispose();
    this.#queue.hold();
  }

  get link(): LinkStatus {
    return this.#link;
  }

  get state(): TerminalState | undefined {
    return this.#state;
  }

  /** drawn: a screen has been seen, however old. */
  get drawn(): boolean {
    return this.#life !== '';
  }

  /** typing: keys reach the program now, as far as each hop is known. */
  get typing(): boolean {
    return this.#link.state === 'up' && !!this.#state?.drive && hopsUp(this.#state) && this.drawn;
  }

  keys(bytes: Uint8Array) {
    this.#queue.keys(bytes);
  }

  paste(text: string) {
    this.#queue.paste(text);
  }

  /** claim makes this terminal's size the one in force. */
  claim() {
    this.#told = undefined;
    this.#size();
    this.#connection.send({ type: 'claim' });
  }

  /** resized: what fits may be another size; it is told when it has settled. */
  resized() {
    clearTimeout(this.#sizeTimer);
    this.#sizeTimer = setTimeout(() => this.#size(), settle);
  }

  #size() {
    const size = this.#on.size();
    if (!size || (size.cols === this.#told?.cols && size.rows === this.#told?.rows)) return;
    if (this.#connection.send({ type: 'size', ...size })) this.#told = size;
  }

  #hello(): TerminalUp {
    this.#told = this.#on.size();
    // A page that was just opened takes the size; one that comes back takes it only when it had it.
    const active = this.drawn ? this.#owner : this.#on.active();
    return { type: 'hello', terminal: this.#token, ...this.#told, active };
  }

  #closed() {
    this.#state = undefined;
    this.#queue.hold();
    clearTimeout(this.#ackTimer);
    this.#ackTimer = undefined;
    this.#on.changed();
  }

  #renew() {
    this.#token = nonce();
    this.#queue.renumber();
    this.#connection.renew();
  }

  #text(m: TerminalDown) {
    if (m.type === 'state' && m.state) this.#setState(m.state);
    if (m.type === 'input' && m.input?.terminal === this.#token) this.#queue.report(m.input);
    if (m.type === 'refused' && m.why) this.#on.say(m.why);
  }

  #setState(s: TerminalState) {
    const was = hopsUp(this.#state);
    this.#state = s;
    this.#owner = s.owner;
    if (!hopsUp(s)) this.#queue.hold();
    else if (!was) this.#queue.opened();
    if (s.owner) this.resized();
    this.#on.changed();
  }

  #binary(message: Uint8Array) {
    let frames: Frame[];
    try {
      frames = decodeFrames(message);
    } catch {
      return this.#connection.renew();
    }
    const epoch = this.#epoch;
    let left = frames.length;
    for (const f of frames) {
      if (!this.#follows(f)) return this.#connection.renew();
      this.#on.draw(f, () => {
        if (--left === 0 && epoch === this.#epoch) this.#ack(message.length);
      });
    }
  }

  /** follows takes a snapshot as it is, and a delta only where the last one ended. */
  #follows(f: Frame): boolean {
    if (f.kind === 'delta') {
      if (f.life !== this.#life || f.seq !== this.#seq) return false;
      this.#seq += f.data.length;
      return true;
    }
    const first = this.#life === '';
    this.#life = f.life;
    this.#seq = f.seq;
    this.#queue.seen(f.life);
    if (first) this.#on.changed();
    return true;
  }

  /** ack tells the Hub what was drawn: at once after much, and soon after little, so that it never waits for us. */
  #ack(bytes: number) {
    this.#drawn += bytes;
    if (this.#drawn - this.#acked >= ackAt) return this.#sendAck();
    this.#ackTimer ??= setTimeout(() => this.#sendAck(), ackWithin);
  }

  #sendAck() {
    clearTimeout(this.#ackTimer);
    this.#ackTimer = undefined;
    this.#acked = this.#drawn;
    this.#connection.send({ type: 'ack', bytes: this.#drawn });
  }
}

function hopsUp(s: TerminalState | undefined): boolean {
  return s?.runner.state === 'up' && s.sandbox.state === 'up';
}
