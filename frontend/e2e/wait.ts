// Waiting for what is bound to happen.
import { createServer } from 'node:net';

/** How much longer things may take than on a machine of one's own: an emulated one is slow. */
export const slower = process.env.CLAUDE_HUB_MACHINE ? 5 : 1;

/** Hopeless ends a wait at once: what was waited for does not come any more. */
export class Hopeless extends Error {}

/** Waits until a probe gives something, or fails with what it was waiting for. */
export async function eventually<T>(what: string, probe: () => T | Promise<T>, seconds = 30): Promise<NonNullable<T>> {
  const patience = seconds * slower;
  const end = Date.now() + patience * 1000;
  let last: unknown;
  for (;;) {
    try {
      const value = await probe();
      if (value !== undefined && value !== null && value !== false) return value as NonNullable<T>;
    } catch (error) {
      if (error instanceof Hopeless) throw error;
      last = error;
    }
    if (Date.now() > end) throw new Error(`waited ${patience} s for ${what}${last ? `: ${last}` : ''}`);
    await new Promise((tick) => setTimeout(tick, 50 * slower));
  }
}

/** A port that was free a moment ago. */
export async function freePort(): Promise<number> {
  return new Promise((done, fail) => {
    const server = createServer();
    server.once('error', fail);
    server.listen(0, '127.0.0.1', () => {
      const address = server.address();
      server.close(() => done(typeof address === 'object' && address ? address.port : 0));
    });
  });
}
