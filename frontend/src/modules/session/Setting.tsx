import { Button, Menu } from '@mantine/core';
import { IconChevronDown } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { hubQuery } from '~/api/queries';
import type { Session } from '~/api/types';
import { useSessionActions } from './actions';
import classes from './SessionHeader.module.css';

/** Setting is the model or the effort. Changing it restarts Claude Code, and the menu says so before. */
export function Setting({ kind, session }: { kind: 'model' | 'effort'; session: Session }) {
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
          aria-label={value === 'default' ? undefined : `${kind}: ${value}`}
          rightSection={<IconChevronDown size={12} aria-hidden />}
        >
          {value === 'default' ? `default ${kind}` : value}
        </Button>
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Label className={classes.label}>
          {awake ? 'Changing it restarts Claude Code and resumes the conversation.' : 'Holds from the next wake on.'}
          {working && <b> Claude is working: it changes when this Turn has ended.</b>}
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
