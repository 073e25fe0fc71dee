import { useEffect } from 'react';

/** useTitle shows the state of what one looks at in the tab: its icon and its title. */
export function useTitle(title: string, icon = 'idle') {
  useEffect(() => {
    document.title = title === '' ? 'claude-hub' : `${title} · claude-hub`;
    const link = document.querySelector<HTMLLinkElement>('link[rel="icon"]');
    const href = `/icons/${icon}.svg`;
    if (link && link.getAttribute('href') !== href) link.setAttribute('href', href);
  }, [title, icon]);
}
