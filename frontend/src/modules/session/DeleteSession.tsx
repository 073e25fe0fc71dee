import { Button, Group, Modal, Stack, Text, TextInput } from '@mantine/core';
import { useState } from 'react';
import type { Session } from '~/api/types';
import { bytes } from '~/ui/bytes';
import { useSessionActions } from './actions';
import { repoName } from './repo';
import { useStatuses } from './useStatus';

/** DeleteSession says what goes for good, and wants the title typed: danger is slow. */
export function DeleteSession({ session, close }: { session: Session; close: () => void }) {
  const actions = useSessionActions();
  const { runnerOf } = useStatuses();
  const runner = runnerOf(session);
  const [text, setText] = useState('');
  const { disk } = session.observed.figures;
  const repo = repoName(session.source);
  const sure = text.trim() === session.title.trim();
  const erase = async () => {
    if (await actions.erase(session)) close();
  };
  return (
    <Modal opened onClose={close} title="Delete this Session for good?" closeButtonProps={{ 'aria-label': 'Close' }}>
      <form
        onSubmit={(e) => {
          e.preventDefault();
          if (sure) void erase();
        }}
      >
        <Stack gap="md">
          <div>
            <Text size="sm">This removes from {runner?.name ?? 'its Runner'}:</Text>
            <Text component="ul" size="sm" my="xs" pl="lg">
              <li>
                its workspace
                {repo && `, the clone of ${repo}, with commits that were not pushed and files that were not committed`}
              </li>
              <li>its conversation with Claude and its history</li>
              <li>its Sandbox and what was installed there</li>
            </Text>
            <Text size="sm">
              {disk > 0
                ? `That gives back about ${bytes(disk)} of disk.`
                : 'How much disk that gives back cannot be told.'}{' '}
              It cannot be undone.
            </Text>
            {runner && runner.link.state !== 'up' && (
              <Text size="sm" mt="xs">
                There is no link to {runner.name} now: it is deleted as soon as it is back.
              </Text>
            )}
          </div>
          <TextInput
            label="Type its title to delete it"
            description={session.title}
            data-autofocus
            autoComplete="off"
            value={text}
            onChange={(e) => setText(e.currentTarget.value)}
          />
          <Group justify="flex-end">
            <Button variant="default" onClick={close}>
              Keep it
            </Button>
            <Button type="submit" color="red" disabled={!sure} loading={actions.busy}>
              Delete for good
            </Button>
          </Group>
        </Stack>
      </form>
    </Modal>
  );
}
