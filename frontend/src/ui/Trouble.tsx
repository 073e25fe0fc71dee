import { Button, Stack, Text } from '@mantine/core';
import { sentence } from '~/api/problem';

/** Trouble is shown in place of what could not be read. */
export function Trouble({ what, error, retry }: { what: string; error: unknown; retry: () => void }) {
  return (
    <Stack align="center" py={64} px="lg" gap="sm" role="alert">
      <Text fw={600}>{what}</Text>
      <Text c="dimmed">{sentence(error)}</Text>
      <Button variant="default" onClick={retry}>
        Try again
      </Button>
    </Stack>
  );
}
