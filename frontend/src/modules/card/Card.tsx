import { Loader, Stack, Text, Title } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { hubQuery } from '~/api/queries';
import { Strip } from '~/modules/shell/Notices';
import classes from './Card.module.css';

/** Card is a page with one thing to do, without what surrounds the others. */
export function Card({ title = 'claude-hub', children }: { title?: string; children: ReactNode }) {
  const hub = useQuery(hubQuery);
  return (
    <div className={classes.page}>
      {hub.data?.notice && <Strip>{hub.data.notice}</Strip>}
      <main className={classes.card}>
        <img src="/icons/idle.svg" alt="" width={48} height={48} />
        <Title order={1} size="h2">
          {title}
        </Title>
        {children}
      </main>
    </div>
  );
}

/** Busy says what is waited for. */
export function Busy({ children }: { children: string }) {
  return (
    <Stack align="center" role="status">
      <Loader size="sm" />
      <Text>{children}</Text>
    </Stack>
  );
}
