import { expect, it } from 'vitest';
import { figuresOf } from './bars';

const gb = 2 ** 30;
const f = { cpu: 0.5, cpus: 2, memory: 3.8 * gb, memory_limit: 4 * gb, disk: gb, disk_limit: 0 };

it('tells everything of one that is awake, and warns near a limit', () => {
  expect(figuresOf(f, true)).toEqual([
    { label: 'CPU', text: '0.5 of 2 CPUs', part: 0.25, high: false },
    { label: 'Memory', text: '3.8 GB of 4 GB', part: 0.95, high: true },
    { label: 'Disk', text: '1 GB', part: undefined, high: false },
  ]);
});

it('tells only the disk of one that sleeps, and nothing when nothing is known', () => {
  expect(figuresOf(f, false).map((x) => x.label)).toEqual(['Disk']);
  expect(figuresOf({ ...f, disk: 0 }, false)).toEqual([]);
  expect(figuresOf({ ...f, memory: 0, disk: 0 }, true)).toEqual([]);
});

it('does not go over the end of its bar', () => {
  expect(figuresOf({ ...f, cpu: 5 }, true)[0]).toMatchObject({ part: 1, high: false });
});
