import { describe, expect, it } from 'vitest';
import type { Build, EnvironmentVersion, Recipe } from '~/api/types';
import { builtOn, changed, clean, faultsOf, firstRecipe, lastBuilds, merge, same, sameImage } from './recipe';

const recipe = (to: Partial<Recipe>): Recipe => ({ ...firstRecipe, ...to });

describe('faultsOf', () => {
  it('finds nothing wrong with what a new Environment begins with', () => {
    expect(faultsOf(firstRecipe)).toEqual({});
  });

  it.each([
    ['ref', recipe({ base: { kind: 'registry', ref: '' } })],
    ['ref', recipe({ base: { kind: 'registry', ref: '--privileged' } })],
    ['ref', recipe({ base: { kind: 'archive', ref: 'image.tar' } })],
    ['setup', recipe({ setup: 'é'.repeat(140_000) })],
    ['cpus', recipe({ cpus: 0 })],
    ['cpus', recipe({ cpus: 1.5 })],
    ['memory', recipe({ memory: 64 << 20 })],
    ['memory', recipe({ memory: 2 ** 40 })],
    ['disk', recipe({ disk: 2 ** 41 })],
    ['allow', recipe({ allow: ['example.org', 'http://x'] })],
    ['allow', recipe({ allow: Array.from({ length: 201 }, (_, i) => `h${i}.org`) })],
  ] as const)('names the field: %s', (field, r) => {
    expect(Object.keys(faultsOf(r))).toEqual([field]);
  });

  it.each(['debian:bookworm', 'ghcr.example/a/b:1', `x@sha256:${'a'.repeat(64)}`])('takes the image %s', (ref) => {
    expect(faultsOf(recipe({ base: { kind: 'registry', ref } }))).toEqual({});
  });

  it('takes hosts with a star and a port', () => {
    expect(faultsOf(recipe({ allow: ['*.example.org', 'example.org:443', 'localhost'] }))).toEqual({});
  });
});

describe('merge', () => {
  const base = recipe({ setup: 'a' });

  it('puts together what each changed alone', () => {
    const { recipe: r, clashes } = merge(base, recipe({ setup: 'mine' }), recipe({ setup: 'a', cpus: 8 }));
    expect(r).toEqual(recipe({ setup: 'mine', cpus: 8 }));
    expect(clashes).toEqual([]);
  });

  it('keeps mine where both changed the same, and says so', () => {
    const { recipe: r, clashes } = merge(
      base,
      recipe({ setup: 'mine', cpus: 4 }),
      recipe({ setup: 'theirs', cpus: 4 }),
    );
    expect(r.setup).toBe('mine');
    expect(clashes).toEqual(['setup']);
  });
});

describe('changed', () => {
  it('does not see a reference that is not sent', () => {
    const old = recipe({ base: { kind: 'default', ref: 'debian:bookworm' } });
    expect(same(old, firstRecipe)).toBe(true);
    expect(clean(old).base).toEqual({ kind: 'default' });
  });

  it('names each field', () => {
    expect(changed(firstRecipe, recipe({ cpus: 4, allow: ['a.org'], base: { kind: 'directory', ref: '/x' } }))).toEqual(
      ['base', 'cpus', 'allow'],
    );
  });
});

const build = (o: Partial<Build>): Build =>
  ({ id: 'b', runner: 'r1', version: 1, state: 'ready', created: '2026-01-01', steps: [], ...o }) as Build;

describe('builtOn', () => {
  const version = (n: number, r: Recipe) => ({ version: n, recipe: r }) as EnvironmentVersion;
  const versions = [
    version(3, recipe({ setup: 'b' })),
    version(2, recipe({ setup: 'a', cpus: 8 })),
    version(1, recipe({ setup: 'a' })),
  ];

  it('finds a build of another version that builds the same', () => {
    expect(sameImage(recipe({ cpus: 8 }), firstRecipe)).toBe(true);
    expect(builtOn('r1', recipe({ setup: 'a', cpus: 8 }), versions, [build({ version: 1 })])?.version).toBe(1);
  });

  it('does not take another Runner’s, a failed one, or another recipe’s', () => {
    const want = recipe({ setup: 'b' });
    expect(builtOn('r1', want, versions, [build({ runner: 'r2', version: 3 })])).toBeUndefined();
    expect(builtOn('r1', want, versions, [build({ state: 'failed', version: 3 })])).toBeUndefined();
    expect(builtOn('r1', want, versions, [build({ version: 2 })])).toBeUndefined();
  });
});

it('lastBuilds has one for each Runner', () => {
  const list = [build({ id: '3' }), build({ id: '2', runner: 'r2' }), build({ id: '1' })];
  expect(lastBuilds(list).map((b) => b.id)).toEqual(['3', '2']);
});
