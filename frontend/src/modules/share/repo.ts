import type { HubInfo, Session } from '~/api/types';
import { repoOf } from '~/modules/variables/repo';

/** everyoneOf says who "everyone" is for a Session: those who can see OWNER/REPO; or why nobody can be told. */
export function everyoneOf(session: Session, hub: HubInfo | undefined): { repo: string; why?: string } {
  const url = session.source.git_url;
  if (!url) return { repo: 'its Repo', why: 'This Session has no Repo, so there is nobody who can see it.' };
  const [host = '', ...path] = repoOf(url).split('/');
  const repo = path.join('/');
  const github = hub?.github && new URL(hub.github.url).host;
  if (github && github !== host && github !== `www.${host}`) {
    return { repo, why: `The Hub can ask ${github} alone who sees a Repo; this one is at ${host}.` };
  }
  return { repo };
}
