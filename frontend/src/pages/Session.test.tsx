import { act, screen, waitFor } from '@testing-library/react';
import { describe, expect, it } from 'vitest';
import { apply } from '~/api/live';
import type { Face, Session } from '~/api/types';
import { ada, ben, cleo, events, gitHubHub, person, session } from '~/test/people';
import { hub, open, sound } from '~/test/render';

function asPerson(me: Face, s: Session | undefined) {
  let there = s;
  const asked = hub((a) => {
    if (a.path === '/api/hub') return gitHubHub;
    if (a.path === '/api/me') return person(me);
    if (a.path === '/api/events') return events();
    if (a.path === '/api/sessions/ses_1') return there;
    if (a.path === '/api/sessions') return { items: there ? [there] : [] };
    return { items: [] };
  });
  return {
    asked,
    gone: () => {
      there = undefined;
    },
  };
}

const drives = ['Share', 'Wake', 'Sleep', 'Stop', 'More', 'Send prompt', 'Queue prompt', 'Ports'];

describe('SessionPage', () => {
  it('gives its Creator what drives it, and Share', async () => {
    asPerson(ada, session());
    await open('/sessions/ses_1');
    expect(await screen.findByRole('button', { name: 'Share' })).toBeTruthy();
    expect(screen.getAllByRole('button', { name: 'Wake' }).length).toBeGreaterThan(0);
    expect(screen.getByTestId('prompt-box')).toBeTruthy();
    expect(screen.queryByTestId('watching')).toBeNull();
  });

  it('has nothing that drives for a Participant, and says who does', async () => {
    asPerson(ben, session({ access: 'participant', shared: { everyone: false, link: false } }));
    const { container } = await open('/sessions/ses_1');
    expect((await screen.findByTestId('watching')).textContent).toContain('only Ada Lovelace types here');
    expect(screen.getByTestId('suggest-box')).toBeTruthy();
    expect(screen.queryByTestId('prompt-box')).toBeNull();
    for (const name of drives) expect(screen.queryByRole('button', { name })).toBeNull();
    expect(screen.queryByTitle('Rename')).toBeNull();
    await sound(container);
  });

  it('shows who watches, live, but not oneself', async () => {
    asPerson(ada, session());
    const { client } = await open('/sessions/ses_1');
    await screen.findByRole('button', { name: 'Share' });
    const present = (watchers: Face[]) =>
      act(() => apply(client, { event: 'presence', data: JSON.stringify({ session: 'ses_1', watchers }) }));
    present([ada, ben, cleo]);
    expect((await screen.findByTestId('watchers')).getAttribute('aria-label')).toBe('here now: Ben Goode, cleo');
    present([ada]);
    await waitFor(() => expect(screen.queryByTestId('watchers')).toBeNull());
  });

  it('shows a notice until it is closed, and the next one again', async () => {
    const at = (minute: number) => `2026-01-01T00:${String(minute).padStart(2, '0')}:00Z`;
    const told = (minute: number) =>
      session({
        observed: { ...session().observed, notice: 'Claude Code had ended.', noticed: at(minute) },
        updated: at(minute),
      });
    asPerson(ada, told(10));
    const { client, container } = await open('/sessions/ses_1');
    expect((await screen.findByTestId('session-notice')).textContent).toContain('Claude Code had ended.');
    await sound(container);
    act(() => screen.getByRole('button', { name: 'Close this notice' }).click());
    expect(screen.queryByTestId('session-notice')).toBeNull();
    const see = (s: Session) => act(() => apply(client, { event: 'session', data: JSON.stringify(s) }));
    see({ ...told(10), updated: at(11) });
    expect(screen.queryByTestId('session-notice')).toBeNull();
    see(told(20));
    expect(await screen.findByTestId('session-notice')).toBeTruthy();
    see(session({ updated: at(21) }));
    await waitFor(() => expect(screen.queryByTestId('session-notice')).toBeNull());
  });

  it('is gone for who may not see it any more, as if it had never been', async () => {
    const { gone } = asPerson(ben, session({ access: 'participant' }));
    const { client } = await open('/sessions/ses_1');
    await screen.findByTestId('watching');
    gone();
    const observed = { ...session().observed, phase: 'deleted' as const };
    act(() =>
      apply(client, {
        event: 'session',
        data: JSON.stringify({
          ...session({ creator: '', title: '', desired: 'deleted', access: undefined, by: undefined }),
          observed,
          updated: '2026-01-02T00:00:00Z',
        }),
      }),
    );
    expect(await screen.findByText('There is no such Session')).toBeTruthy();
  });
});

describe('Sessions', () => {
  it('tells whose a shared one is, and filters mine and others’', async () => {
    asPerson(ben, session({ access: 'participant' }));
    const { router } = await open('/sessions?whose=shared');
    const row = await screen.findByTestId('session-row');
    expect(row.textContent).toContain('Ada Lovelace’s');
    expect(screen.queryByRole('checkbox')).toBeNull();
    await act(() => router.navigate({ to: '/sessions', search: { whose: 'mine' } }));
    await waitFor(() => expect(screen.queryByTestId('session-row')).toBeNull());
  });
});
