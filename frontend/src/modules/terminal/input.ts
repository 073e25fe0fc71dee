import type { InputReport, TerminalUp } from '~/api/types';
import { maxKeys } from './messages';

/** What the queue needs from the connection, and what it tells the person. */
interface Out {
  send: (message: TerminalUp) => void;
  /** lost says that something typed did not arrive, and why. */
  lost: (why: string) => void;
  /** renew asks for a new connection with a new terminal token, since this numbering now has a hole. */
  renew: () => void;
}

interface Pending {
  n: number;
  type: 'keys' | 'paste';
  data: string;
}

/**
 * flow: what is typed goes out at once. ask: it is kept until the Runner says what it has applied, or patience ends, and
 * then all of it goes out. hold: a hop is down and nothing goes. over: this life of the terminal has ended.
 */
type Mode = 'flow' | 'ask' | 'hold' | 'over';

const maxPending = 2000; // messages
const maxHeld = 4 << 20; // characters
const patience = 4000; // ms without a word about the oldest input, before it is sent again
const afterRefusal = 700; // ms
const maxRefusals = 4; // in a row, while every hop is up

/**
 * InputQueue numbers what is typed, and keeps it until the Runner has applied it. Within one life of the terminal the
 * Runner applies each number once and in order, so sending again is always safe; into another life nothing is sent again.
 */
export class InputQueue {
  readonly #out: Out;
  #life = '';
  #next = 1;
  #pending: Pending[] = [];
  #held = 0;
  #mode: Mode = 'hold';
  #early: InputReport | undefined;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #wait = patience;
  #refusals = 0;

  constructor(out: Out) {
    this.#out = out;
  }

  /** waiting is how many inputs are not applied yet. */
  get waiting(): number {
    return this.#pending.length;
  }

  /** seen tells which life of the terminal the person sees now. */
  seen(life: string) {
    if (life === this.#life) return;
    this.#life = life;
    this.#next = 1;
    this.#drop('Not sent: the terminal was restarted.');
    if (this.#mode !== 'hold') this.#mode = 'flow';
    const early = this.#early;
    this.#early = undefined;
    if (early?.life === life) this.report(early);
  }

  /** opened: every hop is up, after a new connection or after a break further on. What was on its way may be gone. */
  opened() {
    this.#mode = this.#next === 1 ? 'flow' : 'ask';
    this.#wait = patience;
    this.#arm();
  }

  /** hold: a hop is down. */
  hold() {
    this.#mode = 'hold';
    this.#early = undefined;
    clearTimeout(this.#timer);
  }

  /** renumber begins again at 1, for a new terminal token. */
  renumber() {
    this.#next = 1;
    this.#early = undefined;
  }

  /** keys takes bytes in any number; a message holds only so many. */
  keys(bytes: Uint8Array) {
    for (let at = 0; at < bytes.length; at += maxKeys) {
      this.#add('keys', base64(bytes.subarray(at, at + maxKeys)));
    }
  }

  paste(text: string) {
    this.#add('paste', text);
  }

  report(r: InputReport) {
    if (r.life !== this.#life) {
      this.#early = r;
      return;
    }
    if (r.state === 'applied') this.#applied(r.n);
    const first = this.#pending[0];
    if (!first || first.n > r.n) return this.#arm(); // about input that is settled already
    if (r.state === 'refused') return this.#refused(r.why);
    if (r.state === 'expired') {
      this.#mode = 'over';
      this.#drop(r.why || 'Not sent: the terminal was restarted.');
    }
    this.#arm();
  }

  #add(type: Pending['type'], data: string) {
    if (this.#mode === 'over') return this.#out.lost('Not sent: the terminal was restarted.');
    if (this.#pending.length >= maxPending || this.#held + data.length > maxHeld) {
      return this.#out.lost('Not sent: too much is still on its way to the terminal.');
    }
    const p = { n: this.#next++, type, data };
    this.#pending.push(p);
    this.#held += data.length;
    if (this.#mode === 'flow') this.#send(p);
    if (this.#pending.length === 1) this.#arm();
  }

  #send(p: Pending) {
    this.#out.send({ type: p.type, n: p.n, life: this.#life, data: p.data });
  }

  #applied(n: number) {
    while (this.#pending[0] && this.#pending[0].n <= n) {
      this.#held -= this.#pending.shift()?.data.length ?? 0;
      this.#refusals = 0;
      this.#wait = patience;
    }
    this.#next = Math.max(this.#next, n + 1);
    if (this.#mode === 'ask') this.#again();
  }

  /** refused: a hop may have broken just now, so it is tried again before it is given up. */
  #refused(why: string | undefined) {
    if (this.#mode === 'ask') return; // the later messages of the same burst
    if (++this.#refusals >= maxRefusals) {
      this.#refusals = 0;
      this.#drop(why || 'Not sent: the terminal did not take it.');
      return this.#out.renew();
    }
    if (this.#mode === 'flow') {
      this.#mode = 'ask';
      this.#wait = afterRefusal * 2 ** (this.#refusals - 1);
      this.#arm();
    }
  }

  #again() {
    this.#mode = 'flow';
    for (const p of this.#pending) this.#send(p);
  }

  #drop(why: string) {
    const any = this.#pending.length > 0;
    this.#pending = [];
    this.#held = 0;
    if (any) this.#out.lost(why);
  }

  /** arm watches the oldest input: a message can get lost without any hop noticing. */
  #arm() {
    clearTimeout(this.#timer);
    if (this.#mode !== 'flow' && this.#mode !== 'ask') return;
    if (this.#pending.length === 0 && this.#mode === 'flow') return;
    this.#timer = setTimeout(() => {
      this.#wait = Math.min(this.#wait * 2, 60_000);
      this.#again();
      this.#arm();
    }, this.#wait);
  }
}

/** base64 of bytes, as Go's encoding/json reads []byte. */
export function base64(bytes: Uint8Array): string {
  let s = '';
  for (const b of bytes) s += String.fromCharCode(b);
  return btoa(s);
}
