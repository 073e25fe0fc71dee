import { ActionIcon, Button, Group, Modal, Switch, Text, Tooltip } from '@mantine/core';
import { IconLink, IconX } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { hubQuery } from '~/api/queries';
import type { Session } from '~/api/types';
import { Command } from '~/ui/Copyable';
import { Named } from '~/ui/Face';
import { called } from '~/ui/person';
import { AddPerson } from './AddPerson';
import { everyoneOf } from './repo';
import classes from './Share.module.css';
import { useSharing } from './useSharing';

/** ShareDialog is who may watch a Session beside its Creator, and how they come to. */
export function ShareDialog({ session, close }: { session: Session; close: () => void }) {
  return (
    <Modal
      opened
      onClose={close}
      title={`Share “${session.title}”`}
      size={520}
      closeButtonProps={{ 'aria-label': 'Close' }}
    >
      <div className={classes.dialog}>
        <Text size="sm" c="dimmed">
          Whoever you share it with watches it live and may suggest prompts. Only you type, prompt, and put it to sleep.
        </Text>
        <People session={session} />
        <Everyone session={session} />
        <LinkPart session={session} />
      </div>
    </Modal>
  );
}

function People({ session }: { session: Session }) {
  const { add, remove } = useSharing(session);
  const people = session.shared.people ?? [];
  return (
    <section aria-label="People">
      <AddPerson taken={[session.creator, ...people.map((p) => p.id)]} add={(login) => add.mutateAsync(login)} />
      {people.length > 0 ? (
        <ul className={classes.people} data-testid="shared-with">
          {people.map((p) => (
            <li key={p.id}>
              <Named person={p} />
              <Tooltip label="Remove">
                <ActionIcon
                  variant="subtle"
                  color="gray"
                  aria-label={`Remove ${called(p)}`}
                  loading={remove.isPending && remove.variables.id === p.id}
                  onClick={() => remove.mutate(p)}
                >
                  <IconX size={16} />
                </ActionIcon>
              </Tooltip>
            </li>
          ))}
        </ul>
      ) : (
        <p className={classes.quiet}>Nobody is named yet.</p>
      )}
    </section>
  );
}

function Everyone({ session }: { session: Session }) {
  const hub = useQuery(hubQuery);
  const { everyone } = useSharing(session);
  const { repo, why } = everyoneOf(session, hub.data);
  const on = session.shared.everyone;
  return (
    <section aria-label="Everyone with the Repo" className={classes.part}>
      <Switch
        label={
          <>
            Everyone who can see <b>{repo}</b>
          </>
        }
        description={why ?? 'On this Hub, as GitHub says it; looked up anew every few minutes.'}
        checked={on}
        disabled={(why !== undefined && !on) || everyone.isPending}
        onChange={(e) => everyone.mutate(e.currentTarget.checked)}
      />
    </section>
  );
}

function LinkPart({ session }: { session: Session }) {
  const { link, unlink } = useSharing(session);
  const made = link.data?.url;
  const there = made !== undefined || session.shared.link;
  return (
    <section aria-label="Link" className={classes.part}>
      <h3 className={classes.title}>Link</h3>
      <p className={classes.quiet}>
        Whoever is on this Hub and opens it may watch this Session and suggest prompts. It never lets anyone drive.
        {there && ' Revoking it takes that back from everyone who came by it.'}
      </p>
      {made && (
        <>
          <Command what="the link">{made}</Command>
          <p className={classes.quiet} role="status">
            Copy it now: it is not shown again.
          </p>
        </>
      )}
      {!made && there && <p>There is a link. It was shown when it was made, and cannot be shown again.</p>}
      <Group gap="sm">
        {!made && (
          <Button
            variant="default"
            size="xs"
            leftSection={<IconLink size={14} aria-hidden />}
            loading={link.isPending}
            onClick={() => link.mutate()}
          >
            {there ? 'Make a new link instead' : 'Make a link'}
          </Button>
        )}
        {there && (
          <Button variant="default" size="xs" loading={unlink.isPending} onClick={() => unlink.mutate()}>
            Revoke the link
          </Button>
        )}
      </Group>
    </section>
  );
}
