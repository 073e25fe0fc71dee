export interface ServerEvent {
  event: string;
  data: string;
  id?: string;
}

/** maxEvent bounds what is kept of one event; a Session's row is far smaller. */
const maxEvent = 4 << 20;

/**
 * SseParser turns a text/event-stream, cut anywhere, into events. EventSource hides comments, and comments are how the
 * Hub says that a silent stream is alive.
 */
export class SseParser {
  #rest = '';
  #event = '';
  #id: string | undefined;
  #data: string[] = [];
  #size = 0;

  push(chunk: string): ServerEvent[] {
    const out: ServerEvent[] = [];
    const lines = (this.#rest + chunk).split('\n');
    this.#rest = lines.pop() ?? '';
    for (const raw of lines) {
      const event = this.#line(raw.endsWith('\r') ? raw.slice(0, -1) : raw);
      if (event) out.push(event);
    }
    if (this.#rest.length + this.#size > maxEvent) throw new Error('event too large');
    return out;
  }

  #line(line: string): ServerEvent | undefined {
    if (line === '') {
      const event: ServerEvent = { event: this.#event || 'message', data: this.#data.join('\n') };
      if (this.#id !== undefined) event.id = this.#id;
      const any = this.#data.length > 0;
      this.#event = '';
      this.#id = undefined;
      this.#data = [];
      this.#size = 0;
      return any ? event : undefined;
    }
    const colon = line.indexOf(':');
    if (colon === 0) return undefined;
    const field = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? '' : line.slice(colon + 1).replace(/^ /, '');
    if (field === 'event') this.#event = value;
    if (field === 'id') this.#id = value;
    if (field === 'data') {
      this.#data.push(value);
      this.#size += value.length;
    }
    return undefined;
  }
}
