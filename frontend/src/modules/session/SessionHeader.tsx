import { ActionIcon, Button, Menu, Tooltip } from '@mantine/core';
import {
  IconArchive,
  IconArchiveOff,
  IconChevronLeft,
  IconDots,
  IconLink,
  IconTrash,
  IconUserPlus,
} from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { hubQuery } from '~/api/queries';
import type { Face, Session } from '~/api/types';
import { ShareDialog } from '~/modules/share/ShareDialog';
import { Faces } from '~/ui/Face';
import { complain, say, undoable } from '~/ui/notify';
import { useSessionActions } from './actions';
import { DeleteSession } from './DeleteSession';
import { isMine } from './mine';
import { settings } from './repo';
import classes from './SessionHeader.module.css';
import { Setting } from './Setting';
import { StatusMark } from './StatusMark';
import { allowed, type Status } from './status';
import { Title } from './Title';

interface Props {
  session: Session;
  status: Status;
  /** watchers are the others who look at it now. */
  watchers: Face[];
  phone: boolean;
}

/** SessionHeader names the Session, says how it is and who watches, and has what can be done with it. */
export function SessionHeader({ session, status, watchers, phone }: Props) {
  const mine = isMine(session);
  return (
    <header className={classes.header}>
      <Link to="/sessions" className={classes.back} aria-label="Back to the Sessions">
        <IconChevronLeft size={20} aria-hidden />
      </Link>
      {mine ? <OwnTitle session={session} /> : <h1 className={classes.title}>{session.title}</h1>}
      <span className={classes.status}>
        <StatusMark status={status} />
        {phone && <Faces people={watchers} compact />}
      </span>
      <span className={classes.tools}>
        {!phone && <Faces people={watchers} />}
        {mine ? (
          <Tools session={session} status={status} phone={phone} />
        ) : (
          <>
            {session.kind !== 'look' && <span className={classes.told}>{settings(session.model, session.effort)}</span>}
            <CopyLink />
          </>
        )}
      </span>
    </header>
  );
}

function OwnTitle({ session }: { session: Session }) {
  const actions = useSessionActions();
  return <Title title={session.title} save={(title) => actions.change(session, { title })} />;
}

/** Tools are the Creator's alone. */
function Tools({ session, status, phone }: Omit<Props, 'watchers'>) {
  const actions = useSessionActions();
  const can = allowed(session, status.tone);
  const hub = useQuery(hubQuery);
  const [sharing, setSharing] = useState(false);
  // In local mode there is nobody else, and a look inside a failed build is nothing to watch.
  const shares = hub.data && hub.data.mode !== 'local' && session.kind !== 'look' && session.desired !== 'deleted';
  return (
    <>
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
          <Button variant="default" size="xs" loading={actions.busy} onClick={() => void actions.act(session, 'sleep')}>
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
      {shares && !phone && (
        <Tooltip label="Let others watch">
          <Button
            variant="default"
            size="xs"
            leftSection={<IconUserPlus size={14} aria-hidden />}
            onClick={() => setSharing(true)}
          >
            Share
          </Button>
        </Tooltip>
      )}
      <More session={session} can={can} share={shares && phone ? () => setSharing(true) : undefined} />
      {sharing && <ShareDialog session={session} close={() => setSharing(false)} />}
    </>
  );
}

interface MoreProps {
  session: Session;
  can: ReturnType<typeof allowed>;
  /** share opens the dialog, where there is no room for its button. */
  share: (() => void) | undefined;
}

function More({ session, can, share }: MoreProps) {
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
          <Menu.Item leftSection={<IconLink size={16} />} onClick={copyAddress}>
            Copy its address
          </Menu.Item>
          {share && (
            <Menu.Item leftSection={<IconUserPlus size={16} />} onClick={share}>
              Share …
            </Menu.Item>
          )}
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

function copyAddress() {
  void navigator.clipboard
    .writeText(window.location.href)
    .then(() => say('The address is in the clipboard. It opens for those who may see the Session.'), complain);
}

function CopyLink() {
  return (
    <Tooltip label="Copy its address">
      <ActionIcon variant="default" size={30} aria-label="Copy its address" onClick={copyAddress}>
        <IconLink size={16} />
      </ActionIcon>
    </Tooltip>
  );
}
