import { useQuery } from '@tanstack/react-query';
import { hubQuery, suggestionsQuery } from '~/api/queries';

/** useSuggestionList are a Session's suggestions. Where there is nobody else there are none to ask for. */
export function useSuggestionList(session: string) {
  const hub = useQuery(hubQuery);
  return useQuery({ ...suggestionsQuery(session), enabled: hub.data !== undefined && hub.data.mode !== 'local' });
}
