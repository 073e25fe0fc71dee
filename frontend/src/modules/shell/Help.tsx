import { Kbd, Modal } from '@mantine/core';
import { keyboard } from './keyboard';
import classes from './Shell.module.css';

/** KeyList is every key that the pages know. */
export function KeyList() {
  return (
    <dl className={classes.keys}>
      {keyboard.map(([keys, what]) => (
        <div key={keys} style={{ display: 'contents' }}>
          <dt>
            <Kbd>{keys}</Kbd>
          </dt>
          <dd>{what}</dd>
        </div>
      ))}
    </dl>
  );
}

/** Help shows the keys over any page. */
export function Help({ opened, close }: { opened: boolean; close: () => void }) {
  return (
    <Modal opened={opened} onClose={close} title="Keyboard" closeButtonProps={{ 'aria-label': 'Close' }}>
      <KeyList />
    </Modal>
  );
}
