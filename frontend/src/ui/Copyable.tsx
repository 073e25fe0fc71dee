import { ActionIcon, Tooltip } from '@mantine/core';
import { useClipboard } from '@mantine/hooks';
import { IconCheck, IconCopy } from '@tabler/icons-react';
import classes from './Copyable.module.css';

/** CopyButton puts a text in the clipboard and says so. */
export function CopyButton({ text, label }: { text: string; label: string }) {
  const clipboard = useClipboard({ timeout: 1500 });
  return (
    <Tooltip label={clipboard.copied ? 'Copied' : label}>
      <ActionIcon variant="subtle" color="gray" size="sm" aria-label={label} onClick={() => clipboard.copy(text)}>
        {clipboard.copied ? <IconCheck size={14} /> : <IconCopy size={14} />}
      </ActionIcon>
    </Tooltip>
  );
}

/** Command is a command line to copy, or something else that is written in one line. */
export function Command({ children, what = 'the command' }: { children: string; what?: string }) {
  return (
    <span className={classes.command}>
      <code>{children}</code>
      <CopyButton text={children} label={`Copy ${what}`} />
    </span>
  );
}

/** Output is a program's output, folded away until someone wants it. */
export function Output({ children, summary = 'Details' }: { children: string; summary?: string }) {
  return (
    <details className={classes.output}>
      <summary>{summary}</summary>
      <div className={classes.copy}>
        <CopyButton text={children} label="Copy the details" />
      </div>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a scrolling region must be reachable by keyboard */}
      <pre tabIndex={0}>{children}</pre>
    </details>
  );
}
