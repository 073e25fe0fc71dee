import type { QueryClient } from '@tanstack/react-query';
import { useSyncExternalStore } from 'react';
import { type HubLink, listen } from './events';
import { keys } from './keys';
import type { ServerEvent } from './sse';
import type {
  Build,
  Environment,
  Face,
  Links,
  Presence,
  Prompt,
  Runner,
  RunnerLink,
  Session,
  Suggestion,
} from './types';

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
      // Who was here before the stream broke may have left meanwhile, and a link may be another.
      client.setQueryData<Links>(keys.links, {});
      client.setQueriesData<Face[]>({ queryKey: ['presence'] }, []);
      void client.invalidateQueries();
      return;
    case 'session':
      return putSession(client, JSON.parse(e.data) as Session);
    case 'runner':
      return putRunner(client, JSON.parse(e.data) as Runner);
    case 'prompt':
      return putPrompt(client, JSON.parse(e.data) as Prompt);
    case 'environment':
      return putEnvironment(client, JSON.parse(e.data) as Environment);
    case 'build':
      return putBuild(client, JSON.parse(e.data) as Build);
    case 'suggestion':
      return putSuggestion(client, JSON.parse(e.data) as Suggestion);
    case 'link': {
      const link = JSON.parse(e.data) as RunnerLink;
      client.setQueryData<Links>(keys.links, (old) => ({ ...old, [link.runner]: link }));
      return;
    }
    case 'presence': {
      const p = JSON.parse(e.data) as Presence;
      client.setQueryData(keys.presence(p.session), p.watchers);
      return;
    }
  }
}

/** putSession places a Session in its lists and on its page. */
export function putSession(client: QueryClient, s: Session) {
  const known = client.getQueryData<Session>(keys.session(s.id));
  if (known && known.updated > s.updated) return;
  const gone = s.observed.phase === 'deleted';
  // Of one that this person may not see any more nothing is told but its id: the page asks, and says what the Hub says.
  if (gone && s.creator === '') void client.invalidateQueries({ queryKey: keys.session(s.id) });
  else client.setQueryData(keys.session(s.id), s);
  const archived = s.desired === 'archived' || s.desired === 'deleted';
  for (const list of [false, true]) {
    client.setQueryData<Session[]>(keys.sessions(list), (old) => old && place(old, s, !gone && list === archived));
  }
}

/** putEnvironment places an Environment in its lists and on its page. A new version makes the list of versions old. */
export function putEnvironment(client: QueryClient, e: Environment) {
  const known = client.getQueryData<Environment>(keys.environment(e.id));
  if (known && known.updated > e.updated) return;
  client.setQueryData(keys.environment(e.id), e);
  if (known?.version !== e.version) void client.invalidateQueries({ queryKey: keys.versions(e.id) });
  for (const list of [false, true]) {
    client.setQueryData<Environment[]>(
      keys.environments(list),
      (old) => old && place(old, e, list === e.archived).toSorted((a, b) => a.name.localeCompare(b.name)),
    );
  }
}

/** putBuild places a build among its Environment's, the newest first. */
export function putBuild(client: QueryClient, b: Build) {
  const known = client.getQueryData<Build>(keys.build(b.id));
  if (known && known.updated > b.updated) return;
  client.setQueryData(keys.build(b.id), b);
  client.setQueryData<Build[]>(
    keys.builds(b.environment),
    (old) => old && place(old, b, true).toSorted((x, y) => (x.created < y.created ? 1 : -1)),
  );
}

/** putRunner places a Runner in the list. */
export function putRunner(client: QueryClient, r: Runner) {
  client.setQueryData<Runner[]>(keys.runners, (old) => old && place(old, r, true));
}

/** putPrompt places a prompt in its Session's queue. */
export function putPrompt(client: QueryClient, p: Prompt) {
  client.setQueryData<Prompt[]>(keys.prompts(p.session), (old) => old && place(old, p, true));
}

/** putSuggestion places a suggestion among its Session's. What was answered stays answered. */
export function putSuggestion(client: QueryClient, s: Suggestion) {
  client.setQueryData<Suggestion[]>(keys.suggestions(s.session), (old) => {
    const known = old?.find((x) => x.id === s.id);
    return known && known.updated > s.updated ? old : old && place(old, s, true);
  });
}

function place<T extends { id: string }>(list: T[], item: T, belongs: boolean): T[] {
  const at = list.findIndex((x) => x.id === item.id);
  if (!belongs) return at < 0 ? list : list.toSpliced(at, 1);
  return at < 0 ? [...list, item] : list.with(at, item);
}
