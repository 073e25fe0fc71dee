import { fireEvent, screen, waitFor, within } from '@testing-library/react';
import { describe, expect, it } from 'vitest';
import type { Variable } from '~/api/types';
import { type Asked, hub, refusal, show, sound } from '~/test/render';
import { Variables } from './Variables';

const at = '2026-01-01T12:00:00Z';
const plain: Variable = { name: 'NODE_ENV', secret: false, value: 'development', bytes: 11, by: 'per_1', updated: at };
const secret: Variable = { name: 'TOKEN', secret: true, value: '', bytes: 40, by: 'per_1', updated: at };

/** store is a Hub with Variables that refuses PATH. */
function store(first: Variable[]) {
  let all = first;
  return hub((a: Asked) => {
    const name = a.path.split('/')[5] ?? '';
    if (a.path === '/api/me') return { id: 'per_1', login: 'ada', name: 'Ada', created: at };
    if (a.method === 'GET') return { items: all };
    if (a.method === 'DELETE') {
      all = all.filter((v) => v.name !== name);
      return 204;
    }
    if (name === 'PATH') return refusal(422, 'invalid', 'PATH cannot be a Variable: it decides which programs run.');
    const { value, secret } = a.body as { value: string; secret: boolean };
    const v = { name, secret, value: secret ? '' : value, bytes: value.length, by: 'per_1', updated: at };
    all = [...all.filter((x) => x.name !== name), v];
    return v;
  });
}

const table = () => screen.findAllByTestId('variable');
const page = () => show(<Variables scope={{ environment: 'env_1' }} about="About." />);

describe('Variables', () => {
  it('shows plain values and never asks for secret ones', async () => {
    store([plain, secret]);
    const { container } = page();
    const [first, second] = await table();
    expect(first?.textContent).toContain('development');
    expect(second?.textContent).toContain('secret, 40 B');
    await sound(container);
  });

  it('says what the Hub refuses at the field, in its words', async () => {
    store([]);
    page();
    fireEvent.click(await screen.findByRole('button', { name: 'Add' }));
    const dialog = await screen.findByRole('dialog');
    fireEvent.change(within(dialog).getByLabelText('Name'), { target: { value: 'PATH' } });
    fireEvent.click(within(dialog).getByRole('button', { name: 'Save' }));
    expect(await within(dialog).findByText(/it decides which programs run/)).toBeTruthy();
    expect(within(dialog).getByLabelText('Name').getAttribute('aria-invalid')).toBe('true');
    await sound(dialog);

    fireEvent.change(within(dialog).getByLabelText('Name'), { target: { value: 'LINES_OF' } });
    fireEvent.change(within(dialog).getByLabelText('Value'), { target: { value: 'one\ntwo\n' } });
    fireEvent.click(within(dialog).getByRole('button', { name: 'Save' }));
    expect((await table())[0]?.textContent).toContain('3 lines');
  });

  it('adds many from a pasted .env, each hidden or not, and keeps those that were refused', async () => {
    const asked = store([]);
    page();
    fireEvent.click(await screen.findByRole('button', { name: 'Add' }));
    const name = within(await screen.findByRole('dialog')).getByLabelText('Name');
    fireEvent.paste(name, { clipboardData: { getData: () => 'A=1\nAPI_TOKEN=t\nPATH=/x' } });
    fireEvent.click(await screen.findByRole('button', { name: 'Add 3 Variables' }));
    expect(await screen.findByText(/it decides which programs run/)).toBeTruthy();
    const puts = asked.filter((a) => a.method === 'PUT').map((a) => [a.path.split('/')[5], a.body]);
    expect(puts).toEqual([
      ['A', { value: '1', secret: false }],
      ['API_TOKEN', { value: 't', secret: true }],
      ['PATH', { value: '/x', secret: false }],
    ]);
    expect(await screen.findByRole('button', { name: 'Add one Variable' })).toBeTruthy();
    await sound(screen.getByRole('dialog'));
  });

  it('takes back the delete of a plain one, and asks before that of a secret', async () => {
    const asked = store([plain, secret]);
    page();
    fireEvent.click(await screen.findByRole('button', { name: 'Delete NODE_ENV' }));
    fireEvent.click(await screen.findByRole('button', { name: 'Undo' }));
    await waitFor(() =>
      expect(asked.find((a) => a.method === 'PUT')?.body).toEqual({ value: 'development', secret: false }),
    );

    fireEvent.click(screen.getByRole('button', { name: 'Delete TOKEN' }));
    const dialog = await screen.findByRole('dialog');
    expect(asked.filter((a) => a.method === 'DELETE')).toHaveLength(1);
    fireEvent.click(within(dialog).getByRole('button', { name: 'Delete' }));
    await waitFor(() => expect(asked.filter((a) => a.method === 'DELETE')).toHaveLength(2));
  });

  it('does not say “none” when it cannot tell', async () => {
    hub(() => refusal(503, 'unavailable', 'The database does not answer.'));
    page();
    expect(await screen.findByText(/cannot be told which there are/)).toBeTruthy();
    expect(screen.queryByText('No Variables yet')).toBeNull();
  });
});
