import { Button, Group, Modal, Stack, Switch, Textarea, TextInput } from '@mantine/core';
import { useState } from 'react';
import { sentence } from '~/api/problem';
import type { Variable } from '~/api/types';
import { looksSecret, seemsEnv } from './dotenv';
import classes from './Variables.module.css';

interface Props {
  /** old is the one that is edited; undefined adds a new one. */
  old: Variable | undefined;
  taken: string[];
  close: () => void;
  put: (name: string, value: string, secret: boolean) => Promise<unknown>;
  /** many takes over when several were pasted. */
  many: (text: string) => void;
}

/** VariableForm adds a Variable or changes one. What the Hub refuses is said at the field, in its words. */
export function VariableForm({ old, taken, close, put, many }: Props) {
  const [name, setName] = useState(old?.name ?? '');
  const [value, setValue] = useState(old?.value ?? '');
  const [secret, setSecret] = useState<boolean | undefined>(old?.secret);
  const [refused, setRefused] = useState<string>();
  const [busy, setBusy] = useState(false);
  const hidden = secret ?? looksSecret(name, value);
  const replaces = !old && taken.includes(name);

  const save = async () => {
    setBusy(true);
    setRefused(undefined);
    try {
      await put(name.trim(), value, hidden);
      close();
    } catch (err) {
      setRefused(sentence(err));
      setBusy(false);
    }
  };
  return (
    <Modal
      opened
      onClose={close}
      title={old ? `Change ${old.name}` : 'Add a Variable'}
      closeButtonProps={{ 'aria-label': 'Close' }}
    >
      <form
        onSubmit={(e) => {
          e.preventDefault();
          if (name.trim() !== '' && !busy) void save();
        }}
      >
        <Stack gap="md">
          {!old && (
            <TextInput
              label="Name"
              data-autofocus
              placeholder="DATABASE_URL"
              classNames={{ input: classes.mono }}
              spellCheck={false}
              autoCapitalize="characters"
              autoCorrect="off"
              value={name}
              error={refused}
              description={replaces ? `${name} is there already: saving replaces its value.` : undefined}
              inputWrapperOrder={['label', 'input', 'description', 'error']}
              onChange={(e) => {
                setRefused(undefined);
                setName(e.currentTarget.value);
              }}
              onPaste={(e) => pasted(e, many)}
            />
          )}
          <Textarea
            label="Value"
            data-autofocus={old ? true : undefined}
            description={old?.secret ? 'The value is not shown again: what you write here replaces it.' : undefined}
            placeholder={old?.secret ? `${old.bytes} bytes, hidden` : 'May have several lines'}
            autosize
            minRows={2}
            maxRows={14}
            classNames={{ input: classes.mono }}
            spellCheck={false}
            autoCapitalize="off"
            autoComplete="off"
            value={value}
            error={old ? refused : undefined}
            onChange={(e) => {
              setRefused(undefined);
              setValue(e.currentTarget.value);
            }}
            onPaste={(e) => !old && value === '' && pasted(e, many)}
          />
          <Switch
            label="Secret"
            description={
              old?.secret
                ? 'It stays secret: delete it and add it anew to make it plain.'
                : 'Write-only after saving: neither these pages nor logs show the value.'
            }
            checked={hidden}
            disabled={old?.secret}
            onChange={(e) => setSecret(e.currentTarget.checked)}
          />
          <Group justify="flex-end">
            <Button variant="default" onClick={close}>
              Cancel
            </Button>
            <Button type="submit" loading={busy} disabled={name.trim() === ''}>
              Save
            </Button>
          </Group>
        </Stack>
      </form>
    </Modal>
  );
}

function pasted(e: React.ClipboardEvent, many: (text: string) => void) {
  const text = e.clipboardData.getData('text/plain');
  if (!seemsEnv(text)) return;
  e.preventDefault();
  many(text);
}
