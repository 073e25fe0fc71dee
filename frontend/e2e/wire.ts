// Something between two programs: a TCP relay that can be cut, held and let go.
import { connect, createServer, type Server, type Socket } from 'node:net';

export class Wire {
  private server?: Server;
  private readonly pairs = new Set<[Socket, Socket]>();
  private broken = false;
  port = 0;

  constructor(private readonly target: () => number) {}

  async start(): Promise<void> {
    this.server = createServer((near) => {
      if (this.broken) {
        near.destroy();
        return;
      }
      const far = connect(this.target(), '127.0.0.1');
      const pair: [Socket, Socket] = [near, far];
      this.pairs.add(pair);
      const end = () => {
        near.destroy();
        far.destroy();
        this.pairs.delete(pair);
      };
      for (const s of pair) {
        s.setNoDelay(true);
        s.on('error', end);
        s.on('close', end);
      }
      near.pipe(far);
      far.pipe(near);
    });
    await new Promise<void>((done) => this.server?.listen(0, '127.0.0.1', done));
    const address = this.server.address();
    this.port = typeof address === 'object' && address ? address.port : 0;
  }

  /** Breaks every connection, and refuses new ones until mend. */
  cut(): void {
    this.broken = true;
    for (const [near, far] of this.pairs) {
      near.destroy();
      far.destroy();
    }
    this.pairs.clear();
  }

  mend(): void {
    this.broken = false;
  }

  /** Bytes stop flowing, and nobody is told. */
  hold(): void {
    for (const [near, far] of this.pairs) {
      near.unpipe(far);
      far.unpipe(near);
      near.pause();
      far.pause();
    }
  }

  stop(): void {
    this.cut();
    this.server?.close();
  }
}
