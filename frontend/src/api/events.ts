import { follow } from './follow';
import type { ServerEvent } from './sse';

/** The hop from this page to the Hub. */
export interface HubLink {
  state: 'connecting' | 'up' | 'down';
  since: number;
}

interface Handlers {
  event: (e: ServerEvent) => void;
  link: (l: HubLink) => void;
  /** signedOut: the Hub does not know this browser (any more). */
  signedOut: () => void;
}

/** listen follows /api/events for ever, and returns the way to end it. */
export function listen(handlers: Handlers): () => void {
  let state: HubLink['state'] | '' = '';
  const say = (to: HubLink['state']) => {
    if (to === state || (to === 'connecting' && state === 'down')) return;
    state = to;
    handlers.link({ state: to, since: Date.now() });
  };
  return follow({
    request: () => ({ url: '/api/events' }),
    event: handlers.event,
    connecting: () => say('connecting'),
    up: () => say('up'),
    down: () => say('down'),
    refused: (status) => {
      if (status !== 401) return false;
      handlers.signedOut();
      return true;
    },
  });
}
