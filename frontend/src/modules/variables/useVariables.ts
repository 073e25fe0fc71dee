import { useQuery, useQueryClient } from '@tanstack/react-query';
import { calls, type Scope } from '~/api/calls';
import { keys } from '~/api/keys';
import { variablesQuery } from '~/api/queries';
import type { Variable } from '~/api/types';
import { complain, say, undoable } from '~/ui/notify';

/** useVariables are an Environment's or a Repo's Variables and what can be done to them. */
export function useVariables(scope: Scope) {
  const client = useQueryClient();
  const query = useQuery(variablesQuery(scope));
  const { queryKey } = variablesQuery(scope);
  const update = (change: (old: Variable[]) => Variable[]) => {
    client.setQueryData<Variable[]>(queryKey, (old) => old && change(old));
    void client.invalidateQueries({ queryKey: keys.repos });
  };

  /** put saves one; a refusal is thrown, to be shown at its field. */
  const put = async (name: string, value: string, secret: boolean) => {
    const v = await calls.putVariable(scope, name, value, secret);
    update((old) => [...old.filter((x) => x.name !== v.name), v].toSorted((a, b) => (a.name < b.name ? -1 : 1)));
    return v;
  };

  const remove = async (v: Variable) => {
    try {
      await calls.removeVariable(scope, v.name);
    } catch (err) {
      complain(err);
      return;
    }
    update((old) => old.filter((x) => x.name !== v.name));
    if (v.secret) say(`Deleted ${v.name}.`);
    else undoable(`Deleted ${v.name}.`, () => void put(v.name, v.value, false).catch(complain));
  };

  return { query, put, remove };
}
