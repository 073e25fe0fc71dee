import { Button, Checkbox, Group, Modal, Stack, Text } from '@mantine/core';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { calls } from '~/api/calls';
import { putRunner } from '~/api/live';
import { sentence } from '~/api/problem';
import type { Runner } from '~/api/types';
import { bytes } from '~/ui/bytes';
import { moment, past, useNow } from '~/ui/time';
import { free, type Kind, kinds, reclaiming } from './kept';
import classes from './Storage.module.css';

/** Storage is what a Runner keeps on its disk, and the way to get some of it back. */
export function Storage({ runner, linked }: { runner: Runner; linked: boolean }) {
  const [open, setOpen] = useState(false);
  const s = runner.machine.storage;
  const busy = reclaiming(runner);
  return (
    <section className={classes.storage} aria-label={`Storage of ${runner.name}`} data-testid="storage">
      <details>
        <summary>
          Storage: {bytes(s.sessions)} Sessions, {bytes(s.images)} images
          {s.reclaimable > 0 && `, ${bytes(s.reclaimable)} reclaimable`}
        </summary>
        <Items runner={runner} />
      </details>
      <Group gap="sm">
        <Button size="xs" variant="default" disabled={busy} onClick={() => setOpen(true)}>
          Reclaim …
        </Button>
        <Outcome runner={runner} linked={linked} />
      </Group>
      {open && <Reclaim runner={runner} linked={linked} close={() => setOpen(false)} />}
    </section>
  );
}

function Outcome({ runner, linked }: { runner: Runner; linked: boolean }) {
  const now = useNow(5000);
  const done = runner.machine.storage.reclaimed;
  if (reclaiming(runner)) {
    return (
      <span className={classes.quiet} role="status">
        {linked ? 'Reclaiming …' : 'Asked for. It is done when the Runner is back.'}
      </span>
    );
  }
  if (done.request === 0) return null;
  const when = done.at ? ` ${past(Date.parse(done.at), now)}` : '';
  return (
    <span className={done.error ? classes.error : classes.quiet} role="status">
      {done.error
        ? `The last Reclaim${when} gave back ${bytes(done.freed)}. ${done.error}`
        : done.freed > 0
          ? `Gave back ${bytes(done.freed)}${when}.`
          : `Found nothing to remove${when}.`}
    </span>
  );
}

function Items({ runner }: { runner: Runner }) {
  const now = useNow(60_000);
  const s = runner.machine.storage;
  return (
    <div className={classes.items}>
      <p className={classes.quiet}>
        Sessions hold {bytes(s.sessions)}
        {s.archived > 0 && `, ${bytes(s.archived)} of it archived ones: deleting those gives it back`}.
      </p>
      {s.items.length === 0 ? (
        <p className={classes.quiet}>No images, kept builds or leftovers.</p>
      ) : (
        <table>
          <thead>
            <tr>
              <th scope="col">What</th>
              <th scope="col">Size</th>
              <th scope="col">Used</th>
            </tr>
          </thead>
          <tbody>
            {s.items.map((i) => (
              <tr key={`${i.kind} ${i.name}`}>
                <th scope="row">
                  <span className={classes.kind}>{kinds.find((k) => k.kind === i.kind)?.name}</span> {i.name}
                </th>
                <td>{bytes(i.bytes)}</td>
                <td title={i.used && moment(i.used)}>
                  {i.sessions > 0
                    ? `by ${i.sessions} ${i.sessions === 1 ? 'Session' : 'Sessions'}`
                    : i.used
                      ? past(Date.parse(i.used), now)
                      : i.kind === 'image' || i.kind === 'base'
                        ? 'never'
                        : '–'}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
      {s.items.length >= 50 && <p className={classes.quiet}>The largest 50 are shown.</p>}
    </div>
  );
}

function Reclaim({ runner, linked, close }: { runner: Runner; linked: boolean; close: () => void }) {
  const client = useQueryClient();
  const { items } = runner.machine.storage;
  const offers = kinds.map((k) => ({ ...k, ...free(items, k.kind) }));
  const [chosen, setChosen] = useState<ReadonlySet<Kind>>(
    () => new Set(offers.filter((o) => o.first && o.count > 0).map((o) => o.kind)),
  );
  const reclaim = useMutation({
    mutationFn: () => calls.reclaim(runner.id, [...chosen]),
    onSuccess: (r) => {
      putRunner(client, r);
      close();
    },
  });
  const picked = offers.filter((o) => chosen.has(o.kind));
  const sum = picked.reduce((n, o) => n + o.bytes, 0);
  const toggle = (kind: Kind, on: boolean) => {
    const next = new Set(chosen);
    if (on) next.add(kind);
    else next.delete(kind);
    setChosen(next);
  };
  return (
    <Modal opened onClose={close} title={`Reclaim disk on ${runner.name}`} closeButtonProps={{ 'aria-label': 'Close' }}>
      <Stack gap="md">
        {offers.map((o) => (
          <Checkbox
            key={o.kind}
            label={`${o.name}: ${o.count === 0 ? 'nothing to remove' : `${o.count}, ${bytes(o.bytes)}`}`}
            description={o.help}
            disabled={o.count === 0}
            checked={chosen.has(o.kind)}
            onChange={(e) => toggle(o.kind, e.currentTarget.checked)}
          />
        ))}
        <Text size="sm">
          {sum > 0
            ? `This gives back about ${bytes(sum)}${items.length >= 50 ? ' or more' : ''}.`
            : 'Nothing is chosen.'}{' '}
          Sessions and what they are made of stay.
        </Text>
        {!linked && (
          <Text size="sm" c="dimmed">
            There is no link to {runner.name} now: it is done when it is back.
          </Text>
        )}
        {reclaim.isError && (
          <Text size="sm" c="var(--mantine-color-error)" role="alert">
            {sentence(reclaim.error)}
          </Text>
        )}
        <Group justify="flex-end">
          <Button variant="default" onClick={close}>
            Cancel
          </Button>
          <Button disabled={picked.length === 0} loading={reclaim.isPending} onClick={() => reclaim.mutate()}>
            {sum > 0 ? `Reclaim ${bytes(sum)}` : 'Reclaim'}
          </Button>
        </Group>
      </Stack>
    </Modal>
  );
}
