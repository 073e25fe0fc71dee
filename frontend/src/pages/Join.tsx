import { Anchor, Button, Text } from '@mantine/core';
import { useQueryClient } from '@tanstack/react-query';
import { Link, useNavigate } from '@tanstack/react-router';
import { useEffect, useState } from 'react';
import { identity } from '~/api/identity';
import { putSession } from '~/api/live';
import { Problem, sentence } from '~/api/problem';
import { toSignIn } from '~/api/signin';
import type { Session } from '~/api/types';
import { Busy, Card } from '~/modules/card/Card';
import { takeHash } from '~/modules/card/hash';
import { keepToken, takeToken } from '~/modules/share/joining';
import { useTitle } from '~/ui/title';

// Read once per page load, as in SignIn.
const token = takeHash('/join') || (window.location.pathname === '/join' ? takeToken() : '');
let asked: Promise<Session> | undefined;

/** Join takes the link of a shared Session and goes there. */
export function Join() {
  useTitle('Join a Session');
  const client = useQueryClient();
  const navigate = useNavigate();
  const [refused, setRefused] = useState<unknown>();

  useEffect(() => {
    if (!token) return;
    asked ??= identity.join(token);
    asked.then(
      (s) => {
        putSession(client, s);
        void navigate({ to: '/sessions/$id', params: { id: s.id }, replace: true });
      },
      (error: unknown) => {
        if (error instanceof Problem && error.status === 401) {
          keepToken(token);
          toSignIn();
          return;
        }
        setRefused(error);
      },
    );
  }, [client, navigate]);

  if (!token) {
    return (
      <Card title="Join a Session">
        <Text>This address holds no link any more. Open the link that you were sent once again.</Text>
        <ToSessions />
      </Card>
    );
  }
  if (refused === undefined) return <Card title="Join a Session">{<Busy>Opening the Session…</Busy>}</Card>;
  const silent = refused instanceof Problem && refused.status === 0;
  return (
    <Card title="Join a Session">
      <Text role="alert" data-testid="join-error">
        {sentence(refused)}
      </Text>
      {silent ? (
        <Button
          onClick={() => {
            keepToken(token);
            window.location.reload();
          }}
        >
          Try again
        </Button>
      ) : (
        <Text c="dimmed" size="sm">
          Ask whoever sent it for a new one. Their Session’s Share dialog makes it.
        </Text>
      )}
      <ToSessions />
    </Card>
  );
}

function ToSessions() {
  return (
    <Anchor component={Link} to="/sessions">
      To the Sessions
    </Anchor>
  );
}
