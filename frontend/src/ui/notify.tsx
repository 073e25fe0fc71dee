import { Button, Group, Text } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { sentence } from '~/api/problem';

const closeButtonProps = { 'aria-label': 'Close' };

// What is still to be read is not said a second time: its text is its name.

/** say tells something briefly. */
export function say(text: string) {
  notifications.show({ id: text, message: text, color: 'accent', autoClose: 6000, closeButtonProps });
}

/** complain tells what did not work. */
export function complain(err: unknown) {
  const text = sentence(err);
  notifications.show({ id: text, message: text, color: 'red', autoClose: 12_000, role: 'alert', closeButtonProps });
}

/** undoable tells what was done, with the way back. */
export function undoable(text: string, undo: () => void) {
  const id = notifications.show({
    color: 'accent',
    autoClose: 10_000,
    closeButtonProps,
    message: (
      <Group justify="space-between" wrap="nowrap">
        <Text size="sm">{text}</Text>
        <Button
          size="compact-sm"
          variant="light"
          onClick={() => {
            notifications.hide(id);
            undo();
          }}
        >
          Undo
        </Button>
      </Group>
    ),
  });
}
