import { Terminal } from '@xterm/xterm';
import { describe, expect, it } from 'vitest';
import { decodeOsc52 } from './clipboard';
import { isAct, mute } from './mute';

const write = (term: Terminal, data: string) => new Promise<void>((done) => term.write(data, done));

describe('mute', () => {
  // What each question would be answered with, were it not for mute: the first test shows that they are answered at all.
  const questions = [
    '\x1b[c',
    '\x1b[>c',
    '\x1b[5n',
    '\x1b[6n',
    '\x1b[?6n',
    '\x1b[?2026$p',
    '\x1b[4$p',
    '\x1bP$qm\x1b\\',
  ];

  const answers = async (muted: boolean, question: string) => {
    const term = new Terminal({ allowProposedApi: true });
    const sent: string[] = [];
    term.onData((d) => sent.push(d));
    if (muted) mute(term);
    await write(term, question);
    term.dispose();
    return sent;
  };

  it.each(questions)('leaves the question %j to tmux', async (question) => {
    expect(await answers(false, question)).not.toEqual([]);
    expect(await answers(true, question)).toEqual([]);
  });
});

describe('isAct', () => {
  it.each([
    ['a', false, true],
    ['\x1b[A', false, true],
    ['\x1b[I', true, false],
    ['\x1b[O', true, false],
    ['\x1b[<0;3;4M', false, true], // a click
    ['\x1b[<64;3;4M', false, true], // the wheel
    ['\x1b[<35;3;4M', false, false], // passing over
    ['\x1b[<35;3;4M', true, true],
    ['\x1b[<32;3;4M', false, true], // dragging
  ])('%j, owner %s: %s', (data, owner, want) => {
    expect(isAct(data, owner)).toBe(want);
  });
});

describe('decodeOsc52', () => {
  it('takes a write, of any text', () => {
    expect(decodeOsc52('c;7ZWc6riAIMOpIPCfmYI=')).toBe('한글 é 🙂');
  });

  it.each(['c;?', 'c;', 'nonsense', 'c;%%%', `c;${'A'.repeat(2 << 20)}`])('gives nothing for %.20s', (payload) => {
    expect(decodeOsc52(payload)).toBeUndefined();
  });
});
