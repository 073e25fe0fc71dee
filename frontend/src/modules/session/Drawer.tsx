import { ActionIcon, Drawer as Sheet, Skeleton, Text, Tooltip } from '@mantine/core';
import {
  IconHistory,
  IconInfoCircle,
  IconLayoutSidebarRightCollapse,
  IconMessages,
  IconPlugConnected,
} from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { type ReactNode, useState } from 'react';
import { historyQuery, promptsQuery } from '~/api/queries';
import type { Runner, Session } from '~/api/types';
import { PromptList, waiting } from '~/modules/prompt/PromptList';
import { Answered } from '~/modules/suggestion/Answered';
import { CopyButton } from '~/ui/Copyable';
import { useStored } from '~/ui/stored';
import { Trouble } from '~/ui/Trouble';
import { moment } from '~/ui/time';
import classes from './Drawer.module.css';
import { EnvironmentSetting } from './EnvironmentSetting';
import { Checks, FigureBars } from './Figures';
import { creatorOf, isMine } from './mine';
import { Ports } from './Ports';
import { Setting } from './Setting';

type Tab = 'prompts' | 'history' | 'ports' | 'details';

const tabs: { id: Tab; name: string; icon: ReactNode }[] = [
  { id: 'prompts', name: 'Prompts', icon: <IconMessages size={18} aria-hidden /> },
  { id: 'history', name: 'History', icon: <IconHistory size={18} aria-hidden /> },
  { id: 'ports', name: 'Ports', icon: <IconPlugConnected size={18} aria-hidden /> },
  { id: 'details', name: 'Details', icon: <IconInfoCircle size={18} aria-hidden /> },
];

interface Props {
  session: Session;
  runner: Runner | undefined;
  phone: boolean;
}

/** Drawer is what explains the terminal. It remembers itself, and collapses to icons; on a phone it is a sheet. */
export function Drawer({ session, runner, phone }: Props) {
  const [open, setOpen] = useStored<string>('drawer', 'prompts');
  const [sheet, setSheet] = useState('');
  const shown = phone ? sheet : open;
  const show = phone ? setSheet : setOpen;
  const prompts = useQuery(promptsQuery(session.id));
  const queued = prompts.data?.filter(waiting).length ?? 0;
  const mine = isMine(session);
  // Ports are the Creator's: a forwarded one opens on their machine.
  const offered = tabs.filter((t) => (session.kind === 'look' ? t.id === 'details' : mine || t.id !== 'ports'));
  const current = offered.find((t) => t.id === shown);
  const body = current && <Body tab={current.id} session={session} runner={runner} />;
  return (
    <>
      {current && !phone && (
        <aside className={classes.drawer} aria-label={current.name}>
          <h2 className={classes.head}>{current.name}</h2>
          <div className={classes.body}>{body}</div>
        </aside>
      )}
      <nav className={classes.rail} aria-label="About this Session">
        {offered.map((t) => (
          <Tooltip key={t.id} label={t.name} position={phone ? 'top' : 'left'}>
            <ActionIcon
              variant={shown === t.id ? 'light' : 'subtle'}
              color={shown === t.id ? 'accent' : 'gray'}
              size={34}
              aria-label={t.id === 'prompts' && queued > 0 ? `${t.name}, ${queued} waiting` : t.name}
              aria-pressed={shown === t.id}
              onClick={() => show(shown === t.id ? '' : t.id)}
            >
              {t.icon}
              {t.id === 'prompts' && queued > 0 && <span className={classes.count}>{queued}</span>}
            </ActionIcon>
          </Tooltip>
        ))}
        {current && !phone && (
          <Tooltip label="Collapse" position="left">
            <ActionIcon
              variant="subtle"
              color="gray"
              size={34}
              mt="auto"
              aria-label="Collapse"
              onClick={() => show('')}
            >
              <IconLayoutSidebarRightCollapse size={18} />
            </ActionIcon>
          </Tooltip>
        )}
      </nav>
      {phone && (
        <Sheet
          opened={current !== undefined}
          onClose={() => setSheet('')}
          position="bottom"
          size="70%"
          title={current?.name}
          transitionProps={{ duration: 120 }}
          closeButtonProps={{ 'aria-label': 'Close' }}
        >
          {body}
        </Sheet>
      )}
    </>
  );
}

function Body({ tab, session, runner }: { tab: Tab; session: Session; runner: Runner | undefined }) {
  switch (tab) {
    case 'prompts':
      return (
        <>
          <PromptList session={session.id} mine={isMine(session)} />
          <Answered session={session.id} />
        </>
      );
    case 'history':
      return <History session={session} />;
    case 'ports':
      return <Ports session={session} runner={runner} />;
    case 'details':
      return <Details session={session} runner={runner} />;
  }
}

function History({ session }: { session: Session }) {
  // A change of the Session is when its history may have grown.
  const history = useQuery(historyQuery(session.id, session.updated));
  if (history.isPending) return <Skeleton height={72} m="md" />;
  if (history.isError) {
    return <Trouble what="The history could not be read." error={history.error} retry={() => void history.refetch()} />;
  }
  if (history.data.length === 0) {
    return (
      <Text c="dimmed" size="sm" p="md">
        Nothing has happened yet. Turns and notices appear here.
      </Text>
    );
  }
  return (
    <ol className={classes.history}>
      {history.data.toReversed().map((h) => (
        <li key={`${h.at} ${h.kind} ${h.text}`}>
          <span className={classes.quiet}>
            {h.kind} · <time dateTime={h.at}>{moment(h.at)}</time>
          </span>
          <p>{h.text}</p>
        </li>
      ))}
    </ol>
  );
}

function Details({ session, runner }: { session: Session; runner: Runner | undefined }) {
  const mine = isMine(session);
  const rows: [string, ReactNode][] = [
    ['Id', session.id],
    ...(mine ? [] : ([['Creator', creatorOf(session)]] as [string, ReactNode][])),
    ...(mine || runner ? ([['Runner', runner?.name ?? session.runner]] as [string, ReactNode][]) : []),
    ...(session.kind === 'look'
      ? []
      : ([
          ['Repository', session.source.git_url ?? 'none: an empty workspace'],
          ['Branch', session.source.git_url ? session.source.branch || 'the default one' : '–'],
          ['Environment', mine ? <EnvironmentSetting key="environment" session={session} /> : environmentName(session)],
          ['Model', mine ? <Setting key="model" kind="model" session={session} /> : session.model],
          ['Effort', mine ? <Setting key="effort" kind="effort" session={session} /> : session.effort],
          ...(mine ? [['Claude Code', runner?.machine.claude || '–']] : []),
        ] as [string, ReactNode][])),
    ...(mine ? ([['Sandbox', runner?.machine.backend || '–']] as [string, ReactNode][]) : []),
    ['Made', moment(session.created)],
    ['Changed', moment(session.updated)],
  ];
  return (
    <>
      {mine && <FigureBars session={session} stale={runner?.link.state !== 'up'} />}
      {mine && <Checks session={session} />}
      <dl className={classes.details}>
        {rows.map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>
              {value} {name === 'Id' && <CopyButton text={session.id} label="Copy the id" />}
            </dd>
          </div>
        ))}
      </dl>
    </>
  );
}

function environmentName(s: Session): string {
  return s.environment ? `${s.environment.name}, version ${s.environment.version}` : 'none: the Runner’s own system';
}
