import { Button, Select, TextInput } from '@mantine/core';
import { useDebouncedCallback } from '@mantine/hooks';
import { useEffect, useState } from 'react';
import type { AuditFilter } from '~/api/identity';
import type { Face } from '~/api/types';
import { called } from '~/ui/person';
import classes from './Audit.module.css';
import { actions, kinds } from './sentence';

const known = (action: string) => actions.includes(action) || kinds.some((k) => k.value === action);

interface Props {
  filter: AuditFilter;
  people: Face[];
  set: (to: AuditFilter) => void;
}

/** Filters narrow the log by person, action, target and time. */
export function Filters({ filter, people, set }: Props) {
  const [target, setTarget] = useState(filter.target ?? '');
  useEffect(() => setTarget(filter.target ?? ''), [filter.target]);
  const settle = useDebouncedCallback((t: string) => set({ target: t.trim() || undefined }), 300);
  const listed = people.some((p) => p.id === filter.actor);
  const any = Object.values(filter).some(Boolean);
  const offered = [
    { group: 'All of one kind', items: kinds },
    { group: 'One', items: filter.action && !known(filter.action) ? [filter.action, ...actions] : actions },
  ];
  return (
    <search className={classes.filters}>
      <Select
        label="Who"
        placeholder="Everyone"
        clearable
        searchable
        data={[
          ...people.map((p) => ({ value: p.id, label: called(p) === p.login ? p.login : `${called(p)} (${p.login})` })),
          ...(filter.actor && !listed ? [{ value: filter.actor, label: filter.actor }] : []),
        ]}
        value={filter.actor ?? null}
        onChange={(actor) => set({ actor: actor ?? undefined })}
      />
      <Select
        label="Action"
        placeholder="Every action"
        clearable
        searchable
        data={offered}
        value={filter.action ?? null}
        onChange={(action) => set({ action: action ?? undefined })}
      />
      <TextInput
        className={classes.wide}
        label="Target"
        placeholder="an id: ses_…"
        spellCheck={false}
        autoCapitalize="off"
        value={target}
        onChange={(e) => {
          setTarget(e.currentTarget.value);
          settle(e.currentTarget.value);
        }}
      />
      <TextInput
        label="From"
        type="date"
        max={filter.to}
        value={filter.from ?? ''}
        onChange={(e) => set({ from: e.currentTarget.value || undefined })}
      />
      <TextInput
        label="To"
        type="date"
        min={filter.from}
        value={filter.to ?? ''}
        onChange={(e) => set({ to: e.currentTarget.value || undefined })}
      />
      {any && (
        <Button
          variant="subtle"
          color="gray"
          onClick={() =>
            set({ actor: undefined, action: undefined, target: undefined, from: undefined, to: undefined })
          }
        >
          Clear
        </Button>
      )}
    </search>
  );
}
