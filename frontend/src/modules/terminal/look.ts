import { useComputedColorScheme } from '@mantine/core';
import { useMemo } from 'react';
import { useStored } from '~/ui/stored';
import type { Look } from './screen';
import { themeFor } from './themes';

export const fontSizes = { min: 10, max: 22, default: 14 };

/** useLook is the terminal's look as chosen in the settings. */
export function useLook(): Look {
  const pages = useComputedColorScheme('light', { getInitialValueInEffect: false });
  const [theme] = useStored<string>('terminal.theme', 'auto');
  const [fontSize] = useStored<number>('terminal.font', fontSizes.default);
  const [screenReader] = useStored<boolean>('terminal.reader', false);
  return useMemo(() => {
    const t = themeFor(theme, pages === 'dark');
    return { theme: t.colours, dark: t.dark, fontSize, screenReader };
  }, [theme, pages, fontSize, screenReader]);
}
