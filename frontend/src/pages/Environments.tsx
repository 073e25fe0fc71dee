import { Button, Group, Modal, Select, Skeleton, Stack, TextInput } from '@mantine/core';
import { IconBox, IconPlus } from '@tabler/icons-react';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { Link, useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { calls } from '~/api/calls';
import { putEnvironment } from '~/api/live';
import { sentence } from '~/api/problem';
import { environmentsQuery } from '~/api/queries';
import type { Base } from '~/api/types';
import { EnvironmentRow } from '~/modules/environment/EnvironmentRow';
import { bounds, faultsOf, firstRecipe, kinds } from '~/modules/environment/recipe';
import { Empty } from '~/ui/Empty';
import { Trouble } from '~/ui/Trouble';
import { useTitle } from '~/ui/title';
import classes from './Environments.module.css';

/** Environments is the list of all recipes for Sandboxes, live. */
export function Environments() {
  useTitle('Environments');
  const list = useQuery(environmentsQuery(false));
  const [making, setMaking] = useState(false);
  const buttons = (
    <Group gap="sm">
      <Button
        variant="default"
        component={Link}
        to="/environments/seed"
        leftSection={<IconBox size={16} aria-hidden />}
      >
        Seed from a devcontainer
      </Button>
      <Button leftSection={<IconPlus size={16} aria-hidden />} onClick={() => setMaking(true)}>
        New Environment
      </Button>
    </Group>
  );
  return (
    <div className={classes.page}>
      <header className={classes.head}>
        <h1>Environments</h1>
        {list.isSuccess && list.data.length > 0 && buttons}
      </header>
      {list.isPending && <Skeleton height={160} m="md" role="status" aria-label="Reading the Environments" />}
      {list.isError && (
        <Trouble
          what="The Environments could not be read, so it cannot be told which there are."
          error={list.error}
          retry={() => void list.refetch()}
        />
      )}
      {list.isSuccess && list.data.length === 0 && (
        <Empty title="No Environments yet">
          <p>
            An Environment is a recipe for Sandboxes: a base image, a setup script, how much of the machine it may take,
            what it may reach, and Variables. It is built once on a Runner; Sessions start from the result.
          </p>
          <p>Without one, Sessions run on the Runner’s own system with its defaults.</p>
          <Group justify="center">{buttons}</Group>
        </Empty>
      )}
      {list.isSuccess && list.data.length > 0 && (
        <ul className={classes.list}>
          {list.data.map((e) => (
            <EnvironmentRow key={e.id} environment={e} />
          ))}
        </ul>
      )}
      <Archived />
      {making && <NewEnvironment close={() => setMaking(false)} />}
    </div>
  );
}

function Archived() {
  const list = useQuery(environmentsQuery(true));
  if (!list.data || list.data.length === 0) return null;
  return (
    <details className={classes.archived}>
      <summary>Archived ({list.data.length})</summary>
      <ul className={classes.list}>
        {list.data.map((e) => (
          <EnvironmentRow key={e.id} environment={e} />
        ))}
      </ul>
    </details>
  );
}

function NewEnvironment({ close }: { close: () => void }) {
  const client = useQueryClient();
  const navigate = useNavigate();
  const [name, setName] = useState('');
  const [base, setBase] = useState<Base>({ kind: 'default' });
  const recipe = { ...firstRecipe, base };
  const fault = faultsOf(recipe).ref;
  const create = useMutation({
    mutationFn: () => calls.newEnvironment(name.trim(), recipe),
    onSuccess: (e) => {
      putEnvironment(client, e);
      close();
      void navigate({ to: '/environments/$id', params: { id: e.id } });
    },
  });
  return (
    <Modal opened onClose={close} title="New Environment" closeButtonProps={{ 'aria-label': 'Close' }}>
      <form
        onSubmit={(e) => {
          e.preventDefault();
          if (name.trim() !== '' && !fault) create.mutate();
        }}
      >
        <Stack gap="md">
          <TextInput
            label="Name"
            placeholder="node 22 with pnpm"
            data-autofocus
            maxLength={bounds.name}
            value={name}
            error={create.isError ? sentence(create.error) : undefined}
            onChange={(e) => setName(e.currentTarget.value)}
          />
          <Select
            label="Base"
            description={kinds[base.kind].help}
            inputWrapperOrder={['label', 'input', 'description']}
            allowDeselect={false}
            value={base.kind}
            data={Object.entries(kinds).map(([value, k]) => ({ value, label: k.name }))}
            onChange={(k) => setBase({ kind: (k ?? 'default') as Base['kind'] })}
          />
          {base.kind !== 'default' && (
            <TextInput
              label={kinds[base.kind].label}
              placeholder={kinds[base.kind].example}
              spellCheck={false}
              autoCapitalize="off"
              value={base.ref ?? ''}
              error={base.ref ? fault : undefined}
              onChange={(e) => setBase({ kind: base.kind, ref: e.currentTarget.value.trim() })}
            />
          )}
          <Group justify="flex-end">
            <Button variant="default" onClick={close}>
              Cancel
            </Button>
            <Button type="submit" disabled={name.trim() === '' || fault !== undefined} loading={create.isPending}>
              Create
            </Button>
          </Group>
        </Stack>
      </form>
    </Modal>
  );
}
