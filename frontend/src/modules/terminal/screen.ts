import { UnicodeGraphemesAddon } from '@xterm/addon-unicode-graphemes';
import { WebLinksAddon } from '@xterm/addon-web-links';
import { WebglAddon } from '@xterm/addon-webgl';
import { type IDisposable, type ITheme, Terminal } from '@xterm/xterm';
import { decodeOsc52 } from './clipboard';
import type { Frame } from './frames';
import { isAct, mute } from './mute';
import { noncedDocument, withNonces } from './nonced';
import { cellsIn, letterbox, type Size } from './size';
import { onSwipe } from './touch';

/** Look of the terminal: choices of the person. */
export interface Look {
  theme: ITheme;
  dark: boolean;
  fontSize: number;
  screenReader: boolean;
}

interface Handlers {
  /** typed: bytes of keys, mouse or focus, as a program expects them. */
  typed: (bytes: Uint8Array) => void;
  pasted: (text: string) => void;
  /** copied: a program (OSC 52) or the person puts text in the clipboard. */
  copied: (text: string) => void;
  /** leave: the chord that takes the keyboard out of the terminal. */
  leave: () => void;
  resized: () => void;
}

const fontFamily = '"JetBrains Mono NL", "Terminal Symbols", ui-monospace, Menlo, Consolas, monospace';
const utf8 = new TextEncoder();

/** loadFont waits for the bundled font: cells measured with another one would stay wrong. */
export async function loadFont(size: number): Promise<void> {
  await Promise.allSettled([
    document.fonts.load(`${size}px "JetBrains Mono NL"`),
    document.fonts.load(`bold ${size}px "JetBrains Mono NL"`),
    document.fonts.load(`${size}px "Terminal Symbols"`, '⏺⠋'),
  ]);
}

/** isLeaveChord tells the one chord that does not go to the terminal: Ctrl+Shift+. */
function isLeaveChord(e: KeyboardEvent): boolean {
  return e.ctrlKey && e.shiftKey && !e.altKey && !e.metaKey && e.code === 'Period';
}

/** Screen draws one terminal into an element: xterm.js, its addons, and what follows the element's size. */
export class Screen {
  readonly #host: HTMLElement;
  readonly #term: Terminal;
  readonly #on: Handlers;
  readonly #ends: (() => void)[] = [];
  #look: Look;
  #owner = false;
  /** drawnOnce: before the first snapshot the terminal has no size of its own. */
  #drawnOnce = false;
  /** swiped is what a finger moved and is less than a line. */
  #swiped = 0;

  constructor(host: HTMLElement, look: Look, on: Handlers) {
    this.#host = host;
    this.#on = on;
    this.#look = look;
    this.#term = new Terminal({
      allowProposedApi: true,
      cols: 80,
      rows: 24,
      customGlyphs: true,
      cursorBlink: false,
      documentOverride: noncedDocument(),
      fontFamily,
      fontSize: look.fontSize,
      linkHandler: { activate: (_e, uri) => openLink(uri) },
      macOptionIsMeta: true,
      rescaleOverlappingGlyphs: true,
      scrollback: 5000,
      screenReaderMode: look.screenReader,
      theme: look.theme,
      minimumContrastRatio: look.dark ? 3 : 4.5,
    });
    this.#open();
    this.#listen();
  }

  dispose() {
    for (const end of this.#ends.reverse()) end();
    this.#term.dispose();
  }

  /** snapshot draws a whole screen at the frame's size. Everything is queued in order with the output before it. */
  snapshot(f: Frame, drawn: () => void) {
    this.#drawnOnce = true;
    this.#term.write('\x1bc\x1b[?2026h', () => {
      this.#term.resize(f.cols, f.rows);
      this.#layout();
    });
    this.#term.write(f.data);
    this.#term.write('\x1b[?2026l', drawn);
  }

  delta(f: Frame, drawn: () => void) {
    this.#term.write(f.data, drawn);
  }

  /** wish is the size that fits this element at the person's font size; undefined while it has no extent. */
  wish(): Size | undefined {
    const cell = this.#cell();
    if (!cell) return undefined;
    const scale = this.#look.fontSize / cell.font;
    return cellsIn(this.#box(), { width: cell.cell.width * scale, height: cell.cell.height * scale });
  }

  owner(owner: boolean) {
    if (owner === this.#owner) return;
    this.#owner = owner;
    this.#layout();
  }

  look(look: Look) {
    this.#look = look;
    this.#term.options.theme = look.theme;
    this.#term.options.minimumContrastRatio = look.dark ? 3 : 4.5;
    this.#term.options.screenReaderMode = look.screenReader;
    this.#layout();
  }

  focus() {
    this.#term.focus();
  }

  blur() {
    this.#term.blur();
  }

  get applicationCursor(): boolean {
    return this.#term.modes.applicationCursorKeysMode;
  }

  selection(): string {
    return this.#term.getSelection();
  }

  /** text is what the screen shows, line by line, without trailing blanks. */
  text(): string {
    const { active } = this.#term.buffer;
    const lines: string[] = [];
    for (let y = 0; y < this.#term.rows; y++) {
      lines.push(active.getLine(active.baseY + y)?.translateToString(true) ?? '');
    }
    return lines.join('\n').trimEnd();
  }

  get size(): Size {
    return { cols: this.#term.cols, rows: this.#term.rows };
  }

  #open() {
    const term = this.#term;
    term.loadAddon(new UnicodeGraphemesAddon());
    term.loadAddon(new WebLinksAddon((_e, uri) => openLink(uri)));
    withNonces(() => term.open(this.#host));
    // Phones take WebGL away from a page in the background, and their screens are small enough for the DOM renderer.
    if (window.matchMedia('(pointer: coarse)').matches) return;
    try {
      const webgl = new WebglAddon();
      webgl.onContextLoss(() => webgl.dispose()); // xterm goes back to drawing with the DOM
      term.loadAddon(webgl);
    } catch {
      // No WebGL here: the DOM renderer is in place already.
    }
  }

  #listen() {
    const term = this.#term;
    const keep = (...all: IDisposable[]) => this.#ends.push(...all.map((d) => () => d.dispose()));
    keep(
      term.onData((s) => {
        if (isAct(s, this.#owner)) this.#on.typed(utf8.encode(s));
      }),
      term.onBinary((s) => this.#on.typed(Uint8Array.from(s, (c) => c.charCodeAt(0)))),
      term.parser.registerOscHandler(52, (payload) => {
        const text = decodeOsc52(payload);
        if (text) this.#on.copied(text);
        return true;
      }),
      ...mute(term),
    );
    term.attachCustomKeyEventHandler((e) => this.#key(e));
    const paste = (e: ClipboardEvent) => {
      e.preventDefault();
      e.stopPropagation();
      this.#on.pasted(e.clipboardData?.getData('text/plain') ?? '');
    };
    this.#host.addEventListener('paste', paste, { capture: true });
    const observer = new ResizeObserver(() => {
      this.#layout();
      this.#on.resized();
    });
    observer.observe(this.#host);
    if (term.element) observer.observe(term.element);
    this.#ends.push(
      () => this.#host.removeEventListener('paste', paste, { capture: true }),
      () => observer.disconnect(),
      onSwipe(this.#host, (up, at) => this.#swipe(up, at)),
    );
  }

  /** swipe scrolls what has passed, or turns the wheel for a program that takes it, by whole lines. */
  #swipe(up: number, at: { clientX: number; clientY: number }) {
    this.#swiped += up;
    const lines = Math.trunc(this.#swiped / (this.#cell()?.cell.height ?? 16));
    if (lines === 0) return;
    this.#swiped -= lines * (this.#cell()?.cell.height ?? 16);
    if (this.#term.buffer.active.type === 'normal' && this.#term.modes.mouseTrackingMode === 'none') {
      return this.#term.scrollLines(lines);
    }
    const { clientX, clientY } = at;
    const init = {
      deltaY: lines,
      deltaMode: WheelEvent.DOM_DELTA_LINE,
      clientX,
      clientY,
      bubbles: true,
      cancelable: true,
    };
    this.#host.querySelector('.xterm-screen')?.dispatchEvent(new WheelEvent('wheel', init));
  }

  /** key decides about what is not for the program: leaving, and the browser's own copy and paste. */
  #key(e: KeyboardEvent): boolean {
    if (isLeaveChord(e)) {
      if (e.type === 'keydown') this.#on.leave();
      e.preventDefault();
      return false;
    }
    const { ctrlKey, shiftKey, code } = e;
    if (ctrlKey && shiftKey && code === 'KeyC' && this.#term.hasSelection()) {
      if (e.type === 'keydown') this.#on.copied(this.#term.getSelection());
      e.preventDefault();
      return false;
    }
    const paste = (ctrlKey && shiftKey && code === 'KeyV') || (shiftKey && !ctrlKey && code === 'Insert');
    return !paste;
  }

  #box() {
    const style = getComputedStyle(this.#host);
    const inner = (size: number, ...padding: string[]) =>
      size - padding.reduce((sum, p) => sum + Number.parseFloat(p), 0);
    return {
      width: inner(this.#host.clientWidth, style.paddingLeft, style.paddingRight),
      height: inner(this.#host.clientHeight, style.paddingTop, style.paddingBottom),
    };
  }

  #cell() {
    const screen = this.#host.querySelector<HTMLElement>('.xterm-screen');
    if (!screen?.offsetWidth || !screen.offsetHeight) return undefined;
    const font = this.#term.options.fontSize ?? this.#look.fontSize;
    return {
      font,
      cell: { width: screen.offsetWidth / this.#term.cols, height: screen.offsetHeight / this.#term.rows },
    };
  }

  /** layout chooses the font size: the person's own, or smaller so that someone else's size fits. */
  #layout() {
    const cell = this.#cell();
    const box = this.#box();
    if (!cell || box.width <= 0 || box.height <= 0) return;
    const scaled = this.#drawnOnce && !this.#owner;
    // Someone else's size stands below the strip that says so; one's own is without it.
    if (scaled && this.#term.element) box.height -= Number.parseFloat(getComputedStyle(this.#term.element).marginTop);
    const font = scaled ? letterbox(box, cell, this.size, this.#look.fontSize) : this.#look.fontSize;
    if (font !== this.#term.options.fontSize) this.#term.options.fontSize = font;
  }
}

function openLink(uri: string) {
  if (/^https?:\/\//i.test(uri)) window.open(uri, '_blank', 'noopener,noreferrer');
}
