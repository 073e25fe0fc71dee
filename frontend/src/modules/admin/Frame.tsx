import { Skeleton } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { meQuery } from '~/api/queries';
import { NotFound } from '~/pages/NotFound';
import { Trouble } from '~/ui/Trouble';
import classes from './Admin.module.css';

const tabs = [
  { to: '/admin/people', name: 'People' },
  { to: '/admin/runners', name: 'Runners' },
  { to: '/admin/audit', name: 'Audit' },
] as const;

/** Frame is around the pages of an admin. To everyone else there are no such pages. */
export function Frame({ title, tools, children }: { title: string; tools?: ReactNode; children: ReactNode }) {
  const me = useQuery(meQuery);
  if (me.isPending) return <Skeleton height="100%" radius={0} aria-label="Asking who you are" />;
  if (me.isError) {
    return <Trouble what="The Hub did not say who you are." error={me.error} retry={() => void me.refetch()} />;
  }
  if (me.data.role !== 'admin') return <NotFound />;
  return (
    <div className={classes.page}>
      <header className={classes.top}>
        <nav className={classes.tabs} aria-label="Admin">
          {tabs.map((t) => (
            <Link key={t.to} to={t.to} activeOptions={{ includeSearch: false }}>
              {t.name}
            </Link>
          ))}
        </nav>
        {tools}
      </header>
      <h1 className={classes.title}>{title}</h1>
      {children}
    </div>
  );
}
