/** What the Hub answers when it does not do what was asked: a sentence for the person and a code to act on. */
export class Problem extends Error {
  readonly code: string;
  readonly status: number;

  constructor(code: string, status: number, message: string) {
    super(message);
    this.name = 'Problem';
    this.code = code;
    this.status = status;
  }
}

/** problemFrom reads an RFC 9457 body; anything else gets a sentence of its own. */
export function problemFrom(status: number, body: unknown): Problem {
  const b = typeof body === 'object' && body !== null ? (body as Record<string, unknown>) : {};
  const code = typeof b.code === 'string' ? b.code : status === 401 ? 'unauthenticated' : 'internal';
  const detail = typeof b.detail === 'string' && b.detail !== '' ? b.detail : `The Hub answered with status ${status}.`;
  return new Problem(code, status, detail);
}

/** unreachable is for a request that got no answer at all. */
export function unreachable(): Problem {
  return new Problem(
    'unavailable',
    0,
    'The Hub does not answer. Nothing was changed; check that it runs, then try again.',
  );
}

/** sentence is what a person is shown for any error. */
export function sentence(err: unknown): string {
  return err instanceof Problem
    ? err.message
    : 'Something went wrong in this page. Reload it; your work is at the Hub.';
}
