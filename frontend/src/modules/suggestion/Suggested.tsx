import { Button, Group, Textarea, TextInput } from '@mantine/core';
import { useEffect, useRef, useState } from 'react';
import type { Suggestion } from '~/api/types';
import { Face } from '~/ui/Face';
import { useHotkeys } from '~/ui/hotkeys';
import { called } from '~/ui/person';
import { moment, past, useNow } from '~/ui/time';
import classes from './Suggestion.module.css';
import { useSuggestionList } from './useSuggestionList';
import { useAnswers } from './useSuggestions';
import { openOf } from './words';

/** Suggested are the prompts that others propose to the Creator, above the box for their own: the oldest one, and the
 * others when asked for, so that each new one does not make the terminal smaller. */
export function Suggested({ session }: { session: string }) {
  const list = useSuggestionList(session);
  const region = useRef<HTMLElement>(null);
  const [all, setAll] = useState(false);
  const open = openOf(list.data);
  const shown = all ? open : open.slice(0, 1);
  const items = () => [...(region.current?.querySelectorAll<HTMLElement>('[data-suggestion]') ?? [])];
  useHotkeys({ s: () => items()[0]?.focus() });
  if (open.length === 0) return null;

  /** gone moves the focus on when the suggestion that had it is answered. */
  const gone = (index: number) => {
    const rest = items();
    const to = rest[index + 1] ?? rest[index - 1];
    if (to) to.focus();
    else document.querySelector<HTMLElement>('[data-testid="prompt-box"]')?.focus();
  };
  return (
    <section ref={region} className={classes.tray} aria-label="Suggested prompts" data-testid="suggested">
      <h2 className={classes.head}>
        <span>{open.length === 1 ? 'A suggestion for you' : `${open.length} suggestions for you`}</span>
        {open.length > 1 && (
          <button type="button" className={classes.toggle} aria-expanded={all} onClick={() => setAll(!all)}>
            {all ? 'Show one' : 'Show all'}
          </button>
        )}
        <span className={classes.keys}>s, then a accept · e edit · d decline</span>
      </h2>
      <ol className={classes.list}>
        {shown.map((s, i) => (
          <Item key={s.id} s={s} gone={() => gone(i)} move={(by) => items()[i + by]?.focus()} />
        ))}
      </ol>
    </section>
  );
}

interface ItemProps {
  s: Suggestion;
  gone: () => void;
  move: (by: number) => void;
}

function Item({ s, gone, move }: ItemProps) {
  const now = useNow(5000);
  const { accept, decline, busy } = useAnswers();
  const [doing, setDoing] = useState<'edit' | 'decline'>();
  const row = useRef<HTMLLIElement>(null);
  // What opens in the lowest one is below the edge of the list.
  useEffect(() => {
    if (doing) row.current?.scrollIntoView?.({ block: 'nearest' });
  }, [doing]);
  const back = () => {
    setDoing(undefined);
    row.current?.focus();
  };
  const take = (text?: string) => {
    if (busy) return;
    gone();
    accept(s, text);
  };
  const refuse = (why: string) => {
    if (busy) return;
    gone();
    decline(s, why || undefined);
  };
  const keys: Record<string, () => void> = {
    a: () => take(),
    e: () => setDoing('edit'),
    d: () => setDoing('decline'),
  };
  const steps: Record<string, number> = { ArrowDown: 1, ArrowUp: -1 };
  return (
    <li
      ref={row}
      className={classes.item}
      data-suggestion={s.id}
      data-testid="suggestion"
      // biome-ignore lint/a11y/noNoninteractiveTabindex: the keys a, e and d act on the one that has the focus
      tabIndex={0}
      aria-label={`${called(s.author)} suggests`}
      onKeyDown={(e) => {
        const step = steps[e.key];
        const action = step ? () => move(step) : keys[e.key];
        if (e.target !== e.currentTarget || e.metaKey || e.ctrlKey || e.altKey || !action) return;
        e.preventDefault();
        e.stopPropagation();
        action();
      }}
    >
      <Face person={s.author} size={24} />
      <div className={classes.main}>
        <div className={classes.by}>
          <b>{called(s.author)}</b> suggests
          <time dateTime={s.created} title={moment(s.created)}>
            {past(Date.parse(s.created), now)}
          </time>
        </div>
        {doing === 'edit' ? (
          <Edit s={s} busy={busy} take={take} back={back} />
        ) : (
          <>
            <p className={classes.text}>{s.text}</p>
            {doing === 'decline' ? (
              <Decline busy={busy} refuse={refuse} back={back} />
            ) : (
              <Group gap={8} mt={8}>
                <Button size="compact-sm" loading={busy} onClick={() => take()}>
                  Accept
                </Button>
                <Button size="compact-sm" variant="default" disabled={busy} onClick={() => setDoing('edit')}>
                  Edit …
                </Button>
                <Button size="compact-sm" variant="default" disabled={busy} onClick={() => setDoing('decline')}>
                  Decline …
                </Button>
              </Group>
            )}
          </>
        )}
      </div>
    </li>
  );
}

function Edit({ s, busy, take, back }: { s: Suggestion; busy: boolean; take: (t: string) => void; back: () => void }) {
  const [text, setText] = useState(s.text);
  const ready = text.trim() !== '' && !busy;
  return (
    <form
      onSubmit={(e) => {
        e.preventDefault();
        if (ready) take(text);
      }}
    >
      <Textarea
        aria-label="The prompt, edited"
        autosize
        minRows={2}
        maxRows={10}
        autoFocus
        value={text}
        onChange={(e) => setText(e.currentTarget.value)}
        onKeyDown={(e) => {
          if (e.key === 'Escape') back();
          if (e.key === 'Enter' && (e.metaKey || e.ctrlKey) && ready) take(text);
        }}
      />
      <Group gap={8} mt={8}>
        <Button type="submit" size="compact-sm" disabled={!ready}>
          Accept as edited
        </Button>
        <Button size="compact-sm" variant="default" onClick={back}>
          Cancel
        </Button>
      </Group>
    </form>
  );
}

function Decline({ busy, refuse, back }: { busy: boolean; refuse: (why: string) => void; back: () => void }) {
  const [why, setWhy] = useState('');
  return (
    <form
      onSubmit={(e) => {
        e.preventDefault();
        if (!busy) refuse(why.trim());
      }}
    >
      <TextInput
        mt={8}
        aria-label="A word on why, which may stay empty"
        placeholder="A word on why (may stay empty)"
        maxLength={500}
        autoFocus
        value={why}
        onChange={(e) => setWhy(e.currentTarget.value)}
        onKeyDown={(e) => e.key === 'Escape' && back()}
      />
      <Group gap={8} mt={8}>
        <Button type="submit" size="compact-sm" variant="default" disabled={busy}>
          Decline
        </Button>
        <Button size="compact-sm" variant="subtle" color="gray" onClick={back}>
          Cancel
        </Button>
      </Group>
    </form>
  );
}
