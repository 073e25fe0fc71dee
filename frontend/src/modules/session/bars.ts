import type { Figures } from '~/api/types';
import { bytes } from '~/ui/bytes';

/** Figure is one bar: what is used of what. */
export interface Figure {
  label: string;
  text: string;
  /** part of the limit, 0 to 1; undefined where there is no limit to measure against. */
  part: number | undefined;
  /** high: it may be in the way of the work. */
  high: boolean;
}

/**
 * figuresOf says what a Session takes. CPU and memory are told only of one that is awake; without memory it was not
 * measured yet: nothing runs in none.
 */
export function figuresOf(f: Figures, awake: boolean): Figure[] {
  const out: Figure[] = [];
  if (awake && f.memory > 0) {
    out.push(figure('CPU', f.cpu, f.cpus, (n) => n.toFixed(n < 10 ? 1 : 0), f.cpus === 1 ? 'CPU' : 'CPUs', 2));
    out.push(figure('Memory', f.memory, f.memory_limit, bytes, '', 0.9));
  }
  if (f.disk > 0) out.push(figure('Disk', f.disk, f.disk_limit, bytes, '', 0.9));
  return out;
}

function figure(
  label: string,
  value: number,
  limit: number,
  write: (n: number) => string,
  unit: string,
  high: number,
): Figure {
  const part = limit > 0 ? Math.min(1, value / limit) : undefined;
  const of = limit > 0 ? ` of ${unit === '' ? write(limit) : `${limit} ${unit}`}` : '';
  return { label, text: `${write(value)}${of}`, part, high: part !== undefined && part >= high };
}
