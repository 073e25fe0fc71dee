import { Alert, Anchor, Button, Group, Progress, Stack, Text, Title } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { buildQuery } from '~/api/queries';
import type { Failure, Session, Step } from '~/api/types';
import { Steps } from '~/modules/build/Steps';
import { bytes } from '~/ui/bytes';
import { Command, Output } from '~/ui/Copyable';
import { ago, moment, useNow } from '~/ui/time';
import { useSessionActions } from './actions';
import { DeleteSession } from './DeleteSession';
import { creatorOf, isMine } from './mine';
import classes from './StatePanel.module.css';
import { Mark } from './StatusMark';
import { allowed, type Status } from './status';

interface Props {
  session: Session;
  status: Status;
  runnerName: string;
}

/** StatePanel stands where the terminal would be, while there is none: what goes on, what went wrong, and the way on. */
export function StatePanel({ session, status, runnerName }: Props) {
  const o = session.observed;
  return (
    <section className={classes.panel} aria-label="State" data-testid="state-panel">
      <div className={classes.inner}>
        {!isMine(session) ? (
          <Told session={session} status={status} />
        ) : session.desired === 'deleted' ? (
          <Deleting session={session} status={status} runnerName={runnerName} />
        ) : o.phase === 'failed' && status.tone === 'failed' && o.failure ? (
          <FailurePanel session={session} failure={o.failure} status={status} />
        ) : status.tone === 'asleep' ? (
          <Asleep session={session} />
        ) : status.tone === 'archived' ? (
          <Archived session={session} />
        ) : (
          <>
            <Head status={status} short={o.step !== undefined} />
            {o.step ? <StepView step={o.step} /> : <Waiting session={session} status={status} />}
            {o.build && <BuildLink id={o.build} />}
          </>
        )}
      </div>
    </section>
  );
}

/** Told is the same for someone who watches: how it is, and that its Creator has the way on. */
function Told({ session, status }: Omit<Props, 'runnerName'>) {
  const { phase, step, failure, doing } = session.observed;
  const creator = creatorOf(session);
  return (
    <>
      <Head status={status} short={step !== undefined} />
      {step && <StepView step={step} />}
      {status.tone === 'failed' && failure && <Text>{failure.reason}</Text>}
      {status.tone === 'unknown' && (
        <Text c="dimmed">The Session itself may be well: what is missing is word from it.</Text>
      )}
      {phase === 'deleted' ? (
        <Anchor component={Link} to="/sessions">
          To the Sessions
        </Anchor>
      ) : (
        !status.moving &&
        status.tone !== 'unknown' && (
          <Text c="dimmed">
            {status.tone === 'failed' ? `${creator} can see more, and retry.` : `${creator} can wake it.`} This page
            goes on by itself then.
          </Text>
        )
      )}
      {status.tone === 'asleep' && doing && <blockquote className={classes.said}>{doing}</blockquote>}
    </>
  );
}

/** Head is the status in large; short when the step's name stands below it. */
function Head({ status, short = false }: { status: Status; short?: boolean }) {
  return (
    <Group gap="sm" wrap="nowrap">
      <Mark tone={status.tone} moving={status.moving} size={20} />
      <Title order={2} size="h4" className={classes.word}>
        {short && status.moving ? status.word.split(':')[0] : status.word}
      </Title>
    </Group>
  );
}

/** StepView is a named step with its progress, how long it has run, and when it gives up. */
export function StepView({ step }: { step: Step }) {
  const now = useNow();
  const told = step.progress >= 0;
  const deadline = Date.parse(step.deadline);
  return (
    <Stack gap={6} data-testid="step">
      <Group justify="space-between" gap="md" wrap="nowrap">
        <Text fw={500}>{step.name}</Text>
        <Text c="dimmed" size="sm" className={classes.times}>
          {told && `${Math.round(step.progress * 100)} % · `}
          {ago(Date.parse(step.since), now)}
          {deadline > now && <span title={moment(step.deadline)}> · gives up in {ago(now, deadline)}</span>}
        </Text>
      </Group>
      <Progress
        value={told ? step.progress * 100 : 100}
        animated={!told}
        striped={!told}
        aria-label={step.name}
        transitionDuration={100}
      />
      {step.detail && (
        <Text c="dimmed" size="sm" className={classes.detail}>
          {step.detail}
        </Text>
      )}
    </Stack>
  );
}

function Waiting({ session, status }: Omit<Props, 'runnerName'>) {
  if (status.tone === 'unknown') {
    return (
      <Text c="dimmed">
        The Session itself may be well: what is missing is word from it. This page goes on as soon as the link is back.
      </Text>
    );
  }
  if (session.observed.phase === 'new') return <Text c="dimmed">Its Runner has not looked at it yet.</Text>;
  return null;
}

function FailurePanel({ session, failure, status }: { session: Session; failure: Failure; status: Status }) {
  const actions = useSessionActions();
  const can = allowed(session, status.tone);
  const command = /`([^`]+)`/.exec(failure.fix)?.[1];
  return (
    <div role="alert" className={classes.inner} data-testid="failure">
      <Head status={status} />
      <Text>{failure.reason}</Text>
      {failure.fix && <Text fw={500}>{failure.fix.replaceAll('`', '')}</Text>}
      {command && <Command>{command}</Command>}
      <Group gap="sm">
        {can.retry && (
          <Button loading={actions.busy} onClick={() => void actions.act(session, 'retry')}>
            Retry
          </Button>
        )}
        {can.choose && (
          <Button
            variant={can.retry ? 'default' : 'filled'}
            loading={actions.busy}
            onClick={() => void actions.act(session, 'new-conversation')}
          >
            Start a new conversation
          </Button>
        )}
        {session.desired === 'awake' && (
          <Button variant="default" loading={actions.busy} onClick={() => void actions.act(session, 'sleep')}>
            Leave it asleep
          </Button>
        )}
      </Group>
      {failure.detail && <Output>{failure.detail}</Output>}
      {session.observed.build && <BuildLink id={session.observed.build} />}
    </div>
  );
}

function Asleep({ session }: { session: Session }) {
  const actions = useSessionActions();
  const now = useNow(10_000);
  return (
    <>
      <Group gap="sm">
        <Mark tone="asleep" size={20} />
        <Title order={2} size="h4">
          asleep for {ago(Date.parse(session.observed.since), now)}
        </Title>
      </Group>
      <Text c="dimmed">
        The conversation and the workspace are kept. What ran beside Claude, such as a dev server, ended with the sleep.
      </Text>
      {session.observed.doing && <blockquote className={classes.said}>{session.observed.doing}</blockquote>}
      <Group>
        <Button loading={actions.busy} onClick={() => void actions.act(session, 'wake')}>
          Wake
        </Button>
      </Group>
    </>
  );
}

function Archived({ session }: { session: Session }) {
  const actions = useSessionActions();
  const [deleting, setDeleting] = useState(false);
  const { disk } = session.observed.figures;
  const look = session.kind === 'look';
  return (
    <>
      <Group gap="sm">
        <Mark tone="archived" size={20} />
        <Title order={2} size="h4">
          {look ? 'closed' : 'archived'}
        </Title>
      </Group>
      <Text c="dimmed">
        {look
          ? 'The Sandbox that the build left is gone.'
          : `Conversation and workspace are kept on its Runner${disk > 0 ? `, where they take ${bytes(disk)}` : ''}.`}
      </Text>
      <Group>
        {!look && (
          <Button loading={actions.busy} onClick={() => void actions.act(session, 'unarchive')}>
            Unarchive
          </Button>
        )}
        <Button variant="default" onClick={() => setDeleting(true)}>
          Delete …
        </Button>
      </Group>
      {deleting && <DeleteSession session={session} close={() => setDeleting(false)} />}
    </>
  );
}

function Deleting({ session, status, runnerName }: Props) {
  const { phase, figures, failure } = session.observed;
  if (phase === 'deleted') {
    return (
      <>
        <Head status={status} />
        <Text c="dimmed">
          Nothing of it is left on {runnerName}.
          {(figures.freed ?? 0) > 0 && ` That gave back ${bytes(figures.freed ?? 0)} of its disk.`}
        </Text>
        <Anchor component={Link} to="/sessions">
          To the Sessions
        </Anchor>
      </>
    );
  }
  return (
    <>
      <Head status={status} />
      <Text c="dimmed">
        {status.tone === 'unknown'
          ? `There is no link to ${runnerName} now. It deletes the Session as soon as it is back; until then nothing is lost, and nothing can be taken back.`
          : `${runnerName} removes its Sandbox, its workspace and its conversation.`}
      </Text>
      {phase === 'failed' && failure && (
        <Alert color="red" role="alert" title={failure.reason}>
          {failure.fix}
        </Alert>
      )}
    </>
  );
}

/** BuildLink leads from a Session that waits for its image to the build that makes it. */
function BuildLink({ id }: { id: string }) {
  const build = useQuery(buildQuery(id));
  const b = build.data;
  if (!b) return null;
  return (
    <Stack gap="sm">
      {b.steps.length > 0 && <Steps build={b} />}
      {b.environment ? (
        <Link to="/environments/$id" params={{ id: b.environment }} search={{ build: b.id }} className={classes.link}>
          See the build and its log
        </Link>
      ) : (
        <Link to="/builds/$id" params={{ id: b.id }} className={classes.link}>
          See the build and its log
        </Link>
      )}
    </Stack>
  );
}
