/** Size of a terminal in cells. */
export interface Size {
  cols: number;
  rows: number;
}

interface Box {
  width: number;
  height: number;
}

const bounds = { minCols: 2, maxCols: 1000, minRows: 1, maxRows: 500 };
const smallestFont = 7;

/** cellsIn is how many cells a box holds; undefined for a box or a cell without extent, which must never reach the wire. */
export function cellsIn(box: Box, cell: Box): Size | undefined {
  if (!(cell.width > 0) || !(cell.height > 0)) return undefined;
  const cols = Math.floor(box.width / cell.width);
  const rows = Math.floor(box.height / cell.height);
  if (!(cols >= bounds.minCols) || !(rows >= bounds.minRows)) return undefined;
  return { cols: Math.min(cols, bounds.maxCols), rows: Math.min(rows, bounds.maxRows) };
}

/** letterbox is the font size at which someone else's size fits in this box; below the smallest, the box scrolls. */
export function letterbox(box: Box, cellAt: { cell: Box; font: number }, size: Size, font: number): number {
  const perPixel = { width: cellAt.cell.width / cellAt.font, height: cellAt.cell.height / cellAt.font };
  const fits = Math.min(box.width / (size.cols * perPixel.width), box.height / (size.rows * perPixel.height));
  const half = Math.floor(Math.min(font, fits) * 2) / 2;
  return Number.isFinite(half) ? Math.max(smallestFont, half) : font;
}
