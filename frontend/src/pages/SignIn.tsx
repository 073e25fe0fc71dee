import { Button, Loader, Stack, Text, Title } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import { calls } from '~/api/calls';
import { Problem, sentence } from '~/api/problem';
import { hubQuery } from '~/api/queries';
import { Strip } from '~/modules/shell/Notices';
import { Command } from '~/ui/Copyable';
import { useTitle } from '~/ui/title';
import classes from './SignIn.module.css';

type State = { is: 'asking' } | { is: 'signing in' } | { is: 'refused'; error: unknown };

/** takeToken reads the one-time token from the address and removes it there, so that it stays in no history. */
function takeToken(): string {
  const token = window.location.hash.slice(1);
  if (token !== '') window.history.replaceState(null, '', window.location.pathname);
  return token;
}

// Read once per page load: a component may be set up twice, and the second time the address holds nothing.
const token = window.location.pathname === '/sign-in' ? takeToken() : '';
let asked: Promise<void> | undefined;

/** SignIn takes a one-time link, or says how to get one. */
export function SignIn() {
  useTitle('Sign in');
  const hub = useQuery(hubQuery);
  const [state, setState] = useState<State>(token ? { is: 'signing in' } : { is: 'asking' });

  useEffect(() => {
    if (!token) return;
    asked ??= calls.signIn(token);
    asked.then(
      () => window.location.replace('/sessions'),
      (error: unknown) => setState({ is: 'refused', error }),
    );
  }, []);

  return (
    <div className={classes.page}>
      {hub.data?.notice && <Strip>{hub.data.notice}</Strip>}
      <main className={classes.card}>
        <img src="/icons/idle.svg" alt="" width={48} height={48} />
        <Title order={1} size="h2">
          claude-hub
        </Title>
        {state.is === 'signing in' && (
          <Stack align="center" role="status">
            <Loader size="sm" />
            <Text>Signing in…</Text>
          </Stack>
        )}
        {state.is === 'refused' && <Refused error={state.error} />}
        {state.is === 'asking' && hub.data?.signed_in && (
          <Button component="a" href="/sessions">
            You are signed in: go to the Sessions
          </Button>
        )}
        {state.is === 'asking' && hub.isSuccess && !hub.data.signed_in && <HowTo lead="You are not signed in." />}
        {state.is === 'asking' && hub.isError && <Refused error={hub.error} />}
      </main>
    </div>
  );
}

function Refused({ error }: { error: unknown }) {
  const silent = error instanceof Problem && error.status === 0;
  return (
    <>
      <Text role="alert" data-testid="sign-in-error">
        {sentence(error)}
      </Text>
      {silent ? (
        <Button onClick={() => window.location.reload()}>Try again</Button>
      ) : (
        <HowTo lead="A link works once." />
      )}
    </>
  );
}

function HowTo({ lead }: { lead: string }) {
  return (
    <Stack align="center" gap="sm">
      <Text c="dimmed">{lead} On the machine where the Hub runs, this prints a new sign-in link:</Text>
      <Command>claude-hub sign-in-link</Command>
    </Stack>
  );
}
