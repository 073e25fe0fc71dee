import type { IDisposable, Terminal } from '@xterm/xterm';

/**
 * mute keeps this terminal from answering questions of the program. tmux is the program's terminal and answers them;
 * an answer from each viewer as well would reach the program as typed text.
 */
export function mute(term: Terminal): IDisposable[] {
  const { parser } = term;
  const swallow = () => true;
  const asks = (data: string) => data.split(';').some((part) => part === '?');
  return [
    ...[
      { final: 'c' }, // primary, secondary and tertiary device attributes
      { prefix: '>', final: 'c' },
      { prefix: '=', final: 'c' },
      { final: 'n' }, // device status, cursor position
      { prefix: '?', final: 'n' },
      { intermediates: '$', final: 'p' }, // mode requests
      { prefix: '?', intermediates: '$', final: 'p' },
      { prefix: '>', final: 'q' }, // version
      { prefix: '?', final: 'u' }, // keyboard protocol
      { final: 't' }, // window reports
      { final: 'x' },
    ].map((id) => parser.registerCsiHandler(id, swallow)),
    parser.registerDcsHandler({ intermediates: '$', final: 'q' }, swallow),
    parser.registerDcsHandler({ intermediates: '+', final: 'q' }, swallow),
    parser.registerEscHandler({ final: 'Z' }, swallow),
    ...[4, 5, 10, 11, 12, 17, 19].map((code) => parser.registerOscHandler(code, asks)),
  ];
}

// biome-ignore-start lint/suspicious/noControlCharactersInRegex: these are what a terminal sends
const focus = /^\x1b\[[IO]$/;
const hover = /^\x1b\[<(\d+);\d+;\d+M$/;
// biome-ignore-end lint/suspicious/noControlCharactersInRegex: see above

/**
 * isAct tells what a person did from what a terminal says by itself. Focus reports go out whenever a program asks for
 * them, so also after each snapshot: sent on, they would count as typing, two windows would take the size from each
 * other for ever, and the program would hear of the focus of each viewer. A pointer that only passes over a window with
 * someone else's size is no act either.
 */
export function isAct(data: string, owner: boolean): boolean {
  if (focus.test(data)) return false;
  const button = Number(hover.exec(data)?.[1]);
  return owner || !((button & 32) !== 0 && (button & 3) === 3);
}
