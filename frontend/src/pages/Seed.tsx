import {
  Alert,
  Anchor,
  Button,
  Checkbox,
  Group,
  SegmentedControl,
  Skeleton,
  Stack,
  Textarea,
  TextInput,
} from '@mantine/core';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { Link, useNavigate, useSearch } from '@tanstack/react-router';
import { useState } from 'react';
import { calls } from '~/api/calls';
import { putEnvironment } from '~/api/live';
import { sentence } from '~/api/problem';
import { seedsQuery } from '~/api/queries';
import type { FoundSeed, Seed as Seeded, SeedRequest } from '~/api/types';
import { baseText, bounds } from '~/modules/environment/recipe';
import { looksSecret } from '~/modules/variables/dotenv';
import { complain } from '~/ui/notify';
import { Trouble } from '~/ui/Trouble';
import { moment, past, useNow } from '~/ui/time';
import { useTitle } from '~/ui/title';
import classes from './Seed.module.css';

export interface SeedSearch {
  repo?: string;
}

/** Seed makes an Environment of a repository's devcontainer, and says what was not understood before it does. */
export function Seed() {
  useTitle('Seed from a devcontainer');
  const search = useSearch({ from: '/shell/environments/seed' });
  const seeds = useQuery(seedsQuery);
  const [from, setFrom] = useState<'found' | 'paste'>('found');
  const read = useMutation({ mutationFn: (what: SeedRequest) => calls.seed(what) });
  const found = seeds.data ?? [];
  const nothing = seeds.isSuccess && found.length === 0;
  const way = nothing ? 'paste' : from;
  return (
    <div className={classes.page}>
      <h1>Seed from a devcontainer</h1>
      <p className={classes.quiet}>
        A devcontainer.json says what a repository needs: an image, features, a command after creation. What of it is
        understood becomes a recipe that you can change; what is not is listed with the reason.
      </p>
      {seeds.isPending && <Skeleton height={120} role="status" aria-label="Reading what was found" />}
      {seeds.isError && (
        <Trouble
          what="It cannot be told which devcontainers were found."
          error={seeds.error}
          retry={() => void seeds.refetch()}
        />
      )}
      {!seeds.isPending && found.length > 0 && (
        <SegmentedControl
          aria-label="Where the devcontainer is"
          value={way}
          onChange={(v) => {
            setFrom(v as 'found' | 'paste');
            read.reset();
          }}
          data={[
            { value: 'found', label: 'Found in a Repo' },
            { value: 'paste', label: 'Paste the file' },
          ]}
        />
      )}
      {nothing && (
        <p className={classes.quiet}>
          None was found yet: a Runner looks for one when it clones a Session’s repository. You can paste the file.
        </p>
      )}
      {way === 'found' && found.length > 0 && (
        <Found
          found={found}
          chosen={search.repo}
          busy={read.isPending}
          read={(f) => read.mutate({ repo: f.repo, path: f.path })}
        />
      )}
      {way === 'paste' && !seeds.isPending && <Paste busy={read.isPending} read={(what) => read.mutate(what)} />}
      {read.isError && (
        <Alert color="red" role="alert" title="It could not be read">
          {sentence(read.error)}
        </Alert>
      )}
      {read.data && <Result key={JSON.stringify(read.data)} seeded={read.data} />}
    </div>
  );
}

interface FoundProps {
  found: FoundSeed[];
  chosen: string | undefined;
  busy: boolean;
  read: (f: FoundSeed) => void;
}

function Found({ found, chosen, busy, read }: FoundProps) {
  const now = useNow(30_000);
  const [at, setAt] = useState<FoundSeed | undefined>(() => found.find((f) => f.repo === chosen));
  return (
    <ul className={classes.found} aria-label="Devcontainers that were found">
      {found.map((f) => (
        <li key={`${f.repo} ${f.path}`} data-chosen={at === f}>
          <div>
            <b>{f.repo}</b>
            <div className={classes.quiet}>
              {f.path} ·{' '}
              <time dateTime={f.updated} title={moment(f.updated)}>
                seen {past(Date.parse(f.updated), now)}
              </time>
            </div>
          </div>
          <Button
            size="xs"
            variant="default"
            loading={busy && at === f}
            onClick={() => {
              setAt(f);
              read(f);
            }}
          >
            Read it
          </Button>
        </li>
      ))}
    </ul>
  );
}

function Paste({ busy, read }: { busy: boolean; read: (what: SeedRequest) => void }) {
  const [json, setJson] = useState('');
  return (
    <form
      className={classes.paste}
      onSubmit={(e) => {
        e.preventDefault();
        read({ path: '.devcontainer/devcontainer.json', json, files: {} });
      }}
    >
      <Textarea
        label="devcontainer.json"
        description="Comments are allowed. Scripts and Dockerfiles beside it are not seen this way."
        placeholder={'{\n  "image": "debian:bookworm",\n  "postCreateCommand": "npm ci"\n}'}
        autosize
        minRows={8}
        maxRows={22}
        spellCheck={false}
        classNames={{ input: classes.mono }}
        value={json}
        onChange={(e) => setJson(e.currentTarget.value)}
      />
      <Group justify="flex-end">
        <Button type="submit" loading={busy} disabled={json.trim() === ''}>
          Read it
        </Button>
      </Group>
    </form>
  );
}

function Result({ seeded }: { seeded: Seeded }) {
  const client = useQueryClient();
  const navigate = useNavigate();
  const [name, setName] = useState(seeded.name);
  const [left, setLeft] = useState<ReadonlySet<string>>(new Set());
  const wanted = seeded.variables.filter((v) => !left.has(v.name));
  const create = useMutation({
    mutationFn: async () => {
      const e = await calls.newEnvironment(name.trim(), seeded.recipe);
      for (const v of wanted) {
        // The Environment is made; what is refused can be added on its page.
        await calls.putVariable({ environment: e.id }, v.name, v.value, looksSecret(v.name, v.value)).catch(complain);
      }
      return e;
    },
    onSuccess: (e) => {
      putEnvironment(client, e);
      void navigate({ to: '/environments/$id', params: { id: e.id } });
    },
  });
  const { understood, not_understood: missed, recipe } = seeded;
  return (
    <section className={classes.result} aria-label="What was read" data-testid="seeded">
      <h2>Understood</h2>
      {understood.length === 0 && <p className={classes.quiet}>Nothing of it.</p>}
      <dl>
        {understood.map((u) => (
          <div key={`${u.what} ${u.became}`} data-ok="true">
            <dt>{u.what}</dt>
            <dd>{u.became}</dd>
          </div>
        ))}
      </dl>
      {missed.length > 0 && (
        <>
          <h2>Not understood</h2>
          <dl>
            {missed.map((u) => (
              <div key={`${u.what} ${u.why}`} data-ok="false">
                <dt>{u.what}</dt>
                <dd>{u.why}</dd>
              </div>
            ))}
          </dl>
        </>
      )}
      <h2>The recipe</h2>
      <p className={classes.quiet}>Base: {baseText(recipe.base)}</p>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a scrolling region must be reachable by keyboard */}
      <pre tabIndex={0}>{recipe.setup || 'No setup script.'}</pre>
      {seeded.variables.length > 0 && (
        <>
          <h2>Variables that it names</h2>
          {seeded.variables.map((v) => (
            <Checkbox
              key={v.name}
              size="xs"
              label={`${v.name} = ${v.value || 'empty'}`}
              classNames={{ label: classes.mono }}
              checked={!left.has(v.name)}
              onChange={(c) => {
                const next = new Set(left);
                if (c.currentTarget.checked) next.delete(v.name);
                else next.add(v.name);
                setLeft(next);
              }}
            />
          ))}
        </>
      )}
      {seeded.ports.length > 0 && (
        <p className={classes.quiet}>
          It forwards {seeded.ports.join(', ')}: on a Session’s page, Ports does that when you want it.
        </p>
      )}
      <form
        onSubmit={(e) => {
          e.preventDefault();
          if (name.trim() !== '') create.mutate();
        }}
      >
        <Stack gap="sm">
          <TextInput
            label="Name"
            maxLength={bounds.name}
            value={name}
            error={create.isError ? sentence(create.error) : undefined}
            onChange={(e) => setName(e.currentTarget.value)}
          />
          <Group justify="flex-end">
            <Anchor component={Link} to="/environments" size="sm">
              Leave it
            </Anchor>
            <Button type="submit" loading={create.isPending} disabled={name.trim() === ''}>
              Create the Environment
            </Button>
          </Group>
        </Stack>
      </form>
    </section>
  );
}
