import { Stack, Text, Title } from '@mantine/core';
import type { ReactNode } from 'react';

/** Empty says why there is nothing, and the one next step. */
export function Empty({ title, level = 2, children }: { title: string; level?: 1 | 2; children: ReactNode }) {
  return (
    <Stack align="center" gap="md" py={64} px="lg" ta="center" maw={640} mx="auto">
      <Title order={level} size="h3" fw={600}>
        {title}
      </Title>
      <Text component="div" c="dimmed">
        {children}
      </Text>
    </Stack>
  );
}
