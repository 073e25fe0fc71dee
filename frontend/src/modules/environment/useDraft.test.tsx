import { act, renderHook, waitFor } from '@testing-library/react';
import { describe, expect, it } from 'vitest';
import type { Environment, EnvironmentChange, Recipe } from '~/api/types';
import { hub, refusal, surroundings } from '~/test/render';
import { firstRecipe } from './recipe';
import { useDraft } from './useDraft';

const at = (n: number) => `2026-01-01T12:00:0${n}Z`;
const environment = (version: number, recipe: Partial<Recipe> = {}): Environment => ({
  id: 'env_1',
  owner: 'per_1',
  name: 'one',
  version,
  recipe: { ...firstRecipe, ...recipe },
  archived: false,
  created: at(0),
  updated: at(version),
});

function edit(first: Environment) {
  const { client, wrapper } = surroundings();
  const hook = renderHook(({ e }) => useDraft(e), { wrapper, initialProps: { e: first } });
  return { client, ...hook };
}

describe('useDraft', () => {
  it('takes a newer version while nothing was changed', () => {
    const { result, rerender } = edit(environment(1));
    rerender({ e: environment(2, { cpus: 8 }) });
    expect(result.current).toMatchObject({ dirty: false, theirs: undefined, recipe: { cpus: 8 } });
    expect(result.current.start.version).toBe(2);
  });

  it('keeps what was changed, and offers theirs beside it', () => {
    const { result, rerender } = edit(environment(1));
    act(() => result.current.set({ setup: 'mine' }));
    rerender({ e: environment(2, { cpus: 8 }) });
    expect(result.current).toMatchObject({ dirty: true, theirs: { version: 2 }, recipe: { setup: 'mine', cpus: 2 } });

    act(() => result.current.both());
    expect(result.current).toMatchObject({ dirty: true, theirs: undefined, recipe: { setup: 'mine', cpus: 8 } });
  });

  it('takes theirs, and drops mine', () => {
    const { result, rerender } = edit(environment(1));
    act(() => result.current.set({ setup: 'mine' }));
    rerender({ e: environment(2, { setup: 'theirs' }) });
    act(() => result.current.takeTheirs());
    expect(result.current).toMatchObject({ dirty: false, theirs: undefined, recipe: { setup: 'theirs' } });
  });

  it('has no conflict when both wrote the same', () => {
    const { result, rerender } = edit(environment(1));
    act(() => result.current.set({ setup: 'same' }));
    rerender({ e: environment(2, { setup: 'same' }) });
    expect(result.current).toMatchObject({ dirty: false, theirs: undefined });
  });

  it('saves upon the version it began from, and mine upon theirs when the person says so', async () => {
    const theirs = environment(2, { setup: 'theirs' });
    const asked = hub((a) => {
      if (a.method === 'GET') return theirs;
      const to = a.body as EnvironmentChange;
      return to.base_version === 2
        ? environment(3, { setup: to.recipe?.setup })
        : refusal(409, 'conflict', 'Version 2 was saved meanwhile.');
    });
    const { client, result, rerender } = edit(environment(1));
    act(() => result.current.set({ setup: 'mine' }));
    await act(() => result.current.save());
    await waitFor(() => expect(client.getQueryData(['environment', 'env_1'])).toEqual(theirs));
    rerender({ e: theirs });
    expect(result.current).toMatchObject({ dirty: true, recipe: { setup: 'mine' }, theirs: { version: 2 } });

    await act(() => result.current.keepMine());
    expect(asked.filter((a) => a.method === 'PATCH').map((a) => (a.body as EnvironmentChange).base_version)).toEqual([
      1, 2,
    ]);
    rerender({ e: environment(3, { setup: 'mine' }) });
    expect(result.current).toMatchObject({ dirty: false, theirs: undefined, start: { version: 3 } });
  });
});
