import { Button, Group, Skeleton } from '@mantine/core';
import { useIntersection } from '@mantine/hooks';
import { IconDownload, IconRefresh } from '@tabler/icons-react';
import { useInfiniteQuery, useQuery } from '@tanstack/react-query';
import { useNavigate, useSearch } from '@tanstack/react-router';
import { useEffect } from 'react';
import { type AuditFilter, exportPath } from '~/api/identity';
import { allPeopleQuery, auditQuery, meQuery } from '~/api/queries';
import type { AuditEntry } from '~/api/types';
import admin from '~/modules/admin/Admin.module.css';
import { Frame } from '~/modules/admin/Frame';
import classes from '~/modules/audit/Audit.module.css';
import { dayName, dayStart } from '~/modules/audit/days';
import { Filters } from '~/modules/audit/Filters';
import { Line } from '~/modules/audit/Line';
import { Empty } from '~/ui/Empty';
import { Trouble } from '~/ui/Trouble';
import { useTitle } from '~/ui/title';
import { usePhone } from '~/ui/viewport';

/** AdminAudit is who did what to what, from where and when, the newest first. */
export function AdminAudit() {
  useTitle('Audit');
  const me = useQuery(meQuery);
  return me.data?.role === 'admin' ? <Audit /> : <Frame title="Audit">{null}</Frame>; // nobody else asks for it
}

function Audit() {
  const search = useSearch({ from: '/shell/admin/audit' });
  const navigate = useNavigate({ from: '/admin/audit' });
  const people = useQuery(allPeopleQuery);
  const phone = usePhone();
  const asked: AuditFilter = { ...search, from: dayStart(search.from), to: dayStart(search.to, 1) };
  const log = useInfiniteQuery(auditQuery(asked));
  return (
    <Frame
      title="Audit"
      tools={
        <Group gap={8} wrap="nowrap">
          <Button
            variant="default"
            size="xs"
            leftSection={phone ? undefined : <IconRefresh size={14} aria-hidden />}
            px={phone ? 8 : undefined}
            loading={log.isRefetching && !log.isFetchingNextPage}
            onClick={() => void log.refetch()}
          >
            Refresh
          </Button>
          <Button
            component="a"
            variant="default"
            size="xs"
            href={exportPath(asked)}
            download="audit.jsonl"
            leftSection={phone ? undefined : <IconDownload size={14} aria-hidden />}
            px={phone ? 8 : undefined}
          >
            Export
          </Button>
        </Group>
      }
    >
      <p className={admin.lead}>
        The log only grows, and each line is chained to the one before: <code>claude-hub audit verify</code> shows a
        changed or a missing one. Export has what the filter leaves, as JSON lines.
      </p>
      <Filters
        filter={search}
        people={people.data ?? []}
        set={(to) => void navigate({ search: (old: AuditFilter) => ({ ...old, ...to }), replace: true })}
      />
      <Log
        log={log}
        personOf={(id) => people.data?.find((p) => p.id === id)}
        filtered={Object.values(asked).some(Boolean)}
      />
    </Frame>
  );
}

interface LogProps {
  log: ReturnType<typeof useLog>;
  personOf: React.ComponentProps<typeof Line>['personOf'];
  filtered: boolean;
}

// Names the type of the query alone.
const useLog = () => useInfiniteQuery(auditQuery({}));

function Log({ log, personOf, filtered }: LogProps) {
  const end = useIntersection({ rootMargin: '400px' });
  const more = log.hasNextPage && !log.isFetchingNextPage && !log.isFetchNextPageError;
  const seen = end.entry?.isIntersecting ?? false;
  useEffect(() => {
    if (seen && more) void log.fetchNextPage();
  }, [seen, more, log.fetchNextPage]);

  if (log.isPending) return <Skeleton height={240} role="status" aria-label="Reading the audit log" />;
  if (log.isError && !log.data) {
    return <Trouble what="The audit log could not be read." error={log.error} retry={() => void log.refetch()} />;
  }
  const lines = log.data?.pages.flat() ?? [];
  if (lines.length === 0) {
    return filtered ? (
      <Empty title="No line matches">Change the filter above, or clear it.</Empty>
    ) : (
      <Empty title="Nothing is written down yet">Each sign-in, share, approval and change appears here.</Empty>
    );
  }
  return (
    <>
      {days(lines).map(([day, of]) => (
        <section key={day} aria-label={day}>
          <h2 className={classes.day}>{day}</h2>
          <ol className={classes.list}>
            {of.map((e) => (
              <Line key={e.seq} e={e} personOf={personOf} />
            ))}
          </ol>
        </section>
      ))}
      <div ref={end.ref} className={classes.more}>
        {log.hasNextPage ? (
          <Button variant="default" size="xs" loading={log.isFetchingNextPage} onClick={() => void log.fetchNextPage()}>
            {log.isFetchNextPageError ? 'Older lines could not be read. Try again' : 'Older lines'}
          </Button>
        ) : (
          'That is the beginning.'
        )}
      </div>
    </>
  );
}

/** days puts lines of one day together. */
function days(lines: AuditEntry[]): [string, AuditEntry[]][] {
  const out: [string, AuditEntry[]][] = [];
  for (const e of lines) {
    const day = dayName(e.at);
    const last = out.at(-1);
    if (last?.[0] === day) last[1].push(e);
    else out.push([day, [e]]);
  }
  return out;
}
