import { ActionIcon, Button, Menu, Tooltip } from '@mantine/core';
import { IconArchive, IconArchiveOff, IconChevronLeft, IconDots, IconLink, IconTrash } from '@tabler/icons-react';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import type { Session } from '~/api/types';
import { complain, say, undoable } from '~/ui/notify';
import { useSessionActions } from './actions';
import { DeleteSession } from './DeleteSession';
import classes from './SessionHeader.module.css';
import { Setting } from './Setting';
import { StatusMark } from './StatusMark';
import { allowed, type Status } from './status';
import { Title } from './Title';

interface Props {
  session: Session;
  status: Status;
}

/** SessionHeader names the Session, says how it is, and has what can be done with it. */
export function SessionHeader({ session, status }: Props) {
  const actions = useSessionActions();
  const can = allowed(session, status.tone);
  return (
    <header className={classes.header}>
      <Link to="/sessions" className={classes.back} aria-label="Back to the Sessions">
        <IconChevronLeft size={20} aria-hidden />
      </Link>
      <Title title={session.title} save={(title) => actions.change(session, { title })} />
      <span className={classes.status}>
        <StatusMark status={status} />
      </span>
      <span className={classes.tools}>
        {session.kind !== 'look' && session.desired !== 'deleted' && (
          <span className={classes.settings}>
            <Setting kind="model" session={session} />
            <Setting kind="effort" session={session} />
          </span>
        )}
        {can.stop && (
          <Tooltip label="Interrupts Claude and cancels the prompts that wait">
            <Button variant="default" size="xs" onClick={() => void actions.act(session, 'stop')}>
              Stop
            </Button>
          </Tooltip>
        )}
        {can.cancel && (
          <Button variant="default" size="xs" onClick={() => void actions.act(session, 'cancel')}>
            Cancel
          </Button>
        )}
        {can.sleep && (
          <Tooltip label="Stops the Sandbox; conversation and files are kept">
            <Button
              variant="default"
              size="xs"
              loading={actions.busy}
              onClick={() => void actions.act(session, 'sleep')}
            >
              Sleep
            </Button>
          </Tooltip>
        )}
        {can.close && (
          <Tooltip label="Removes the Sandbox that the build left">
            <Button
              variant="default"
              size="xs"
              loading={actions.busy}
              onClick={() => void actions.act(session, 'archive')}
            >
              Close
            </Button>
          </Tooltip>
        )}
        {can.wake && (
          <Button size="xs" loading={actions.busy} onClick={() => void actions.act(session, 'wake')}>
            Wake
          </Button>
        )}
        <More session={session} can={can} />
      </span>
    </header>
  );
}

function More({ session, can }: { session: Session; can: ReturnType<typeof allowed> }) {
  const [deleting, setDeleting] = useState(false);
  const actions = useSessionActions();
  const unarchive = async () => {
    await actions.act(session, 'unarchive');
    if (session.desired === 'awake') await actions.act(session, 'wake');
  };
  const archive = async () => {
    if (!(await actions.act(session, 'archive'))) return;
    undoable(`Archived “${session.title}”.`, () => void unarchive());
  };
  return (
    <>
      <Menu position="bottom-end">
        <Menu.Target>
          <ActionIcon variant="default" size={30} aria-label="More">
            <IconDots size={16} />
          </ActionIcon>
        </Menu.Target>
        <Menu.Dropdown>
          <Menu.Item
            leftSection={<IconLink size={16} />}
            onClick={() =>
              void navigator.clipboard
                .writeText(window.location.href)
                .then(() => say('The link is in the clipboard.'), complain)
            }
          >
            Copy link
          </Menu.Item>
          {can.unarchive && (
            <Menu.Item
              leftSection={<IconArchiveOff size={16} />}
              onClick={() => void actions.act(session, 'unarchive')}
            >
              Unarchive
            </Menu.Item>
          )}
          {can.archive && (
            <Menu.Item leftSection={<IconArchive size={16} />} onClick={() => void archive()}>
              Archive
            </Menu.Item>
          )}
          {can.delete && (
            <Menu.Item color="red" leftSection={<IconTrash size={16} />} onClick={() => setDeleting(true)}>
              Delete …
            </Menu.Item>
          )}
        </Menu.Dropdown>
      </Menu>
      {deleting && <DeleteSession session={session} close={() => setDeleting(false)} />}
    </>
  );
}
