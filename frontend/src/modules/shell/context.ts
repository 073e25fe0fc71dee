import { createContext, useContext } from 'react';

/** What any page can open over itself. */
interface ShellActions {
  newSession: () => void;
  palette: () => void;
  help: () => void;
}

const nothing = () => {};

export const ShellContext = createContext<ShellActions>({ newSession: nothing, palette: nothing, help: nothing });

export function useShell(): ShellActions {
  return useContext(ShellContext);
}
