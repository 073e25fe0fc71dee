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
