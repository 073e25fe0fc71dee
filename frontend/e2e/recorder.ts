// Somebody who reads along between two programs: a TCP relay that keeps every byte of both directions, and can say what they
// mean, without HTTP's chunks and a WebSocket's masks, behind which a word could hide.
import { connect, createServer, type Server, type Socket } from 'node:net';
import { unframe } from './terminal';

export class Recorder {
  private server?: Server;
  private readonly sockets = new Set<Socket>();
  private readonly streams: { open: Buffer[] }[] = [];
  private port = 0;

  /** Stands between whoever asks its address and a server on this machine; gives that address. */
  async between(target: string): Promise<string> {
    const far = new URL(target);
    this.server = createServer((near) => {
      const there = connect(Number(far.port), far.hostname);
      for (const [from, to] of [
        [near, there],
        [there, near],
      ] as const) {
        const stream = { open: [] as Buffer[] };
        this.streams.push(stream);
        this.sockets.add(from);
        from.setNoDelay(true);
        from.on('data', (part) => stream.open.push(part));
        from.on('error', () => to.destroy()).on('close', () => to.destroy());
        from.pipe(to);
      }
    });
    await new Promise<void>((done) => this.server?.listen(0, '127.0.0.1', done));
    const address = this.server.address();
    this.port = typeof address === 'object' && address ? address.port : 0;
    return `http://127.0.0.1:${this.port}`;
  }

  /** All that went by, as it was and as it was meant. */
  get bytes(): Buffer {
    const raw = this.streams.map((stream) => Buffer.concat(stream.open));
    return Buffer.concat([...raw, ...raw.map(meant)].flatMap((part) => [part, Buffer.from('\n')]));
  }

  stop(): void {
    for (const socket of this.sockets) socket.destroy();
    this.server?.close();
  }
}

/** One direction of a connection, with the bodies of HTTP/1.1 put together and a WebSocket's frames unmasked. */
function meant(stream: Buffer): Buffer {
  const parts: Buffer[] = [];
  let at = 0;
  while (at < stream.length) {
    const end = stream.indexOf('\r\n\r\n', at);
    if (end < 0) break;
    const head = stream.toString('latin1', at, end);
    parts.push(stream.subarray(at, end));
    at = end + 4;
    if (/^upgrade: *websocket/im.test(head)) return Buffer.concat([...parts, frames(stream.subarray(at))]);
    if (/^transfer-encoding: *chunked/im.test(head)) {
      for (;;) {
        const line = stream.indexOf('\r\n', at);
        const size = line < 0 ? 0 : Number.parseInt(stream.toString('latin1', at, line), 16);
        if (!size) {
          at = line < 0 ? stream.length : line + 4;
          break;
        }
        parts.push(stream.subarray(line + 2, line + 2 + size));
        at = line + 2 + size + 2;
      }
    } else {
      const size = Number(head.match(/^content-length: *(\d+)/im)?.[1] ?? 0);
      parts.push(stream.subarray(at, at + size));
      at += size;
    }
  }
  return Buffer.concat(parts);
}

function frames(stream: Buffer): Buffer {
  const parts: Buffer[] = [];
  for (let got = unframe(stream); got; got = unframe(stream)) {
    parts.push(got.data);
    stream = stream.subarray(got.end);
  }
  return Buffer.concat(parts);
}
