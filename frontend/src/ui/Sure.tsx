import { Button, Group, Modal, Text } from '@mantine/core';
import type { ReactNode } from 'react';
import classes from './Sure.module.css';

interface Props {
  title: string;
  /** verb is on the button that does it. */
  verb: string;
  busy: boolean;
  close: () => void;
  act: () => void;
  children: ReactNode;
}

/** Sure says what a deed means before it is done: danger is slow. */
export function Sure({ title, verb, busy, close, act, children }: Props) {
  return (
    <Modal opened onClose={close} title={title} closeButtonProps={{ 'aria-label': 'Close' }}>
      <Text component="div" size="sm" className={classes.words}>
        {children}
      </Text>
      <Group justify="flex-end" mt="lg">
        <Button variant="default" data-autofocus onClick={close}>
          Cancel
        </Button>
        <Button color="red" loading={busy} onClick={act}>
          {verb}
        </Button>
      </Group>
    </Modal>
  );
}
