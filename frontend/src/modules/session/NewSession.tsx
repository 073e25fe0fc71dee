import {
  Alert,
  Autocomplete,
  Button,
  Group,
  Modal,
  SegmentedControl,
  Select,
  Stack,
  Textarea,
  TextInput,
} from '@mantine/core';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useRef, useState } from 'react';
import { calls } from '~/api/calls';
import { putSession } from '~/api/live';
import { Problem, sentence } from '~/api/problem';
import { environmentsQuery, hubQuery, runnersQuery } from '~/api/queries';
import type { Runner } from '~/api/types';
import { Built } from '~/modules/environment/Built';
import { paired } from '~/modules/runner/pairing';
import { repoOf } from '~/modules/variables/repo';
import { nonce } from '~/ui/random';
import { read, write } from '~/ui/stored';
import classes from './NewSession.module.css';

interface Choice {
  where: 'empty' | 'git';
  git: string;
  branch: string;
  model: string;
  effort: string;
  runner: string;
}

const first: Choice = { where: 'empty', git: '', branch: '', model: 'default', effort: 'default', runner: '' };

const none = 'none';

/** NewSession asks what, where and with which first prompt. It remembers the last choices. */
export function NewSession({ opened, close }: { opened: boolean; close: () => void }) {
  return (
    <Modal opened={opened} onClose={close} title="New Session" size={600} closeButtonProps={{ 'aria-label': 'Close' }}>
      <Form close={close} />
    </Modal>
  );
}

function Form({ close }: { close: () => void }) {
  const client = useQueryClient();
  const navigate = useNavigate();
  const hub = useQuery(hubQuery);
  const runners = useQuery(runnersQuery);
  const [choice, setChoice] = useState<Choice>(() => ({ ...first, ...read<Partial<Choice>>('new-session', {}) }));
  const [title, setTitle] = useState('');
  const [prompt, setPrompt] = useState('');
  const request = useRef(nonce());
  const [environment, setEnvironment] = useState<string>();
  const environments = useQuery(environmentsQuery(false));
  const set = (to: Partial<Choice>) => setChoice((c) => ({ ...c, ...to }));

  // The last Environment is remembered for each Repo, and for the empty workspace.
  const repo = choice.where === 'git' ? repoOf(choice.git) : '';
  const remembered = read<Record<string, string>>('new-session.environments', {});
  const wanted = environment ?? remembered[repo] ?? '';
  const env = environments.data?.find((e) => e.id === wanted);
  const offered = paired(runners.data);
  const runner = pick(offered, choice.runner);
  const create = useMutation({
    mutationFn: () =>
      calls.create({
        runner: runner?.id ?? '',
        title: title.trim() || undefined,
        source: choice.where === 'git' ? { git_url: choice.git.trim(), branch: choice.branch.trim() || undefined } : {},
        environment: env && { id: env.id },
        model: choice.model.trim() || 'default',
        effort: choice.effort,
        prompt: prompt.trim() === '' ? undefined : prompt,
        request: request.current,
      }),
    onSuccess: (s) => {
      write('new-session', { ...choice, runner: s.runner });
      write('new-session.environments', { ...remembered, [repo]: env?.id ?? '' });
      putSession(client, s);
      close();
      void navigate({ to: '/sessions/$id', params: { id: s.id } });
    },
    onError: (err) => {
      // A refusal settles the request; without an answer it may have been carried out, so the next try is the same one.
      if (err instanceof Problem && err.status !== 0) request.current = nonce();
    },
  });

  const ready = runner !== undefined && (choice.where === 'empty' || choice.git.trim() !== '');
  return (
    <form
      onSubmit={(e) => {
        e.preventDefault();
        if (ready) create.mutate();
      }}
    >
      <Stack gap="md">
        <TextInput
          label="What"
          placeholder="A title. Left empty, the first prompt gives one"
          maxLength={200}
          value={title}
          onChange={(e) => setTitle(e.currentTarget.value)}
          data-autofocus
        />
        <div>
          <div className={classes.label} id="where">
            Where
          </div>
          <SegmentedControl
            aria-labelledby="where"
            value={choice.where}
            onChange={(where) => set({ where: where as Choice['where'] })}
            data={[
              { value: 'empty', label: 'Empty workspace' },
              { value: 'git', label: 'Git repository' },
            ]}
          />
          {choice.where === 'git' && (
            <div className={classes.git}>
              <TextInput
                label="Git URL"
                placeholder="https://host/owner/repository"
                required
                value={choice.git}
                onChange={(e) => set({ git: e.currentTarget.value })}
              />
              <TextInput
                label="Branch"
                placeholder="its default branch"
                value={choice.branch}
                onChange={(e) => set({ branch: e.currentTarget.value })}
              />
            </div>
          )}
        </div>
        <Textarea
          label="First prompt"
          placeholder="Goes in as soon as Claude is ready. May stay empty"
          autosize
          minRows={3}
          maxRows={10}
          value={prompt}
          onChange={(e) => setPrompt(e.currentTarget.value)}
          onKeyDown={(e) => {
            if (e.key === 'Enter' && (e.metaKey || e.ctrlKey) && ready) create.mutate();
          }}
        />
        <div className={classes.two}>
          <Select
            label="Environment"
            data={[
              { value: none, label: 'none: the Runner’s own system' },
              ...(environments.data ?? []).map((e) => ({ value: e.id, label: e.name })),
            ]}
            value={env?.id ?? none}
            allowDeselect={false}
            onChange={(id) => setEnvironment(id === none || id === null ? '' : id)}
          />
          <Select
            label="Runner"
            placeholder="None"
            data={offered.map((r) => ({
              value: r.id,
              label: r.link.state === 'up' ? r.name : `${r.name} (link down)`,
            }))}
            value={runner?.id ?? null}
            allowDeselect={false}
            onChange={(id) => set({ runner: id ?? '' })}
          />
          {env && runner && <Built environment={env} runner={runner} />}
        </div>
        <div className={classes.two}>
          <Autocomplete
            label="Model"
            data={hub.data?.models ?? []}
            value={choice.model}
            onChange={(model) => set({ model })}
          />
          <Select
            label="Effort"
            data={hub.data?.efforts ?? []}
            value={choice.effort}
            allowDeselect={false}
            onChange={(effort) => set({ effort: effort ?? 'default' })}
          />
        </div>
        <Advice runner={runner} known={runners.isSuccess} />
        {create.isError && (
          <Alert color="red" role="alert" title="The Session was not made">
            {sentence(create.error)}
          </Alert>
        )}
        <Group justify="flex-end">
          <Button variant="default" onClick={close}>
            Cancel
          </Button>
          <Button type="submit" disabled={!ready} loading={create.isPending}>
            Start Session
          </Button>
        </Group>
      </Stack>
    </form>
  );
}

/** pick takes the Runner of last time, or else one that is linked. */
function pick(runners: Runner[], last: string): Runner | undefined {
  return runners.find((r) => r.id === last) ?? runners.find((r) => r.link.state === 'up') ?? runners[0];
}

function Advice({ runner, known }: { runner: Runner | undefined; known: boolean }) {
  if (!known) return null;
  if (!runner) return <Alert color="orange">No Runner yet. The Runners page shows how to add one.</Alert>;
  if (runner.link.state !== 'up') {
    return <Alert color="orange">There is no link to {runner.name} now. The Session starts when it is back.</Alert>;
  }
  if (!runner.machine.setup_token && !runner.machine.stand_in) {
    return (
      <Alert color="orange">
        {runner.name} has no setup token yet. Run <code>claude-hub-runner token set</code> there; the Session starts
        after that.
      </Alert>
    );
  }
  return null;
}
