import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import { calls } from '~/api/calls';
import { putEnvironment } from '~/api/live';
import { Problem } from '~/api/problem';
import type { Environment, Recipe } from '~/api/types';
import { complain, say } from '~/ui/notify';
import { clean, merge, same } from './recipe';

interface Start {
  version: number;
  recipe: Recipe;
}

/** Draft is a recipe as it stands in the editor, and what it started from. */
export interface Draft {
  recipe: Recipe;
  start: Start;
  dirty: boolean;
  saving: boolean;
  /** theirs is a newer version that somebody saved while this one was edited. */
  theirs?: Start;
  set: (to: Partial<Recipe>) => void;
  /** save makes a new version of it, and gives undefined when that was refused. */
  save: () => Promise<Environment | undefined>;
  /** keepMine saves this draft above theirs; takeTheirs leaves it; both puts together what each changed. */
  keepMine: () => Promise<Environment | undefined>;
  takeTheirs: () => void;
  both: () => void;
}

/** useDraft holds the recipe that is being edited. A newer version replaces it while nothing was changed here. */
export function useDraft(environment: Environment): Draft {
  const client = useQueryClient();
  const newest: Start = { version: environment.version, recipe: environment.recipe };
  const [start, setStart] = useState<Start>(newest);
  const [recipe, setRecipe] = useState<Recipe>(environment.recipe);
  const dirty = !same(start.recipe, recipe);

  const begin = (at: Start) => {
    setStart(at);
    setRecipe(at.recipe);
  };
  const write = useMutation({
    mutationFn: ({ what, base }: { what: Recipe; base: number }) =>
      calls.changeEnvironment(environment.id, { recipe: clean(what), base_version: base }),
    onSuccess: (e) => {
      putEnvironment(client, e);
      begin({ version: e.version, recipe: e.recipe });
    },
    onError: (err) => {
      if (!(err instanceof Problem && err.code === 'conflict')) return complain(err);
      // Somebody saved meanwhile: their version, once it is here, is offered beside this one.
      void calls
        .environment(environment.id)
        .then((e) => putEnvironment(client, e))
        .catch(complain);
    },
  });

  const newer = newest.version > start.version && !write.isPending;
  const agrees = newer && (!dirty || same(newest.recipe, recipe));
  // biome-ignore lint/correctness/useExhaustiveDependencies: newest is new each time; its version says when it differs
  useEffect(() => {
    if (agrees) begin(newest);
  }, [agrees, newest.version]);
  const theirs = newer && !agrees ? newest : undefined;

  const save = (base: number) => write.mutateAsync({ what: recipe, base }).catch(() => undefined);
  return {
    recipe,
    start,
    dirty,
    saving: write.isPending,
    theirs,
    set: (to) => setRecipe((r) => ({ ...r, ...to })),
    save: () => save(start.version),
    keepMine: () => save(newest.version),
    takeTheirs: () => begin(newest),
    both: () => {
      const together = merge(start.recipe, recipe, newest.recipe);
      setStart(newest);
      setRecipe(together.recipe);
      say(`Your changes are on version ${newest.version} now. They are not saved yet.`);
    },
  };
}
