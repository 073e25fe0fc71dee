import type { ITheme } from '@xterm/xterm';

/** Colours in the order of the sixteen: black, red, green, yellow, blue, magenta, cyan, white, then the bright ones. */
function theme(background: string, foreground: string, cursor: string, selection: string, sixteen: string): ITheme {
  const c = sixteen.split(' ').map((x) => `#${x}`);
  return {
    background,
    foreground,
    cursor,
    cursorAccent: background,
    selectionBackground: selection,
    black: c[0],
    red: c[1],
    green: c[2],
    yellow: c[3],
    blue: c[4],
    magenta: c[5],
    cyan: c[6],
    white: c[7],
    brightBlack: c[8],
    brightRed: c[9],
    brightGreen: c[10],
    brightYellow: c[11],
    brightBlue: c[12],
    brightMagenta: c[13],
    brightCyan: c[14],
    brightWhite: c[15],
  };
}

interface TerminalTheme {
  name: string;
  dark: boolean;
  colours: ITheme;
}

/** themes are the app's own two and a few that people know. */
export const themes: Record<string, TerminalTheme> = {
  dark: {
    name: 'claude-hub dark',
    dark: true,
    colours: theme(
      '#16171a',
      '#e3e4e6',
      '#e8a87c',
      '#3a4a63',
      '26282d f2777a 7fc796 e6c07b 7aa8f0 c792dd 6fc3cf d5d7da 767b85 ff9a9c 9ddcb0 f3d59b 9cc1ff dcb3ee 93dbe4 ffffff',
    ),
  },
  light: {
    name: 'claude-hub light',
    dark: false,
    colours: theme(
      '#ffffff',
      '#24262b',
      '#b4572a',
      '#c9dcf7',
      '24262b b3261e 1f7a43 8a6100 1f5fbf 8a3ea8 0f7382 c8cad0 62666f c8372d 2b8a50 9a6d00 2f6fd0 9a4fb8 1b8394 f4f4f4',
    ),
  },
  dracula: {
    name: 'Dracula',
    dark: true,
    colours: theme(
      '#282a36',
      '#f8f8f2',
      '#f8f8f2',
      '#44475a',
      '21222c ff5555 50fa7b f1fa8c bd93f9 ff79c6 8be9fd f8f8f2 6272a4 ff6e6e 69ff94 ffffa5 d6acff ff92df a4ffff ffffff',
    ),
  },
  gruvbox: {
    name: 'Gruvbox dark',
    dark: true,
    colours: theme(
      '#282828',
      '#ebdbb2',
      '#ebdbb2',
      '#504945',
      '282828 cc241d 98971a d79921 458588 b16286 689d6a a89984 928374 fb4934 b8bb26 fabd2f 83a598 d3869b 8ec07c ebdbb2',
    ),
  },
  nord: {
    name: 'Nord',
    dark: true,
    colours: theme(
      '#2e3440',
      '#d8dee9',
      '#d8dee9',
      '#434c5e',
      '3b4252 bf616a a3be8c ebcb8b 81a1c1 b48ead 88c0d0 e5e9f0 4c566a bf616a a3be8c ebcb8b 81a1c1 b48ead 8fbcbb eceff4',
    ),
  },
  'solarized-dark': {
    name: 'Solarized dark',
    dark: true,
    colours: theme(
      '#002b36',
      '#839496',
      '#93a1a1',
      '#073642',
      '073642 dc322f 859900 b58900 268bd2 d33682 2aa198 eee8d5 586e75 cb4b16 586e75 657b83 839496 6c71c4 93a1a1 fdf6e3',
    ),
  },
  'solarized-light': {
    name: 'Solarized light',
    dark: false,
    colours: theme(
      '#fdf6e3',
      '#657b83',
      '#586e75',
      '#eee8d5',
      '073642 dc322f 859900 b58900 268bd2 d33682 2aa198 eee8d5 93a1a1 cb4b16 586e75 657b83 839496 6c71c4 93a1a1 fdf6e3',
    ),
  },
};

/** themeFor resolves a choice; "auto" follows the pages. */
export function themeFor(choice: string, dark: boolean): TerminalTheme {
  const auto = dark ? 'dark' : 'light';
  return (themes[choice] ?? themes[auto]) as TerminalTheme;
}
