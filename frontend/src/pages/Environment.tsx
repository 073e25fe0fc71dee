import { ActionIcon, Anchor, Button, Group, Menu, Modal, Skeleton, Tabs, Text } from '@mantine/core';
import { IconArchive, IconArchiveOff, IconChevronLeft, IconDots } from '@tabler/icons-react';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { Link, useBlocker, useNavigate, useParams, useSearch } from '@tanstack/react-router';
import { useState } from 'react';
import { calls } from '~/api/calls';
import { putEnvironment } from '~/api/live';
import { Problem } from '~/api/problem';
import { buildsQuery, environmentQuery, runnersQuery, variablesQuery, versionsQuery } from '~/api/queries';
import type { Environment as Env } from '~/api/types';
import { BuildPanel } from '~/modules/build/BuildPanel';
import { Conflict } from '~/modules/environment/Conflict';
import { RecipeForm } from '~/modules/environment/RecipeForm';
import { builtOn, clean, faultsOf } from '~/modules/environment/recipe';
import { useDraft } from '~/modules/environment/useDraft';
import { Versions } from '~/modules/environment/Versions';
import { paired } from '~/modules/runner/pairing';
import { Title } from '~/modules/session/Title';
import { Variables } from '~/modules/variables/Variables';
import { Empty } from '~/ui/Empty';
import { mod, useHotkeys } from '~/ui/hotkeys';
import { complain, undoable } from '~/ui/notify';
import { useStored } from '~/ui/stored';
import { Trouble } from '~/ui/Trouble';
import { useTitle } from '~/ui/title';
import { useNarrow } from '~/ui/viewport';
import classes from './Environment.module.css';

export interface EnvironmentSearch {
  tab?: string;
  build?: string;
}

/** EnvironmentPage is one Environment: its recipe to the left, how it is built to the right. */
export function EnvironmentPage() {
  const { id } = useParams({ from: '/shell/environments/$id' });
  const environment = useQuery(environmentQuery(id));
  if (environment.isPending) return <Skeleton height="100%" radius={0} aria-label="Reading the Environment" />;
  if (environment.isError) {
    if (environment.error instanceof Problem && environment.error.status === 404) {
      return (
        <Empty title="There is no such Environment">
          It is not there, or it is not yours.{' '}
          <Anchor component={Link} to="/environments">
            To the Environments
          </Anchor>
        </Empty>
      );
    }
    return (
      <Trouble
        what="The Environment could not be read."
        error={environment.error}
        retry={() => void environment.refetch()}
      />
    );
  }
  return <Loaded key={id} environment={environment.data} />;
}

function Loaded({ environment }: { environment: Env }) {
  useTitle(environment.name);
  const narrow = useNarrow();
  const search = useSearch({ from: '/shell/environments/$id' });
  const navigate = useNavigate({ from: '/environments/$id' });
  const draft = useDraft(environment);
  const faults = faultsOf(clean(draft.recipe));
  const sound = Object.keys(faults).length === 0;
  const [go, setGo] = useState<{ line: number }>();
  const versions = useQuery(versionsQuery(environment.id));
  const builds = useQuery(buildsQuery(environment.id));
  const variables = useQuery(variablesQuery({ environment: environment.id }));
  const runners = useQuery(runnersQuery);
  const usable = paired(runners.data);
  const [runnerId, setRunner] = useStored<string>('build.runner', '');
  const wanted = builds.data?.find((b) => b.id === search.build)?.runner ?? runnerId;
  const runner = usable.find((r) => r.id === wanted) ?? usable.find((r) => r.link.state === 'up') ?? usable[0];

  const blocker = useBlocker({
    shouldBlockFn: ({ next }) => draft.dirty && !next.pathname.includes(environment.id),
    enableBeforeUnload: () => draft.dirty,
    withResolver: true,
  });
  const save = async () => {
    if (!draft.dirty || !sound || draft.saving || draft.theirs) return undefined;
    return draft.save();
  };
  useHotkeys({ 'mod+s': () => void save() });

  const set = (to: EnvironmentSearch) =>
    void navigate({ search: (old: EnvironmentSearch) => ({ ...old, ...to }), replace: true });
  const tab = search.tab ?? (narrow && search.build ? 'build' : 'recipe');
  const shownTab = !narrow && tab === 'build' ? 'recipe' : tab;

  // The line that failed is marked while the script that failed is the one that is edited.
  const newest = builds.data?.find((b) => (search.build ? b.id === search.build : b.runner === runner?.id));
  const script = versions.data?.find((v) => v.version === newest?.version)?.recipe.setup;
  const failed = newest?.state === 'failed' && script === draft.start.recipe.setup ? (newest.line ?? 0) : 0;
  const open = newest && (newest.state === 'queued' || newest.state === 'building');
  const built =
    runner && versions.data && builtOn(runner.id, environment.recipe, versions.data, builds.data ?? []) !== undefined;

  const panel = (
    <BuildPanel
      environment={environment}
      versions={versions.data ?? []}
      runner={runner}
      setRunner={setRunner}
      build={search.build}
      showBuild={(build) => set({ build })}
      dirty={draft.dirty}
      draft={draft.recipe}
      save={save}
      sound={sound && !draft.theirs}
      goToLine={(line) => {
        if (shownTab !== 'recipe') set({ tab: 'recipe' });
        setGo({ line });
      }}
    />
  );
  return (
    <div className={classes.page}>
      <Header
        environment={environment}
        dirty={draft.dirty}
        saving={draft.saving}
        can={sound && !draft.theirs}
        save={save}
      />
      <Conflict draft={draft} />
      <div className={classes.middle}>
        <Tabs
          className={classes.left}
          value={shownTab}
          onChange={(t) => set({ tab: t === 'recipe' || t === null ? undefined : t })}
          keepMounted
        >
          <Tabs.List className={classes.tabs}>
            <Tabs.Tab value="recipe">
              Recipe{draft.dirty && <span className={classes.dot} title="Not saved yet" />}
            </Tabs.Tab>
            {narrow && (
              <Tabs.Tab value="build">
                Build{open ? ' …' : newest?.state === 'failed' ? ' ✕' : built ? ' ✓' : ''}
              </Tabs.Tab>
            )}
            <Tabs.Tab value="variables">Variables{count(variables.data?.length)}</Tabs.Tab>
            <Tabs.Tab value="versions">Versions{count(versions.data?.length)}</Tabs.Tab>
          </Tabs.List>
          <Tabs.Panel value="recipe" className={classes.body}>
            <RecipeForm recipe={draft.recipe} faults={faults} runner={runner} failed={failed} go={go} set={draft.set} />
          </Tabs.Panel>
          {narrow && (
            <Tabs.Panel value="build" className={classes.body}>
              {shownTab === 'build' && panel}
            </Tabs.Panel>
          )}
          <Tabs.Panel value="variables" className={classes.body}>
            <Variables
              scope={{ environment: environment.id }}
              about="Every Session on this Environment has these, and its build. A Repo’s Variable of the same name wins."
            />
          </Tabs.Panel>
          <Tabs.Panel value="versions" className={classes.body}>
            <Versions
              environment={environment.id}
              current={draft.recipe}
              restore={(v) => {
                const before = draft.recipe;
                draft.set(v.recipe);
                set({ tab: undefined });
                undoable(
                  `The recipe of version ${v.version} is in the editor. Saving makes it version ${environment.version + 1}.`,
                  () => draft.set(before),
                );
              }}
            />
          </Tabs.Panel>
        </Tabs>
        {!narrow && (
          <aside className={classes.right} aria-label="Build">
            {panel}
          </aside>
        )}
      </div>
      <Modal
        opened={blocker.status === 'blocked'}
        onClose={() => blocker.reset?.()}
        title="Leave without saving?"
        closeButtonProps={{ 'aria-label': 'Close' }}
      >
        <Text size="sm">The changes to “{environment.name}” are only in this page. Leaving drops them.</Text>
        <Group justify="flex-end" mt="lg">
          <Button variant="default" onClick={() => blocker.proceed?.()}>
            Leave, drop them
          </Button>
          <Button data-autofocus onClick={() => blocker.reset?.()}>
            Stay
          </Button>
        </Group>
      </Modal>
    </div>
  );
}

function count(n: number | undefined): string {
  return n === undefined || n === 0 ? '' : ` ${n}`;
}

interface HeaderProps {
  environment: Env;
  dirty: boolean;
  saving: boolean;
  can: boolean;
  save: () => Promise<unknown>;
}

function Header({ environment: e, dirty, saving, can, save }: HeaderProps) {
  const client = useQueryClient();
  const rename = useMutation({
    mutationFn: (name: string) => calls.changeEnvironment(e.id, { name, base_version: e.version }),
    onSuccess: (to) => putEnvironment(client, to),
    onError: complain,
  });
  const verb = useMutation({
    mutationFn: (v: 'archive' | 'unarchive') => calls.environmentVerb(e.id, v),
    onSuccess: (to) => {
      putEnvironment(client, to);
      if (to.archived) undoable(`Archived “${to.name}”.`, () => verb.mutate('unarchive'));
    },
    onError: complain,
  });
  return (
    <header className={classes.header}>
      <Link to="/environments" className={classes.back} aria-label="Back to the Environments">
        <IconChevronLeft size={20} aria-hidden />
      </Link>
      <Title title={e.name} save={(name) => rename.mutate(name)} />
      <span className={classes.said}>
        version {e.version}
        {e.archived && ' · archived'}
        {dirty && ' · not saved'}
      </span>
      <Group gap="sm" wrap="nowrap" className={classes.tools}>
        {e.archived && (
          <Button size="xs" variant="default" loading={verb.isPending} onClick={() => verb.mutate('unarchive')}>
            Unarchive
          </Button>
        )}
        <Button size="xs" disabled={!dirty || !can} loading={saving} title={`${mod}S`} onClick={() => void save()}>
          {dirty ? `Save as version ${e.version + 1}` : 'Saved'}
        </Button>
        <Menu position="bottom-end">
          <Menu.Target>
            <ActionIcon variant="default" size={30} aria-label="More">
              <IconDots size={16} />
            </ActionIcon>
          </Menu.Target>
          <Menu.Dropdown>
            {e.archived ? (
              <Menu.Item leftSection={<IconArchiveOff size={16} />} onClick={() => verb.mutate('unarchive')}>
                Unarchive
              </Menu.Item>
            ) : (
              <Menu.Item leftSection={<IconArchive size={16} />} onClick={() => verb.mutate('archive')}>
                Archive
              </Menu.Item>
            )}
          </Menu.Dropdown>
        </Menu>
      </Group>
    </header>
  );
}
