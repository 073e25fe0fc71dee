import { ActionIcon, Button, SegmentedControl, Select, Skeleton, TextInput, Tooltip } from '@mantine/core';
import { IconArchive, IconPlus, IconSearch } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { useNavigate, useSearch } from '@tanstack/react-router';
import { useRef, useState } from 'react';
import { hubQuery, runnersQuery, sessionsQuery } from '~/api/queries';
import type { Session } from '~/api/types';
import { useSessionActions } from '~/modules/session/actions';
import { isMine } from '~/modules/session/mine';
import { repoName } from '~/modules/session/repo';
import { SessionRow } from '~/modules/session/SessionRow';
import { Mark } from '~/modules/session/StatusMark';
import { allowed, counts, type Status, toneName, tones } from '~/modules/session/status';
import { useStatuses } from '~/modules/session/useStatus';
import { useShell } from '~/modules/shell/context';
import { Empty } from '~/ui/Empty';
import { useHotkeys } from '~/ui/hotkeys';
import { Trouble } from '~/ui/Trouble';
import { useTitle } from '~/ui/title';
import classes from './Sessions.module.css';

export interface SessionsSearch {
  q?: string;
  state?: string;
  runner?: string;
  archived?: boolean;
  whose?: 'mine' | 'shared';
}

interface Line {
  session: Session;
  status: Status;
}

function matches(l: Line, f: SessionsSearch): boolean {
  if (f.state && l.status.tone !== f.state) return false;
  if (f.runner && l.session.runner !== f.runner) return false;
  const { title, source, observed, by } = l.session;
  const whose = isMine(l.session) ? '' : `${by?.name} ${by?.login}`;
  const text = `${whose} ${title} ${repoName(source)} ${source.branch ?? ''} ${observed.doing ?? ''}`.toLowerCase();
  return (f.q ?? '')
    .toLowerCase()
    .split(/\s+/)
    .every((word) => text.includes(word));
}

/** Sessions is the list of all Sessions, grouped by state, live. */
export function Sessions() {
  const search = useSearch({ from: '/shell/sessions' });
  const archived = search.archived ?? false;
  const sessions = useQuery(sessionsQuery(archived));
  const { statusOf } = useStatuses();

  const lines = (sessions.data ?? [])
    .filter((s) => (s.desired === 'archived' || s.desired === 'deleted') === archived)
    .filter((s) => search.whose === undefined || isMine(s) === (search.whose === 'mine'))
    .map((session) => ({ session, status: statusOf(session) }))
    .sort((a, b) => b.status.since - a.status.since || (a.session.id < b.session.id ? 1 : -1));
  const count = counts(lines.map((l) => l.status));
  const loudest = tones.find((t) => count.has(t));
  const needs = count.get('needs') ?? 0;
  useTitle(
    needs > 0 ? `(${needs}) Sessions` : 'Sessions',
    loudest === 'needs' || loudest === 'working' ? loudest : 'idle',
  );

  return (
    <div className={classes.page}>
      <h1 className={classes.hidden}>Sessions</h1>
      <Filters search={search} count={count} />
      {sessions.isPending && <Rows />}
      {sessions.isError && (
        <Trouble
          what="The Sessions could not be read, so it cannot be told which there are."
          error={sessions.error}
          retry={() => void sessions.refetch()}
        />
      )}
      {sessions.isSuccess && <List lines={lines} search={search} />}
    </div>
  );
}

function Filters({ search, count }: { search: SessionsSearch; count: Map<string, number> }) {
  const navigate = useNavigate({ from: '/sessions' });
  const runners = useQuery(runnersQuery);
  const hub = useQuery(hubQuery);
  const shared = search.whose !== undefined || (hub.data && hub.data.mode !== 'local'); // alone, all are mine
  const { newSession } = useShell();
  const box = useRef<HTMLInputElement>(null);
  useHotkeys({ '/': () => box.current?.focus() });
  const set = (to: SessionsSearch) =>
    void navigate({ search: (old: SessionsSearch) => ({ ...old, ...to }), replace: true });
  return (
    <div className={classes.filters}>
      {/* biome-ignore lint/a11y/useSemanticElements: a fieldset is for forms */}
      <div className={classes.counts} role="group" aria-label="Filter by state">
        {tones
          .filter((t) => count.has(t) || search.state === t)
          .map((t) => (
            <button
              key={t}
              type="button"
              className={classes.count}
              aria-pressed={search.state === t}
              onClick={() => set({ state: search.state === t ? undefined : t })}
            >
              <Mark tone={t} size={12} />
              {toneName[t]} <b>{count.get(t) ?? 0}</b>
            </button>
          ))}
      </div>
      {shared && (
        <SegmentedControl
          className={classes.whose}
          aria-label="Whose Sessions"
          value={search.whose ?? 'all'}
          onChange={(v) => set({ whose: v === 'all' ? undefined : (v as 'mine' | 'shared') })}
          data={[
            { value: 'all', label: 'All' },
            { value: 'mine', label: 'Mine' },
            { value: 'shared', label: 'Shared with me' },
          ]}
        />
      )}
      <TextInput
        ref={box}
        className={classes.search}
        aria-label="Filter by text"
        placeholder="Filter"
        leftSection={<IconSearch size={14} aria-hidden />}
        value={search.q ?? ''}
        onChange={(e) => set({ q: e.currentTarget.value || undefined })}
        onKeyDown={(e) => e.key === 'Escape' && e.currentTarget.blur()}
      />
      {(runners.data?.length ?? 0) > 1 && (
        <Select
          className={classes.runner}
          aria-label="Filter by Runner"
          placeholder="Every Runner"
          clearable
          data={runners.data?.map((r) => ({ value: r.id, label: r.name })) ?? []}
          value={search.runner ?? null}
          onChange={(runner) => set({ runner: runner ?? undefined })}
        />
      )}
      <Tooltip label={search.archived ? 'Back to the current Sessions' : 'Archived Sessions'}>
        <ActionIcon
          variant={search.archived ? 'light' : 'default'}
          size={36}
          aria-label="Archived"
          aria-pressed={search.archived ?? false}
          onClick={() => set({ archived: search.archived ? undefined : true, state: undefined })}
        >
          <IconArchive size={18} />
        </ActionIcon>
      </Tooltip>
      <Button leftSection={<IconPlus size={16} aria-hidden />} onClick={newSession}>
        New Session
      </Button>
    </div>
  );
}

function List({ lines, search }: { lines: Line[]; search: SessionsSearch }) {
  const { now, reachedBy } = useStatuses();
  const { newSession } = useShell();
  const runners = useQuery(runnersQuery);
  const [selected, setSelected] = useState<ReadonlySet<string>>(new Set());
  const shown = lines.filter((l) => matches(l, search));
  const chosen = lines.filter((l) => selected.has(l.session.id));

  if (lines.length === 0 && search.archived)
    return <Empty title="Nothing is archived">Archived Sessions are kept here, with their workspace.</Empty>;
  if (lines.length === 0 && search.whose === 'shared') {
    return (
      <Empty title="Nothing is shared with you">
        When someone on this Hub shares a Session with you, it appears here: you watch it live, and may suggest prompts.
      </Empty>
    );
  }
  if (lines.length === 0) {
    return (
      <Empty title="No Sessions yet">
        <p>
          A Session is one Claude Code conversation in a Sandbox of its own, on a machine of yours. It goes on when you
          close this page.
        </p>
        {runners.isSuccess && runners.data.length === 0 ? (
          <p>First it needs a Runner: the Runners page has the commands.</p>
        ) : (
          <Button leftSection={<IconPlus size={16} aria-hidden />} onClick={newSession}>
            New Session
          </Button>
        )}
      </Empty>
    );
  }
  if (shown.length === 0) return <Empty title="No Session matches">Change the filter above, or clear it.</Empty>;

  const select = (id: string, on: boolean) =>
    setSelected((old) => {
      const next = new Set(old);
      if (on) next.add(id);
      else next.delete(id);
      return next;
    });
  return (
    <>
      {tones.map((tone) => {
        const group = shown.filter((l) => l.status.tone === tone);
        if (group.length === 0) return null;
        return (
          <section key={tone} aria-label={toneName[tone]}>
            <h2 className={classes.group}>
              {toneName[tone]} <span>{group.length}</span>
            </h2>
            <ul className={classes.list}>
              {group.map(({ session, status }) => (
                <SessionRow
                  key={session.id}
                  session={session}
                  status={status}
                  runnerName={reachedBy(session)?.name ?? ''}
                  now={now}
                  selected={selected.has(session.id)}
                  select={(on) => select(session.id, on)}
                />
              ))}
            </ul>
          </section>
        );
      })}
      {chosen.length > 0 && <Selection chosen={chosen} clear={() => setSelected(new Set())} />}
    </>
  );
}

function Selection({ chosen, clear }: { chosen: Line[]; clear: () => void }) {
  const actions = useSessionActions();
  const able = (verb: 'sleep' | 'archive') =>
    chosen.filter((l) => allowed(l.session, l.status.tone)[verb]).map((l) => l.session);
  const run = (verb: 'sleep' | 'archive') => {
    void actions.all(able(verb), verb);
    clear();
  };
  return (
    <div className={classes.selection} role="toolbar" aria-label="Selected Sessions">
      <span>{chosen.length} selected</span>
      <Button variant="default" disabled={able('sleep').length === 0} onClick={() => run('sleep')}>
        Sleep
      </Button>
      <Button variant="default" disabled={able('archive').length === 0} onClick={() => run('archive')}>
        Archive
      </Button>
      <Button variant="subtle" color="gray" onClick={clear}>
        Clear
      </Button>
    </div>
  );
}

function Rows() {
  return (
    <div role="status" aria-label="Reading the Sessions">
      {[0, 1, 2, 3, 4, 5].map((i) => (
        <div key={i} className={classes.skeleton}>
          <Skeleton height={14} />
        </div>
      ))}
    </div>
  );
}
