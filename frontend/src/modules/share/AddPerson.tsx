import { Autocomplete, Button } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { sentence } from '~/api/problem';
import { peopleQuery } from '~/api/queries';
import { Named } from '~/ui/Face';
import classes from './Share.module.css';

interface Props {
  /** taken are people who see the Session already. */
  taken: string[];
  add: (login: string) => Promise<unknown>;
}

/** AddPerson shares with one more person of this Hub, by login. */
export function AddPerson({ taken, add }: Props) {
  const [text, setText] = useState('');
  const [asked] = useDebouncedValue(text.trim(), 200);
  const people = useQuery({ ...peopleQuery(asked), enabled: asked !== '' });
  const [refused, setRefused] = useState<string>();
  const [busy, setBusy] = useState(false);
  const found = (asked === '' ? [] : (people.data ?? [])).filter((p) => !taken.includes(p.id));

  const submit = async (login: string) => {
    if (login === '' || busy) return;
    setBusy(true);
    setRefused(undefined);
    try {
      await add(login);
      setText('');
    } catch (err) {
      setRefused(sentence(err));
    } finally {
      setBusy(false);
    }
  };
  return (
    <form
      className={classes.add}
      onSubmit={(e) => {
        e.preventDefault();
        void submit(text.trim().replace(/^@/, ''));
      }}
    >
      <Autocomplete
        label="Add by GitHub login"
        placeholder="login or name"
        data-autofocus
        spellCheck={false}
        autoCapitalize="off"
        autoComplete="off"
        value={text}
        error={refused}
        data={found.map((p) => p.login)}
        filter={({ options }) => options}
        renderOption={({ option }) => {
          const person = found.find((p) => p.login === option.value);
          return person ? <Named person={person} size={24} /> : option.value;
        }}
        onChange={(v) => {
          setRefused(undefined);
          setText(v);
        }}
        onOptionSubmit={(login) => void submit(login)}
      />
      <Button type="submit" disabled={text.trim() === ''} loading={busy}>
        Add
      </Button>
    </form>
  );
}
