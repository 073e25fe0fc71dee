// kill -9 of claude, tmux, the Sandbox, the Runner and the Hub, each in mid-Turn: the Session recovers by itself, no
// prompt is sent twice, the history is there.
import { readdirSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { story } from '../story';
import { eventually } from '../wait';

const { rig, person } = story('kill');

/** The processes of the rig's one Sandbox whose program has a name, by host pid. */
function pids(name: RegExp): number[] {
  const found: number[] = [];
  for (const pid of readdirSync('/proc').filter((d) => /^\d+$/.test(d))) {
    try {
      const environ = readFileSync(`/proc/${pid}/environ`, 'utf8');
      const cmdline = readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ');
      // The stand-in's address names this rig among whatever else runs here.
      if (environ.includes(rig.anthropicURL) && name.test(cmdline)) found.push(Number(pid));
    } catch {
      // it has ended meanwhile, or is not ours to read
    }
  }
  return found;
}

const kill9 = (pid: number) => void process.kill(pid, 'SIGKILL');

/** The Sandbox's first process: the ancestor of its Claude that is number 1 in there. */
function sandboxInit(): number {
  let pid = pids(/\/opt\/claude-hub\/claude/)[0] ?? 0;
  while (pid > 1) {
    const status = readFileSync(`/proc/${pid}/status`, 'utf8');
    if (/NSpid:.*\s1$/m.test(status)) return pid;
    pid = Number(status.match(/PPid:\s+(\d+)/)?.[1]);
  }
  throw new Error('the Sandbox has no first process');
}

test('kill', async () => {
  const me = await person();
  const id = await me.newSession({ prompt: 'remember heliotrope' });
  await me.sees('you said: remember heliotrope', 120);
  await me.status(/ready/i);

  const victims: [string, () => void | Promise<void>][] = [
    ['claude', () => pids(/^\/opt\/claude-hub\/claude/).forEach(kill9)],
    ['tmux', () => pids(/^tmux .*new-session/).forEach(kill9)],
    ['sandbox', () => kill9(sandboxInit())],
    [
      'runner',
      async () => {
        await rig.runner.end('SIGKILL');
        rig.runner.start();
      },
    ],
    [
      'hub',
      async () => {
        await rig.hub.end('SIGKILL');
        rig.hub.start();
      },
    ],
  ];
  for (const [name, kill] of victims) {
    const prompt = `take your time, ${name}`;
    await me.page.getByTestId('prompt-box').fill(prompt);
    await me.page.getByRole('button', { name: /^(Send|Queue) prompt$/ }).click();
    await eventually(
      `${name}: the Turn to begin`,
      async () => (await rig.received()).prompts.some((p) => p.text === prompt),
      60,
    );
    await me.status(/working/i);
    await kill();
    await rig.release('gate');
    await me.status(/ready/i, 120).catch((error) => {
      throw new Error(`${name}: ${error.message}\n${rig.runner.log().slice(-3000)}`);
    });
    // It works: another Turn goes through.
    await me.typing(60);
    await me.type(`alive after ${name}`);
    await me.press('Enter');
    await me.sees(`you said: alive after ${name}`);
    await me.status(/ready/i);
    await me.shot(`after-${name}`);
    // Every finished Turn is in the conversation, and no prompt twice. Of the one that was cut off Claude may not have
    // written anything yet.
    const seen = await rig.received();
    for (const p of seen.prompts) expect(p.occurrences, `${name}: ${p.text}`).toBe(1);
    const last = seen.requests.filter((r) => r.prompt === `alive after ${name}`).at(-1);
    const finished = 2 + victims.findIndex(([n]) => n === name);
    expect(last?.turns, name).toBeGreaterThanOrEqual(finished);
  }

  const answer = await me.page.request.get(`${rig.url}/api/sessions/${id}/prompts`);
  const { items } = (await answer.json()) as { items: { text: string; state: string; why?: string }[] };
  for (const p of items) expect(['done', 'failed'], `${p.text}: ${p.state}`).toContain(p.state);
  expect((await rig.received()).failures).toEqual([]);
});
