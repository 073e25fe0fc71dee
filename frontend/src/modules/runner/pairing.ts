import type { Runner } from '~/api/types';

/** pairCommand is what makes a machine a Runner of this Hub. */
export function pairCommand(): string {
  return `claude-hub-runner pair --hub ${window.location.origin}`;
}

/** paired leaves out the Runners that were revoked: nothing can be started there. */
export function paired(list: Runner[] | undefined): Runner[] {
  return (list ?? []).filter((r) => !r.revoked);
}
