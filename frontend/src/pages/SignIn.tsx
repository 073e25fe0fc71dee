import { Button, Stack, Text } from '@mantine/core';
import { IconBrandGithub } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import { calls } from '~/api/calls';
import { Problem, sentence } from '~/api/problem';
import { hubQuery } from '~/api/queries';
import { gitHubStart, localPath, problemOf } from '~/api/signin';
import type { HubInfo } from '~/api/types';
import { Busy, Card } from '~/modules/card/Card';
import { takeHash } from '~/modules/card/hash';
import { Command } from '~/ui/Copyable';
import { useTitle } from '~/ui/title';

// Read once per page load: a component may be set up twice, and the second time the address holds nothing.
const token = takeHash('/sign-in');
let asked: Promise<void> | undefined;

/** SignIn leads through GitHub, or takes a one-time link, as the Hub is set up. */
export function SignIn() {
  useTitle('Sign in');
  const hub = useQuery(hubQuery);
  const [refused, setRefused] = useState<unknown>();
  const search = new URLSearchParams(window.location.search);
  const next = localPath(search.get('next'));
  const problem = search.get('problem');

  useEffect(() => {
    if (!token) return;
    asked ??= calls.signIn(token);
    asked.then(
      () => window.location.replace(localPath(new URLSearchParams(window.location.search).get('next'))),
      setRefused,
    );
  }, []);

  if (refused !== undefined) {
    return (
      <Card>
        <Said>{sentence(refused)}</Said>
        {refused instanceof Problem && refused.status === 0 ? (
          <Button onClick={() => window.location.reload()}>Try again</Button>
        ) : (
          hub.data && <Way hub={hub.data} next={next} lead="A link works once." />
        )}
      </Card>
    );
  }
  return (
    <Card>
      {token && <Busy>Signing in…</Busy>}
      {!token && hub.isError && (
        <>
          <Said>{sentence(hub.error)}</Said>
          <Button onClick={() => void hub.refetch()}>Try again</Button>
        </>
      )}
      {!token && problem && hub.data && <Said>{problemOf(problem)}</Said>}
      {!token && hub.data?.signed_in && (
        <Button component="a" href={next}>
          {next === '/sessions' ? 'You are signed in: go to the Sessions' : 'You are signed in: go on'}
        </Button>
      )}
      {!token && hub.data && !hub.data.signed_in && <Way hub={hub.data} next={next} lead="You are not signed in." />}
    </Card>
  );
}

function Said({ children }: { children: string }) {
  return (
    <Text role="alert" data-testid="sign-in-error">
      {children}
    </Text>
  );
}

function Way({ hub, next, lead }: { hub: HubInfo; next: string; lead: string }) {
  if (hub.mode === 'local') {
    return (
      <Stack align="center" gap="sm">
        <Text c="dimmed">{lead} On the machine where the Hub runs, this prints a new sign-in link:</Text>
        <Command>claude-hub sign-in-link</Command>
      </Stack>
    );
  }
  const host = hub.github && new URL(hub.github.url).host;
  return (
    <Stack align="center" gap="sm">
      <Button
        component="a"
        size="md"
        href={gitHubStart(next)}
        leftSection={<IconBrandGithub size={18} aria-hidden />}
        data-testid="sign-in-github"
      >
        Sign in with GitHub
      </Button>
      <Text c="dimmed" size="sm">
        {host && host !== 'github.com' && `Your account at ${host}. `}
        The Hub learns who you are and, to decide who may come in, which organisations and teams you are in.
      </Text>
    </Stack>
  );
}
