import { after, bare, control, plain, strip } from './ansi';

const maxLines = 200_000; // lines that are kept to be shown; the file has all
const maxLine = 4000; // characters of one line that are shown

/** Row is one line as it is drawn. */
export interface Row {
  text: string;
  /** style is what holds at its start. */
  style: number;
}

/**
 * LogBuffer makes lines of a build's output as it comes: bytes cut anywhere, lines without end, carriage returns that
 * write over a line, escape sequences. It is made for megabytes: adding costs what is added, not what is there.
 */
export class LogBuffer {
  #texts: string[] = [];
  #styles: number[] = []; // what holds at the start of each
  #starts: number[] = [0]; // where in the log each row begins, and the unfinished one
  #decoder = new TextDecoder();
  #rest = ''; // the line that has not ended yet
  #style = plain;
  #offset = 0;
  #dropped = 0;

  /** offset is how many bytes of the log are here: where to go on after a cut. */
  get offset(): number {
    return this.#offset;
  }

  /** dropped is how many lines at the start are not shown any more. */
  get dropped(): number {
    return this.#dropped;
  }

  /** length counts the lines, the unfinished one included. */
  get length(): number {
    return this.#texts.length + (this.#rest === '' ? 0 : 1);
  }

  /** add takes bytes that begin at an offset of the log. What is here already is left out; a hole is refused. */
  add(offset: number, bytes: Uint8Array): boolean {
    if (offset > this.#offset) return false;
    const fresh = bytes.subarray(this.#offset - offset);
    for (let at = fresh.indexOf(10); at >= 0; at = fresh.indexOf(10, at + 1)) this.#starts.push(this.#offset + at + 1);
    this.#offset += fresh.length;
    this.#take(this.#decoder.decode(fresh, { stream: true }));
    return true;
  }

  /** rows gives the lines of a window. */
  rows(from: number, to: number): Row[] {
    const out = this.#texts.slice(from, to).map((text, i) => ({ text, style: this.#styles[from + i] ?? plain }));
    if (to > this.#texts.length && this.#rest !== '') out.push({ text: shown(this.#rest), style: this.#style });
    return out;
  }

  /** lineAt tells on which line a byte of the log is. */
  lineAt(offset: number): number {
    let low = 0;
    let high = this.#starts.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if ((this.#starts[middle] ?? 0) <= offset) low = middle;
      else high = middle - 1;
    }
    return low;
  }

  /** text is all that is here, without colours. */
  text(): string {
    const lines = this.#texts.map(bare);
    if (this.#rest !== '') lines.push(bare(shown(this.#rest)));
    return lines.join('\n');
  }

  #take(text: string) {
    const whole = this.#rest + text;
    const simple = !control.test(whole); // most output is: nothing to take out, nothing that changes the style
    const lines = whole.split('\n');
    this.#rest = lines.pop() ?? '';
    // A bar that writes over its own line a thousand times is one line.
    if (this.#rest.length > 4 * maxLine) {
      const over = this.#rest.endsWith('\r') ? '\r' : '';
      this.#rest = overwritten(this.#rest).slice(0, 4 * maxLine) + over;
    }
    for (const line of lines) {
      const row = simple && line.length <= maxLine ? line : shown(line);
      this.#texts.push(row);
      this.#styles.push(this.#style);
      if (!simple) this.#style = after(row, this.#style);
    }
    const over = this.#texts.length - maxLines;
    if (over > 0) {
      // In large bites: taking one line at a time from the front would move all of them each time.
      const bite = over + maxLines / 10;
      this.#texts.splice(0, bite);
      this.#styles.splice(0, bite);
      this.#starts.splice(0, bite);
      this.#dropped += bite;
    }
  }
}

/** shown is a line as it is drawn. */
function shown(line: string): string {
  const text = strip(overwritten(line));
  if (text.length <= maxLine) return text;
  return `${text.slice(0, maxLine)}\x1b[0m … ${text.length - maxLine} more characters`;
}

/** overwritten is what stands on a line after its carriage returns. A last one, or one before the line's end, writes nothing. */
function overwritten(line: string): string {
  const text = line.replace(/\r+$/, '');
  const at = text.lastIndexOf('\r');
  return at < 0 ? text : text.slice(at + 1);
}
