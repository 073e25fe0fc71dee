import type { Machine, Runner, StorageItem } from '~/api/types';

export type Kind = StorageItem['kind'];

/** kinds of what a Runner keeps, in the order of a list, and whether they are offered for removal at first. */
export const kinds: { kind: Kind; name: string; help: string; first: boolean }[] = [
  { kind: 'image', name: 'Built Environments', help: 'Built again when a Session needs one.', first: true },
  { kind: 'base', name: 'Base images', help: 'Fetched again when a build needs one.', first: true },
  { kind: 'leftover', name: 'Leftovers', help: 'What ended builds and Sandboxes left behind.', first: true },
  { kind: 'kept', name: 'Failed builds', help: 'Kept for a look inside. A look that is open ends.', first: false },
  {
    kind: 'unowned',
    name: 'Sandboxes without a Session',
    help: 'No Session of this Runner has them. They may be someone else’s.',
    first: false,
  },
];

/** free is what would be removed of a kind: only what no Session is made of. */
export function free(items: StorageItem[], kind: Kind): { bytes: number; count: number } {
  const some = items.filter((i) => i.kind === kind && i.sessions === 0);
  return { bytes: some.reduce((sum, i) => sum + i.bytes, 0), count: some.length };
}

/** diskParts divides what is used of a machine's disk. The parts never add up to more than that. */
export function diskParts(m: Machine) {
  const used = Math.max(0, m.disk_total - m.disk_free);
  const s = m.storage;
  const unused = free(s.items, 'image').bytes + free(s.items, 'base').bytes;
  let left = used;
  const take = (n: number) => {
    const part = Math.max(0, Math.min(n, left));
    left -= part;
    return part;
  };
  const sessions = take(s.sessions);
  const images = take(s.images - Math.min(s.images, unused));
  const reclaimable = take(s.reclaimable);
  return [
    { name: 'Sessions', value: sessions, kind: 'ours' as const },
    { name: 'Images', value: images, kind: 'images' as const },
    { name: 'Reclaimable', value: reclaimable, kind: 'reclaimable' as const },
    { name: 'Other', value: left, kind: 'others' as const },
  ];
}

/** reclaiming tells a Reclaim that was asked for and is not done. */
export function reclaiming(r: Runner): boolean {
  return r.reclaim > r.machine.storage.reclaimed.request;
}
