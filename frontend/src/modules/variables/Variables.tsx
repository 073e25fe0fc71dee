import { ActionIcon, Button, Group, Modal, Skeleton, Text, Tooltip } from '@mantine/core';
import { IconClipboardText, IconLock, IconPencil, IconPlus, IconTrash } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import type { Scope } from '~/api/calls';
import { meQuery } from '~/api/queries';
import type { Variable } from '~/api/types';
import { bytes } from '~/ui/bytes';
import { CopyButton } from '~/ui/Copyable';
import { Empty } from '~/ui/Empty';
import { Trouble } from '~/ui/Trouble';
import { moment, past, useNow } from '~/ui/time';
import { PasteForm } from './PasteForm';
import { useVariables } from './useVariables';
import { VariableForm } from './VariableForm';
import classes from './Variables.module.css';

type Over =
  | { kind: 'add' }
  | { kind: 'edit'; v: Variable }
  | { kind: 'paste'; text: string }
  | { kind: 'delete'; v: Variable };

interface Props {
  scope: Scope;
  /** about says whose these are and who gets them. */
  about: string;
}

/** Variables is the table of an Environment's or a Repo's Variables. */
export function Variables({ scope, about }: Props) {
  const { query, put, remove } = useVariables(scope);
  const [over, setOver] = useState<Over>();
  const close = () => setOver(undefined);
  const list = query.data ?? [];
  const taken = list.map((v) => v.name);
  return (
    <section className={classes.page} aria-label="Variables">
      <div className={classes.head}>
        <p className={classes.quiet}>{about} A changed value counts from a Session’s next wake.</p>
        <Group gap="sm" wrap="nowrap">
          <Button
            size="xs"
            variant="default"
            leftSection={<IconClipboardText size={14} aria-hidden />}
            onClick={() => setOver({ kind: 'paste', text: '' })}
          >
            Paste a .env
          </Button>
          <Button size="xs" leftSection={<IconPlus size={14} aria-hidden />} onClick={() => setOver({ kind: 'add' })}>
            Add
          </Button>
        </Group>
      </div>
      {query.isPending && <Skeleton height={120} />}
      {query.isError && (
        <Trouble
          what="The Variables could not be read, so it cannot be told which there are."
          error={query.error}
          retry={() => void query.refetch()}
        />
      )}
      {query.isSuccess && list.length === 0 && (
        <Empty title="No Variables yet">
          A Variable is set in the environment of what runs in a Sandbox: an API’s address, a token. Secret ones are
          kept encrypted and are never shown again.
        </Empty>
      )}
      {list.length > 0 && (
        <table className={classes.table}>
          <thead>
            <tr>
              <th scope="col">Name</th>
              <th scope="col">Value</th>
              <th scope="col">Changed</th>
              <th scope="col">
                <span className={classes.hidden}>Actions</span>
              </th>
            </tr>
          </thead>
          <tbody>
            {list.map((v) => (
              <Row
                key={v.name}
                v={v}
                edit={() => setOver({ kind: 'edit', v })}
                remove={() => (v.secret ? setOver({ kind: 'delete', v }) : void remove(v))}
              />
            ))}
          </tbody>
        </table>
      )}
      {(over?.kind === 'add' || over?.kind === 'edit') && (
        <VariableForm
          old={over.kind === 'edit' ? over.v : undefined}
          taken={taken}
          close={close}
          put={put}
          many={(text) => setOver({ kind: 'paste', text })}
        />
      )}
      {over?.kind === 'paste' && <PasteForm text={over.text} taken={taken} close={close} put={put} />}
      {over?.kind === 'delete' && (
        <Modal opened onClose={close} title={`Delete ${over.v.name}?`} closeButtonProps={{ 'aria-label': 'Close' }}>
          <Text size="sm">
            It is secret, so its value cannot be brought back from here. Sessions that are awake keep it until they
            sleep.
          </Text>
          <Group justify="flex-end" mt="lg">
            <Button variant="default" onClick={close}>
              Keep it
            </Button>
            <Button
              color="red"
              data-autofocus
              onClick={() => {
                close();
                void remove(over.v);
              }}
            >
              Delete
            </Button>
          </Group>
        </Modal>
      )}
    </section>
  );
}

function Row({ v, edit, remove }: { v: Variable; edit: () => void; remove: () => void }) {
  const now = useNow(30_000);
  const me = useQuery(meQuery);
  return (
    <tr data-testid="variable">
      <th scope="row">
        <code>{v.name}</code>
      </th>
      <td className={classes.value}>
        {v.secret ? (
          <span className={classes.secret}>
            <IconLock size={13} aria-hidden /> secret, {bytes(v.bytes)}
          </span>
        ) : (
          <Plain value={v.value} name={v.name} />
        )}
      </td>
      <td className={classes.quiet}>
        <time dateTime={v.updated} title={moment(v.updated)}>
          {past(Date.parse(v.updated), now)}
        </time>
        {v.by !== me.data?.id && ` by ${v.by}`}
      </td>
      <td className={classes.actions}>
        <Tooltip label="Change">
          <ActionIcon variant="subtle" color="gray" aria-label={`Change ${v.name}`} onClick={edit}>
            <IconPencil size={15} />
          </ActionIcon>
        </Tooltip>
        <Tooltip label="Delete">
          <ActionIcon variant="subtle" color="gray" aria-label={`Delete ${v.name}`} onClick={remove}>
            <IconTrash size={15} />
          </ActionIcon>
        </Tooltip>
      </td>
    </tr>
  );
}

function Plain({ value, name }: { value: string; name: string }) {
  if (value === '') return <span className={classes.quiet}>empty</span>;
  const lines = value.split('\n');
  if (lines.length === 1 && value.length <= 200) {
    return (
      <span className={classes.plain}>
        <code>{value}</code>
        <CopyButton text={value} label={`Copy the value of ${name}`} />
      </span>
    );
  }
  return (
    <details className={classes.long}>
      <summary>
        <code>{(lines[0] ?? '').slice(0, 60)}</code> …{' '}
        {lines.length > 1 ? `${lines.length} lines` : bytes(value.length)}
      </summary>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a scrolling region must be reachable by keyboard */}
      <pre tabIndex={0}>{value}</pre>
      <CopyButton text={value} label={`Copy the value of ${name}`} />
    </details>
  );
}
