import { Button, Group, Modal, Text } from '@mantine/core';
import { useState } from 'react';
import { Difference } from './Difference';
import classes from './Environment.module.css';
import { merge } from './recipe';
import type { Draft } from './useDraft';
import { fieldName } from './words';

/** Conflict says that a newer version was saved while this one was edited, and offers every way on. */
export function Conflict({ draft }: { draft: Draft }) {
  const [open, setOpen] = useState(false);
  const { theirs } = draft;
  if (!theirs) return null;
  const { clashes } = merge(draft.start.recipe, draft.recipe, theirs.recipe);
  const then = (act: () => void) => () => {
    setOpen(false);
    act();
  };
  const ways = (
    <Group gap="sm">
      {clashes.length === 0 && (
        <Button size="xs" onClick={then(draft.both)}>
          Put both together
        </Button>
      )}
      <Button
        size="xs"
        variant={clashes.length === 0 ? 'default' : 'filled'}
        loading={draft.saving}
        onClick={then(() => void draft.keepMine())}
      >
        Keep mine: save as version {theirs.version + 1}
      </Button>
      <Button size="xs" variant="default" onClick={then(draft.takeTheirs)}>
        Take version {theirs.version}, drop mine
      </Button>
    </Group>
  );
  return (
    <div className={classes.conflict} role="alert" data-testid="conflict">
      <span>
        <b>Version {theirs.version} was saved meanwhile.</b> You started from version {draft.start.version}.{' '}
        {clashes.length > 0
          ? `Both changed: ${clashes.map((f) => fieldName[f]).join(', ')}.`
          : 'You changed different things.'}
      </span>
      <Group gap="sm">
        <Button size="xs" variant="default" onClick={() => setOpen(true)}>
          Compare
        </Button>
        {ways}
      </Group>
      <Modal
        opened={open}
        onClose={() => setOpen(false)}
        size={760}
        title={`Yours and version ${theirs.version}`}
        closeButtonProps={{ 'aria-label': 'Close' }}
      >
        <Difference
          mine={draft.recipe}
          theirs={theirs.recipe}
          mineName="yours"
          theirsName={`version ${theirs.version}`}
        />
        <Text size="sm" c="dimmed" my="md">
          Nothing is lost for good: every saved version stays in the list of versions.
        </Text>
        {ways}
      </Modal>
    </div>
  );
}
