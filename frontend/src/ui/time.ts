import { useEffect, useState } from 'react';

/** ago is a length of time in one short unit: "14 s", "2 min", "3 h", "5 d". */
export function ago(since: number, now: number): string {
  const s = Math.max(0, Math.floor((now - since) / 1000));
  if (s < 60) return `${s} s`;
  if (s < 3600) return `${Math.floor(s / 60)} min`;
  if (s < 86400) return `${Math.floor(s / 3600)} h`;
  return `${Math.floor(s / 86400)} d`;
}

/** past is how long ago something was, in words: "just now", "2 min ago". */
export function past(since: number, now: number): string {
  return now - since < 10_000 ? 'just now' : `${ago(since, now)} ago`;
}

/** moment is a point in time for a tooltip. */
export function moment(iso: string): string {
  const d = new Date(iso);
  return Number.isNaN(d.getTime()) ? '' : d.toLocaleString(undefined, { dateStyle: 'medium', timeStyle: 'short' });
}

/** useNow re-renders on a slow clock, so that "since" stays true. */
export function useNow(every = 1000): number {
  const [now, setNow] = useState(Date.now);
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), every);
    return () => clearInterval(timer);
  }, [every]);
  return now;
}
