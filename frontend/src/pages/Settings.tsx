import { NumberInput, SegmentedControl, Select, Skeleton, Switch, useMantineColorScheme } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { hubQuery, meQuery } from '~/api/queries';
import { Browsers } from '~/modules/settings/Browsers';
import { OwnRunners } from '~/modules/settings/OwnRunners';
import { Tokens } from '~/modules/settings/Tokens';
import { KeyList } from '~/modules/shell/Help';
import { fontSizes } from '~/modules/terminal/look';
import { themes } from '~/modules/terminal/themes';
import { useStored } from '~/ui/stored';
import { moment } from '~/ui/time';
import { useTitle } from '~/ui/title';
import classes from './Settings.module.css';

/** Settings are the person's: who they are, how things look, and everything that opens this Hub in their name. */
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
      <Section title="Browsers">
        <Browsers />
      </Section>
      <Section title="API tokens">
        <Tokens />
      </Section>
      <Section title="Runners">
        <OwnRunners />
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
      {me.data.role === 'admin' && (
        <>
          <dt>Role</dt>
          <dd>admin</dd>
        </>
      )}
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
