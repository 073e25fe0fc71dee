import { Badge, Button, Skeleton, Text } from '@mantine/core';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { calls } from '~/api/calls';
import { putPrompt } from '~/api/live';
import { promptsQuery } from '~/api/queries';
import type { Prompt, PromptState } from '~/api/types';
import { Face } from '~/ui/Face';
import { complain } from '~/ui/notify';
import { called } from '~/ui/person';
import { Trouble } from '~/ui/Trouble';
import { ago, moment, useNow } from '~/ui/time';
import classes from './Prompt.module.css';

/** Words for how far a prompt has come. */
const words: Record<PromptState, string> = {
  queued: 'queued at the Hub',
  delivered: 'at the Runner',
  accepted: 'Claude has it',
  done: 'done',
  expired: 'expired',
  cancelled: 'cancelled',
  failed: 'failed',
};

const colours: Record<PromptState, string> = {
  queued: 'gray',
  delivered: 'gray',
  accepted: 'accent',
  done: 'green',
  expired: 'orange',
  cancelled: 'gray',
  failed: 'red',
};

/** waiting tells a prompt that has not reached Claude. */
export function waiting(p: Prompt): boolean {
  return p.state === 'queued' || p.state === 'delivered';
}

/** PromptList shows a Session's prompts, newest first, each with its state. */
export function PromptList({ session, mine }: { session: string; mine: boolean }) {
  const prompts = useQuery(promptsQuery(session));
  const client = useQueryClient();
  const now = useNow(5000);
  const cancel = useMutation({
    mutationFn: (p: Prompt) => calls.cancelPrompt(session, p.id),
    onSuccess: (p) => putPrompt(client, p),
    onError: complain,
  });
  if (prompts.isPending) return <Skeleton height={72} m="md" />;
  if (prompts.isError) {
    return <Trouble what="The prompts could not be read." error={prompts.error} retry={() => void prompts.refetch()} />;
  }
  if (prompts.data.length === 0) {
    return (
      <Text c="dimmed" size="sm" p="md">
        {mine
          ? 'No prompts yet. What you write in the box below the terminal is queued here, and goes in when Claude is ready. What you type in the terminal itself does not pass this queue.'
          : 'No prompts yet. What its Creator queues, and what they accept of what you suggest, appears here.'}
      </Text>
    );
  }
  return (
    <ol className={classes.list} data-testid="prompts">
      {prompts.data.toReversed().map((p) => (
        <li key={p.id} data-state={p.state} data-testid="prompt">
          <div className={classes.head}>
            <Badge
              size="sm"
              variant="light"
              color={colours[p.state]}
              c="var(--mantine-color-text)"
              className={classes.badge}
              data-testid="prompt-state"
            >
              {words[p.state]}
            </Badge>
            <time dateTime={p.updated} title={moment(p.updated)}>
              {ago(Date.parse(p.updated), now)}
            </time>
            {mine && waiting(p) && (
              <Button size="compact-xs" variant="subtle" color="gray" onClick={() => cancel.mutate(p)}>
                Cancel
              </Button>
            )}
          </div>
          <p className={classes.body}>{p.text}</p>
          {p.suggested_by && (
            <p className={classes.by}>
              <Face person={p.suggested_by} size={18} /> suggested by {called(p.suggested_by)}
            </p>
          )}
          {p.why && <p className={classes.why}>{p.why}</p>}
        </li>
      ))}
    </ol>
  );
}
