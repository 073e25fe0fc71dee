import { useMutation, useQueryClient } from '@tanstack/react-query';
import { calls } from '~/api/calls';
import { putSession } from '~/api/live';
import type { Session, SessionChange, SessionVerb } from '~/api/types';
import { complain, undoable } from '~/ui/notify';

/** useSessionActions are the things a person does to Sessions. What the Hub answers is what the pages show. */
export function useSessionActions() {
  const client = useQueryClient();
  const put = (s: Session) => putSession(client, s);
  const verb = useMutation({
    mutationFn: ({ id, verb }: { id: string; verb: SessionVerb }) => calls.verb(id, verb),
    onSuccess: put,
    onError: complain,
  });
  const change = useMutation({
    mutationFn: ({ id, to }: { id: string; to: SessionChange }) => calls.change(id, to),
    onSuccess: put,
    onError: complain,
  });

  const erase = useMutation({
    mutationFn: (s: Session) => calls.deleteSession(s.id),
    onSuccess: put,
    onError: complain,
  });

  const act = (s: Session, v: SessionVerb) => verb.mutateAsync({ id: s.id, verb: v }).catch(() => undefined);

  /** all does one thing to several Sessions and offers the way back for those where it was done. */
  const all = async (sessions: Session[], v: 'sleep' | 'archive') => {
    const done = await Promise.all(sessions.map(async (s) => ((await act(s, v)) ? s : undefined)));
    const ok = done.filter((s) => s !== undefined);
    if (ok.length === 0) return;
    const name = ok.length === 1 ? `“${ok[0]?.title}”` : `${ok.length} Sessions`;
    undoable(v === 'archive' ? `Archived ${name}.` : `${name} goes to sleep.`, () => {
      for (const s of ok) void back(s, v);
    });
  };

  const back = async (s: Session, v: 'sleep' | 'archive') => {
    if (v === 'archive') await act(s, 'unarchive');
    if (s.desired === 'awake') await act(s, 'wake');
  };

  return {
    act,
    all,
    erase: (s: Session) => erase.mutateAsync(s).catch(() => undefined),
    change: (s: Session, to: SessionChange) => change.mutate({ id: s.id, to }),
    busy: verb.isPending || erase.isPending,
  };
}
