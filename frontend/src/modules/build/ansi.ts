/** Style of a piece of output, as classes name it; nothing of the output itself becomes markup. */
export interface Piece {
  text: string;
  /** fg is one of the sixteen colours, or -1 for the log's own. */
  fg: number;
  bold: boolean;
  dim: boolean;
}

/** plain is the style at the start of a log: bits 0–4 the colour plus one, 5 bold, 6 dim. */
export const plain = 0;
const colour = 31;
const bold = 32;
const dim = 64;

// Colour and weight are kept. All else that a terminal would act on is not for a log: cursor moves, titles, hyperlinks.
// The patterns are put together from strings, as control characters are what they look for.
const esc = '\\x1b';
const low = '\\x00-\\x08';
const others = new RegExp(
  [
    `${esc}\\[[0-?]*[ -/]*[@-ln-~]`, // control sequences that do not end with m
    `${esc}\\[[0-?]*[ -/]+m`,
    `${esc}[\\]P_^X][^\\x07\\x1b]*(?:\\x07|${esc}\\\\)?`, // strings: titles, links
    `${esc}[ -/]*[0-Zc-~\\\\]`,
    `[${low}\\x0b\\x0c\\x0e-\\x1a\\x1c-\\x1f\\x7f]`,
  ].join('|'),
  'g',
);
const sgr = new RegExp(`${esc}\\[([0-9;:]*)m`, 'g');

/** control finds what is not plain text, but for line ends and tabs. */
export const control = new RegExp(`[${low}\\x0b-\\x1f\\x7f]`);

/** strip takes away what a log does not show. Colours stay, as escape sequences. */
export function strip(text: string): string {
  return text.replace(others, '');
}

/** bare is the text alone, without colours. */
export function bare(text: string): string {
  return text.replace(sgr, '');
}

/** after is the style that holds behind a line. */
export function after(line: string, style: number): number {
  if (!line.includes('\x1b')) return style;
  let s = style;
  for (const m of line.matchAll(sgr)) s = apply(m[1] ?? '', s);
  return s;
}

/** pieces cuts a line where its style changes. */
export function pieces(line: string, style: number): Piece[] {
  if (!line.includes('\x1b')) return [piece(line, style)];
  const out: Piece[] = [];
  let s = style;
  let from = 0;
  for (const m of line.matchAll(sgr)) {
    if (m.index > from) out.push(piece(line.slice(from, m.index), s));
    s = apply(m[1] ?? '', s);
    from = m.index + m[0].length;
  }
  if (from < line.length) out.push(piece(line.slice(from), s));
  return out;
}

function piece(text: string, style: number): Piece {
  return { text, fg: (style & colour) - 1, bold: (style & bold) !== 0, dim: (style & dim) !== 0 };
}

function apply(parameters: string, style: number): number {
  const codes = parameters.split(/[;:]/).map((c) => (c === '' ? 0 : Number.parseInt(c, 10)));
  let s = style;
  for (let i = 0; i < codes.length; i++) {
    const c = codes[i] ?? 0;
    if (c === 0) s = plain;
    else if (c === 1) s |= bold;
    else if (c === 2) s |= dim;
    else if (c === 22) s &= ~(bold | dim);
    else if (c === 39) s &= ~colour;
    else if (c >= 30 && c <= 37) s = (s & ~colour) | (c - 29);
    else if (c >= 90 && c <= 97) s = (s & ~colour) | (c - 81);
    else if (c === 38 || c === 48) {
      const indexed = codes[i + 1] === 5;
      const index = codes[i + 2] ?? 16;
      // Of the 256 colours the sixteen are ours to show; the others would not be told apart on both grounds.
      if (c === 38 && indexed && index < 16) s = (s & ~colour) | (index + 1);
      i += indexed ? 2 : 4;
    }
  }
  return s;
}
