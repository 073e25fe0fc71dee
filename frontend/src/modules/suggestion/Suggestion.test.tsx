import { act, fireEvent, screen, waitFor, within } from '@testing-library/react';
import { beforeEach, describe, expect, it } from 'vitest';
import { apply } from '~/api/live';
import type { Suggestion } from '~/api/types';
import { ada, ben, cleo, gitHubHub, person, session, suggestion } from '~/test/people';
import { type Asked, hub, refusal, show, sound } from '~/test/render';
import { Answered } from './Answered';
import { SuggestBox } from './SuggestBox';
import { Suggested } from './Suggested';

const states = { accept: 'accepted', decline: 'declined', withdraw: 'withdrawn' } as const;

/** box is a Hub with suggestions, as me sees it. */
function box(first: Suggestion[], me = ada) {
  let all = first;
  return hub((a: Asked) => {
    if (a.path === '/api/hub') return gitHubHub;
    if (a.path === '/api/me') return person(me);
    if (a.path === '/api/sessions/ses_1/prompts') return { items: [] };
    if (a.path === '/api/sessions/ses_1/suggestions') {
      if (a.method === 'GET') return { items: all };
      const made = suggestion('sug_new', { author: me, text: (a.body as { text: string }).text });
      all = [...all, made];
      return made;
    }
    const [, , , id, verb] = a.path.split('/');
    const s = all.find((x) => x.id === id);
    if (s?.state !== 'open') return refusal(409, 'conflict', 'That suggestion was answered already.');
    const { why } = (a.body ?? {}) as { why?: string };
    const now: Suggestion = { ...s, state: states[verb as keyof typeof states], why, updated: '2026-01-01T13:00:00Z' };
    all = all.map((x) => (x.id === id ? now : x));
    return verb === 'accept' ? { id: 'prm_1', session: 'ses_1' } : now;
  });
}

const posts = (asked: Asked[]) => asked.filter((a) => a.method === 'POST').map((a) => [a.path, a.body]);
const rows = () => screen.findAllByTestId('suggestion');
beforeEach(() => sessionStorage.clear());

describe('the Creator', () => {
  it('sees the oldest with its author, the others on demand, and accepts with one click', async () => {
    const asked = box([
      suggestion('sug_2', { author: cleo, created: '2026-01-01T12:30:00Z' }),
      suggestion('sug_1'),
      suggestion('sug_3', { state: 'declined' }),
    ]);
    const { container } = show(<Suggested session="ses_1" />);
    expect((await rows()).map((r) => r.dataset.suggestion)).toEqual(['sug_1']);
    expect(screen.getByText('Ben Goode')).toBeTruthy();
    fireEvent.click(screen.getByRole('button', { name: 'Show all' }));
    expect((await rows()).map((r) => r.dataset.suggestion)).toEqual(['sug_1', 'sug_2']);
    await sound(container);
    fireEvent.click(screen.getAllByRole('button', { name: 'Accept' })[0] as HTMLElement);
    await waitFor(async () => expect((await rows()).map((r) => r.dataset.suggestion)).toEqual(['sug_2']));
    expect(posts(asked)).toEqual([['/api/suggestions/sug_1/accept', {}]]);
  });

  it('accepts an edited text', async () => {
    const asked = box([suggestion('sug_1')]);
    show(<Suggested session="ses_1" />);
    fireEvent.click(await screen.findByRole('button', { name: 'Edit …' }));
    const text = screen.getByRole('textbox', { name: 'The prompt, edited' });
    expect((text as HTMLTextAreaElement).value).toBe('text of sug_1');
    fireEvent.change(text, { target: { value: 'better' } });
    fireEvent.keyDown(text, { key: 'Enter', ctrlKey: true });
    await waitFor(() => expect(screen.queryByTestId('suggested')).toBeNull());
    expect(posts(asked)).toEqual([['/api/suggestions/sug_1/accept', { text: 'better' }]]);
  });

  it('does all of it with the keyboard, and keys in a field are letters', async () => {
    const asked = box([suggestion('sug_1'), suggestion('sug_2', { created: '2026-01-01T12:30:00Z' })]);
    show(<Suggested session="ses_1" />);
    await rows();
    fireEvent.keyDown(window, { key: 's' });
    const [first] = await rows();
    expect(document.activeElement).toBe(first);
    fireEvent.keyDown(first as HTMLElement, { key: 'd' });
    const why = screen.getByRole('textbox', { name: /A word on why/ });
    fireEvent.keyDown(why, { key: 'a' });
    expect(posts(asked)).toEqual([]);
    fireEvent.keyDown(why, { key: 'Escape' });
    expect(screen.queryByRole('textbox')).toBeNull();
    expect(document.activeElement).toBe(first);
    fireEvent.keyDown(first as HTMLElement, { key: 'd' });
    fireEvent.change(screen.getByRole('textbox', { name: /A word on why/ }), { target: { value: 'not now' } });
    fireEvent.submit(screen.getByRole('textbox', { name: /A word on why/ }));
    await waitFor(async () => expect((await rows()).map((r) => r.dataset.suggestion)).toEqual(['sug_2']));
    const [second] = await rows();
    (second as HTMLElement).focus();
    fireEvent.keyDown(second as HTMLElement, { key: 'a', ctrlKey: true }); // select all is no answer
    fireEvent.keyDown(second as HTMLElement, { key: 'a' });
    await waitFor(() => expect(screen.queryByTestId('suggested')).toBeNull());
    expect(posts(asked)).toEqual([
      ['/api/suggestions/sug_1/decline', { why: 'not now' }],
      ['/api/suggestions/sug_2/accept', {}],
    ]);
  });

  it('is told when somebody else was quicker, and sees what is true then', async () => {
    const first = suggestion('sug_1');
    const asked = box([{ ...first, state: 'withdrawn' }]);
    const { client } = show(<Suggested session="ses_1" />);
    await waitFor(() => expect(client.getQueryData(['suggestions', 'ses_1'])).toBeTruthy());
    act(() => client.setQueryData(['suggestions', 'ses_1'], [first]));
    fireEvent.click(await screen.findByRole('button', { name: 'Accept' }));
    expect(await screen.findByText('That suggestion was answered already.')).toBeTruthy();
    await waitFor(() => expect(screen.queryByTestId('suggested')).toBeNull());
    expect(asked.filter((a) => a.method === 'GET' && a.path.endsWith('/suggestions')).length).toBeGreaterThan(1);
  });

  it('hears of new ones and answered ones by events', async () => {
    box([]);
    const { client } = show(
      <>
        <Suggested session="ses_1" />
        <Answered session="ses_1" />
      </>,
    );
    await waitFor(() => expect(client.getQueryData(['suggestions', 'ses_1'])).toEqual([]));
    const event = (s: Suggestion) => act(() => apply(client, { event: 'suggestion', data: JSON.stringify(s) }));
    event(suggestion('sug_1'));
    expect(await rows()).toHaveLength(1);
    event(suggestion('sug_1', { state: 'declined', why: 'no', updated: '2026-01-01T14:00:00Z' }));
    await waitFor(() => expect(screen.queryByTestId('suggested')).toBeNull());
    expect((await screen.findByTestId('answered')).textContent).toContain('“no”');
    event(suggestion('sug_1', { updated: '2026-01-01T13:00:00Z' })); // an old word comes late
    expect(client.getQueryData<Suggestion[]>(['suggestions', 'ses_1'])?.[0]?.state).toBe('declined');
  });
});

describe('a Participant', () => {
  const shared = session({ access: 'participant' });

  it('suggests, sees that it waits, and withdraws', async () => {
    const asked = box([suggestion('sug_0', { author: cleo })], ben);
    const { container } = show(<SuggestBox session={shared} thumbs={false} />);
    const field = await screen.findByRole('textbox', { name: 'Suggest a prompt to Ada Lovelace' });
    fireEvent.change(field, { target: { value: 'look here' } });
    fireEvent.keyDown(field, { key: 'Enter' });
    const own = await screen.findByTestId('own-suggestions');
    expect(within(own).getAllByRole('listitem')).toHaveLength(1);
    expect(own.textContent).toContain('waiting');
    expect(own.textContent).toContain('look here');
    expect((field as HTMLTextAreaElement).value).toBe('');
    await sound(container);
    fireEvent.click(within(own).getByRole('button', { name: 'Withdraw' }));
    await waitFor(() => expect(screen.queryByTestId('own-suggestions')).toBeNull());
    expect(posts(asked)).toEqual([
      ['/api/sessions/ses_1/suggestions', { text: 'look here' }],
      ['/api/suggestions/sug_new/withdraw', undefined],
    ]);
  });

  it('keeps the text when the Hub did not take it', async () => {
    hub((a) => {
      if (a.path === '/api/hub') return gitHubHub;
      if (a.path === '/api/me') return person(ben);
      return a.method === 'POST' ? refusal(429, 'too_many', 'Twenty suggestions wait already.') : { items: [] };
    });
    show(<SuggestBox session={shared} thumbs={false} />);
    const field = await screen.findByTestId('suggest-box');
    fireEvent.change(field, { target: { value: 'one more' } });
    fireEvent.click(screen.getByRole('button', { name: 'Suggest' }));
    expect(await screen.findByText('Twenty suggestions wait already.')).toBeTruthy();
    expect((field as HTMLTextAreaElement).value).toBe('one more');
  });
});
