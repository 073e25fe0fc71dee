import { ActionIcon, Textarea, Tooltip } from '@mantine/core';
import { IconSend2 } from '@tabler/icons-react';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useRef, useState } from 'react';
import { calls } from '~/api/calls';
import { putPrompt } from '~/api/live';
import { bytes } from '~/ui/bytes';
import { complain } from '~/ui/notify';
import { nonce } from '~/ui/random';
import { clearDraft, readDraft, writeDraft } from './draft';
import classes from './Prompt.module.css';

interface Props {
  session: string;
  maxPrompt: number;
  /** waits says that a prompt would wait, and for what: "until Claude is ready". */
  waits: string | undefined;
  /** thumbs: on a phone Enter makes a line, as its keyboard has no Shift-Enter. */
  thumbs: boolean;
}

/** PromptBox queues a prompt for Claude. A draft stays in this tab until the Hub has it; sending twice makes one. */
export function PromptBox({ session, maxPrompt, waits, thumbs }: Props) {
  const client = useQueryClient();
  const [text, setText] = useState(() => readDraft(session));
  const request = useRef(nonce());
  const box = useRef<HTMLTextAreaElement>(null);
  const send = useMutation({
    mutationFn: (t: string) => calls.prompt(session, t, request.current),
    onSuccess: (p) => {
      putPrompt(client, p);
      request.current = nonce();
      clearDraft(session);
      setText('');
      box.current?.focus();
    },
    onError: complain,
  });

  const edit = (t: string) => {
    if (!send.isPending && t !== text) request.current = nonce(); // another text is another request
    setText(t);
    writeDraft(session, t);
  };
  const size = new Blob([text]).size;
  const tooLong = size > maxPrompt;
  const ready = text.trim() !== '' && !tooLong && !send.isPending;
  const hint = tooLong
    ? `The prompt has ${bytes(size)}; the most is ${bytes(maxPrompt)}. Put the rest in a file of the workspace.`
    : waits;

  return (
    <form
      className={classes.box}
      onSubmit={(e) => {
        e.preventDefault();
        if (ready) send.mutate(text);
      }}
    >
      <Textarea
        ref={box}
        className={classes.text}
        aria-label="Prompt for Claude"
        aria-describedby={hint ? 'prompt-hint' : undefined}
        placeholder={thumbs ? 'Prompt for Claude' : 'Prompt for Claude   ⏎ send   ⇧⏎ new line'}
        autosize
        minRows={1}
        maxRows={8}
        value={text}
        error={tooLong}
        readOnly={send.isPending}
        data-testid="prompt-box"
        onChange={(e) => edit(e.currentTarget.value)}
        onKeyDown={(e) => {
          if (e.key === 'Escape') e.currentTarget.blur();
          if (e.key !== 'Enter' || e.shiftKey || thumbs || e.nativeEvent.isComposing) return;
          e.preventDefault();
          if (ready) send.mutate(text);
        }}
      />
      <Tooltip label={waits ? 'Queue this prompt' : 'Send this prompt'}>
        <ActionIcon
          type="submit"
          size={36}
          variant="filled"
          disabled={!ready}
          loading={send.isPending}
          aria-label={waits ? 'Queue prompt' : 'Send prompt'}
        >
          <IconSend2 size={18} />
        </ActionIcon>
      </Tooltip>
      {hint && (text !== '' || tooLong) && (
        <div id="prompt-hint" className={classes.hint} data-error={tooLong} role="status">
          {hint}
        </div>
      )}
    </form>
  );
}
