import type { Recipe } from '~/api/types';
import { bytes } from '~/ui/bytes';
import { baseText, type Field, kinds, policies } from './recipe';

export const fieldName: Record<Field, string> = {
  base: 'base',
  setup: 'setup script',
  cpus: 'CPUs',
  memory: 'memory',
  disk: 'disk',
  network: 'network',
  allow: 'allow-list',
};

/** fieldText is a field's value in one line. */
export function fieldText(r: Recipe, f: Field): string {
  switch (f) {
    case 'base':
      return r.base.kind === 'default' ? kinds.default.name : `${kinds[r.base.kind].name}: ${baseText(r.base)}`;
    case 'setup':
      return `${r.setup.split('\n').length} lines`;
    case 'cpus':
      return String(r.cpus);
    case 'memory':
    case 'disk':
      return bytes(r[f]);
    case 'network':
      return policies[r.network].name;
    case 'allow':
      return r.allow.join(', ') || 'no host';
  }
}
