import type { Source } from '~/api/types';

/** repoName is the last part of a git URL, as people call the repository. */
export function repoName(s: Source): string {
  if (!s.git_url) return '';
  const parts = s.git_url.replace(/\.git$/, '').split(/[/:]/);
  return parts.filter(Boolean).pop() ?? '';
}

/** settings writes model and effort in one piece; "default" says nothing. */
export function settings(model: string, effort: string): string {
  const said = [model, effort].filter((x) => x && x !== 'default');
  return said.length > 0 ? said.join(' · ') : 'default';
}
