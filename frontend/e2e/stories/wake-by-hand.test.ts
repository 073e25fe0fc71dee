// How long a wake takes to Claude's prompt, over the same by hand: msb starts the same VM, tmux is started in it, and in that
// the same Claude Code with the same arguments and variables. On an emulated machine only the ratio means anything.
import { test } from 'vitest';
import type { Prompt } from '../../src/api/types';
import { recipe } from '../api';
import { place, there } from '../place';
import { msb, vmName } from '../sandbox';
import { story } from '../story';
import { eventually } from '../wait';

const { rig, person } = story('wake-by-hand');
const rounds = 3;

/** Keeps what Claude was started with, in the VM. */
const keep = `cd /workspace && p=$(pgrep -of '^/opt/claude-hub/claude') && cat /proc/$p/environ /proc/$p/cmdline >start`;

/** Starts the same, and ends when the prompt stands below the conversation. */
const start = `tmux -S /tmp/by-hand -f /dev/null new-session -d -x 120 -y 40 -c /workspace 'xargs -0 -o -a /workspace/start env -i'
  while sleep 1; do # a look takes of what Claude starts with
    case $(tmux -S /tmp/by-hand capture-pane -p) in *'something to resume'*'bypass permissions'*) exit 0 ;; esac
  done`;

test.runIf(place.backend === 'microsandbox')('wake-by-hand', async () => {
  const { api } = await person();
  const environment = await api.environment('Small', recipe());
  const id = await api.start('Wakes and sleeps', { environment, prompt: 'something to resume' });
  await eventually(
    'the first Turn to be over',
    async () => (await api.items<Prompt>(`/sessions/${id}/prompts`)).every((p) => p.state === 'done'),
    300,
  );
  await api.ready(id);
  const sleep = async () => {
    await api.act(id, 'sleep');
    await api.observe(id, 'asleep', (s) => s.observed.phase === 'asleep', 120);
  };
  const taken = async (what: () => unknown) => {
    const began = performance.now();
    await what();
    return (performance.now() - began) / 1000;
  };

  const vm = vmName(rig, id);
  const byHand = {
    call: (verb: string) => there(msb(rig, `${verb} ${vm}`), '', 300),
    inside: (script: string) => there(msb(rig, `exec --stream ${vm} -- sh`), script, 600),
  };

  await sleep();
  const ours: number[] = [];
  for (let n = 0; n < rounds; n++) {
    ours.push(
      await taken(async () => {
        await api.act(id, 'wake');
        await api.ready(id, 300);
      }),
    );
    if (n === 0) byHand.inside(keep);
    await sleep();
  }

  await rig.runner.end(); // it has no part in what comes
  const theirs: number[] = [];
  for (let n = 0; n < rounds; n++) {
    theirs.push(
      await taken(() => {
        byHand.call('start -q');
        byHand.inside(start);
      }),
    );
    byHand.call('stop');
  }
  const show = (all: number[]) => all.map((s) => s.toFixed(1)).join(', ');
  console.log(`wake to the prompt: ${show(ours)} s; by hand: ${show(theirs)} s`);
  console.log(`the fastest over the fastest: ${(Math.min(...ours) / Math.min(...theirs)).toFixed(2)}`);
});
