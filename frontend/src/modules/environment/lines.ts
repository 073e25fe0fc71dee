/** Line of a comparison: in both, only in the first, or only in the second. */
export interface DiffLine {
  kind: 'same' | 'mine' | 'theirs';
  text: string;
}

const most = 4000; // of lines on each side that are compared one by one

/** compare tells which lines two texts share. Beyond what is quick, all of one side stands above all of the other. */
export function compare(mine: string, theirs: string): DiffLine[] {
  const a = mine.split('\n');
  const b = theirs.split('\n');
  let start = 0;
  while (start < a.length && start < b.length && a[start] === b[start]) start++;
  let end = 0;
  while (end < a.length - start && end < b.length - start && a.at(-1 - end) === b.at(-1 - end)) end++;
  const line = (kind: DiffLine['kind']) => (text: string) => ({ kind, text });
  const x = a.slice(start, a.length - end);
  const y = b.slice(start, b.length - end);
  const middle = x.length * y.length > most * most ? [...x.map(line('mine')), ...y.map(line('theirs'))] : lcs(x, y);
  return [...a.slice(0, start).map(line('same')), ...middle, ...a.slice(a.length - end).map(line('same'))];
}

/** lcs walks the longest common subsequence. */
function lcs(a: string[], b: string[]): DiffLine[] {
  const width = b.length + 1;
  const best = new Uint16Array((a.length + 1) * width);
  const at = (i: number, j: number) => best[i * width + j] ?? 0;
  for (let i = a.length - 1; i >= 0; i--) {
    for (let j = b.length - 1; j >= 0; j--) {
      best[i * width + j] = a[i] === b[j] ? at(i + 1, j + 1) + 1 : Math.max(at(i + 1, j), at(i, j + 1));
    }
  }
  const out: DiffLine[] = [];
  let i = 0;
  let j = 0;
  while (i < a.length || j < b.length) {
    if (i < a.length && j < b.length && a[i] === b[j]) {
      out.push({ kind: 'same', text: a[i] ?? '' });
      i++;
      j++;
    } else if (j >= b.length || (i < a.length && at(i + 1, j) >= at(i, j + 1))) {
      out.push({ kind: 'mine', text: a[i++] ?? '' });
    } else {
      out.push({ kind: 'theirs', text: b[j++] ?? '' });
    }
  }
  return out;
}

/** fold keeps a few lines around each difference, and says how many are left out between. */
export function fold(lines: DiffLine[], around = 3): (DiffLine | { kind: 'fold'; lines: number })[] {
  const near = new Set<number>();
  lines.forEach((l, i) => {
    if (l.kind !== 'same') for (let k = i - around; k <= i + around; k++) near.add(k);
  });
  const out: (DiffLine | { kind: 'fold'; lines: number })[] = [];
  for (const [i, l] of lines.entries()) {
    const last = out.at(-1);
    if (near.has(i)) out.push(l);
    else if (last?.kind === 'fold') last.lines++;
    else out.push({ kind: 'fold', lines: 1 });
  }
  return out;
}
