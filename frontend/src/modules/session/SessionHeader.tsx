import { ActionIcon, Button, Menu, Tooltip } from '@mantine/core';
import { IconArchive, IconArchiveOff, IconChevronDown, IconChevronLeft, IconDots, IconLink } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { hubQuery } from '~/api/queries';
import type { Session } from '~/api/types';
import { complain, say, undoable } from '~/ui/notify';
import { useSessionActions } from './actions';
import classes from './SessionHeader.module.css';
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
        <span className={classes.settings}>
          <Setting kind="model" session={session} />
          <Setting kind="effort" session={session} />
        </span>
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
        {can.wake && (
          <Button size="xs" loading={actions.busy} onClick={() => void actions.act(session, 'wake')}>
            Wake
          </Button>
        )}
        <More session={session} />
      </span>
    </header>
  );
}

function More({ session }: { session: Session }) {
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
        {session.desired === 'archived' ? (
          <Menu.Item leftSection={<IconArchiveOff size={16} />} onClick={() => void actions.act(session, 'unarchive')}>
            Unarchive
          </Menu.Item>
        ) : (
          <Menu.Item leftSection={<IconArchive size={16} />} onClick={() => void archive()}>
            Archive
          </Menu.Item>
        )}
      </Menu.Dropdown>
    </Menu>
  );
}

/** Setting is the model or the effort. Changing it restarts Claude Code, and the menu says so before. */
function Setting({ kind, session }: { kind: 'model' | 'effort'; session: Session }) {
  const hub = useQuery(hubQuery);
  const actions = useSessionActions();
  const value = session[kind];
  const known = (kind === 'model' ? hub.data?.models : hub.data?.efforts) ?? [];
  const options = known.includes(value) ? known : [...known, value];
  const awake = session.observed.phase === 'awake';
  const working = awake && session.observed.activity === 'busy';
  return (
    <Menu position="bottom-end" width={260}>
      <Menu.Target>
        <Button
          variant="subtle"
          color="gray"
          size="compact-sm"
          className={classes.setting}
          aria-label={`${kind}: ${value}`}
          rightSection={<IconChevronDown size={12} aria-hidden />}
        >
          {value === 'default' ? `default ${kind}` : value}
        </Button>
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Label className={classes.label}>
          {awake ? 'Changing it restarts Claude Code and resumes the conversation.' : 'Holds from the next wake on.'}
          {working && <b> Claude is working: this cuts its Turn.</b>}
        </Menu.Label>
        {options.map((o) => (
          <Menu.Item
            key={o}
            role="menuitemradio"
            aria-checked={o === value}
            disabled={o === value}
            onClick={() => actions.change(session, { [kind]: o })}
          >
            {o === 'default' ? 'default (Claude Code’s own choice)' : o}
          </Menu.Item>
        ))}
      </Menu.Dropdown>
    </Menu>
  );
}
