import { Badge, Button, Textarea } from '@mantine/core';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useRef, useState } from 'react';
import { identity } from '~/api/identity';
import { putSuggestion } from '~/api/live';
import { meQuery } from '~/api/queries';
import type { Session, Suggestion } from '~/api/types';
import { clearDraft, readDraft, writeDraft } from '~/modules/prompt/draft';
import { creatorOf } from '~/modules/session/mine';
import { bytes } from '~/ui/bytes';
import { complain } from '~/ui/notify';
import { ago, moment, useNow } from '~/ui/time';
import classes from './Suggestion.module.css';
import { useSuggestionList } from './useSuggestionList';
import { useWithdraw } from './useSuggestions';
import { colours, ownOf } from './words';

const most = 64 << 10; // bytes; claudehub.MaxSuggestion

/** SuggestBox is where a Participant proposes a prompt, in the place where the Creator has the box for prompts. */
export function SuggestBox({ session, thumbs }: { session: Session; thumbs: boolean }) {
  const client = useQueryClient();
  const [text, setText] = useState(() => readDraft(session.id));
  const box = useRef<HTMLTextAreaElement>(null);
  const creator = creatorOf(session);
  const send = useMutation({
    mutationFn: (t: string) => identity.suggest(session.id, t),
    onSuccess: (s) => {
      putSuggestion(client, s);
      clearDraft(session.id);
      setText('');
      box.current?.focus();
    },
    onError: complain,
  });
  const size = new Blob([text]).size;
  const tooLong = size > most;
  const ready = text.trim() !== '' && !tooLong && !send.isPending;
  return (
    <>
      <Own session={session} />
      <form
        className={classes.box}
        onSubmit={(e) => {
          e.preventDefault();
          if (ready) send.mutate(text);
        }}
      >
        <Textarea
          ref={box}
          className={classes.field}
          aria-label={`Suggest a prompt to ${creator}`}
          placeholder={thumbs ? 'Suggest a prompt' : `Suggest a prompt to ${creator}   ⏎ suggest   ⇧⏎ new line`}
          autosize
          minRows={1}
          maxRows={8}
          value={text}
          error={tooLong && `The suggestion has ${bytes(size)}; the most is ${bytes(most)}.`}
          readOnly={send.isPending}
          data-testid="suggest-box"
          onChange={(e) => {
            setText(e.currentTarget.value);
            writeDraft(session.id, e.currentTarget.value);
          }}
          onKeyDown={(e) => {
            if (e.key === 'Escape') e.currentTarget.blur();
            if (e.key !== 'Enter' || e.shiftKey || thumbs || e.nativeEvent.isComposing) return;
            e.preventDefault();
            if (ready) send.mutate(text);
          }}
        />
        <Button type="submit" h={36} disabled={!ready} loading={send.isPending}>
          Suggest
        </Button>
      </form>
    </>
  );
}

/** Own are what this person suggested and what became of it. */
function Own({ session }: { session: Session }) {
  const me = useQuery(meQuery);
  const list = useSuggestionList(session.id);
  const now = useNow(5000);
  const withdraw = useWithdraw();
  const own = ownOf(list.data, me.data?.id, now);
  if (own.length === 0) return null;
  return (
    <ol className={classes.own} aria-label="Your suggestions" data-testid="own-suggestions">
      {own.map((s) => (
        <li key={s.id} data-state={s.state}>
          <State s={s} />
          <span className={classes.line} title={s.text}>
            {s.text}
          </span>
          <time dateTime={s.updated} title={moment(s.updated)}>
            {ago(Date.parse(s.updated), now)}
          </time>
          {s.state === 'open' && (
            <Button
              size="compact-xs"
              variant="default"
              loading={withdraw.isPending && withdraw.variables.id === s.id}
              onClick={() => withdraw.mutate(s)}
            >
              Withdraw
            </Button>
          )}
          {s.why && <p className={classes.why}>“{s.why}”</p>}
        </li>
      ))}
    </ol>
  );
}

function State({ s }: { s: Suggestion }) {
  return (
    <Badge size="sm" variant="light" color={colours[s.state]} c="var(--mantine-color-text)" className={classes.badge}>
      {s.state === 'open' ? 'waiting' : s.state}
    </Badge>
  );
}
