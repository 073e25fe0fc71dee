import type { Session } from '~/api/types';
import { called } from '~/ui/person';

/** isMine tells who drives: only the person who made a Session. Everyone else watches. */
export function isMine(s: Session): boolean {
  return s.access !== 'participant';
}

/** creatorOf is what the Creator is called in a sentence. */
export function creatorOf(s: Session): string {
  return called(s.by);
}
