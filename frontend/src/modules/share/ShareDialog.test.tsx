import { fireEvent, screen, waitFor, within } from '@testing-library/react';
import { describe, expect, it } from 'vitest';
import type { Session } from '~/api/types';
import { ada, ben, cleo, gitHubHub, session } from '~/test/people';
import { type Asked, hub, refusal, show, sound } from '~/test/render';
import { ShareDialog } from './ShareDialog';

const secret = 'http://hub.test/join#chj_secret';

/** sharing is a Hub with one Session, whose sharing it keeps. */
function sharing(first: Session) {
  let s = first;
  const put = (shared: Partial<Session['shared']>) => {
    s = { ...s, shared: { ...s.shared, ...shared }, updated: `${s.updated}1` };
    return s;
  };
  const asked = hub((a: Asked) => {
    if (a.path === '/api/hub') return gitHubHub;
    if (a.path === '/api/people') return { items: [ada, ben, cleo] };
    if (a.path === '/api/sessions/ses_1') return s;
    if (a.path.endsWith('/link')) {
      put({ link: a.method === 'POST' });
      return a.method === 'POST' ? { url: secret } : s;
    }
    const people = s.shared.people ?? [];
    if (a.method === 'DELETE') return put({ people: people.filter((p) => !a.path.endsWith(p.id)) });
    const body = a.body as { login?: string; everyone?: boolean };
    if (body.everyone !== undefined) return put({ everyone: body.everyone });
    const found = [ben, cleo].find((p) => p.login === body.login);
    if (!found) return refusal(404, 'not_found', `Nobody on this Hub is called "${body.login}".`);
    return put({ people: [...people, found] });
  });
  return { asked, now: () => s };
}

const dialog = () => screen.findByRole('dialog');
const field = async () => within(await dialog()).getByRole('combobox', { name: 'Add by GitHub login' });

describe('ShareDialog', () => {
  it('adds by login, from what is offered, and leaves out who sees it already', async () => {
    const { asked } = sharing(session({ shared: { everyone: false, people: [cleo], link: false } }));
    show(
      <ShareDialog session={session({ shared: { everyone: false, people: [cleo], link: false } })} close={() => {}} />,
    );
    fireEvent.change(await field(), { target: { value: 'b' } });
    const option = await screen.findByRole('option', { name: /Ben Goode/ });
    expect(screen.getAllByRole('option')).toHaveLength(1);
    fireEvent.click(option);
    await waitFor(() => expect(asked.find((a) => a.path.endsWith('/share'))?.body).toEqual({ login: 'bgoode' }));
    await sound(await dialog());
  });

  it('says at the field what the Hub refuses, and takes an @ for nothing', async () => {
    const { asked } = sharing(session());
    show(<ShareDialog session={session()} close={() => {}} />);
    fireEvent.change(await field(), { target: { value: '@ghost' } });
    fireEvent.submit(await field());
    expect(await screen.findByText(/Nobody on this Hub is called "ghost"/)).toBeTruthy();
    expect(asked.find((a) => a.path.endsWith('/share'))?.body).toEqual({ login: 'ghost' });
    expect((await field()).getAttribute('aria-invalid')).toBe('true');
  });

  it('removes, and offers the way back', async () => {
    const shared = session({ shared: { everyone: false, people: [ben], link: false } });
    const { asked, now } = sharing(shared);
    show(<ShareDialog session={shared} close={() => {}} />);
    fireEvent.click(await screen.findByRole('button', { name: 'Remove Ben Goode' }));
    fireEvent.click(await screen.findByRole('button', { name: 'Undo' }));
    await waitFor(() => expect(now().shared.people).toEqual([ben]));
    expect(asked.some((a) => a.method === 'DELETE' && a.path.endsWith('/share/per_b'))).toBe(true);
  });

  it('shares with everyone who can see the Repo, by name', async () => {
    const { asked } = sharing(session());
    show(<ShareDialog session={session()} close={() => {}} />);
    fireEvent.click(await screen.findByRole('switch', { name: /Everyone who can see acme\/rocket/ }));
    await waitFor(() => expect(asked.find((a) => a.path.endsWith('/share'))?.body).toEqual({ everyone: true }));
  });

  it.each([
    [{}, 'has no Repo'],
    [{ git_url: 'https://git.example.org/acme/rocket' }, 'this one is at git.example.org'],
  ])('says why it cannot for %j', async (source, why) => {
    sharing(session({ source }));
    show(<ShareDialog session={session({ source })} close={() => {}} />);
    const box = await screen.findByRole('switch');
    await waitFor(() => expect((box as HTMLInputElement).disabled).toBe(true));
    expect(await screen.findByText(new RegExp(why))).toBeTruthy();
  });

  it('shows a link once, says what it gives, and revokes it', async () => {
    const { asked, now } = sharing(session());
    const { rerender } = show(<ShareDialog session={session()} close={() => {}} />);
    expect(await screen.findByText(/It never lets anyone drive/)).toBeTruthy();
    fireEvent.click(screen.getByRole('button', { name: 'Make a link' }));
    expect(await screen.findByText(secret)).toBeTruthy();
    fireEvent.click(screen.getByRole('button', { name: 'Revoke the link' }));
    await waitFor(() => expect(screen.queryByText(secret)).toBeNull());
    expect(asked.some((a) => a.method === 'DELETE' && a.path.endsWith('/link'))).toBe(true);

    rerender(<ShareDialog session={{ ...now(), shared: { everyone: false, link: true } }} close={() => {}} />);
    expect(await screen.findByText(/cannot be shown again/)).toBeTruthy();
    expect(screen.getByRole('button', { name: 'Make a new link instead' })).toBeTruthy();
    await sound(await dialog());
  });
});
