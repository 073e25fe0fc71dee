import { Alert, Button, Checkbox, Group, Modal, Select, Stack, Text, TextInput } from '@mantine/core';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { identity } from '~/api/identity';
import { keys } from '~/api/keys';
import { sentence } from '~/api/problem';
import type { TokenScope } from '~/api/types';
import { Command } from '~/ui/Copyable';
import { moment } from '~/ui/time';
import { endOf, lives, scopes } from './scopes';

/** NewToken makes an API token and shows it, once. */
export function NewToken({ close }: { close: () => void }) {
  const client = useQueryClient();
  const [name, setName] = useState('');
  const [chosen, setChosen] = useState<TokenScope[]>(['sessions:read']);
  const [days, setDays] = useState('90');
  const make = useMutation({
    mutationFn: () => identity.makeToken({ name: name.trim(), scopes: chosen, expires: endOf(days, Date.now()) }),
    onSuccess: () => client.invalidateQueries({ queryKey: keys.tokens }),
  });
  const ready = name.trim() !== '' && chosen.length > 0 && !make.isPending;

  if (make.isSuccess) {
    return (
      <Modal
        opened
        onClose={close}
        title="Copy the token now"
        size={560}
        closeOnClickOutside={false}
        closeOnEscape={false}
        closeButtonProps={{ 'aria-label': 'Close' }}
      >
        <Stack gap="md">
          <Text size="sm">
            This is the only time that it is shown: the Hub keeps no copy that could be read. Whoever has it can do what
            its scopes say, in your name.
          </Text>
          <Command what="the token">{make.data.token}</Command>
          <Group justify="flex-end">
            <Button onClick={close}>I have copied it</Button>
          </Group>
        </Stack>
      </Modal>
    );
  }
  const end = endOf(days, Date.now());
  return (
    <Modal opened onClose={close} title="New API token" size={520} closeButtonProps={{ 'aria-label': 'Close' }}>
      <form
        onSubmit={(e) => {
          e.preventDefault();
          if (ready) make.mutate();
        }}
      >
        <Stack gap="md">
          <TextInput
            label="Name"
            placeholder="what uses it: nightly triage"
            data-autofocus
            maxLength={60}
            value={name}
            onChange={(e) => setName(e.currentTarget.value)}
          />
          <Checkbox.Group
            label="Scopes"
            description="As little as it needs. No token makes tokens, shares Sessions, or sees what an admin sees."
            value={chosen}
            onChange={(v) => setChosen(v as TokenScope[])}
            error={chosen.length === 0 ? 'A token needs at least one scope.' : undefined}
          >
            <Stack gap={10} mt="xs">
              {scopes.map((s) => (
                <Checkbox key={s.scope} value={s.scope} label={s.scope} description={s.does} />
              ))}
            </Stack>
          </Checkbox.Group>
          <Select
            label="Expires"
            allowDeselect={false}
            data={lives}
            value={days}
            description={end ? `On ${moment(end)}.` : undefined}
            inputWrapperOrder={['label', 'input', 'description']}
            onChange={(d) => setDays(d ?? '90')}
          />
          {!end && (
            <Alert color="orange">
              A token without an end opens the Hub until someone remembers to revoke it. Give it an end if you can.
            </Alert>
          )}
          {make.isError && (
            <Alert color="red" role="alert" title="The token was not made">
              {sentence(make.error)}
            </Alert>
          )}
          <Group justify="flex-end">
            <Button variant="default" onClick={close}>
              Cancel
            </Button>
            <Button type="submit" disabled={!ready} loading={make.isPending}>
              Make the token
            </Button>
          </Group>
        </Stack>
      </form>
    </Modal>
  );
}
