import { type CSSVariablesResolver, createTheme, type MantineColorsTuple } from '@mantine/core';

/** Greys of the dark pages, from text to the deepest ground, as cool as the panels around them. */
const dark: MantineColorsTuple = [
  '#e3e4e6',
  '#b8bcc4',
  '#8f95a0',
  '#6b7079',
  '#41444c',
  '#34363c',
  '#212328',
  '#16171a',
  '#121316',
  '#0d0e10',
];

/** One accent: a calm blue, dark enough for white text on it. */
const accent: MantineColorsTuple = [
  '#eef3fd',
  '#dbe5f8',
  '#b6caf0',
  '#8eade8',
  '#6c94e1',
  '#5583dc',
  '#3f72d4',
  '#2f60bf',
  '#2553a8',
  '#194690',
];

export const theme = createTheme({
  primaryColor: 'accent',
  primaryShade: { light: 7, dark: 7 },
  colors: { accent, dark },
  defaultRadius: 6,
  fontFamily: 'system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif',
  fontFamilyMonospace: '"JetBrains Mono NL", ui-monospace, Menlo, Consolas, monospace',
  fontSizes: { xs: '12px', sm: '13px', md: '14px', lg: '16px', xl: '20px' },
  spacing: { xs: '4px', sm: '8px', md: '12px', lg: '16px', xl: '24px' },
  respectReducedMotion: true,
  cursorType: 'pointer',
  components: {
    Modal: { defaultProps: { transitionProps: { duration: 120 }, centered: false } },
    Tooltip: { defaultProps: { openDelay: 300, withArrow: true, transitionProps: { duration: 80 } } },
    Menu: { defaultProps: { transitionProps: { duration: 80 }, shadow: 'md' } },
    Button: { defaultProps: { size: 'sm' } },
  },
});

/** variables are Mantine's own that differ here: quieter blacks, and dimmed and red text that reach 4.5:1. */
export const variables: CSSVariablesResolver = () => ({
  variables: {},
  light: {
    '--mantine-color-text': '#24262b',
    '--mantine-color-dimmed': '#5d6169',
    '--mantine-color-placeholder': '#6b7079',
    '--mantine-color-error': '#b02020',
    '--mantine-color-red-6': '#c92a2a',
    '--mantine-color-red-filled': '#c92a2a',
    '--mantine-color-red-filled-hover': '#b02525',
    '--mantine-color-orange-light': '#fff3dc',
    '--mantine-color-orange-light-color': '#8a4b00',
  },
  dark: {
    '--mantine-color-body': '#16171a',
    '--mantine-color-text': '#e3e4e6',
    '--mantine-color-dimmed': '#a4a9b3',
    '--mantine-color-placeholder': '#8f95a0',
    '--mantine-color-error': '#ff8a8a',
    '--mantine-color-red-filled': '#c92a2a',
    '--mantine-color-red-filled-hover': '#b02525',
    '--mantine-color-orange-light': '#3a2c12',
    '--mantine-color-orange-light-color': '#ffc155',
    '--mantine-color-red-light': '#3a1d1f',
    '--mantine-color-red-light-color': '#ff8a8a',
  },
});
