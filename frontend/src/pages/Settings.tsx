import {
  Badge,
  Button,
  NumberInput,
  SegmentedControl,
  Select,
  Skeleton,
  Switch,
  useMantineColorScheme,
} from '@mantine/core';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { calls } from '~/api/calls';
import { keys } from '~/api/keys';
import { hubQuery, meQuery, signInsQuery } from '~/api/queries';
import type { SignIn } from '~/api/types';
import { KeyList } from '~/modules/shell/Help';
import { fontSizes } from '~/modules/terminal/look';
import { themes } from '~/modules/terminal/themes';
import { browserName } from '~/ui/browser';
import { complain } from '~/ui/notify';
import { useStored } from '~/ui/stored';
import { Trouble } from '~/ui/Trouble';
import { ago, moment, useNow } from '~/ui/time';
import { useTitle } from '~/ui/title';
import classes from './Settings.module.css';

/** Settings are the person's: who they are, where they are signed in, how things look. */
export function Settings() {
  useTitle('Settings');
  const hub = useQuery(hubQuery);
  return (
    <div className={classes.page}>
      <h1 className={classes.title}>Settings</h1>
      <Section title="Profile">
        <Profile />
      </Section>
      <Section title="Appearance">
        <Appearance />
      </Section>
      <Section title="Sign-ins">
        <SignIns />
      </Section>
      <Section title="Keyboard">
        <KeyList />
      </Section>
      <p className={classes.version}>claude-hub {hub.data?.version}</p>
    </div>
  );
}

function Section({ title, children }: { title: string; children: ReactNode }) {
  return (
    <section className={classes.section} aria-label={title}>
      <h2>{title}</h2>
      <div className={classes.body}>{children}</div>
    </section>
  );
}

function Profile() {
  const me = useQuery(meQuery);
  if (!me.data) return <Skeleton height={20} width={200} />;
  return (
    <dl className={classes.facts}>
      <dt>Name</dt>
      <dd>{me.data.name || '–'}</dd>
      <dt>Login</dt>
      <dd>{me.data.login}</dd>
      <dt>Since</dt>
      <dd>{moment(me.data.created)}</dd>
    </dl>
  );
}

function Appearance() {
  const { colorScheme, setColorScheme } = useMantineColorScheme({ keepTransitions: true });
  const [theme, setTheme] = useStored<string>('terminal.theme', 'auto');
  const [font, setFont] = useStored<number>('terminal.font', fontSizes.default);
  const [reader, setReader] = useStored<boolean>('terminal.reader', false);
  return (
    <div className={classes.fields}>
      <div>
        <div className={classes.label} id="scheme">
          Pages
        </div>
        <SegmentedControl
          aria-labelledby="scheme"
          value={colorScheme}
          onChange={(v) => setColorScheme(v as 'light' | 'dark' | 'auto')}
          data={[
            { value: 'light', label: 'Light' },
            { value: 'dark', label: 'Dark' },
            { value: 'auto', label: 'Like the system' },
          ]}
        />
      </div>
      <Select
        label="Terminal colours"
        allowDeselect={false}
        value={theme}
        onChange={(v) => setTheme(v ?? 'auto')}
        data={[
          { value: 'auto', label: 'Like the pages' },
          ...Object.entries(themes).map(([value, t]) => ({ value, label: t.name })),
        ]}
      />
      <NumberInput
        label="Terminal font size"
        suffix=" px"
        min={fontSizes.min}
        max={fontSizes.max}
        clampBehavior="strict"
        value={font}
        onChange={(v) => typeof v === 'number' && v >= fontSizes.min && setFont(v)}
      />
      <Switch
        label="Screen reader in the terminal"
        description="Reads new output aloud. Slows the terminal down."
        checked={reader}
        onChange={(e) => setReader(e.currentTarget.checked)}
      />
    </div>
  );
}

function SignIns() {
  const list = useQuery(signInsQuery);
  const client = useQueryClient();
  const revoke = useMutation({
    mutationFn: (s: SignIn) => calls.revoke(s.id),
    onSuccess: () => client.invalidateQueries({ queryKey: keys.signIns }),
    onError: complain,
  });
  const now = useNow(10_000);
  if (list.isPending) return <Skeleton height={60} />;
  if (list.isError) {
    return <Trouble what="The sign-ins could not be read." error={list.error} retry={() => void list.refetch()} />;
  }
  return (
    <ul className={classes.signIns}>
      {list.data.map((s) => (
        <li key={s.id}>
          <div>
            <div title={s.user_agent}>
              {browserName(s.user_agent)}{' '}
              {s.current && (
                <Badge variant="light" size="sm" className={classes.badge}>
                  this browser
                </Badge>
              )}
            </div>
            <div className={classes.quiet}>
              {s.address} · since {moment(s.created)} · used {ago(Date.parse(s.last_used), now)} ago
            </div>
          </div>
          {!s.current && (
            <Button
              variant="default"
              size="compact-sm"
              loading={revoke.isPending && revoke.variables.id === s.id}
              onClick={() => revoke.mutate(s)}
            >
              Revoke
            </Button>
          )}
        </li>
      ))}
    </ul>
  );
}
