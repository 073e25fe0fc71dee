import { describe, expect, it } from 'vitest';
import type { Machine, Runner, StorageItem } from '~/api/types';
import { diskParts, free, reclaiming } from './kept';

const items: StorageItem[] = [
  { kind: 'image', name: 'a', bytes: 30, sessions: 2 },
  { kind: 'image', name: 'b', bytes: 20, sessions: 0 },
  { kind: 'base', name: 'c', bytes: 10, sessions: 0 },
  { kind: 'kept', name: 'd', bytes: 5, sessions: 0 },
];
const machine = (to: Partial<Machine['storage']>, total = 1000, left = 500) =>
  ({
    disk_total: total,
    disk_free: left,
    storage: {
      sessions: 100,
      archived: 0,
      images: 60,
      reclaimable: 35,
      items,
      reclaimed: { request: 1, freed: 0 },
      ...to,
    },
  }) as unknown as Machine;

it('free counts only what no Session is made of', () => {
  expect(free(items, 'image')).toEqual({ bytes: 20, count: 1 });
  expect(free(items, 'unowned')).toEqual({ bytes: 0, count: 0 });
});

describe('diskParts', () => {
  const parts = (m: Machine) => Object.fromEntries(diskParts(m).map((p) => [p.name, p.value]));

  it('counts images that can be reclaimed once', () => {
    expect(parts(machine({}))).toEqual({ Sessions: 100, Images: 30, Reclaimable: 35, Other: 335 });
  });

  it('never says more than is used', () => {
    expect(parts(machine({ sessions: 480 }))).toEqual({ Sessions: 480, Images: 20, Reclaimable: 0, Other: 0 });
    expect(parts(machine({}, 0, 0))).toEqual({ Sessions: 0, Images: 0, Reclaimable: 0, Other: 0 });
  });
});

it('reclaiming lasts until the Runner says that number', () => {
  const r = (reclaim: number) => ({ reclaim, machine: machine({}) }) as Runner;
  expect(reclaiming(r(2))).toBe(true);
  expect(reclaiming(r(1))).toBe(false);
});
