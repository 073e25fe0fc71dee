import { describe, expect, it } from 'vitest';
import { SseParser } from './sse';

const stream =
  ': hi\n\nevent: session\r\ndata: {"id":"ses_한글🙂"}\r\n\r\n: ping\n\nid: 42\nevent: ready\ndata: {}\n\ndata: a\ndata: b\n\n';
const want = [
  { event: 'session', data: '{"id":"ses_한글🙂"}' },
  { event: 'ready', data: '{}', id: '42' },
  { event: 'message', data: 'a\nb' },
];

describe('SseParser', () => {
  it('gives the same events wherever the stream is cut in two', () => {
    for (let cut = 0; cut <= stream.length; cut++) {
      const p = new SseParser();
      expect([...p.push(stream.slice(0, cut)), ...p.push(stream.slice(cut))]).toEqual(want);
    }
  });

  it('gives the same events one character at a time', () => {
    const p = new SseParser();
    expect([...stream].flatMap((c) => p.push(c))).toEqual(want);
  });

  it('refuses an event without end', () => {
    const p = new SseParser();
    expect(() => {
      for (let i = 0; i < 6; i++) p.push('data: '.padEnd(1 << 20, 'x'));
    }).toThrow('too large');
  });
});
