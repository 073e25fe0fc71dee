import { useMutation, useQueryClient } from '@tanstack/react-query';
import { identity } from '~/api/identity';
import { keys } from '~/api/keys';
import { putSuggestion } from '~/api/live';
import type { Suggestion } from '~/api/types';
import { complain, say } from '~/ui/notify';

interface Answer {
  s: Suggestion;
  text?: string;
}

/** useAnswers are what the Creator does with a suggestion. */
export function useAnswers() {
  const client = useQueryClient();
  const failed = (err: unknown, s: Suggestion) => {
    complain(err);
    // Most likely someone was quicker: another window, or its author who withdrew it.
    void client.invalidateQueries({ queryKey: keys.suggestions(s.session) });
  };
  const accept = useMutation({
    mutationFn: ({ s, text }: Answer) => identity.accept(s.id, text),
    onSuccess: (_, { s }) => {
      putSuggestion(client, { ...s, state: 'accepted' });
      void client.invalidateQueries({ queryKey: keys.prompts(s.session) });
      void client.invalidateQueries({ queryKey: keys.suggestions(s.session) });
    },
    onError: (err, { s }) => failed(err, s),
  });
  const decline = useMutation({
    mutationFn: ({ s, text }: Answer) => identity.decline(s.id, text),
    onSuccess: (s) => putSuggestion(client, s),
    onError: (err, { s }) => failed(err, s),
  });
  return {
    accept: (s: Suggestion, text?: string) => accept.mutate({ s, text }),
    decline: (s: Suggestion, why?: string) => decline.mutate({ s, text: why }),
    busy: accept.isPending || decline.isPending,
  };
}

/** useWithdraw lets an author take a suggestion back. */
export function useWithdraw() {
  const client = useQueryClient();
  return useMutation({
    mutationFn: (s: Suggestion) => identity.withdraw(s.id),
    onSuccess: (s) => {
      putSuggestion(client, s);
      say('The suggestion is withdrawn.');
    },
    onError: complain,
  });
}
