import { Backoff, onReturn } from '~/api/backoff';
import type { TerminalDown, TerminalUp } from '~/api/types';
import { subprotocol } from './messages';

/** Socket is the part of a WebSocket that is used; tests bring their own. */
export interface Socket {
  binaryType: BinaryType;
  onopen: ((e: Event) => void) | null;
  onmessage: ((e: MessageEvent) => void) | null;
  onclose: ((e: CloseEvent) => void) | null;
  send: (data: string) => void;
  close: () => void;
}

/** LinkStatus is the hop from this page to the Hub, on the terminal's own connection. */
export interface LinkStatus {
  state: 'connecting' | 'up' | 'down';
  since: number;
  /** rtt in milliseconds, from the last ping. */
  rtt?: number;
}

interface Handlers {
  /** hello makes the first message of each connection. */
  hello: () => TerminalUp;
  opened: () => void;
  closed: () => void;
  text: (m: TerminalDown) => void;
  binary: (b: Uint8Array) => void;
  status: (s: LinkStatus) => void;
}

const pingEvery = 5000;
const deadAfter = 12_000;
const doubtedFor = 2_000;
const openWithin = 15_000;

/** Connection keeps a WebSocket to the Hub for ever: it reconnects with growing pauses, and at once when the network or
 * the person returns. What was sent on a broken connection is the queue's business, not its own. */
export class Connection {
  readonly #make: () => Socket;
  readonly #on: Handlers;
  readonly #backoff = new Backoff();
  readonly #stopReturn: () => void;
  readonly #doubt = () => this.#askNow();
  #socket: Socket | undefined;
  #up = false;
  #ended = false;
  #status: LinkStatus = { state: 'connecting', since: Date.now() };
  #retry: ReturnType<typeof setTimeout> | undefined;
  #clock: ReturnType<typeof setInterval> | undefined;
  #opening: ReturnType<typeof setTimeout> | undefined;
  #first: ReturnType<typeof setTimeout> | undefined;
  #answer: ReturnType<typeof setTimeout> | undefined;
  #pingID = 0;
  #pings = new Map<number, number>();
  /** rtts are the last few; the least of them is the way, the rest is what else this page was busy with. */
  #rtts: number[] = [];

  constructor(make: () => Socket, on: Handlers) {
    this.#make = make;
    this.#on = on;
    this.#stopReturn = onReturn(() => {
      if (this.#socket) return this.#check();
      this.#backoff.reset();
      this.#connect();
    });
    window.addEventListener('offline', this.#doubt);
    this.#connect();
  }

  /** send hands a message to the socket; false when the link is down. */
  send(m: TerminalUp): boolean {
    if (!this.#up || !this.#socket) return false;
    this.#socket.send(JSON.stringify(m));
    return true;
  }

  /** renew drops the connection and makes another. */
  renew() {
    this.#drop();
  }

  dispose() {
    this.#ended = true;
    this.#stopReturn();
    window.removeEventListener('offline', this.#doubt);
    clearTimeout(this.#retry);
    this.#release();
  }

  #connect() {
    if (this.#ended || this.#socket) return;
    clearTimeout(this.#retry);
    const socket = this.#make();
    this.#socket = socket;
    socket.binaryType = 'arraybuffer';
    socket.onopen = () => this.#opened(socket);
    socket.onmessage = (e) => {
      if (socket === this.#socket) this.#message(e.data as unknown);
    };
    socket.onclose = () => {
      if (socket === this.#socket) this.#drop();
    };
    this.#opening = setTimeout(() => this.#drop(), openWithin);
  }

  #opened(socket: Socket) {
    if (socket !== this.#socket) return;
    clearTimeout(this.#opening);
    this.#up = true;
    this.#say({ state: 'up', since: Date.now() });
    this.send(this.#on.hello());
    this.#on.opened();
    this.#rtts = [];
    this.#first = setTimeout(() => this.#ping(), 800); // not while the page and the first screen keep it busy
    this.#clock = setInterval(() => {
      this.#check();
      this.#ping();
    }, pingEvery);
  }

  #message(data: unknown) {
    if (data instanceof ArrayBuffer) return this.#on.binary(new Uint8Array(data));
    if (typeof data !== 'string') return;
    const m = JSON.parse(data) as TerminalDown;
    if (m.type === 'pong') return this.#pong(m.id ?? 0);
    if (m.type === 'state') this.#backoff.reset(); // the Hub took the hello: this is a working connection
    this.#on.text(m);
  }

  #ping() {
    this.#pings.set(++this.#pingID, performance.now());
    this.send({ type: 'ping', id: this.#pingID });
  }

  #pong(id: number) {
    const sent = this.#pings.get(id);
    if (sent === undefined) return;
    for (const old of this.#pings.keys()) if (old <= id) this.#pings.delete(old);
    this.#rtts = [...this.#rtts, performance.now() - sent].slice(-5);
    this.#say({ ...this.#status, rtt: Math.min(...this.#rtts) });
  }

  /** check takes a connection for dead when the oldest ping has had no answer for too long. */
  #check() {
    const [oldest] = this.#pings.values();
    if (oldest !== undefined && performance.now() - oldest > deadAfter) this.#drop();
  }

  /** askNow follows the browser's word that the network is gone. It may be wrong, for a Hub on this machine say, so the
   * Hub is asked, and has a moment to answer. */
  #askNow() {
    if (!this.#up) return;
    this.#ping();
    const asked = this.#pingID;
    clearTimeout(this.#answer);
    this.#answer = setTimeout(() => this.#pings.has(asked) && this.#drop(), doubtedFor);
  }

  #drop() {
    if (this.#ended) return;
    const was = this.#up;
    this.#release();
    if (this.#status.state !== 'down') this.#say({ state: 'down', since: Date.now() });
    if (was) this.#on.closed();
    clearTimeout(this.#retry);
    this.#retry = setTimeout(() => this.#connect(), this.#backoff.next());
  }

  #release() {
    clearInterval(this.#clock);
    clearTimeout(this.#first);
    clearTimeout(this.#opening);
    clearTimeout(this.#answer);
    this.#pings.clear();
    this.#up = false;
    const socket = this.#socket;
    this.#socket = undefined;
    if (!socket) return;
    socket.onopen = socket.onmessage = socket.onclose = null;
    socket.close();
  }

  #say(s: LinkStatus) {
    this.#status = s;
    this.#on.status(s);
  }
}

/** openSocket opens the terminal's WebSocket at the Hub that served this page. */
export function openSocket(session: string): Socket {
  const url = new URL(`/api/sessions/${encodeURIComponent(session)}/terminal`, window.location.href);
  url.protocol = url.protocol === 'https:' ? 'wss:' : 'ws:';
  return new WebSocket(url, subprotocol);
}
