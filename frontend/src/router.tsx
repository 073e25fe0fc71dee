import { createRootRoute, createRoute, createRouter, lazyRouteComponent, redirect } from '@tanstack/react-router';
import { Shell } from '~/modules/shell/Shell';
import type { EnvironmentSearch } from '~/pages/Environment';
import { NotFound } from '~/pages/NotFound';
import type { ReposSearch } from '~/pages/Repos';
import { Runners } from '~/pages/Runners';
import type { SeedSearch } from '~/pages/Seed';
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
// What is not needed to see a Session comes when it is asked for.
const environments = createRoute({
  getParentRoute: () => shell,
  path: '/environments',
  component: lazyRouteComponent(() => import('~/pages/Environments'), 'Environments'),
});
const seed = createRoute({
  getParentRoute: () => shell,
  path: '/environments/seed',
  component: lazyRouteComponent(() => import('~/pages/Seed'), 'Seed'),
  validateSearch: (s: Record<string, unknown>): SeedSearch => ({ repo: text(s.repo) }),
});
const environment = createRoute({
  getParentRoute: () => shell,
  path: '/environments/$id',
  component: lazyRouteComponent(() => import('~/pages/Environment'), 'EnvironmentPage'),
  validateSearch: (s: Record<string, unknown>): EnvironmentSearch => ({ tab: text(s.tab), build: text(s.build) }),
});
const build = createRoute({
  getParentRoute: () => shell,
  path: '/builds/$id',
  component: lazyRouteComponent(() => import('~/pages/Build'), 'BuildPage'),
});
const repos = createRoute({
  getParentRoute: () => shell,
  path: '/repos',
  component: lazyRouteComponent(() => import('~/pages/Repos'), 'Repos'),
  validateSearch: (s: Record<string, unknown>): ReposSearch => ({ repo: text(s.repo) }),
});
const settings = createRoute({ getParentRoute: () => shell, path: '/settings', component: Settings });

export const router = createRouter({
  routeTree: root.addChildren([
    signIn,
    shell.addChildren([home, sessions, session, runners, environments, seed, environment, build, repos, settings]),
  ]),
  scrollRestoration: true,
  defaultPreload: false,
});

declare module '@tanstack/react-router' {
  interface Register {
    router: typeof router;
  }
}
