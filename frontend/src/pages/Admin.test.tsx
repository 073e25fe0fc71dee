import { fireEvent, screen, waitFor, within } from '@testing-library/react';
import { describe, expect, it } from 'vitest';
import type { AuditEntry, Person } from '~/api/types';
import { ada, at, ben, events, gitHubHub, person } from '~/test/people';
import { type Asked, hub, open, sound } from '~/test/render';

const entries: AuditEntry[] = Array.from({ length: 18 }, (_, i) => ({
  seq: 18 - i,
  at,
  actor_kind: 'person',
  actor: ada.id,
  login: 'ada',
  action: 'session.share',
  target: 'ses_1',
  address: '203.0.113.7',
  outcome: 'ok',
  detail: { login: 'ben' },
  prev: 'p',
  hash: `hash${18 - i}`,
}));

function asAdmin(me: Person) {
  let people = [me, person(ben)];
  return hub((a: Asked) => {
    switch (a.path) {
      case '/api/hub':
        return gitHubHub;
      case '/api/me':
        return people.find((p) => p.id === me.id);
      case '/api/events':
        return events();
      case '/api/admin/people':
        return { items: people };
      case '/api/admin/audit': {
        const before = Number(a.query.get('before') ?? 1000);
        return { items: entries.filter((e) => e.seq < before).slice(0, 12) };
      }
    }
    const [, , , , id, verb] = a.path.split('/');
    if (verb === 'role') {
      const { role } = a.body as Person;
      people = people.map((p) => (p.id === id ? { ...p, role } : p));
      return people.find((p) => p.id === id);
    }
    return verb === 'sign-out' ? 204 : { items: [] };
  });
}

const menu = async (name: string) => {
  fireEvent.click(await screen.findByLabelText(`Actions for ${name}`));
  return screen.findByRole('menu');
};

describe('the pages of an admin', () => {
  it('are not there for anyone else, in the navigation or at their address', async () => {
    const asked = asAdmin(person(ada));
    await open('/admin/audit');
    expect(await screen.findByText('There is no such page')).toBeTruthy();
    expect(within(screen.getByRole('navigation', { name: 'Pages' })).queryByText('Admin')).toBeNull();
    expect(asked.some((a) => a.path.startsWith('/api/admin/'))).toBe(false);
  });

  it('change a role, keep the only admin, and sign out everywhere after a word', async () => {
    const asked = asAdmin(person(ada, { role: 'admin' }));
    const { container } = await open('/admin/people');
    expect(await screen.findAllByTestId('person')).toHaveLength(2);
    expect(within(screen.getByRole('navigation', { name: 'Pages' })).getByText('Admin')).toBeTruthy();
    await sound(container);
    const own = within(await menu('Ada Lovelace')).getByRole('menuitem', { name: /the only admin stays one/ });
    expect((own as HTMLButtonElement).disabled).toBe(true);
    fireEvent.keyDown(own, { key: 'Escape' });
    fireEvent.click(within(await menu('Ben Goode')).getByRole('menuitem', { name: 'Make an admin' }));
    expect(await screen.findByText('Ben Goode is an admin now.')).toBeTruthy();
    expect(asked.find((a) => a.path === '/api/admin/people/per_b/role')?.body).toEqual({ role: 'admin' });

    fireEvent.click(within(await menu('Ben Goode')).getByRole('menuitem', { name: /Sign out everywhere/ }));
    const dialog = await screen.findByRole('dialog');
    expect(dialog.textContent).toContain('Their Runners stay paired');
    fireEvent.click(within(dialog).getByRole('button', { name: 'Sign out' }));
    await waitFor(() => expect(asked.some((a) => a.path === '/api/admin/people/per_b/sign-out')).toBe(true));
  });
});

describe('the audit log', () => {
  it('is sentences, with all of a line on demand, and goes on to older ones', async () => {
    const asked = asAdmin(person(ada, { role: 'admin' }));
    const { container } = await open('/admin/audit');
    const lines = await screen.findAllByTestId('audit-line');
    expect(lines).toHaveLength(12);
    expect(lines[0]?.textContent).toContain('ada shared the Session ses_1 with ben');
    expect(screen.queryByText('hash18')).toBeNull();
    fireEvent.click(within(lines[0] as HTMLElement).getByRole('button'));
    expect(await screen.findByText('hash18')).toBeTruthy();
    await sound(container);
    fireEvent.click(screen.getByText('Older lines'));
    await waitFor(() => expect(screen.getAllByTestId('audit-line')).toHaveLength(18));
    expect(asked.some((a) => a.path === '/api/admin/audit' && a.query.get('before') === '7')).toBe(true);
    expect(await screen.findByText('That is the beginning.')).toBeTruthy();
  });

  it('is filtered by its address, and exports what the filter leaves', async () => {
    const asked = asAdmin(person(ada, { role: 'admin' }));
    await open('/admin/audit?actor=per_a&action=session.&from=2026-01-01&to=2026-01-01');
    await screen.findAllByTestId('audit-line');
    const q = asked.find((a) => a.path === '/api/admin/audit')?.query;
    expect([q?.get('actor'), q?.get('action')]).toEqual(['per_a', 'session.']);
    const day = Date.parse(q?.get('to') ?? '') - Date.parse(q?.get('from') ?? '');
    expect(day).toBe(86_400_000);
    const href = screen.getByText('Export').closest('a')?.getAttribute('href') ?? '';
    const url = new URL(href, 'http://hub.test');
    expect(url.pathname).toBe('/api/admin/audit.jsonl');
    expect([...url.searchParams.keys()].sort()).toEqual(['action', 'actor', 'from', 'to']);
  });
});
