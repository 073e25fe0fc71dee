import { Menu, UnstyledButton } from '@mantine/core';
import {
  IconBox,
  IconGitBranch,
  IconKeyboard,
  IconLogout,
  IconSearch,
  IconServer,
  IconSettings,
  IconShieldLock,
  IconTerminal2,
  IconUser,
} from '@tabler/icons-react';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { Link, Outlet, useLocation, useNavigate } from '@tanstack/react-router';
import { useEffect, useMemo, useState } from 'react';
import { calls } from '~/api/calls';
import { goLive, useHubLink } from '~/api/live';
import { meQuery, runnersQuery } from '~/api/queries';
import { toSignIn } from '~/api/signin';
import { LinkDot } from '~/modules/link/LinkDot';
import { Palette } from '~/modules/palette/Palette';
import { paired } from '~/modules/runner/pairing';
import { NewSession } from '~/modules/session/NewSession';
import { Face } from '~/ui/Face';
import { mod, useHotkeys } from '~/ui/hotkeys';
import { complain } from '~/ui/notify';
import { useViewportHeight } from '~/ui/viewport';
import { ShellContext } from './context';
import { Help } from './Help';
import { Notices } from './Notices';
import classes from './Shell.module.css';

type Over = 'new' | 'palette' | 'help' | undefined;

/** Shell is what surrounds every page of someone signed in. */
export function Shell() {
  const client = useQueryClient();
  const navigate = useNavigate();
  const [over, setOver] = useState<Over>();
  const close = () => setOver(undefined);
  const actions = useMemo(
    () => ({
      newSession: () => setOver('new'),
      palette: () => setOver('palette'),
      help: () => setOver('help'),
    }),
    [],
  );

  useViewportHeight();
  useEffect(() => goLive(client, toSignIn), [client]);
  useHotkeys({
    'g s': () => void navigate({ to: '/sessions' }),
    'g r': () => void navigate({ to: '/runners' }),
    'g e': () => void navigate({ to: '/environments' }),
    'g o': () => void navigate({ to: '/repos', search: {} }),
    'g t': () => void navigate({ to: '/settings' }),
    'g a': () => client.getQueryData(meQuery.queryKey)?.role === 'admin' && void navigate({ to: '/admin/people' }),
    n: actions.newSession,
    '?': actions.help,
    'mod+k': actions.palette,
  });

  return (
    <ShellContext.Provider value={actions}>
      <div className={classes.shell}>
        <a className={classes.skip} href="#main">
          Skip to the page
        </a>
        <Header palette={actions.palette} help={actions.help} />
        <Notices />
        <main id="main" className={classes.main} tabIndex={-1}>
          <Outlet />
        </main>
      </div>
      <NewSession opened={over === 'new'} close={close} />
      <Palette opened={over === 'palette'} close={close} />
      <Help opened={over === 'help'} close={close} />
    </ShellContext.Provider>
  );
}

const pages = [
  { to: '/sessions', name: 'Sessions', icon: <IconTerminal2 size={20} aria-hidden /> },
  { to: '/runners', name: 'Runners', icon: <IconServer size={20} aria-hidden /> },
  { to: '/environments', name: 'Environments', icon: <IconBox size={20} aria-hidden /> },
  { to: '/repos', name: 'Repos', icon: <IconGitBranch size={20} aria-hidden /> },
  { to: '/settings', name: 'Settings', icon: <IconSettings size={20} aria-hidden /> },
] as const;

const adminPage = { to: '/admin/people', name: 'Admin', icon: <IconShieldLock size={20} aria-hidden /> } as const;

function Header({ palette, help }: { palette: () => void; help: () => void }) {
  const hub = useHubLink();
  const runners = useQuery(runnersQuery);
  const me = useQuery(meQuery);
  const atAdmin = useLocation({ select: (l) => l.pathname.startsWith('/admin/') });
  return (
    <header className={classes.header}>
      <Link to="/sessions" className={classes.brand} aria-label="claude-hub, Sessions">
        claude-hub
      </Link>
      <nav className={classes.nav} aria-label="Pages">
        {pages.map((p) => (
          <Link key={p.to} to={p.to}>
            {p.icon}
            <span>{p.name}</span>
          </Link>
        ))}
        {me.data?.role === 'admin' && (
          <Link to={adminPage.to} className={classes.admin} data-status={atAdmin ? 'active' : undefined}>
            {adminPage.icon}
            <span>{adminPage.name}</span>
          </Link>
        )}
      </nav>
      <UnstyledButton className={classes.search} onClick={palette}>
        <IconSearch size={14} aria-hidden />
        <span>Search</span>
        <kbd>{mod}K</kbd>
      </UnstyledButton>
      <div className={classes.links}>
        <LinkDot name="Hub" hop={hub} />
        {paired(runners.data)
          .slice(0, 4)
          .map((r) => (
            <LinkDot
              key={r.id}
              name={r.name}
              hop={{ state: hub.state === 'up' ? r.link.state : 'connecting', since: Date.parse(r.link.since) }}
            />
          ))}
      </div>
      <PersonMenu help={help} />
    </header>
  );
}

function PersonMenu({ help }: { help: () => void }) {
  const me = useQuery(meQuery);
  const navigate = useNavigate();
  const signOut = () =>
    calls
      .signOut()
      .then(() => window.location.assign('/sign-in'))
      .catch(complain);
  return (
    <Menu position="bottom-end">
      <Menu.Target>
        <UnstyledButton className={classes.person} aria-label={`You: ${me.data?.name || me.data?.login || ''}`}>
          {me.data ? <Face person={me.data} size={30} /> : <IconUser size={18} aria-hidden />}
        </UnstyledButton>
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Label>{me.data?.name || me.data?.login}</Menu.Label>
        <Menu.Item leftSection={<IconSettings size={16} />} onClick={() => void navigate({ to: '/settings' })}>
          Settings
        </Menu.Item>
        {me.data?.role === 'admin' && (
          <Menu.Item leftSection={<IconShieldLock size={16} />} onClick={() => void navigate({ to: '/admin/people' })}>
            Admin
          </Menu.Item>
        )}
        <Menu.Item leftSection={<IconKeyboard size={16} />} onClick={help}>
          Keyboard
        </Menu.Item>
        <Menu.Item leftSection={<IconLogout size={16} />} onClick={() => void signOut()}>
          Sign out
        </Menu.Item>
      </Menu.Dropdown>
    </Menu>
  );
}
