import type { QueryClient } from '@tanstack/react-query';
import { useSyncExternalStore } from 'react';
import { type HubLink, listen } from './events';
import { keys } from './keys';
import type { ServerEvent } from './sse';
import type { Prompt, Runner, Session } from './types';

let hubLink: HubLink = { state: 'connecting', since: Date.now() };
const watchers = new Set<() => void>();

function setLink(l: HubLink) {
  hubLink = l;
  for (const w of watchers) w();
}

/** useHubLink is the hop from this page to the Hub, as its event stream shows it. */
export function useHubLink(): HubLink {
  return useSyncExternalStore(
    (w) => {
      watchers.add(w);
      return () => watchers.delete(w);
    },
    () => hubLink,
  );
}

/** goLive keeps the query cache as the Hub says, until the returned function is called. */
export function goLive(client: QueryClient, signedOut: () => void): () => void {
  return listen({
    link: setLink,
    signedOut,
    event: (e) => apply(client, e),
  });
}

/** apply puts one event into the cache. What is newer there already stays. */
export function apply(client: QueryClient, e: ServerEvent) {
  switch (e.event) {
    case 'ready':
      void client.invalidateQueries();
      return;
    case 'session':
      return putSession(client, JSON.parse(e.data) as Session);
    case 'runner':
      return putRunner(client, JSON.parse(e.data) as Runner);
    case 'prompt':
      return putPrompt(client, JSON.parse(e.data) as Prompt);
  }
}

/** putSession places a Session in its lists and on its page. */
export function putSession(client: QueryClient, s: Session) {
  const known = client.getQueryData<Session>(keys.session(s.id));
  if (known && known.updated > s.updated) return;
  client.setQueryData(keys.session(s.id), s);
  const archived = s.desired === 'archived';
  for (const list of [false, true]) {
    client.setQueryData<Session[]>(keys.sessions(list), (old) => old && place(old, s, list === archived));
  }
}

function putRunner(client: QueryClient, r: Runner) {
  client.setQueryData<Runner[]>(keys.runners, (old) => old && place(old, r, true));
}

/** putPrompt places a prompt in its Session's queue. */
export function putPrompt(client: QueryClient, p: Prompt) {
  client.setQueryData<Prompt[]>(keys.prompts(p.session), (old) => old && place(old, p, true));
}

function place<T extends { id: string }>(list: T[], item: T, belongs: boolean): T[] {
  const at = list.findIndex((x) => x.id === item.id);
  if (!belongs) return at < 0 ? list : list.toSpliced(at, 1);
  return at < 0 ? [...list, item] : list.with(at, item);
}
