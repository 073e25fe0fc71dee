import { ActionIcon, Badge, Group, Text, TextInput, Tooltip } from '@mantine/core';
import { IconPencil } from '@tabler/icons-react';
import { useState } from 'react';
import { useHubLink } from '~/api/live';
import type { Finding, Machine, Runner } from '~/api/types';
import linkClasses from '~/modules/link/Link.module.css';
import { hopText } from '~/modules/link/LinkDot';
import { bytes } from '~/ui/bytes';
import { Command } from '~/ui/Copyable';
import { Meter } from '~/ui/Meter';
import { past, useNow } from '~/ui/time';
import { diskParts } from './kept';
import { pairCommand } from './pairing';
import classes from './Runner.module.css';
import { Storage } from './Storage';
import { useRename } from './useRename';

/** RunnerCard is one machine: its link, its load, and what its doctor found. */
export function RunnerCard({ runner }: { runner: Runner }) {
  const now = useNow(5000);
  const hub = useHubLink();
  const m = runner.machine;
  const known = m.hostname !== '';
  const state = hub.state === 'up' ? runner.link.state : 'connecting';
  const stale = known && state !== 'up';
  return (
    <article className={classes.card} aria-label={runner.name} data-testid="runner-card">
      <header className={classes.head}>
        <Name runner={runner} />
        <span className={classes.link} data-state={runner.revoked ? 'down' : state}>
          <span className={linkClasses.shape} aria-hidden="true" />
          {runner.revoked
            ? 'revoked'
            : state === 'connecting'
              ? 'cannot tell'
              : hopText({ state, since: Date.parse(runner.link.since) }, now)}
        </span>
      </header>
      {runner.revoked && (
        <div className={classes.warn} role="note" data-testid="revoked">
          <p>
            <b>Revoked {past(Date.parse(runner.revoked), now)}.</b> Sessions that run there go on there, and nobody
            reaches them through this Hub until it is paired again. On that machine:
          </p>
          <Command>{pairCommand()}</Command>
        </div>
      )}
      {!known && (
        <Text c="dimmed">
          This Runner has not reported yet. Start it on its machine: it links to the Hub by itself.
        </Text>
      )}
      {known && (
        <>
          <Text size="sm" c="dimmed">
            {m.hostname} · {m.os}/{m.arch} · Runner {m.version} · Claude Code {m.claude || 'not there yet'} ·{' '}
            {m.backend}
          </Text>
          {stale && (
            <Text size="sm" c="dimmed">
              As reported {past(Date.parse(m.reported), now)}.
            </Text>
          )}
          {!m.setup_token && <NoToken />}
          {m.stand_in && (
            <Badge variant="light" color="orange" c="var(--mantine-color-text)" className={classes.badge}>
              Answers come from a stand-in, not from Anthropic
            </Badge>
          )}
          <Load m={m} stale={stale} />
          <Storage runner={runner} linked={state === 'up'} />
          <Doctor findings={m.doctor ?? []} />
          <Unowned names={m.unowned ?? []} />
        </>
      )}
    </article>
  );
}

function Name({ runner }: { runner: Runner }) {
  const rename = useRename(runner);
  const [text, setText] = useState<string>();
  const done = (name: string) => {
    setText(undefined);
    rename(name);
  };
  if (text !== undefined) {
    return (
      <TextInput
        aria-label="Name of this Runner"
        size="xs"
        autoFocus
        value={text}
        onChange={(e) => setText(e.currentTarget.value)}
        onBlur={() => done(text)}
        onKeyDown={(e) => {
          if (e.key === 'Enter') done(text);
          if (e.key === 'Escape') setText(undefined);
        }}
      />
    );
  }
  return (
    <Group gap={4}>
      <h2 className={classes.name}>{runner.name}</h2>
      <Tooltip label="Rename">
        <ActionIcon
          variant="subtle"
          color="gray"
          size="sm"
          aria-label={`Rename ${runner.name}`}
          onClick={() => setText(runner.name)}
        >
          <IconPencil size={14} />
        </ActionIcon>
      </Tooltip>
    </Group>
  );
}

function NoToken() {
  return (
    <div className={classes.warn} role="note" data-testid="no-setup-token">
      <p>
        <b>No setup token.</b> Sessions here cannot start. Run this on the machine; it asks for the token of{' '}
        <code>claude setup-token</code>, and keeps it there. The Hub never gets it.
      </p>
      <Command>claude-hub-runner token set</Command>
    </div>
  );
}

function Load({ m, stale }: { m: Machine; stale: boolean }) {
  const memory = m.memory_total - m.memory_free;
  const ours = Math.min(m.sessions_memory, memory);
  return (
    <div className={classes.load} data-stale={stale}>
      <Meter
        label="Memory"
        text={`${bytes(m.memory_free)} free of ${bytes(m.memory_total)}`}
        total={m.memory_total}
        parts={[
          { name: 'Sessions', value: ours, kind: 'ours' },
          { name: 'Other', value: memory - ours, kind: 'others' },
        ]}
        legend={bytes}
      />
      <Meter
        label="Disk"
        text={`${bytes(m.disk_free)} free of ${bytes(m.disk_total)}`}
        total={m.disk_total}
        parts={diskParts(m)}
        legend={bytes}
      />
      <Text size="sm">
        {m.max_awake > 0
          ? `${m.awake} of ${m.max_awake} Sessions awake`
          : `${m.awake} ${m.awake === 1 ? 'Session' : 'Sessions'} awake`}
        {m.max_awake > 0 && m.awake >= m.max_awake && ', more wait for their turn'} · load {m.load.toFixed(2)} on{' '}
        {m.cpus} {m.cpus === 1 ? 'CPU' : 'CPUs'}
      </Text>
    </div>
  );
}

function Doctor({ findings }: { findings: Finding[] }) {
  const bad = findings.filter((f) => !f.ok);
  const good = findings.filter((f) => f.ok);
  return (
    <div data-testid="doctor">
      {bad.map((f) => (
        <Check key={f.name} f={f} />
      ))}
      {good.length > 0 && (
        <details className={classes.good}>
          <summary>
            {bad.length === 0
              ? `Doctor: all well (${good.length} checks)`
              : `The other ${good.length === 1 ? 'check is' : `${good.length} checks are`} well`}
          </summary>
          {good.map((f) => (
            <Check key={f.name} f={f} />
          ))}
        </details>
      )}
    </div>
  );
}

function Check({ f }: { f: Finding }) {
  return (
    <div className={classes.check} data-ok={f.ok}>
      <span aria-hidden="true">{f.ok ? '✓' : '✕'}</span>
      <div>
        <div>
          <b>{f.name}</b>
          {f.fatal && !f.ok && <span className={classes.fatal}> no Session can start until this is mended</span>}
        </div>
        <div>{f.detail}</div>
        {!f.ok && f.fix && <div className={classes.fix}>{f.fix}</div>}
      </div>
    </div>
  );
}

function Unowned({ names }: { names: string[] }) {
  if (names.length === 0) return null;
  return (
    <section className={classes.warn} aria-label="Sandboxes without a Session">
      <p>
        {names.length === 1 ? 'One Sandbox' : `${names.length} Sandboxes`} on this machine belong to no Session of this
        Runner. Nothing was done to them. Reclaim can remove them:
      </p>
      <ul>
        {names.map((n) => (
          <li key={n}>
            <code>{n}</code>
          </li>
        ))}
      </ul>
    </section>
  );
}
