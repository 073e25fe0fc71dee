import { createRootRoute, createRoute, createRouter, redirect } from '@tanstack/react-router';
import { Shell } from '~/modules/shell/Shell';
import { NotFound } from '~/pages/NotFound';
import { Runners } from '~/pages/Runners';
import { SessionPage } from '~/pages/Session';
import { Sessions, type SessionsSearch } from '~/pages/Sessions';
import { Settings } from '~/pages/Settings';
import { SignIn } from '~/pages/SignIn';

const root = createRootRoute({ notFoundComponent: NotFound });
const signIn = createRoute({ getParentRoute: () => root, path: '/sign-in', component: SignIn });
const shell = createRoute({ getParentRoute: () => root, id: 'shell', component: Shell });

const home = createRoute({
  getParentRoute: () => shell,
  path: '/',
  beforeLoad: () => {
    throw redirect({ to: '/sessions', replace: true });
  },
});

const text = (v: unknown) => (typeof v === 'string' && v !== '' ? v : undefined);

const sessions = createRoute({
  getParentRoute: () => shell,
  path: '/sessions',
  component: Sessions,
  validateSearch: (s: Record<string, unknown>): SessionsSearch => ({
    q: text(s.q),
    state: text(s.state),
    runner: text(s.runner),
    archived: s.archived === true ? true : undefined,
  }),
});
const session = createRoute({ getParentRoute: () => shell, path: '/sessions/$id', component: SessionPage });
const runners = createRoute({ getParentRoute: () => shell, path: '/runners', component: Runners });
const settings = createRoute({ getParentRoute: () => shell, path: '/settings', component: Settings });

export const router = createRouter({
  routeTree: root.addChildren([signIn, shell.addChildren([home, sessions, session, runners, settings])]),
  scrollRestoration: true,
  defaultPreload: false,
});

declare module '@tanstack/react-router' {
  interface Register {
    router: typeof router;
  }
}
