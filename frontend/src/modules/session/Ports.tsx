import { Anchor, Button, Checkbox, Text, TextInput } from '@mantine/core';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { calls } from '~/api/calls';
import { putSession } from '~/api/live';
import type { Forward, Runner, Session } from '~/api/types';
import { CopyButton } from '~/ui/Copyable';
import { complain } from '~/ui/notify';
import classes from './Ports.module.css';
import { type PortLine, portLines, portNumber } from './portlines';

interface Props {
  session: Session;
  runner: Runner | undefined;
}

/** Ports are what listens in the Sandbox, and the way to reach it from a browser on the Runner's machine. */
export function Ports({ session, runner }: Props) {
  const client = useQueryClient();
  const put = (s: Session) => putSession(client, s);
  const forward = useMutation({
    mutationFn: (f: Forward) => calls.forward(session.id, f),
    onSuccess: put,
    onError: complain,
  });
  const stop = useMutation({
    mutationFn: (port: number) => calls.unforward(session.id, port),
    onSuccess: put,
    onError: complain,
  });
  const lines = portLines(session);
  const machine = runner?.name ?? 'the Runner’s machine';
  const awake = session.observed.phase === 'awake';
  const linked = runner?.link.state === 'up';
  const gone = session.desired === 'archived' || session.desired === 'deleted';
  const busy = forward.isPending || stop.isPending;
  return (
    <div className={classes.page}>
      {!awake && (
        <Text c="dimmed" size="sm">
          The Session is not awake: nothing listens in it.
          {lines.length > 0 && !gone && ' What is forwarded is opened again when it wakes.'}
        </Text>
      )}
      {awake && !linked && (
        <Text c="dimmed" size="sm">
          It cannot be told what listens: there is no link to {machine} now.
        </Text>
      )}
      {awake && linked && lines.length === 0 && (
        <Text c="dimmed" size="sm">
          Nothing listens in the Sandbox yet. When Claude starts a dev server, its port appears here.
        </Text>
      )}
      {lines.length > 0 && !gone && (
        <ul className={classes.list} data-stale={!awake || !linked}>
          {lines.map((l) => (
            <Line
              key={l.port}
              line={l}
              machine={machine}
              awake={awake}
              busy={busy}
              forward={(same) => forward.mutate({ port: l.port, same })}
              stop={() => stop.mutate(l.port)}
            />
          ))}
        </ul>
      )}
      {lines.some((l) => l.wanted) && !gone && (
        <p className={classes.quiet}>
          A forwarded port opens in a browser <b>on {machine}</b>, and nowhere else: it is on that machine’s loopback.
        </p>
      )}
      {!gone && <Another busy={busy} forward={(f) => forward.mutate(f)} />}
    </div>
  );
}

interface LineProps {
  line: PortLine;
  machine: string;
  awake: boolean;
  busy: boolean;
  forward: (same: boolean) => void;
  stop: () => void;
}

function Line({ line: l, machine, awake, busy, forward, stop }: LineProps) {
  return (
    <li data-testid="port" data-state={l.state}>
      <div className={classes.head}>
        <b>{l.port}</b>
        <span className={classes.quiet}>
          {l.process ?? (l.listens ? 'unknown' : '')}
          {!l.listens && awake && 'nothing listens'}
        </span>
        <span className={classes.tools}>
          {l.wanted ? (
            <Button size="compact-xs" variant="default" disabled={busy} onClick={stop}>
              Stop
            </Button>
          ) : (
            l.state !== 'stopping' && (
              <>
                <Button size="compact-xs" variant="default" disabled={busy} onClick={() => forward(false)}>
                  Forward
                </Button>
                <Button
                  size="compact-xs"
                  variant="subtle"
                  disabled={busy}
                  title={`To ${l.port} on ${machine} as well: for sign-ins that come back to 127.0.0.1:${l.port}`}
                  onClick={() => forward(true)}
                >
                  Same port
                </Button>
              </>
            )
          )}
        </span>
      </div>
      {l.state === 'forwarded' && l.local && (
        <div className={classes.local}>
          <Anchor href={`http://${l.local}`} target="_blank" rel="noopener noreferrer" size="sm">
            http://{l.local}
          </Anchor>
          <CopyButton text={`http://${l.local}`} label="Copy the address" />
        </div>
      )}
      {l.state === 'asked' && (
        <div className={classes.quiet}>
          {awake ? 'Being opened …' : 'Opened when the Session wakes.'}
          {l.same && ` At the same number on ${machine}.`}
        </div>
      )}
      {l.state === 'failed' && (
        <div className={classes.error} role="alert">
          {l.error}
        </div>
      )}
    </li>
  );
}

function Another({ busy, forward }: { busy: boolean; forward: (f: Forward) => void }) {
  const [text, setText] = useState('');
  const [same, setSame] = useState(false);
  const port = portNumber(text);
  return (
    <form
      className={classes.another}
      onSubmit={(e) => {
        e.preventDefault();
        if (port === undefined) return;
        forward({ port, same });
        setText('');
      }}
    >
      <div className={classes.row}>
        <TextInput
          label="Another port"
          inputMode="numeric"
          placeholder="3000"
          value={text}
          error={text !== '' && port === undefined ? 'A number from 1 to 65535.' : undefined}
          onChange={(e) => setText(e.currentTarget.value)}
        />
        <Button type="submit" variant="default" disabled={port === undefined || busy}>
          Forward
        </Button>
      </div>
      <Checkbox
        size="xs"
        label="At the same number"
        description="A sign-in inside the Sandbox, an MCP server’s say, sends your browser back to 127.0.0.1 at a number of its own. Then both must be the same."
        checked={same}
        onChange={(e) => setSame(e.currentTarget.checked)}
      />
    </form>
  );
}
