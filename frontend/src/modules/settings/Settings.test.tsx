import { fireEvent, screen, waitFor, within } from '@testing-library/react';
import { describe, expect, it } from 'vitest';
import type { APIToken } from '~/api/types';
import { at } from '~/test/people';
import { type Asked, hub, refusal, show, sound } from '~/test/render';
import { endOf } from './scopes';
import { Tokens } from './Tokens';

const old: APIToken = { id: 'tok_1', name: 'nightly', scopes: ['sessions:read'], created: at, expires: at };
const secret = 'chp_secret';

function store(first: APIToken[]) {
  let all = first;
  return hub((a: Asked) => {
    if (a.method === 'GET') return { items: all };
    if (a.method === 'DELETE') {
      all = all.filter((t) => !a.path.endsWith(t.id));
      return 204;
    }
    const made = { ...(a.body as APIToken), id: 'tok_2', created: at };
    if (made.name === 'too many') return refusal(429, 'too_many', 'You have 50 tokens. Revoke one first.');
    all = [...all, made];
    return { ...made, token: secret };
  });
}

describe('API tokens', () => {
  it('are made with scopes and an end, shown once, and listed after', async () => {
    const asked = store([]);
    const { container } = show(<Tokens />);
    fireEvent.click(await screen.findByRole('button', { name: 'New token' }));
    const dialog = await screen.findByRole('dialog');
    await sound(dialog);
    fireEvent.change(within(dialog).getByLabelText('Name'), { target: { value: 'ci' } });
    fireEvent.click(within(dialog).getByRole('checkbox', { name: /sessions:drive/ }));
    fireEvent.click(within(dialog).getByRole('button', { name: 'Make the token' }));
    expect(await screen.findByText(secret)).toBeTruthy();
    await sound(screen.getByRole('dialog'));
    const body = asked.find((a) => a.method === 'POST')?.body as APIToken;
    expect(body.scopes).toEqual(['sessions:read', 'sessions:drive']);
    const days = (Date.parse(body.expires ?? '') - Date.now()) / 86_400_000;
    expect(days).toBeGreaterThan(89.9);
    expect(days).toBeLessThan(90.1);
    fireEvent.keyDown(screen.getByRole('dialog'), { key: 'Escape' }); // not lost by a slip
    expect(screen.getByText(secret)).toBeTruthy();
    fireEvent.click(screen.getByRole('button', { name: 'I have copied it' }));
    await waitFor(() => expect(screen.queryByText(secret)).toBeNull());
    expect((await screen.findByTestId('api-token')).textContent).toContain('never used');
    await sound(container);
  });

  it('need a scope, and say what the Hub refuses', async () => {
    store([]);
    show(<Tokens />);
    fireEvent.click(await screen.findByRole('button', { name: 'New token' }));
    const dialog = await screen.findByRole('dialog');
    fireEvent.change(within(dialog).getByLabelText('Name'), { target: { value: 'too many' } });
    fireEvent.click(within(dialog).getByRole('checkbox', { name: /sessions:read/ }));
    expect(within(dialog).getByText('A token needs at least one scope.')).toBeTruthy();
    const make = within(dialog).getByRole('button', { name: 'Make the token' }) as HTMLButtonElement;
    expect(make.disabled).toBe(true);
    fireEvent.click(within(dialog).getByRole('checkbox', { name: /runners/ }));
    fireEvent.click(make);
    expect(await within(dialog).findByText('You have 50 tokens. Revoke one first.')).toBeTruthy();
  });

  it('are revoked after a word on what that means', async () => {
    const asked = store([old]);
    show(<Tokens />);
    expect((await screen.findByTestId('api-token')).textContent).toContain('expired');
    fireEvent.click(screen.getByRole('button', { name: 'Revoke nightly' }));
    const dialog = await screen.findByRole('dialog');
    expect(asked.filter((a) => a.method === 'DELETE')).toHaveLength(0);
    fireEvent.click(within(dialog).getByRole('button', { name: 'Revoke' }));
    await waitFor(() => expect(screen.queryByTestId('api-token')).toBeNull());
    expect(asked.find((a) => a.method === 'DELETE')?.path).toBe('/api/tokens/tok_1');
  });
});

it('ends a token a number of days from now, or not at all', () => {
  expect(endOf('7', Date.parse(at))).toBe('2026-01-08T12:00:00.000Z');
  expect(endOf('0', Date.parse(at))).toBeUndefined();
});
