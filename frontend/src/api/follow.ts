import { Backoff, onReturn } from './backoff';
import { type ServerEvent, SseParser } from './sse';

/** silence after which a stream counts as dead: the Hub writes at least a comment every 15 s. */
const silence = 40_000;

interface Handlers {
  /** url and headers of the next connection: it may go on from where the last one was cut. */
  request: () => { url: string; headers?: Record<string, string> };
  event: (e: ServerEvent) => void;
  connecting: () => void;
  up: () => void;
  down: () => void;
  /** refused: the Hub's answer was an error; true ends the following. */
  refused: (status: number) => boolean;
}

/** follow reads a stream of events for ever, over as many connections as it takes, and returns the way to end it. */
export function follow(handlers: Handlers): () => void {
  const backoff = new Backoff();
  let ended = false;
  let abort = new AbortController();
  let wake: () => void = () => {};

  const run = async () => {
    while (!ended) {
      handlers.connecting();
      abort = new AbortController();
      const status = await read(abort, handlers, () => {
        if (ended) return;
        handlers.up();
        backoff.reset();
      });
      if (ended) return;
      handlers.down();
      if (status !== 200 && handlers.refused(status)) return;
      await new Promise<void>((done) => {
        const timer = setTimeout(done, backoff.next());
        wake = () => {
          clearTimeout(timer);
          done();
        };
      });
    }
  };

  const stopReturn = onReturn(() => {
    backoff.reset();
    wake();
  });
  const offline = () => abort.abort();
  window.addEventListener('offline', offline);
  void run();
  return () => {
    ended = true;
    stopReturn();
    window.removeEventListener('offline', offline);
    abort.abort();
    wake();
  };
}

/** read follows one connection until it ends, and gives its status: 200 for one that was cut or never came about. */
async function read(abort: AbortController, handlers: Handlers, up: () => void): Promise<number> {
  let timer = setTimeout(() => abort.abort(), silence);
  try {
    const { url, headers } = handlers.request();
    const response = await fetch(url, { signal: abort.signal, headers: { Accept: 'text/event-stream', ...headers } });
    if (!response.ok || !response.body) return response.status;
    up();
    const parser = new SseParser();
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return 200;
      clearTimeout(timer);
      timer = setTimeout(() => abort.abort(), silence);
      for (const e of parser.push(value)) handlers.event(e);
    }
  } catch {
    return 200; // cut, silent or unreadable: the next connection starts afresh
  } finally {
    clearTimeout(timer);
    abort.abort();
  }
}
