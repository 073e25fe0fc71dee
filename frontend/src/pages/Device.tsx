import { Alert, Anchor, Button, Group, Stack, Text, TextInput } from '@mantine/core';
import { IconAlertTriangle } from '@tabler/icons-react';
import { useMutation, useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { identity } from '~/api/identity';
import { Problem, sentence } from '~/api/problem';
import { meQuery } from '~/api/queries';
import { toSignIn } from '~/api/signin';
import type { Device } from '~/api/types';
import { Busy, Card } from '~/modules/card/Card';
import { userCode } from '~/modules/device/code';
import { Trouble } from '~/ui/Trouble';
import { moment, past, useNow } from '~/ui/time';
import { useTitle } from '~/ui/title';
import classes from './Device.module.css';

/** DevicePage lets a person approve what shows a code: a Runner, or the command line. Nothing is approved by a link
 * alone, so that nobody can send one to someone else. */
export function DevicePage() {
  useTitle('Approve a device');
  const me = useQuery(meQuery);
  const [asks, setAsks] = useState<{ code: string; device: Device }>();
  const [done, setDone] = useState<{ device: Device; approved: boolean }>();
  const title = 'Approve a device';
  if (me.isPending) return <Card title={title}>{<Busy>Asking the Hub…</Busy>}</Card>;
  if (me.isError) {
    return (
      <Card title={title}>
        <Trouble what="The Hub did not say who you are." error={me.error} retry={() => void me.refetch()} />
      </Card>
    );
  }
  if (done) return <Done {...done} />;
  return (
    <Card title={title}>
      {asks ? (
        <Asks
          {...asks}
          back={() => setAsks(undefined)}
          done={(approved) => setDone({ device: asks.device, approved })}
        />
      ) : (
        <Entry found={(code, device) => setAsks({ code, device })} />
      )}
      <Text size="sm" c="dimmed">
        Signed in as {me.data.login}.
      </Text>
    </Card>
  );
}

function Entry({ found }: { found: (code: string, device: Device) => void }) {
  const [typed, setTyped] = useState(
    () => userCode(new URLSearchParams(window.location.search).get('code') ?? '').code,
  );
  const { code, whole, fault } = userCode(typed);
  const look = useMutation({
    mutationFn: () => identity.device(code),
    onSuccess: (device) => found(code, device),
  });
  const signedOut = look.error instanceof Problem && look.error.status === 401;
  return (
    <>
      <Text c="dimmed">
        A Runner or the command line shows a code of eight letters. Enter it here to see what asks.
      </Text>
      <form
        onSubmit={(e) => {
          e.preventDefault();
          if (whole) look.mutate();
        }}
      >
        <Stack gap="md">
          <TextInput
            label="Code"
            placeholder="XXXX-XXXX"
            size="lg"
            autoFocus
            autoComplete="off"
            autoCapitalize="characters"
            autoCorrect="off"
            spellCheck={false}
            classNames={{ input: classes.code }}
            value={typed}
            error={fault ?? (look.isError ? sentence(look.error) : undefined)}
            onChange={(e) => {
              look.reset();
              const read = userCode(e.currentTarget.value);
              // What can be read is written as the machine shows it; the rest stays as typed, with what is wrong with it.
              setTyped(read.fault ? e.currentTarget.value : read.code);
            }}
          />
          <Button type="submit" disabled={!whole} loading={look.isPending}>
            Continue
          </Button>
          {signedOut && (
            <Button variant="default" onClick={toSignIn}>
              Sign in again
            </Button>
          )}
        </Stack>
      </form>
    </>
  );
}

const kinds = {
  runner: {
    name: 'a Runner',
    what: 'Your Sessions can then run on that machine.',
    danger:
      'Approve it only if you started this Runner yourself, just now. Someone else’s would see the work of every Session that you start on it.',
  },
  cli: {
    name: 'the command line',
    what: 'It gets an API token with all scopes: it can then watch and drive your Sessions.',
    danger:
      'Approve it only if you started this sign-in yourself, just now. Whoever holds the token can drive your Sessions.',
  },
};

interface AsksProps {
  code: string;
  device: Device;
  back: () => void;
  done: (approved: boolean) => void;
}

function Asks({ code, device, back, done }: AsksProps) {
  const now = useNow(5000);
  const [name, setName] = useState(device.name);
  const kind = kinds[device.client];
  const approve = useMutation({
    mutationFn: () => identity.approve(code, device.again ? undefined : name.trim()),
    onSuccess: () => done(true),
  });
  const deny = useMutation({ mutationFn: () => identity.deny(code), onSuccess: () => done(false) });
  const failed = approve.error ?? deny.error;
  const busy = approve.isPending || deny.isPending;
  return (
    <form
      className={classes.asks}
      onSubmit={(e) => {
        e.preventDefault();
        if (!busy && name.trim() !== '') approve.mutate();
      }}
    >
      <Stack gap="md">
        <Text>
          <b>{device.name}</b> asks to be {device.client === 'runner' ? 'a Runner of yours' : 'signed in as you'}.{' '}
          {kind.what}
        </Text>
        <dl className={classes.facts}>
          <dt>Code</dt>
          <dd className={classes.mono}>{code}</dd>
          <dt>What</dt>
          <dd>{kind.name}</dd>
          <dt>Machine</dt>
          <dd>
            {device.name}
            {device.machine && <span className={classes.quiet}> · {device.machine}</span>}
          </dd>
          <dt>From</dt>
          <dd className={classes.mono}>{device.address}</dd>
          <dt>Asked</dt>
          <dd title={moment(device.created)}>{past(Date.parse(device.created), now)}</dd>
        </dl>
        <Alert
          color="orange"
          icon={<IconAlertTriangle size={18} aria-hidden />}
          ta="left"
          classNames={{ message: classes.warn }}
        >
          {kind.danger}
        </Alert>
        {device.again ? (
          <Text size="sm" c="dimmed" ta="left">
            Your Runner {device.name} is taken up again, with its Sessions.
          </Text>
        ) : (
          <TextInput
            label="Name"
            ta="left"
            maxLength={60}
            value={name}
            onChange={(e) => setName(e.currentTarget.value)}
          />
        )}
        {failed && (
          <Text c="var(--mantine-color-error)" role="alert">
            {sentence(failed)}
          </Text>
        )}
        <Group grow>
          <Button variant="default" loading={deny.isPending} disabled={busy} onClick={() => deny.mutate()}>
            Deny
          </Button>
          <Button type="submit" loading={approve.isPending} disabled={busy || name.trim() === ''}>
            Approve
          </Button>
        </Group>
        <Button variant="subtle" color="gray" size="compact-sm" onClick={back}>
          Another code
        </Button>
      </Stack>
    </form>
  );
}

function Done({ device, approved }: { device: Device; approved: boolean }) {
  if (!approved) {
    return (
      <Card title="Denied">
        <Text role="status">
          {device.name} got nothing. If you did not start it, someone guessed or sent you a code.
        </Text>
        <Anchor component={Link} to="/sessions">
          To the Sessions
        </Anchor>
      </Card>
    );
  }
  return (
    <Card title="Approved">
      <Text role="status">
        {device.client === 'runner'
          ? `${device.name} is a Runner of yours. It goes on by itself within a few seconds.`
          : `${device.name} is signed in. Go on in its terminal; Settings list its token.`}
      </Text>
      <Anchor component={Link} to={device.client === 'runner' ? '/runners' : '/settings'}>
        {device.client === 'runner' ? 'To the Runners' : 'To the Settings'}
      </Anchor>
    </Card>
  );
}
