import { useMutation, useQueryClient } from '@tanstack/react-query';
import { identity } from '~/api/identity';
import { keys } from '~/api/keys';
import { putSession } from '~/api/live';
import type { Face, Session } from '~/api/types';
import { complain, undoable } from '~/ui/notify';
import { called } from '~/ui/person';

/** useSharing are the ways to let others watch a Session, and to take that back. */
export function useSharing(session: Session) {
  const client = useQueryClient();
  const put = (s: Session) => putSession(client, s);
  const add = useMutation({
    mutationFn: (login: string) => identity.share(session.id, { login }),
    onSuccess: put,
  });
  const remove = useMutation({
    mutationFn: (person: Face) => identity.unshare(session.id, person.id),
    onSuccess: (s, person) => {
      put(s);
      undoable(`${called(person)} does not see “${session.title}” any more.`, () => {
        identity.share(session.id, { login: person.login }).then(put, complain);
      });
    },
    onError: complain,
  });
  const everyone = useMutation({
    mutationFn: (on: boolean) => identity.share(session.id, { everyone: on }),
    onSuccess: put,
    onError: complain,
  });
  const link = useMutation({
    mutationFn: () => identity.makeLink(session.id),
    onSuccess: () => client.invalidateQueries({ queryKey: keys.session(session.id) }),
    onError: complain,
  });
  const unlink = useMutation({
    mutationFn: () => identity.revokeLink(session.id),
    onSuccess: (s) => {
      link.reset();
      put(s);
    },
    onError: complain,
  });
  return { add, remove, everyone, link, unlink };
}
