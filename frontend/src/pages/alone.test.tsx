// The pages that stand alone: sign-in, a device's approval, a shared link.
import { fireEvent, screen, waitFor } from '@testing-library/react';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import { ada, at, gitHubHub, person, session } from '~/test/people';
import { type Asked, hub, open, refusal, sound } from '~/test/render';

const go = (address: string) => window.history.replaceState(null, '', address);

beforeEach(() => {
  vi.resetModules(); // what a page read from its address belongs to one load of it
  sessionStorage.clear();
  go('/');
});

describe('SignIn', () => {
  it('leads through GitHub and back to where one was going', async () => {
    go('/sign-in?next=%2Fsessions%2Fses_1%3Fq%3D1');
    hub(() => ({ ...gitHubHub, signed_in: false }));
    const { container } = await open('/sign-in');
    const button = await screen.findByRole('link', { name: 'Sign in with GitHub' });
    expect(button.getAttribute('href')).toBe('/api/auth/github/start?next=%2Fsessions%2Fses_1%3Fq%3D1');
    await sound(container);
  });

  it('leads to no other site', async () => {
    go('/sign-in?next=https%3A%2F%2Fevil.test%2F');
    hub(() => ({ ...gitHubHub, signed_in: false }));
    await open('/sign-in');
    const button = await screen.findByRole('link', { name: 'Sign in with GitHub' });
    expect(button.getAttribute('href')).toBe('/api/auth/github/start?next=%2Fsessions');
  });

  it('says in a sentence why it did not work', async () => {
    go('/sign-in?problem=forbidden');
    hub(() => ({ ...gitHubHub, signed_in: false }));
    await open('/sign-in');
    expect((await screen.findByRole('alert')).textContent).toContain('this Hub’s list has no place for you');
  });

  it('stays as it is in local mode', async () => {
    go('/sign-in');
    hub(() => ({ ...gitHubHub, mode: 'local', github: undefined, signed_in: false }));
    await open('/sign-in');
    expect(await screen.findByText('claude-hub sign-in-link')).toBeTruthy();
    expect(screen.queryByRole('link', { name: 'Sign in with GitHub' })).toBeNull();
  });
});

describe('DevicePage', () => {
  const device = {
    client: 'runner',
    name: 'mac',
    machine: 'darwin/arm64',
    address: '203.0.113.7',
    again: false,
    created: at,
    expires: at,
  };

  function waits(answer: (a: Asked) => Response | object | undefined) {
    return hub((a) => {
      if (a.path === '/api/hub') return gitHubHub;
      if (a.path === '/api/me') return person(ada);
      return answer(a);
    });
  }

  it('takes the code from the address, shows what asks, and approves under a name', async () => {
    go('/device?code=bdfg%20hjkl');
    const asked = waits(() => device);
    const { container } = await open('/device');
    const code = await screen.findByLabelText('Code');
    expect((code as HTMLInputElement).value).toBe('BDFG-HJKL');
    expect(asked.some((a) => a.path.includes('device'))).toBe(false); // a link alone asks nothing
    fireEvent.click(screen.getByRole('button', { name: 'Continue' }));
    expect(await screen.findByText(/only if you started this Runner yourself/)).toBeTruthy();
    for (const said of ['203.0.113.7', 'BDFG-HJKL']) expect(screen.getByText(said)).toBeTruthy();
    expect(asked.filter((a) => a.method === 'POST')).toEqual([]);
    await sound(container);
    fireEvent.change(screen.getByLabelText('Name'), { target: { value: 'studio' } });
    fireEvent.click(screen.getByRole('button', { name: 'Approve' }));
    expect(await screen.findByRole('heading', { name: 'Approved' })).toBeTruthy();
    const [post] = asked.filter((a) => a.method === 'POST');
    expect([post?.path, post?.body]).toEqual(['/api/device/BDFG-HJKL/approve', { name: 'studio' }]);
  });

  it('denies', async () => {
    go('/device?code=BDFGHJKL');
    const asked = waits((a) => (a.path.endsWith('/deny') ? new Response(null, { status: 204 }) : device));
    await open('/device');
    fireEvent.click(await screen.findByRole('button', { name: 'Continue' }));
    fireEvent.click(await screen.findByRole('button', { name: 'Deny' }));
    expect(await screen.findByRole('heading', { name: 'Denied' })).toBeTruthy();
    expect(asked.some((a) => a.path.endsWith('/approve'))).toBe(false);
  });

  it('says what is wrong with a code, at the field', async () => {
    waits(() => refusal(404, 'not_found', 'No device waits with that code.'));
    await open('/device');
    const code = await screen.findByLabelText('Code');
    fireEvent.change(code, { target: { value: 'abc' } });
    expect(screen.getByText(/No code has “A”/)).toBeTruthy();
    expect((screen.getByRole('button', { name: 'Continue' }) as HTMLButtonElement).disabled).toBe(true);
    fireEvent.change(code, { target: { value: 'bcdfghjk' } });
    fireEvent.click(screen.getByRole('button', { name: 'Continue' }));
    expect(await screen.findByText('No device waits with that code.')).toBeTruthy();
  });
});

describe('Join', () => {
  it('removes the token from the address at once, and posts it', async () => {
    go('/join#chj_secret');
    const asked = hub((a) => {
      if (a.path === '/api/join') return session({ access: 'participant' });
      return a.path === '/api/hub' ? gitHubHub : undefined;
    });
    const { router } = await open('/join');
    expect(window.location.href).not.toContain('chj_');
    await waitFor(() => expect(router.state.location.pathname).toBe('/sessions/ses_1'));
    expect(asked.find((a) => a.path === '/api/join')?.body).toEqual({ token: 'chj_secret' });
    expect(asked.some((a) => a.path.includes('chj_') || String(a.query).includes('chj_'))).toBe(false);
  });

  it('says what a dead link is', async () => {
    go('/join#chj_dead');
    hub((a) => (a.path === '/api/hub' ? gitHubHub : refusal(404, 'not_found', 'That link opens nothing.')));
    const { container } = await open('/join');
    expect((await screen.findByRole('alert')).textContent).toBe('That link opens nothing.');
    await sound(container);
  });

  it('keeps the token in this tab while its holder signs in, and once', async () => {
    go('/join#chj_later');
    hub((a) => (a.path === '/api/hub' ? gitHubHub : refusal(401, 'unauthenticated', 'You are not signed in.')));
    await open('/join');
    await waitFor(() => expect(sessionStorage.getItem('claude-hub.join')).toContain('chj_later'));
    const { takeToken } = await import('~/modules/share/joining');
    expect(takeToken()).toBe('chj_later');
    expect(takeToken()).toBe('');
  });

  it('does not keep it longer than signing in takes', async () => {
    const { keepToken, takeToken } = await import('~/modules/share/joining');
    keepToken('chj_old');
    const now = Date.now();
    vi.spyOn(Date, 'now').mockReturnValue(now + 16 * 60_000);
    expect(takeToken()).toBe('');
  });
});
