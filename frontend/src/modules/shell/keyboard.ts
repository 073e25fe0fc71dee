import { mod } from '~/ui/hotkeys';

/** keyboard is the list that people are shown; the bindings are in Shell, Sessions and the terminal. */
export const keyboard: [string, string][] = [
  ['g s', 'Sessions'],
  ['g r', 'Runners'],
  ['g e', 'Environments'],
  ['g o', 'Repos'],
  ['g t', 'Settings'],
  ['g a', 'Admin, for admins'],
  ['n', 'New Session'],
  ['/', 'Filter the list'],
  [`${mod}K`, 'Search everything'],
  ['?', 'This list'],
  [`${mod}S`, 'On an Environment: save it as a new version'],
  ['t', 'On a Session: go to the terminal'],
  ['p', 'On a Session: go to the box for a prompt or a suggestion'],
  ['s', 'On a Session: go to the suggestions; there a accepts, e edits, d declines'],
  ['Ctrl Shift .', 'Leave the terminal; every other key goes to it'],
  ['Ctrl Shift C', 'In the terminal: copy the selection'],
  ['Ctrl Shift V', 'In the terminal: paste'],
];
