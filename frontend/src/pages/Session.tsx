import { Anchor, Skeleton } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link, useParams } from '@tanstack/react-router';
import { useRef, useState } from 'react';
import { Problem } from '~/api/problem';
import { hubQuery, meQuery, presenceQuery, sessionQuery } from '~/api/queries';
import type { Face, Runner, Session } from '~/api/types';
import { LookBanner } from '~/modules/build/LookBanner';
import { LinkLine } from '~/modules/link/LinkLine';
import { PromptBox } from '~/modules/prompt/PromptBox';
import { Drawer } from '~/modules/session/Drawer';
import { isMine } from '~/modules/session/mine';
import { Notice } from '~/modules/session/Notice';
import { SessionHeader } from '~/modules/session/SessionHeader';
import { StatePanel, StepView } from '~/modules/session/StatePanel';
import type { Status, Tone } from '~/modules/session/status';
import { useStatuses } from '~/modules/session/useStatus';
import { Watching } from '~/modules/session/Watching';
import { Strip } from '~/modules/shell/Notices';
import { SuggestBox } from '~/modules/suggestion/SuggestBox';
import { Suggested } from '~/modules/suggestion/Suggested';
import type { TerminalStatus } from '~/modules/terminal/core';
import { useLook } from '~/modules/terminal/look';
import { Terminal } from '~/modules/terminal/Terminal';
import { Empty } from '~/ui/Empty';
import { useHotkeys } from '~/ui/hotkeys';
import { say } from '~/ui/notify';
import { Trouble } from '~/ui/Trouble';
import { useTitle } from '~/ui/title';
import { usePhone, useThumbs } from '~/ui/viewport';
import classes from './Session.module.css';

/** SessionPage is one Session: its terminal, and what explains it. */
export function SessionPage() {
  const { id } = useParams({ from: '/shell/sessions/$id' });
  const session = useQuery(sessionQuery(id));
  const { statusOf, runnerOf } = useStatuses();
  if (session.isPending) return <Skeleton height="100%" radius={0} aria-label="Reading the Session" />;
  if (session.isError) {
    if (session.error instanceof Problem && session.error.status === 404) {
      return (
        <Empty title="There is no such Session" level={1}>
          It is not there, or it is not shared with you.{' '}
          <Anchor component={Link} to="/sessions">
            To the Sessions
          </Anchor>
        </Empty>
      );
    }
    return <Trouble what="The Session could not be read." error={session.error} retry={() => void session.refetch()} />;
  }
  return <Loaded key={id} session={session.data} status={statusOf(session.data)} runner={runnerOf(session.data)} />;
}

const icons: Record<Tone, string> = {
  needs: 'needs',
  failed: 'failed',
  working: 'working',
  ready: 'ready',
  unknown: 'unknown',
  asleep: 'asleep',
  archived: 'asleep',
};

/** hasTerminal tells whether there is a terminal to show: while a Sandbox runs, also while it starts again or stops. */
function hasTerminal(s: Session): boolean {
  const { phase, sandbox_link } = s.observed;
  if (phase === 'awake') return true;
  return (phase === 'starting' || phase === 'stopping') && sandbox_link.state === 'up';
}

interface Props {
  session: Session;
  status: Status;
  runner: Runner | undefined;
}

function Loaded({ session, status, runner }: Props) {
  const phone = usePhone();
  const thumbs = useThumbs();
  const { hub: hubLink, reachedBy } = useStatuses();
  const reached = reachedBy(session);
  const hub = useQuery(hubQuery);
  const look = useLook();
  const page = useRef<HTMLDivElement>(null);
  const [terminal, setTerminal] = useState<TerminalStatus>();
  const shown = hasTerminal(session);
  const runnerName = reached?.name ?? 'its Runner';
  const focus = (selector: string) => page.current?.querySelector<HTMLElement>(selector)?.focus();
  const mine = isMine(session);
  const box = mine ? '[data-testid="prompt-box"]' : '[data-testid="suggest-box"]';

  useTitle(`${session.title} – ${status.word}`, icons[status.tone]);
  useHotkeys({ t: () => focus('.xterm-helper-textarea'), p: () => focus(box) });

  const own = shown ? terminal : undefined;
  const watchers = useWatchers(session.id, own?.state?.watchers);
  return (
    <div className={classes.page} ref={page} data-phone={phone}>
      {runner?.machine.stand_in && !hub.data?.notice && (
        <Strip>Demo: the answers in this Session come from a stand-in, not from Anthropic.</Strip>
      )}
      <SessionHeader session={session} status={status} watchers={watchers} phone={phone} />
      {!mine && <Watching session={session} />}
      {session.kind === 'look' && session.build && <LookBanner build={session.build} />}
      <Notice session={session} />
      <div className={classes.middle}>
        <div className={classes.left}>
          {shown ? (
            <Terminal
              session={session.id}
              look={look}
              keyBar={mine && (phone || thumbs)}
              watching={!mine}
              runnerName={runnerName}
              onStatus={setTerminal}
              onNotice={say}
              onLeave={() => focus(box)}
            >
              {session.observed.step && (
                <div className={classes.step}>
                  <StepView step={session.observed.step} />
                </div>
              )}
            </Terminal>
          ) : (
            <StatePanel session={session} status={status} runnerName={runnerName} />
          )}
          {session.kind !== 'look' && session.desired !== 'archived' && session.desired !== 'deleted' && (
            <>
              {mine && <Suggested session={session.id} />}
              <div className={classes.prompt}>
                {mine ? (
                  <PromptBox
                    session={session.id}
                    maxPrompt={hub.data?.max_prompt ?? 512 << 10}
                    waits={waits(session, status)}
                    thumbs={thumbs}
                  />
                ) : (
                  <SuggestBox session={session} thumbs={thumbs} />
                )}
              </div>
            </>
          )}
          <div className={classes.foot}>
            <LinkLine
              hub={own ? own.link : hubLink}
              runnerName={runnerName}
              runner={hop(own?.state?.runner ?? reached?.link)}
              sandbox={hop(own?.state?.sandbox ?? session.observed.sandbox_link)}
              rtt={own?.link.rtt}
            />
            {phone && <Drawer session={session} runner={runner} phone />}
          </div>
        </div>
        {!phone && <Drawer session={session} runner={runner} phone={false} />}
      </div>
    </div>
  );
}

/** useWatchers are the others who look at a Session now: as its terminal says, or the events while there is none. */
function useWatchers(session: string, seen: Face[] | undefined): Face[] {
  const me = useQuery(meQuery);
  const told = useQuery(presenceQuery(session));
  return (seen ?? told.data ?? []).filter((p) => p.id !== me.data?.id);
}

function hop(link: { state: 'up' | 'down' | 'none'; since: string } | undefined) {
  if (!link) return { state: 'connecting' as const, since: Date.now() };
  // A Session that its Runner has not looked at yet has no word on its Sandbox.
  return { state: link.state || ('none' as const), since: Date.parse(link.since) };
}

/** waits says for what a prompt would wait in the queue. */
function waits(session: Session, status: Status): string | undefined {
  if (status.tone === 'ready') return undefined;
  if (session.desired === 'asleep') return 'It waits in the queue until the Session is awake; a day at most.';
  if (status.tone === 'unknown') return 'It waits in the queue until the link is back; a day at most.';
  return 'It waits in the queue until Claude is ready for it.';
}
