import type { AuditEntry } from '~/api/types';
import { browserName } from '~/ui/browser';

// Each action as what was done and what was tried. {t} is where the target goes; a part in brackets falls away when the
// line does not have what it names.
type Deed = [did: string, tried: string];

const deeds: Record<string, Deed> = {
  'sign-in': ['signed in[ with {browser}]', 'sign in'],
  'sign-out': ['signed out', 'sign out'],
  'sign-in.revoke': ['signed a browser out', 'sign a browser out'],
  'person.remove': [
    'removed {t}: the allow-list has no place for them any more',
    'sign in: the allow-list has no place',
  ],
  'person.return': ['let {t} in again: the allow-list has a place for them', 'let {t} in again'],
  'person.role': ['made {t} [{role}]', 'change the role of {t}'],
  'person.sign-out': ['signed {t} out everywhere', 'sign {t} out everywhere'],
  'setup.redeem': ['entered the set-up code and became admin', 'enter a set-up code'],
  'token.create': ['made the API token [“{name}”] {t}', 'make an API token'],
  'token.revoke': ['revoked the API token [“{name}”] {t}', 'revoke an API token'],
  'device.request': ['asked for a device code[ for “{name}”]', 'ask for a device code'],
  'device.poll': ['fetched a device’s token', 'fetch a device’s token'],
  'device.approve': ['approved the device [“{name}”]', 'approve a device'],
  'device.deny': ['denied the device [“{name}”]', 'deny a device'],
  'runner.add': ['paired the Runner [“{name}”] {t}', 'pair a Runner'],
  'runner.revoke': ['revoked the Runner [“{name}”] {t}', 'revoke the Runner {t}'],
  'runner.rename': ['renamed the Runner {t}[ from “{from}” to “{to}”]', 'rename the Runner {t}'],
  'runner.token': ['renewed the token of the Runner [“{name}”] {t}', 'renew the token of the Runner {t}'],
  'runner.reclaim': ['tidied the disk of the Runner {t}', 'tidy the disk of the Runner {t}'],
  'session.create': ['made the Session {t}', 'make a Session'],
  'session.wake': ['woke the Session {t}', 'wake the Session {t}'],
  'session.sleep': ['put the Session {t} to sleep', 'put the Session {t} to sleep'],
  'session.archive': ['archived the Session {t}', 'archive the Session {t}'],
  'session.unarchive': ['took the Session {t} out of the archive', 'take the Session {t} out of the archive'],
  'session.delete': ['deleted the Session {t}', 'delete the Session {t}'],
  'session.update': ['changed the Session {t}[: {do}]', 'change the Session {t}'],
  'session.share': [
    'shared the Session {t}[ with {login}][ with everyone who can see its Repo{everyone}]',
    'share the Session {t}',
  ],
  'session.unshare': [
    'stopped sharing the Session {t}[ with {login}][ with everyone who can see its Repo{everyone}]',
    'stop sharing the Session {t}',
  ],
  'session.link': ['made a link to the Session {t}', 'make a link to the Session {t}'],
  'session.unlink': ['revoked the link to the Session {t}', 'revoke the link to the Session {t}'],
  'session.join': ['joined the Session {t} by its link', 'join a Session by a link'],
  'session.prompt': ['prompted the Session {t}', 'prompt the Session {t}'],
  'session.attach': ['watched the Session {t}', 'watch the Session {t}'],
  'suggestion.make': ['made the suggestion {t}[ to the Session {session}]', 'suggest a prompt to the Session {t}'],
  'suggestion.accept': ['accepted the suggestion {t}', 'accept the suggestion {t}'],
  'suggestion.decline': ['declined the suggestion {t}', 'decline the suggestion {t}'],
  'suggestion.withdraw': ['withdrew the suggestion {t}', 'withdraw the suggestion {t}'],
  'environment.seed': ['seeded an Environment {t}', 'seed an Environment'],
  'environment.create': ['made the Environment [“{name}”] {t}', 'make an Environment'],
  'environment.update': ['changed the Environment [“{name}”] {t}', 'change the Environment {t}'],
  'environment.archive': ['archived the Environment {t}', 'archive the Environment {t}'],
  'environment.unarchive': [
    'took the Environment {t} out of the archive',
    'take the Environment {t} out of the archive',
  ],
  'variable.set': ['set the Variable [{name}] of {t}', 'set a Variable of {t}'],
  'variable.delete': ['deleted the Variable [{name}] of {t}', 'delete a Variable of {t}'],
  'session.look': ['looked inside the build {t}', 'look inside the build {t}'],
  'build.create': ['started the build {t}', 'start a build'],
  'build.cancel': ['cancelled the build {t}', 'cancel the build {t}'],
  'keyset.rotate': ['made a new key for what is kept encrypted', 'make a new key for what is kept encrypted'],
};

/** actions are all that the log may name, for its filter. */
export const actions = Object.keys(deeds);

/** kinds stand for all actions that begin so. */
export const kinds = [...new Set(actions.filter((a) => a.includes('.')).map((a) => `${a.split('.')[0]}.`))]
  .filter((k) => k !== 'keyset.')
  .map((value) => ({ value, label: `${value}…` }));

/** phrase is what happened in words: before the target, and after it. */
export function phrase(e: AuditEntry): { before: string; after: string; target: boolean } {
  const deed = Object.hasOwn(deeds, e.action) ? deeds[e.action] : undefined;
  const tried = e.outcome === 'refused';
  const words = deed ? (tried ? `tried to ${deed[1]}, and was refused` : deed[0]) : unknown(e, tried);
  const text = words
    .replace(/\[([^\]]*)\]/g, (_, part: string) => fill(part, e.detail ?? {}))
    .replace(/ {2,}/g, ' ')
    .trim();
  const at = text.indexOf('{t}');
  if (at < 0) return { before: text, after: '', target: false };
  const before = text.slice(0, at).trimEnd();
  if (!e.target) return { before: before.replace(/ of$/, ''), after: text.slice(at + 3), target: false };
  return { before, after: text.slice(at + 3), target: true };
}

function unknown(e: AuditEntry, tried: boolean): string {
  const target = e.target ? ' on {t}' : '';
  return tried ? `tried ${e.action}${target}, and was refused` : `did ${e.action}${target}`;
}

/** fill puts what a line says of itself in a part of a sentence, or leaves the part out. */
function fill(part: string, detail: Record<string, string>): string {
  let missing = false;
  const text = part.replace(/\{(\w+)\}/g, (_, key: string) => {
    const value = key === 'browser' ? browserName(detail[key] ?? '') : detail[key];
    if (!detail[key] || !value) missing = true;
    if (key === 'everyone') return ''; // on or off is in the verb
    return (value ?? '').replaceAll('{', '(').replaceAll('}', ')'); // what people chose is no place for a target
  });
  return missing ? '' : text;
}

/** actorName is who did it. */
export function actorName(e: AuditEntry): string {
  switch (e.actor_kind) {
    case 'person':
      return e.login || e.actor || 'Someone';
    case 'runner':
      return 'A Runner';
    case 'system':
      return 'The Hub';
    case 'nobody':
      return 'Someone who is not signed in';
  }
}
