import { Alert, Button, Group, Progress, Stack, Text, Title } from '@mantine/core';
import type { Failure, Session, Step } from '~/api/types';
import { Command, Output } from '~/ui/Copyable';
import { ago, moment, useNow } from '~/ui/time';
import { useSessionActions } from './actions';
import classes from './StatePanel.module.css';
import { Mark } from './StatusMark';
import { allowed, type Status } from './status';

interface Props {
  session: Session;
  status: Status;
}

/** StatePanel stands where the terminal would be, while there is none: what goes on, what went wrong, and the way on. */
export function StatePanel({ session, status }: Props) {
  const o = session.observed;
  return (
    <section className={classes.panel} aria-label="State" data-testid="state-panel">
      <div className={classes.inner}>
        {o.phase === 'failed' && status.tone === 'failed' && o.failure ? (
          <FailurePanel session={session} failure={o.failure} status={status} />
        ) : status.tone === 'asleep' ? (
          <Asleep session={session} />
        ) : status.tone === 'archived' ? (
          <Archived session={session} />
        ) : (
          <>
            <Head status={status} short={o.step !== undefined} />
            {o.step ? <StepView step={o.step} /> : <Waiting session={session} status={status} />}
          </>
        )}
      </div>
    </section>
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

function Waiting({ session, status }: Props) {
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
  return (
    <>
      <Group gap="sm">
        <Mark tone="archived" size={20} />
        <Title order={2} size="h4">
          archived
        </Title>
      </Group>
      <Text c="dimmed">Conversation and workspace are kept on its Runner.</Text>
      <Group>
        <Button loading={actions.busy} onClick={() => void actions.act(session, 'unarchive')}>
          Unarchive
        </Button>
      </Group>
    </>
  );
}

/** Notice is what the person should know and need not act on. */
export function Notice({ text }: { text: string }) {
  return (
    <Alert color="accent" variant="light" radius={0} p="xs" role="status" data-testid="session-notice">
      {text}
    </Alert>
  );
}
