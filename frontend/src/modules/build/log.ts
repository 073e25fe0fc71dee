import { follow } from '~/api/follow';
import type { ServerEvent } from '~/api/sse';
import type { LogPart } from '~/api/types';
import { LogBuffer } from './buffer';

/** LogState is how the reading goes: "refused" is an answer that trying again does not change. */
export type LogState = 'reading' | 'live' | 'cut' | 'ended' | 'refused';

/** BuildLog is one build's log in this page: it follows the Hub's stream, over cuts, until the build is done. */
export class BuildLog {
  readonly buffer = new LogBuffer();
  state: LogState = 'reading';
  /** version rises with each change that is to be drawn. */
  version = 0;
  readonly #watchers = new Set<() => void>();
  #frame = 0;
  #stop: () => void;

  constructor(build: string) {
    this.#stop = follow({
      request: () => {
        const from = this.buffer.offset;
        const url = `/api/builds/${build}/log?from=${from}`;
        return from > 0 ? { url, headers: { 'Last-Event-ID': String(from) } } : { url };
      },
      connecting: () => {},
      up: () => this.#set('live'),
      down: () => this.#set('cut'),
      event: (e) => this.#event(e),
      refused: (status) => {
        if (status >= 500) return false;
        this.#set('refused');
        return true;
      },
    });
  }

  subscribe = (w: () => void) => {
    this.#watchers.add(w);
    return () => this.#watchers.delete(w);
  };

  dispose() {
    this.#stop();
    cancelAnimationFrame(this.#frame);
  }

  #event(e: ServerEvent) {
    if (e.event === 'end') {
      this.#stop();
      this.#set('ended');
    }
    if (e.event !== 'log') return;
    const { offset, data } = JSON.parse(e.data) as LogPart;
    if (!this.buffer.add(offset, fromBase64(data))) throw new Error('a part of the log is missing'); // read again from here
    this.#changed();
  }

  #set(to: LogState) {
    if (this.state === to || this.state === 'ended') return;
    this.state = to;
    this.#changed();
  }

  /** Changes are drawn once a frame, however fast they come. */
  #changed() {
    if (this.#frame !== 0) return;
    this.#frame = requestAnimationFrame(() => {
      this.#frame = 0;
      this.version++;
      for (const w of this.#watchers) w();
    });
  }
}

function fromBase64(text: string): Uint8Array {
  return Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
}
