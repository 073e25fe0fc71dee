// A Session's terminal without a browser: the WebSocket, spoken by hand, so that a story says each byte of it itself.
import { randomBytes } from 'node:crypto';
import { request } from 'node:http';
import type { Duplex } from 'node:stream';
import type { InputReport, TerminalDown, TerminalState, TerminalUp } from '../src/api/types';
import type { Answer, Caller } from './caller';
import { eventually } from './wait';

const text = 1;
const close = 8;
const ping = 9;
const pong = 10;
const header = 44; // of a Frame: internal/wire/frame.go

export class Terminal {
  readonly texts: TerminalDown[] = [];
  /** What came of the screen, as it came. */
  screen = '';
  life = '';
  ended = false;
  private bytes = 0;
  private n = 0;
  private rest = Buffer.alloc(0);

  private constructor(private readonly wire: Duplex) {
    wire.on('data', (part: Buffer) => this.take(part));
    wire.on('error', () => undefined).on('close', () => (this.ended = true));
  }

  /** Opens one, or gives the refusal. */
  static try(caller: Caller, session: string, headers: Record<string, string> = {}): Promise<Terminal | Answer> {
    const { hostname, port } = new URL(caller.url);
    return new Promise((done, fail) => {
      const asked = request({
        hostname,
        port,
        path: `/api/sessions/${session}/terminal`,
        localAddress: caller.from,
        timeout: 30_000,
        headers: {
          ...caller.cookies,
          Connection: 'Upgrade',
          Upgrade: 'websocket',
          'Sec-WebSocket-Version': '13',
          'Sec-WebSocket-Key': randomBytes(16).toString('base64'),
          'Sec-WebSocket-Protocol': 'claude-hub.terminal.v1',
          ...headers,
        },
      });
      asked.on('error', fail).on('timeout', () => asked.destroy(new Error('the terminal does not answer')));
      asked.on('upgrade', (_, wire, first) => {
        const terminal = new Terminal(wire);
        terminal.take(first);
        done(terminal);
      });
      asked.on('response', (answer) => {
        let said = '';
        answer.setEncoding('utf8').on('data', (part) => (said += part));
        answer.on('end', () => done({ status: answer.statusCode ?? 0, headers: answer.headers, text: said }));
      });
      asked.end();
    });
  }

  /** Opens one that must open, and waits until its person is known to watch, and what is on the screen. */
  static async open(caller: Caller, session: string, size = { cols: 120, rows: 30 }): Promise<Terminal> {
    const opened = await Terminal.try(caller, session);
    if (!(opened instanceof Terminal)) throw new Error(`the terminal: ${opened.status} ${opened.text}`);
    opened.send({ type: 'hello', terminal: `script-${randomBytes(6).toString('hex')}`, ...size });
    await eventually('the terminal to show its screen', () => opened.life && opened.texts.some((t) => t.state));
    return opened;
  }

  /** What the page is told beside the bytes, as it is now. */
  get state(): TerminalState {
    const last = this.texts.findLast((t) => t.state)?.state;
    if (!last) throw new Error('the terminal has said nothing of its state');
    return last;
  }

  send(up: TerminalUp): void {
    this.frame(text, Buffer.from(JSON.stringify(up)));
  }

  /** Types, and waits for what became of it. */
  keys(what: string): Promise<InputReport> {
    return this.input({ type: 'keys', data: Buffer.from(what).toString('base64') });
  }

  paste(what: string): Promise<InputReport> {
    return this.input({ type: 'paste', data: what });
  }

  /** The number counts what was applied: what was refused leaves it to the next. */
  private async input(up: TerminalUp): Promise<InputReport> {
    const n = this.n + 1;
    const before = this.texts.length;
    this.send({ ...up, n, life: this.life });
    const report = await eventually(
      'word of what became of the input',
      () => this.texts.slice(before).find((t) => t.input && t.input.n >= n && t.input.state !== 'delivered')?.input,
    );
    if (report.state === 'applied') this.n = n;
    return report;
  }

  /** Waits until the Hub refuses a message in words. */
  refusal(): Promise<string> {
    return eventually('a refusal', () => this.texts.find((t) => t.type === 'refused')?.why);
  }

  async sees(what: RegExp, seconds = 30): Promise<RegExpMatchArray> {
    return eventually(`the terminal to show ${what}`, () => this.screen.match(what), seconds).catch((error) => {
      throw new Error(`${error.message}\n--- it has had:\n${this.screen.slice(-2000)}`);
    });
  }

  end(): void {
    this.wire.destroy();
  }

  private frame(kind: number, data: Buffer): void {
    const mask = randomBytes(4);
    const size =
      data.length < 126 ? Buffer.from([0x80 | data.length]) : Buffer.from([0xfe, data.length >> 8, data.length & 255]);
    if (data.length > 65_535) throw new Error('that is too long for one frame');
    const masked = data.map((byte, i) => byte ^ (mask[i % 4] ?? 0));
    this.wire.write(Buffer.concat([Buffer.from([0x80 | kind]), size, mask, masked]));
  }

  private take(part: Buffer): void {
    this.rest = Buffer.concat([this.rest, part]);
    for (let got = unframe(this.rest); got; got = unframe(this.rest)) {
      this.rest = this.rest.subarray(got.end);
      if (got.kind === text) this.texts.push(JSON.parse(got.data.toString()) as TerminalDown);
      else if (got.kind === ping) this.frame(pong, got.data);
      else if (got.kind === close) this.ended = true;
      else this.draw(got.data);
    }
  }

  private draw(data: Buffer): void {
    this.bytes += data.length;
    this.send({ type: 'ack', bytes: this.bytes });
    for (let at = 0; at + header <= data.length; ) {
      const size = data.readUInt32BE(at + header - 4);
      this.life = data.toString('latin1', at + 2, at + 28);
      this.screen += data.toString('utf8', at + header, at + header + size);
      at += header + size;
    }
  }
}

/** The first whole frame of a WebSocket's bytes: its kind, what is in it, and where the next one begins. */
export function unframe(from: Buffer): { kind: number; data: Buffer; end: number } | undefined {
  if (from.length < 2) return undefined;
  const [first = 0, second = 0] = from;
  const short = second & 127;
  const wide = short === 126 ? 2 : short === 127 ? 8 : 0;
  const masked = (second & 128) !== 0;
  const begin = 2 + wide + (masked ? 4 : 0);
  if (from.length < begin) return undefined;
  const size = wide === 0 ? short : wide === 2 ? from.readUInt16BE(2) : Number(from.readBigUInt64BE(2));
  if (from.length < begin + size) return undefined;
  const mask = from.subarray(begin - 4, begin);
  const data = from.subarray(begin, begin + size);
  return {
    kind: first & 15,
    data: masked ? Buffer.from(data.map((byte, i) => byte ^ (mask[i % 4] ?? 0))) : Buffer.from(data),
    end: begin + size,
  };
}
