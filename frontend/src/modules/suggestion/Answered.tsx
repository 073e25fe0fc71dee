import { Badge } from '@mantine/core';
import { Face } from '~/ui/Face';
import { called } from '~/ui/person';
import { Trouble } from '~/ui/Trouble';
import { ago, moment, useNow } from '~/ui/time';
import classes from './Suggestion.module.css';
import { useSuggestionList } from './useSuggestionList';
import { answeredOf, colours } from './words';

/** Answered are the suggestions that were accepted, declined or withdrawn, the newest first. */
export function Answered({ session }: { session: string }) {
  const list = useSuggestionList(session);
  const now = useNow(5000);
  if (list.isError) {
    return <Trouble what="The suggestions could not be read." error={list.error} retry={() => void list.refetch()} />;
  }
  const answered = answeredOf(list.data);
  if (answered.length === 0) return null;
  return (
    <section aria-label="Answered suggestions" data-testid="answered">
      <h3 className={classes.section}>Suggestions</h3>
      <ol className={classes.history}>
        {answered.map((s) => (
          <li key={s.id} data-state={s.state}>
            <div className={classes.meta}>
              <Face person={s.author} size={20} />
              <span>{called(s.author)}</span>
              <Badge
                size="sm"
                variant="light"
                color={colours[s.state]}
                c="var(--mantine-color-text)"
                className={classes.badge}
              >
                {s.state}
              </Badge>
              <time dateTime={s.updated} title={moment(s.updated)}>
                {ago(Date.parse(s.updated), now)}
              </time>
            </div>
            <p className={classes.body}>{s.text}</p>
            {s.why && <p className={classes.why}>“{s.why}”</p>}
          </li>
        ))}
      </ol>
    </section>
  );
}
