import { useCallback, useSyncExternalStore } from 'react';

const watchers = new Set<() => void>();

/** read gives what this browser remembers, or the default: storage may be off or hold something old. */
export function read<T>(key: string, fallback: T): T {
  try {
    const text = localStorage.getItem(`claude-hub.${key}`);
    return text === null ? fallback : (JSON.parse(text) as T);
  } catch {
    return fallback;
  }
}

/** write remembers a value in this browser. */
export function write<T>(key: string, value: T) {
  try {
    localStorage.setItem(`claude-hub.${key}`, JSON.stringify(value));
  } catch {
    // Full or off: the choice holds until the page is closed.
  }
  for (const w of watchers) w();
}

function subscribe(w: () => void) {
  watchers.add(w);
  window.addEventListener('storage', w);
  return () => {
    watchers.delete(w);
    window.removeEventListener('storage', w);
  };
}

/** useStored is a choice that this browser remembers, the same in all its tabs. */
export function useStored<T extends string | number | boolean>(key: string, fallback: T): [T, (v: T) => void] {
  const value = useSyncExternalStore(subscribe, () => read(key, fallback));
  const set = useCallback((v: T) => write(key, v), [key]);
  return [value, set];
}
