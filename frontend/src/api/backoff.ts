/**
 * Backoff spaces attempts that go on for ever: quick at first, then up to `max`, with jitter so that many pages do not
 * come back in the same moment.
 */
export class Backoff {
  #tries = 0;
  readonly #first: number;
  readonly #max: number;
  readonly #random: () => number;

  constructor(first = 250, max = 8000, random: () => number = Math.random) {
    this.#first = first;
    this.#max = max;
    this.#random = random;
  }

  next(): number {
    const full = Math.min(this.#max, this.#first * 1.8 ** this.#tries);
    this.#tries = Math.min(this.#tries + 1, 40);
    return full / 2 + (full / 2) * this.#random();
  }

  reset() {
    this.#tries = 0;
  }
}

/** onReturn calls back when the network or the person returns, and gives the way to stop that. */
export function onReturn(back: () => void): () => void {
  const visible = () => {
    if (document.visibilityState === 'visible') back();
  };
  window.addEventListener('online', back);
  document.addEventListener('visibilitychange', visible);
  return () => {
    window.removeEventListener('online', back);
    document.removeEventListener('visibilitychange', visible);
  };
}
