import { Modal, TextInput } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { environmentsQuery, meQuery, sessionsQuery } from '~/api/queries';
import { creatorOf, isMine } from '~/modules/session/mine';
import { repoName } from '~/modules/session/repo';
import { Mark } from '~/modules/session/StatusMark';
import { useStatuses } from '~/modules/session/useStatus';
import { useShell } from '~/modules/shell/context';
import classes from './Palette.module.css';

interface Hit {
  id: string;
  label: string;
  detail: string;
  mark?: React.ReactNode;
  run: () => void;
}

const most = 30;

/** Palette finds a Session, a page or an action by a few letters. */
export function Palette({ opened, close }: { opened: boolean; close: () => void }) {
  return (
    <Modal
      opened={opened}
      onClose={close}
      withCloseButton={false}
      padding={0}
      size={560}
      yOffset="12vh"
      attributes={{ content: { 'aria-label': 'Search everything' } }}
    >
      <Search close={close} />
    </Modal>
  );
}

function Search({ close }: { close: () => void }) {
  const [text, setText] = useState('');
  const [at, setAt] = useState(0);
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  const hits = useHits()
    .filter((h) => words.every((w) => `${h.label} ${h.detail}`.toLowerCase().includes(w)))
    .slice(0, most);
  const run = (h: Hit | undefined) => {
    if (!h) return;
    close();
    h.run();
  };
  const move = (by: number) => setAt((i) => (i + by + hits.length) % Math.max(1, hits.length));
  return (
    <>
      <TextInput
        data-autofocus
        size="md"
        variant="unstyled"
        className={classes.box}
        placeholder="Sessions, pages, actions"
        aria-label="Search everything"
        role="combobox"
        aria-expanded
        aria-controls="palette-hits"
        aria-activedescendant={hits[at] ? `hit-${hits[at].id}` : undefined}
        value={text}
        onChange={(e) => {
          setText(e.currentTarget.value);
          setAt(0);
        }}
        onKeyDown={(e) => {
          if (e.key === 'ArrowDown') move(1);
          else if (e.key === 'ArrowUp') move(-1);
          else if (e.key === 'Enter' && !e.nativeEvent.isComposing) run(hits[at]);
          else return;
          e.preventDefault();
        }}
      />
      <div id="palette-hits" role="listbox" aria-label="Hits" className={classes.hits}>
        {hits.map((h, i) => (
          <div
            key={h.id}
            id={`hit-${h.id}`}
            role="option"
            tabIndex={-1}
            aria-selected={i === at}
            className={classes.hit}
            onPointerMove={() => setAt(i)}
            onClick={() => run(h)}
            onKeyDown={(e) => e.key === 'Enter' && run(h)}
          >
            <span className={classes.mark}>{h.mark}</span>
            <span className={classes.label}>{h.label}</span>
            <span className={classes.detail}>{h.detail}</span>
          </div>
        ))}
        {hits.length === 0 && <p className={classes.none}>Nothing has these words.</p>}
      </div>
    </>
  );
}

function useHits(): Hit[] {
  const navigate = useNavigate();
  const shell = useShell();
  const current = useQuery(sessionsQuery(false));
  const archived = useQuery(sessionsQuery(true));
  const environments = useQuery(environmentsQuery(false));
  const me = useQuery(meQuery);
  const { statusOf } = useStatuses();
  const sessions = [...(current.data ?? []), ...(archived.data ?? [])];
  return [
    ...sessions.map((s): Hit => {
      const status = statusOf(s);
      return {
        id: s.id,
        label: s.title,
        detail: [isMine(s) ? '' : `${creatorOf(s)}’s`, repoName(s.source), status.word].filter(Boolean).join(' · '),
        mark: <Mark tone={status.tone} moving={status.moving} size={14} />,
        run: () => void navigate({ to: '/sessions/$id', params: { id: s.id } }),
      };
    }),
    ...(environments.data ?? []).map(
      (e): Hit => ({
        id: e.id,
        label: e.name,
        detail: `Environment · version ${e.version}`,
        run: () => void navigate({ to: '/environments/$id', params: { id: e.id } }),
      }),
    ),
    { id: 'new', label: 'New Session', detail: 'n', run: shell.newSession },
    { id: 'sessions', label: 'Sessions', detail: 'page · g s', run: () => void navigate({ to: '/sessions' }) },
    { id: 'runners', label: 'Runners', detail: 'page · g r', run: () => void navigate({ to: '/runners' }) },
    {
      id: 'environments',
      label: 'Environments',
      detail: 'page · g e',
      run: () => void navigate({ to: '/environments' }),
    },
    { id: 'repos', label: 'Repos', detail: 'page · g o', run: () => void navigate({ to: '/repos', search: {} }) },
    { id: 'settings', label: 'Settings', detail: 'page · g t', run: () => void navigate({ to: '/settings' }) },
    ...(me.data?.role === 'admin'
      ? ([
          ['people', 'People'],
          ['runners', 'All Runners'],
          ['audit', 'Audit'],
        ] as const)
      : []
    ).map(
      ([to, label]): Hit => ({
        id: `admin-${to}`,
        label,
        detail: 'admin page',
        run: () => void navigate({ to: `/admin/${to}` }),
      }),
    ),
    { id: 'keyboard', label: 'Keyboard', detail: '?', run: shell.help },
  ];
}
