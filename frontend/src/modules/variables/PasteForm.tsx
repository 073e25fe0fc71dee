import { Alert, Button, Checkbox, Group, Modal, Stack, Textarea } from '@mantine/core';
import { useState } from 'react';
import { sentence } from '~/api/problem';
import { type Entry, parseEnv } from './dotenv';
import classes from './Variables.module.css';

interface Props {
  text: string;
  taken: string[];
  close: () => void;
  put: (name: string, value: string, secret: boolean) => Promise<unknown>;
}

/** PasteForm makes many Variables of a .env text: first it shows what it read, then it saves one after the other. */
export function PasteForm({ text: first, taken, close, put }: Props) {
  const [text, setText] = useState(first);
  const [secret, setSecret] = useState<Record<string, boolean>>({});
  const [left, setLeft] = useState<Record<string, boolean>>({});
  const [refused, setRefused] = useState<Record<string, string>>({});
  const [saved, setSaved] = useState<ReadonlySet<string>>(new Set());
  const [busy, setBusy] = useState(false);
  const { entries, unread } = parseEnv(text);
  const todo = entries.filter((e) => !left[e.name] && !saved.has(e.name));
  const isSecret = (e: Entry) => secret[e.name] ?? e.secret;

  const save = async () => {
    setBusy(true);
    const failed: Record<string, string> = {};
    const done = new Set(saved);
    for (const e of todo) {
      try {
        await put(e.name, e.value, isSecret(e));
        done.add(e.name);
      } catch (err) {
        failed[e.name] = sentence(err);
      }
      setRefused({ ...failed });
      setSaved(new Set(done));
    }
    setBusy(false);
    if (Object.keys(failed).length === 0) close();
  };
  return (
    <Modal opened onClose={close} size={680} title="Paste a .env" closeButtonProps={{ 'aria-label': 'Close' }}>
      <Stack gap="md">
        <Textarea
          label="Text"
          data-autofocus
          placeholder={'# NAME=value, one a line\nNODE_ENV=development\nAPI_TOKEN="…"'}
          autosize
          minRows={4}
          maxRows={10}
          classNames={{ input: classes.mono }}
          spellCheck={false}
          autoComplete="off"
          value={text}
          readOnly={busy}
          onChange={(e) => {
            setText(e.currentTarget.value);
            setRefused({});
            setSaved(new Set());
          }}
        />
        {entries.length > 0 && (
          <ul className={classes.read} aria-label="What was read">
            {entries.map((e) => (
              <li key={e.name} data-state={saved.has(e.name) ? 'saved' : refused[e.name] ? 'refused' : 'read'}>
                <Checkbox
                  size="xs"
                  aria-label={`Add ${e.name}`}
                  checked={!left[e.name]}
                  disabled={busy || saved.has(e.name)}
                  onChange={(c) => setLeft({ ...left, [e.name]: !c.currentTarget.checked })}
                />
                <div className={classes.entry}>
                  <code>{e.name}</code>
                  <span className={classes.quiet}>
                    {isSecret(e) ? `${new Blob([e.value]).size} bytes` : shortened(e.value)}
                    {taken.includes(e.name) && !saved.has(e.name) && ' · replaces what is there'}
                    {saved.has(e.name) && ' · saved'}
                  </span>
                  {refused[e.name] && (
                    <span className={classes.refused} role="alert">
                      {refused[e.name]}
                    </span>
                  )}
                </div>
                <Checkbox
                  size="xs"
                  label="Secret"
                  checked={isSecret(e)}
                  disabled={busy || saved.has(e.name)}
                  onChange={(c) => setSecret({ ...secret, [e.name]: c.currentTarget.checked })}
                />
              </li>
            ))}
          </ul>
        )}
        {unread.length > 0 && (
          <Alert
            color="orange"
            title={unread.length === 1 ? 'One line was not understood' : `${unread.length} lines were not understood`}
          >
            {unread.slice(0, 5).map((u) => (
              <div key={u.line}>
                Line {u.line}: {u.why}
              </div>
            ))}
          </Alert>
        )}
        <Group justify="flex-end">
          <Button variant="default" onClick={close}>
            {saved.size > 0 ? 'Close' : 'Cancel'}
          </Button>
          <Button disabled={todo.length === 0} loading={busy} onClick={() => void save()}>
            {todo.length === 1 ? 'Add one Variable' : `Add ${todo.length} Variables`}
          </Button>
        </Group>
      </Stack>
    </Modal>
  );
}

function shortened(value: string): string {
  const line = value.split('\n')[0] ?? '';
  const more = value.includes('\n') ? ` … ${value.split('\n').length} lines` : '';
  return `${line.length > 60 ? `${line.slice(0, 60)}…` : line || 'empty'}${more}`;
}
