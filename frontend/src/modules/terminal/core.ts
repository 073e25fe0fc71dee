import type { TerminalState } from '~/api/types';
import { copy } from './clipboard';
import { type LinkStatus, openSocket } from './connection';
import { Line } from './line';
import { maxPaste } from './messages';
import { type Look, Screen } from './screen';

/** What a page is told about its terminal. */
export interface TerminalStatus {
  link: LinkStatus;
  state?: TerminalState;
  /** drawn: there is a screen to see, though it may be old. */
  drawn: boolean;
  /** typing: keys go to the program now. */
  typing: boolean;
}

interface Handlers {
  status: (s: TerminalStatus) => void;
  /** notice is one sentence that the person should read now. */
  notice: (text: string) => void;
  /** offer: the browser did not let us copy; the person can with a click. */
  offer: (text: string) => void;
  leave: () => void;
}

const utf8 = new TextEncoder();

/** TerminalCore is one terminal of one Session in this page: a screen and a line. It knows neither routes nor queries. */
export class TerminalCore {
  readonly screen: Screen;
  readonly #line: Line;
  readonly #on: Handlers;
  #ctrl = false;
  #ctrlUsed: () => void = () => {};

  constructor(host: HTMLElement, session: string, look: Look, on: Handlers) {
    this.#on = on;
    this.screen = new Screen(host, look, {
      typed: (bytes) => this.type(bytes),
      pasted: (text) => this.paste(text),
      copied: (text) => void copy(text).then((ok) => ok || on.offer(text)),
      leave: on.leave,
      resized: () => this.#line.resized(),
    });
    this.#line = new Line(() => openSocket(session), {
      size: () => this.screen.wish(),
      active: () => document.visibilityState === 'visible' && document.hasFocus(),
      draw: (f, drawn) => (f.kind === 'snapshot' ? this.screen.snapshot(f, drawn) : this.screen.delta(f, drawn)),
      changed: () => this.#changed(),
      say: on.notice,
    });
  }

  dispose() {
    this.#line.dispose();
    this.screen.dispose();
  }

  /** type sends bytes to the program. While typing is off they are dropped, and the page says so all along. */
  type(bytes: Uint8Array) {
    if (this.#line.typing && bytes.length > 0) this.#line.keys(this.#ctrl ? this.#control(bytes) : bytes);
  }

  /** paste sends text as one paste. */
  paste(text: string) {
    if (text === '') return this.#on.notice('Nothing was pasted: the clipboard holds no text.');
    if (!this.#line.typing) return this.#on.notice('Not pasted: typing is off until the terminal is linked again.');
    const size = utf8.encode(text).length;
    if (size > maxPaste) {
      return this.#on.notice(
        `Not pasted: it has ${Math.ceil(size / 1024)} KB and a paste holds at most ${maxPaste >> 10} KB. Put it in a file of the workspace instead.`,
      );
    }
    this.#line.paste(text);
  }

  claim() {
    this.#line.claim();
  }

  /** holdControl makes the next typed letter a control character, for keyboards without that key. */
  holdControl(on: boolean, used: () => void) {
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

  #changed() {
    // The first word comes while the line is being made.
    const line = this.#line as Line | undefined;
    if (!line) return;
    if (line.state) this.screen.owner(line.state.owner);
    this.#on.status({ link: line.link, state: line.state, drawn: line.drawn, typing: line.typing });
  }
}
