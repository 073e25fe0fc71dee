import { MantineProvider } from '@mantine/core';
import { Notifications, notifications } from '@mantine/notifications';
import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { createMemoryHistory, createRouter, RouterProvider } from '@tanstack/react-router';
import { cleanup, configure, render } from '@testing-library/react';
import axe from 'axe-core';
import type { ReactNode } from 'react';
import { afterEach, expect, vi } from 'vitest';

// What jsdom lacks and the components reach for.
window.matchMedia ??= (query: string) =>
  ({ matches: false, media: query, addEventListener() {}, removeEventListener() {} }) as unknown as MediaQueryList;
window.IntersectionObserver ??= class {
  observe() {}
  unobserve() {}
  disconnect() {}
} as unknown as typeof IntersectionObserver;
window.ResizeObserver ??= class {
  observe() {}
  unobserve() {}
  disconnect() {}
};
// Node's takes no relative address, a browser's does.
globalThis.Request = class extends Request {
  constructor(input: RequestInfo | URL, init?: RequestInit) {
    super(typeof input === 'string' ? new URL(input, 'http://hub.test') : input, init);
  }
};
Element.prototype.scrollIntoView ??= () => {};
window.scrollTo = () => {};
Object.defineProperty(document, 'fonts', { value: new EventTarget() });
// A machine that does other things as well is slow, not wrong.
vi.setConfig({ testTimeout: 30_000 });
configure({ asyncUtilTimeout: 10_000 });
afterEach(() => {
  cleanup();
  notifications.clean(); // what was said in one test is not on the next one's page
});

/** surroundings are what every page has around it. */
export function surroundings() {
  const client = new QueryClient({ defaultOptions: { queries: { retry: false } } });
  const wrapper = ({ children }: { children: ReactNode }) => (
    <MantineProvider env="test">
      <QueryClientProvider client={client}>
        <main>{children}</main>
        <Notifications />
      </QueryClientProvider>
    </MantineProvider>
  );
  return { client, wrapper };
}

export function show(element: ReactNode) {
  const { client, wrapper } = surroundings();
  return { client, ...render(element, { wrapper }) };
}

/** Asked is one request to the Hub, as a test sees it. */
export interface Asked {
  method: string;
  path: string;
  query: URLSearchParams;
  body: unknown;
  headers: Headers;
}

/** hub stands in for the Hub: each test says what it answers. A number alone is a status without a body. */
export function hub(answer: (a: Asked) => Response | number | object | undefined): Asked[] {
  const asked: Asked[] = [];
  vi.stubGlobal('fetch', async (input: Request | string, init?: RequestInit) => {
    const request = new Request(input, init);
    const url = new URL(request.url);
    const text = await request.text();
    const a = {
      method: request.method,
      path: url.pathname,
      query: url.searchParams,
      body: text === '' ? undefined : (JSON.parse(text) as unknown),
      headers: request.headers,
    };
    asked.push(a);
    const said = answer(a);
    if (said instanceof Response) return said;
    if (typeof said === 'number') return new Response(null, { status: said });
    return said === undefined
      ? Response.json({ code: 'not_found', detail: `No answer to ${a.method} ${a.path}.` }, { status: 404 })
      : Response.json(said);
  });
  return asked;
}

export function refusal(status: number, code: string, detail: string): Response {
  return Response.json({ code, detail }, { status });
}

/** sound fails with what is wrong for people who cannot see or point. jsdom has no layout, so colours are not looked at. */
export async function sound(element: Element) {
  const { violations } = await axe.run(element, { rules: { 'color-contrast': { enabled: false } } });
  expect(violations.map((v) => `${v.id}: ${v.nodes.map((n) => n.html).join(' ')}`)).toEqual([]);
}

/** open shows the whole program at a path, with everything around the page. */
export async function open(path: string) {
  const { router } = await import('~/router');
  const own = createRouter({
    routeTree: router.options.routeTree as typeof router.options.routeTree,
    history: createMemoryHistory({ initialEntries: [path] }),
  });
  const client = new QueryClient({ defaultOptions: { queries: { retry: false } } });
  const shown = render(
    <MantineProvider env="test">
      <QueryClientProvider client={client}>
        <RouterProvider router={own as unknown as typeof router} />
        <Notifications />
      </QueryClientProvider>
    </MantineProvider>,
  );
  return { client, router: own, ...shown };
}
