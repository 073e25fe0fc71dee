import { useMediaQuery } from '@mantine/hooks';
import { useEffect } from 'react';

/** useViewportHeight keeps the page as high as what is visible above a phone's keyboard. */
export function useViewportHeight() {
  useEffect(() => {
    const view = window.visualViewport;
    if (!view) return;
    const set = () => {
      document.documentElement.style.setProperty('--viewport-height', `${Math.round(view.height * view.scale)}px`);
      if (view.scale === 1 && view.offsetTop !== 0) window.scrollTo(0, 0); // iOS scrolls the page up behind the keyboard
    };
    set();
    view.addEventListener('resize', set);
    view.addEventListener('scroll', set);
    return () => {
      view.removeEventListener('resize', set);
      view.removeEventListener('scroll', set);
    };
  }, []);
}

/** usePhone tells a narrow screen. */
export function usePhone(): boolean {
  return useMediaQuery('(max-width: 640px)', undefined, { getInitialValueInEffect: false });
}

/** useThumbs tells a screen that is touched rather than pointed at. */
export function useThumbs(): boolean {
  return useMediaQuery('(pointer: coarse)', undefined, { getInitialValueInEffect: false });
}

/** useNarrow tells a screen that has no room for two columns. */
export function useNarrow(): boolean {
  return useMediaQuery('(max-width: 900px)', undefined, { getInitialValueInEffect: false });
}
