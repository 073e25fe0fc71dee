import { Backoff, onReturn } from './backoff';
import { type ServerEvent, SseParser } from './sse';

/** The hop from this page to the Hub. */
export interface HubLink {
  state: 'connecting' | 'up' | 'down';
  since: number;
}

/** silence after which the stream counts as dead: the Hub writes at least a comment every 15 s. */
const silence = 40_000;

interface Handlers {
  event: (e: ServerEvent) => void;
  link: (l: HubLink) => void;
  /** signedOut: the Hub does not know this browser (any more). */
  signedOut: () => void;
}

/** listen follows /api/events for ever, and returns the way to end it. */
export function listen(handlers: Handlers): () => void {
  const backoff = new Backoff();
  let ended = false;
  let state: HubLink['state'] | '' = '';
  let abort = new AbortController();
  let wake: () => void = () => {};

  const say = (to: HubLink['state']) => {
    if (to === state || (to === 'connecting' && state === 'down')) return;
    state = to;
    handlers.link({ state: to, since: Date.now() });
  };

  const run = async () => {
    while (!ended) {
      say('connecting');
      abort = new AbortController();
      const known = await read(abort, handlers, () => {
        say('up');
        backoff.reset();
      });
      if (ended) return;
      say('down');
      if (!known) return handlers.signedOut();
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

/** read follows one connection until it ends. False: the Hub wants a sign-in. */
async function read(abort: AbortController, handlers: Handlers, up: () => void): Promise<boolean> {
  let timer = setTimeout(() => abort.abort(), silence);
  try {
    const response = await fetch('/api/events', { signal: abort.signal, headers: { Accept: 'text/event-stream' } });
    if (response.status === 401) return false;
    if (!response.ok || !response.body) return true;
    up();
    const parser = new SseParser();
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return true;
      clearTimeout(timer);
      timer = setTimeout(() => abort.abort(), silence);
      for (const e of parser.push(value)) handlers.event(e);
    }
  } catch {
    return true; // cut, silent or unreadable: the next connection starts afresh
  } finally {
    clearTimeout(timer);
    abort.abort();
  }
}
