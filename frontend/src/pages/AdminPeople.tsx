import { ActionIcon, Badge, Menu, Skeleton } from '@mantine/core';
import { IconDots } from '@tabler/icons-react';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { identity } from '~/api/identity';
import { keys } from '~/api/keys';
import { allPeopleQuery, meQuery } from '~/api/queries';
import type { Me, Person, Role } from '~/api/types';
import classes from '~/modules/admin/Admin.module.css';
import { Frame } from '~/modules/admin/Frame';
import { Named } from '~/ui/Face';
import { complain, say } from '~/ui/notify';
import { called } from '~/ui/person';
import { Sure } from '~/ui/Sure';
import { Trouble } from '~/ui/Trouble';
import { moment, past, useNow } from '~/ui/time';
import { useTitle } from '~/ui/title';

/** AdminPeople is everyone who has ever been on this Hub. */
export function AdminPeople() {
  useTitle('People');
  return (
    <Frame title="People">
      <p className={classes.lead}>
        Who may sign in is decided by the Hub’s allow-list and GitHub. An admin sees people, Runners and the audit log,
        and ends sign-ins; an admin neither watches nor drives other people’s Sessions.
      </p>
      <People />
    </Frame>
  );
}

function People() {
  const list = useQuery(allPeopleQuery);
  const now = useNow(10_000);
  const [out, setOut] = useState<Person>();
  if (list.isPending) return <Skeleton height={200} role="status" aria-label="Reading the people" />;
  if (list.isError) {
    return (
      <Trouble
        what="The people could not be read, so it cannot be told who they are."
        error={list.error}
        retry={() => void list.refetch()}
      />
    );
  }
  const people = list.data.toSorted((a, b) => rank(a) - rank(b) || called(a).localeCompare(called(b)));
  const admins = people.filter((p) => p.role === 'admin' && !p.removed).length;
  return (
    <>
      <table className={classes.table} data-compact>
        <thead>
          <tr>
            <th scope="col">Person</th>
            <th scope="col">Role</th>
            <th scope="col">Seen</th>
            <th scope="col">Since</th>
            <th scope="col">
              <span className={classes.hidden}>Actions</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {people.map((p) => (
            <Row key={p.id} p={p} now={now} last={p.role === 'admin' && admins === 1} signOut={() => setOut(p)} />
          ))}
        </tbody>
      </table>
      {out && <SignOut person={out} close={() => setOut(undefined)} />}
    </>
  );
}

const rank = (p: Person) => (p.removed ? 2 : p.role === 'admin' ? 0 : 1);

interface RowProps {
  p: Person;
  now: number;
  /** last: the only admin. */
  last: boolean;
  signOut: () => void;
}

function Row({ p, now, last, signOut }: RowProps) {
  const me = useQuery(meQuery);
  const client = useQueryClient();
  const navigate = useNavigate();
  const role = useMutation({
    mutationFn: (to: Role) => identity.setRole(p.id, to),
    onSuccess: (to) => {
      client.setQueryData<Person[]>(keys.allPeople, (old) => old?.map((x) => (x.id === to.id ? to : x)));
      if (to.id === me.data?.id) client.setQueryData<Me>(keys.me, (old) => old && { ...old, ...to });
      say(`${called(to)} is ${to.role === 'admin' ? 'an admin' : 'a member'} now.`);
    },
    onError: complain,
  });
  return (
    <tr data-testid="person">
      <th scope="row">
        <Named person={p}>
          {p.id === me.data?.id && (
            <Badge size="sm" variant="light" className={classes.badge}>
              you
            </Badge>
          )}
        </Named>
      </th>
      <td>
        {p.removed ? (
          <Badge size="sm" variant="light" color="red" c="var(--mantine-color-text)" ml={0} className={classes.badge}>
            removed {past(Date.parse(p.removed), now)}
          </Badge>
        ) : (
          p.role
        )}
      </td>
      <td data-name="seen">
        {p.seen ? (
          <time dateTime={p.seen} title={moment(p.seen)}>
            {past(Date.parse(p.seen), now)}
          </time>
        ) : (
          <span className={classes.quiet}>never</span>
        )}
      </td>
      <td className={classes.late}>
        <time dateTime={p.created}>{moment(p.created)}</time>
      </td>
      <td>
        <Menu position="bottom-end">
          <Menu.Target>
            <ActionIcon variant="subtle" color="gray" aria-label={`Actions for ${called(p)}`} loading={role.isPending}>
              <IconDots size={16} />
            </ActionIcon>
          </Menu.Target>
          <Menu.Dropdown>
            {!p.removed && p.role === 'member' && (
              <Menu.Item onClick={() => role.mutate('admin')}>Make an admin</Menu.Item>
            )}
            {p.role === 'admin' && (
              <Menu.Item disabled={last} onClick={() => role.mutate('member')}>
                {last ? 'Make a member (the only admin stays one)' : 'Make a member'}
              </Menu.Item>
            )}
            <Menu.Item onClick={() => void navigate({ to: '/admin/audit', search: { actor: p.id } })}>
              What they did
            </Menu.Item>
            <Menu.Item color="red" onClick={signOut}>
              Sign out everywhere …
            </Menu.Item>
          </Menu.Dropdown>
        </Menu>
      </td>
    </tr>
  );
}

function SignOut({ person, close }: { person: Person; close: () => void }) {
  const me = useQuery(meQuery);
  const client = useQueryClient();
  const out = useMutation({
    mutationFn: () => identity.signOutPerson(person.id),
    onSuccess: () => {
      close();
      say(`${called(person)} is signed out everywhere.`);
      return client.invalidateQueries({ queryKey: keys.allPeople });
    },
    onError: complain,
  });
  const self = person.id === me.data?.id;
  return (
    <Sure
      title={self ? 'Sign yourself out everywhere?' : `Sign ${called(person)} out everywhere?`}
      verb="Sign out"
      busy={out.isPending}
      close={close}
      act={() => out.mutate()}
    >
      <p>
        All {self ? 'your' : 'their'} browsers are signed out, this minute, and all {self ? 'your' : 'their'} API tokens
        are revoked. {self ? 'Your' : 'Their'} Runners stay paired and Sessions go on.
      </p>
      {!self && <p>They may sign in again unless the allow-list says otherwise.</p>}
    </Sure>
  );
}
