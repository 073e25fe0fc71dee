import { Button, Skeleton, TextInput } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link, useNavigate, useSearch } from '@tanstack/react-router';
import { useState } from 'react';
import { reposQuery } from '~/api/queries';
import { isRepo, repoOf } from '~/modules/variables/repo';
import { Variables } from '~/modules/variables/Variables';
import { Empty } from '~/ui/Empty';
import { Trouble } from '~/ui/Trouble';
import { useTitle } from '~/ui/title';
import classes from './Repos.module.css';

export interface ReposSearch {
  repo?: string;
}

/** Repos are the repositories of the person's Sessions, each with the Variables that every Session on it has. */
export function Repos() {
  useTitle('Repos');
  const search = useSearch({ from: '/shell/repos' });
  const repos = useQuery(reposQuery);
  const list = repos.data ?? [];
  const chosen = search.repo;
  const Heading = chosen ? 'h2' : 'h1';
  const all = chosen && !list.some((r) => r.repo === chosen) ? [...list, { repo: chosen, variables: 0 }] : list;
  return (
    <div className={classes.page} data-chosen={chosen !== undefined}>
      <nav className={classes.list} aria-label="Repos">
        <Heading className={classes.title}>Repos</Heading>
        {repos.isPending && <Skeleton height={120} />}
        {repos.isError && (
          <Trouble
            what="The Repos could not be read, so it cannot be told which there are."
            error={repos.error}
            retry={() => void repos.refetch()}
          />
        )}
        {repos.isSuccess && all.length === 0 && (
          <p className={classes.quiet}>A Repo appears here with your first Session on it, or when you add it below.</p>
        )}
        <ul>
          {all.map((r) => (
            <li key={r.repo}>
              <Link to="/repos" search={{ repo: r.repo }} aria-current={chosen === r.repo ? 'page' : undefined}>
                <span>{r.repo}</span>
                <span className={classes.quiet}>{r.variables === 0 ? '' : r.variables}</span>
              </Link>
            </li>
          ))}
        </ul>
        <Another />
      </nav>
      <div className={classes.detail}>
        {chosen ? (
          <>
            <header className={classes.head}>
              <Link to="/repos" search={{}} className={classes.back}>
                ‹ Repos
              </Link>
              <h1>{chosen}</h1>
              <Link to="/environments/seed" search={{ repo: chosen }} className={classes.seed}>
                Seed an Environment from its devcontainer
              </Link>
            </header>
            <Variables
              key={chosen}
              scope={{ repo: chosen }}
              about="Every Session of yours on this Repo has these. They win over the Environment’s of the same name."
            />
          </>
        ) : (
          <Empty title="Variables of a Repo">
            Choose a Repo. Its Variables reach every Session on it, whatever its Environment.
          </Empty>
        )}
      </div>
    </div>
  );
}

function Another() {
  const navigate = useNavigate();
  const [url, setUrl] = useState('');
  const repo = repoOf(url);
  const fits = isRepo(repo);
  return (
    <form
      className={classes.another}
      onSubmit={(e) => {
        e.preventDefault();
        if (!fits) return;
        setUrl('');
        void navigate({ to: '/repos', search: { repo } });
      }}
    >
      <TextInput
        label="Another Repo"
        placeholder="https://host/owner/repository"
        value={url}
        description={url !== '' && fits ? repo : undefined}
        inputWrapperOrder={['label', 'input', 'description']}
        error={url.length > 8 && !fits ? 'A git URL has a host, an owner and a name.' : undefined}
        onChange={(e) => setUrl(e.currentTarget.value)}
      />
      <Button type="submit" variant="default" disabled={!fits}>
        Open
      </Button>
    </form>
  );
}
