import { createRootRoute, createRoute, createRouter, lazyRouteComponent, redirect } from '@tanstack/react-router';
import type { AuditFilter } from '~/api/identity';
import { Shell } from '~/modules/shell/Shell';
import type { EnvironmentSearch } from '~/pages/Environment';
import { Join } from '~/pages/Join';
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
const setup = createRoute({
  getParentRoute: () => root,
  path: '/setup',
  component: lazyRouteComponent(() => import('~/pages/Setup'), 'Setup'),
});
const device = createRoute({
  getParentRoute: () => root,
  path: '/device',
  component: lazyRouteComponent(() => import('~/pages/Device'), 'DevicePage'),
});
const join = createRoute({ getParentRoute: () => root, path: '/join', component: Join });
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
    whose: s.whose === 'mine' || s.whose === 'shared' ? s.whose : undefined,
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
const admin = createRoute({
  getParentRoute: () => shell,
  path: '/admin',
  beforeLoad: () => {
    throw redirect({ to: '/admin/people', replace: true });
  },
});
const adminPeople = createRoute({
  getParentRoute: () => shell,
  path: '/admin/people',
  component: lazyRouteComponent(() => import('~/pages/AdminPeople'), 'AdminPeople'),
});
const adminRunners = createRoute({
  getParentRoute: () => shell,
  path: '/admin/runners',
  component: lazyRouteComponent(() => import('~/pages/AdminRunners'), 'AdminRunners'),
});
const adminAudit = createRoute({
  getParentRoute: () => shell,
  path: '/admin/audit',
  component: lazyRouteComponent(() => import('~/pages/AdminAudit'), 'AdminAudit'),
  validateSearch: (s: Record<string, unknown>): AuditFilter => ({
    actor: text(s.actor),
    action: text(s.action),
    target: text(s.target),
    from: text(s.from),
    to: text(s.to),
  }),
});
const adminPages = [admin, adminPeople, adminRunners, adminAudit];

export const router = createRouter({
  routeTree: root.addChildren([
    signIn,
    setup,
    device,
    join,
    shell.addChildren([
      home,
      sessions,
      session,
      runners,
      environments,
      seed,
      environment,
      build,
      repos,
      settings,
      ...adminPages,
    ]),
  ]),
  scrollRestoration: true,
  defaultPreload: false,
});

declare module '@tanstack/react-router' {
  interface Register {
    router: typeof router;
  }
}
