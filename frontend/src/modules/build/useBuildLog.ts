import { useEffect, useState, useSyncExternalStore } from 'react';
import { BuildLog } from './log';

const nothing = () => () => {};

/** useBuildLog follows a build's log while the component is there. */
export function useBuildLog(build: string): BuildLog | undefined {
  const [log, setLog] = useState<BuildLog>();
  useEffect(() => {
    const made = new BuildLog(build);
    setLog(made);
    return () => made.dispose();
  }, [build]);
  useSyncExternalStore(log?.subscribe ?? nothing, () => log?.version ?? 0);
  return log;
}
