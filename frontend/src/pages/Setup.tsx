import { Anchor, Button, Stack, Text, TextInput } from '@mantine/core';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { Link, useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { identity } from '~/api/identity';
import { keys } from '~/api/keys';
import { sentence } from '~/api/problem';
import { meQuery } from '~/api/queries';
import { Busy, Card } from '~/modules/card/Card';
import { takeHash } from '~/modules/card/hash';
import { say } from '~/ui/notify';
import { Trouble } from '~/ui/Trouble';
import { useTitle } from '~/ui/title';

const given = takeHash('/setup');

/** Setup takes the code that the Hub printed when it first started: whoever enters it is its admin. */
export function Setup() {
  useTitle('Set up');
  const me = useQuery(meQuery);
  const client = useQueryClient();
  const navigate = useNavigate();
  const [code, setCode] = useState(given);
  const redeem = useMutation({
    mutationFn: () => identity.setup(code.trim()),
    onSuccess: (person) => {
      client.setQueryData(keys.me, person);
      say('You are the admin of this Hub.');
      void navigate({ to: '/admin/people' });
    },
  });
  if (me.isPending) return <Card title="Set up this Hub">{<Busy>Asking the Hub…</Busy>}</Card>;
  if (me.isError) {
    return (
      <Card title="Set up this Hub">
        <Trouble what="The Hub did not say who you are." error={me.error} retry={() => void me.refetch()} />
      </Card>
    );
  }
  if (me.data.role === 'admin') {
    return (
      <Card title="Set up this Hub">
        <Text>You are the admin of this Hub already.</Text>
        <Anchor component={Link} to="/admin/people">
          To its people
        </Anchor>
      </Card>
    );
  }
  return (
    <Card title="Set up this Hub">
      <Text c="dimmed">
        The Hub printed a set-up code when it started. The first person to enter it becomes the admin, who sees people,
        Runners and the audit log.
      </Text>
      <form
        onSubmit={(e) => {
          e.preventDefault();
          if (code.trim() !== '') redeem.mutate();
        }}
      >
        <Stack gap="md">
          <TextInput
            label="Set-up code"
            placeholder="chq_…"
            size="md"
            ta="left"
            autoFocus
            autoComplete="off"
            spellCheck={false}
            autoCapitalize="off"
            value={code}
            error={redeem.isError ? sentence(redeem.error) : undefined}
            onChange={(e) => {
              redeem.reset();
              setCode(e.currentTarget.value);
            }}
          />
          <Button type="submit" disabled={code.trim() === ''} loading={redeem.isPending}>
            Become admin
          </Button>
        </Stack>
      </form>
      <Text size="sm" c="dimmed">
        Signed in as {me.data.login}.
      </Text>
    </Card>
  );
}
