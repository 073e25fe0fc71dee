// A Session's Sandbox as whoever owns its machine sees it: its processes, and what is inside.
import { place, quote, there } from './place';
import type { Rig } from './programs';

/** What can be killed of a Session. */
export type Part = 'claude' | 'tmux' | 'sandbox';

const patterns = { claude: '^/opt/claude-hub/claude', tmux: '^tmux .*new-session' };

/** How msb's own calls find the VMs of a rig. */
export function msb(rig: Rig, args: string): string {
  return `MSB_HOME=${quote(`${rig.runnerDir}/vm/m`)} TMPDIR=${quote(`${rig.runnerDir}/vm/tmp`)} msb ${args}`;
}

/** The name that msb has for a Session's VM. */
export function vmName(rig: Rig, session: string): string {
  const all = JSON.parse(there(msb(rig, 'ls --format json'))) as { name: string }[];
  const vm = all.find((v) => v.name.endsWith(session));
  if (!vm) throw new Error(`msb has no VM of ${session}: ${JSON.stringify(all)}`);
  return vm.name;
}

/** The processes of a Session's VM on its machine. */
export function vmProcesses(session: string): number[] {
  // Not the shell that asks: its own command line has the pattern's bracket.
  const pattern = `[m]sb sandbox .*${session}`;
  return there(`pgrep -f ${quote(pattern)} || true`)
    .split('\n')
    .filter(Boolean)
    .map(Number);
}

/** Everything that msb tells of a VM: what it was made with. */
export function inspect(rig: Rig, session: string): string {
  return there(msb(rig, `inspect ${quote(vmName(rig, session))} --format json`));
}

/** A signal to a Session's VM, from outside. */
export function signalVM(session: string, signal: 'STOP' | 'CONT' | 'KILL'): void {
  const pids = vmProcesses(session);
  if (pids.length === 0) throw new Error(`no VM of ${session} runs`);
  there(`kill -${signal} ${pids.join(' ')}`);
}

/** Kills a part of a Session without a word. */
export function kill(rig: Rig, session: string, part: Part): void {
  if (place.backend === 'bubblewrap') killHere(rig, part);
  else if (part === 'sandbox') signalVM(session, 'KILL');
  else there(msb(rig, `exec --stream ${quote(vmName(rig, session))} -- pkill -9 -f ${quote(patterns[part])}`));
}

/** The stand-in's address in a process's environment names this rig's Sandbox among whatever else runs here. */
function killHere(rig: Rig, part: Part): void {
  const find = `for p in $(pgrep -f ${quote(patterns[part === 'tmux' ? 'tmux' : 'claude'])}); do
    grep -qz ${quote(rig.anthropicURL)} /proc/$p/environ 2>/dev/null && echo $p; done || true`;
  const found = there(find).split('\n').filter(Boolean);
  if (found.length === 0) throw new Error(`there is no ${part}`);
  there(part === 'sandbox' ? killInit(found[0] ?? '') : `kill -9 ${found.join(' ')}`);
}

/** Kills the ancestor of a process that is number 1 in its Sandbox. */
const killInit = (pid: string) => `p=${pid}; while [ "$p" -gt 1 ]; do
  if grep -qE '^NSpid:.*\\s1$' /proc/$p/status; then exec kill -9 $p; fi
  p=$(sed -nE 's/^PPid:\\s+//p' /proc/$p/status)
done; exit 1`;
