import type { TerminalDown, TerminalState, TerminalUp } from '~/api/types';
import { nonce } from '~/ui/random';
import { copy } from './clipboard';
import { Connection, type LinkStatus, openSocket } from './connection';
import { decodeFrames, type Frame } from './frames';
import { InputQueue } from './input';
import { maxPaste } from './messages';
import { type Look, Screen } from './screen';
import type { Size } from './size';

/** What a page is told about its terminal. */
export interface TerminalStatus {
  link: LinkStatus;
  state?: TerminalState;
  /** drawn: there is a screen to see, though it may be old. */
  drawn: boolean;
  /** typing: keys go to the program now. */
  typing: boolean;
  /** why the Hub ended or refused, in its words. */
  refused?: string;
}

interface Handlers {
  status: (s: TerminalStatus) => void;
  /** notice is one sentence that the person should read now. */
  notice: (text: string) => void;
  /** offer: the browser did not let us copy; the person can with a click. */
  offer: (text: string) => void;
  leave: () => void;
}

const settle = 120; // ms that a size must hold before it is sent
const ackAt = 32 << 10; // bytes drawn and not yet acknowledged
const ackWithin = 80; // ms
const utf8 = new TextEncoder();

/**
 * TerminalCore is one terminal of one Session in this page: the screen, the connection and the queue of what is typed.
 * It knows neither routes nor queries. Its name (the token) lives as long as it does: a name kept for the tab would be
 * shared by a duplicated tab, and two terminals would number their input as one.
 */
export class TerminalCore {
  readonly #screen: Screen;
  readonly #queue: InputQueue;
  readonly #connection: Connection;
  readonly #on: Handlers;
  #token = nonce();
  #link: LinkStatus = { state: 'connecting', since: Date.now() };
  #state: TerminalState | undefined;
  #refused: string | undefined;
  #life = '';
  #seq = 0;
  #received = 0;
  #drawn = 0;
  #acked = 0;
  #epoch = 0;
  #ackTimer: ReturnType<typeof setTimeout> | undefined;
  #sizeTimer: ReturnType<typeof setTimeout> | undefined;
  #told: Size | undefined;
  #ctrl = false;
  #ctrlUsed: () => void = () => {};

  constructor(host: HTMLElement, session: string, look: Look, on: Handlers) {
    this.#on = on;
    this.#screen = new Screen(host, look, {
      typed: (bytes) => this.type(bytes),
      pasted: (text) => this.paste(text),
      copied: (text) => void copy(text).then((ok) => ok || on.offer(text)),
      leave: on.leave,
      title: () => {},
      resized: () => this.#size(),
    });
    this.#queue = new InputQueue({
      send: (m) => void this.#connection.send(m),
      lost: on.notice,
      renew: () => this.#renew(),
    });
    this.#connection = new Connection(() => openSocket(session), {
      hello: () => this.#hello(),
      opened: () => this.#opened(),
      closed: () => this.#closed(),
      text: (m) => this.#text(m),
      binary: (b) => this.#binary(b),
      status: (s) => {
        this.#link = s;
        this.#tell();
      },
    });
  }

  dispose() {
    clearTimeout(this.#ackTimer);
    clearTimeout(this.#sizeTimer);
    this.#connection.dispose();
    this.#queue.hold();
    this.#screen.dispose();
  }

  get screen(): Screen {
    return this.#screen;
  }

  get typing(): boolean {
    const s = this.#state;
    return (
      this.#link.state === 'up' &&
      !!s?.drive &&
      s.runner.state === 'up' &&
      s.sandbox.state === 'up' &&
      this.#life !== ''
    );
  }

  /** type sends bytes to the program. While typing is off they are dropped, and the page says so all along. */
  type(bytes: Uint8Array) {
    if (!this.typing || bytes.length === 0) return;
    this.#queue.keys(this.#ctrl ? this.#control(bytes) : bytes);
  }

  /** paste sends text as one paste. */
  paste(text: string) {
    if (text === '') return this.#on.notice('Nothing was pasted: the clipboard holds no text.');
    if (!this.typing) return this.#on.notice('Not pasted: typing is off until the terminal is linked again.');
    const size = utf8.encode(text).length;
    if (size > maxPaste) {
      return this.#on.notice(
        `Not pasted: it has ${Math.ceil(size / 1024)} KB and a paste holds at most ${maxPaste >> 10} KB. Put it in a file of the workspace instead.`,
      );
    }
    this.#queue.paste(text);
  }

  /** claim makes this terminal's size the one in force. */
  claim() {
    this.#told = undefined;
    this.#size(true);
    this.#connection.send({ type: 'claim' });
  }

  /** control makes the next typed letter a control character, for keyboards without that key. */
  control(on: boolean, used: () => void) {
    this.#ctrl = on;
    this.#ctrlUsed = used;
  }

  #control(bytes: Uint8Array): Uint8Array {
    this.#ctrl = false;
    this.#ctrlUsed();
    const [b] = bytes;
    if (bytes.length !== 1 || b === undefined || b < 0x40 || b > 0x7e) return bytes;
    return Uint8Array.of(b & 0x1f);
  }

  #hello(): TerminalUp {
    const size = this.#screen.wish();
    this.#told = size;
    const active = document.visibilityState === 'visible' && document.hasFocus();
    return { type: 'hello', terminal: this.#token, ...size, active };
  }

  #opened() {
    this.#epoch++;
    this.#received = this.#drawn = this.#acked = 0;
    this.#refused = undefined;
  }

  #closed() {
    this.#state = undefined;
    this.#queue.hold();
    clearTimeout(this.#ackTimer);
    this.#ackTimer = undefined;
    this.#tell();
  }

  #renew() {
    this.#token = nonce();
    this.#queue.renumber();
    this.#connection.renew();
  }

  #text(m: TerminalDown) {
    if (m.type === 'state' && m.state) return this.#setState(m.state);
    if (m.type === 'input' && m.input?.terminal === this.#token) return this.#queue.report(m.input);
    if (m.type === 'refused') {
      this.#refused = m.why;
      if (m.why) this.#on.notice(m.why);
    }
  }

  #setState(s: TerminalState) {
    const hops = (t: TerminalState | undefined) => t?.runner.state === 'up' && t.sandbox.state === 'up';
    const was = hops(this.#state);
    this.#state = s;
    if (hops(s) && !was) this.#queue.opened();
    if (!hops(s)) this.#queue.hold();
    this.#screen.owner(s.owner);
    if (s.owner) this.#size();
    this.#tell();
  }

  #binary(message: Uint8Array) {
    let frames: Frame[];
    try {
      frames = decodeFrames(message);
    } catch {
      return this.#connection.renew();
    }
    this.#received += message.length;
    const epoch = this.#epoch;
    frames.forEach((f, i) => {
      this.#draw(f, () => {
        if (i === frames.length - 1 && epoch === this.#epoch) this.#ack(message.length);
      });
    });
  }

  #draw(f: Frame, drawn: () => void) {
    if (f.kind === 'snapshot') {
      const first = this.#life === '';
      this.#life = f.life;
      this.#seq = f.seq;
      this.#queue.seen(f.life);
      this.#screen.snapshot(f, drawn);
      if (first) this.#tell();
      return;
    }
    if (f.life !== this.#life || f.seq !== this.#seq) return this.#connection.renew();
    this.#seq += f.data.length;
    this.#screen.delta(f, drawn);
  }

  /** ack tells the Hub what was drawn: at once after much or when all is drawn and quiet, so that it never waits on us. */
  #ack(bytes: number) {
    this.#drawn += bytes;
    if (this.#drawn - this.#acked >= ackAt) return this.#sendAck();
    this.#ackTimer ??= setTimeout(() => this.#sendAck(), ackWithin);
  }

  #sendAck() {
    clearTimeout(this.#ackTimer);
    this.#ackTimer = undefined;
    if (this.#drawn === this.#acked) return;
    this.#acked = this.#drawn;
    this.#connection.send({ type: 'ack', bytes: this.#drawn });
  }

  #size(now = false) {
    clearTimeout(this.#sizeTimer);
    const send = () => {
      const size = this.#screen.wish();
      if (!size || (size.cols === this.#told?.cols && size.rows === this.#told?.rows)) return;
      if (this.#connection.send({ type: 'size', ...size })) this.#told = size;
    };
    if (now) send();
    else this.#sizeTimer = setTimeout(send, settle);
  }

  #tell() {
    this.#on.status({
      link: this.#link,
      state: this.#state,
      drawn: this.#life !== '',
      typing: this.typing,
      refused: this.#refused,
    });
  }
}
