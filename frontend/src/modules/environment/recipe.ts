import type { Base, Build, EnvironmentVersion, NetworkPolicy, Recipe, Runner } from '~/api/types';

const gb = 2 ** 30;

/** bounds of a recipe, as the Hub has them. What a machine does not have, its Runner refuses. */
export const bounds = {
  cpus: { min: 1, max: 64 },
  memory: { min: gb / 2, max: 256 * gb },
  disk: { min: gb, max: 1024 * gb },
  setup: 256 << 10,
  name: 60,
  allow: 200,
};

/** firstRecipe is what a new Environment begins with. */
export const firstRecipe: Recipe = {
  base: { kind: 'default' },
  setup: '',
  cpus: 2,
  memory: 4 * gb,
  disk: 20 * gb,
  network: 'open',
  allow: [],
};

/** kinds of base, each with what it means and what its reference looks like. */
export const kinds: Record<Base['kind'], { name: string; help: string; label: string; example: string }> = {
  default: {
    name: 'The Runner’s own',
    help: 'What the Runner offers: its default image. With bubblewrap and no setup script it is the machine’s own system, read-only.',
    label: '',
    example: '',
  },
  registry: {
    name: 'Registry',
    help: 'An image from a container registry, fetched by the Runner. A digest pins it; a tag may move.',
    label: 'Image',
    example: 'debian:bookworm',
  },
  archive: {
    name: 'Archive',
    help: 'A file on the Runner’s machine, as “docker save” or an OCI layout’s tar makes it.',
    label: 'Path of the file on the Runner’s machine',
    example: '/srv/images/team.tar',
  },
  directory: {
    name: 'Directory',
    help: 'A root filesystem in a folder on the Runner’s machine. It is copied, never changed.',
    label: 'Path of the folder on the Runner’s machine',
    example: '/srv/rootfs/bookworm',
  },
};

export const policies: Record<NetworkPolicy, { name: string; help: string }> = {
  open: {
    name: 'Open',
    help: 'Everything that the machine can reach, its own network and itself included.',
  },
  internet: {
    name: 'Internet only',
    help: 'The internet, and neither the machine nor its own network.',
  },
  'allow-list': {
    name: 'Allow-list',
    help: 'Only the hosts below. Everything else is refused.',
  },
};

/** enforces tells whether a Runner can hold a policy; undefined while that is not known. */
export function enforces(runner: Runner | undefined, policy: NetworkPolicy): boolean | undefined {
  if (!runner || runner.machine.hostname === '') return undefined;
  return (runner.machine.networks ?? []).includes(policy);
}

const image = /^[a-zA-Z0-9][a-zA-Z0-9._:/-]*(@sha256:[a-f0-9]{64})?$/;
const host = /^(\*\.)?[a-zA-Z0-9]([a-zA-Z0-9.-]*[a-zA-Z0-9])?(:[0-9]{1,5})?$/;

/** Faults are what the Hub would refuse, by field: said while typing, without a round trip. */
export type Faults = Partial<Record<'ref' | 'setup' | 'cpus' | 'memory' | 'disk' | 'allow', string>>;

export function faultsOf(r: Recipe): Faults {
  const out: Faults = {};
  const ref = r.base.ref ?? '';
  if (r.base.kind === 'registry' && !image.test(ref)) {
    out.ref = 'An image’s name looks like debian:bookworm or registry.example.org/team/image:tag.';
  }
  if ((r.base.kind === 'archive' || r.base.kind === 'directory') && !ref.startsWith('/')) {
    out.ref = 'An absolute path on the Runner’s machine: it starts with /.';
  }
  const size = new Blob([r.setup]).size;
  if (size > bounds.setup) {
    out.setup = `The setup script has ${size >> 10} KB; at most ${bounds.setup >> 10} KB fit. Fetch the rest from within it.`;
  }
  if (!within(r.cpus, bounds.cpus) || !Number.isInteger(r.cpus)) out.cpus = 'Between 1 and 64.';
  if (!within(r.memory, bounds.memory)) out.memory = 'Between 0.5 and 256 GB. Claude Code alone takes about 0.4.';
  if (!within(r.disk, bounds.disk)) out.disk = 'Between 1 and 1024 GB.';
  const bad = r.allow.find((h) => h.length > 260 || !host.test(h));
  if (bad !== undefined) {
    out.allow = `“${bad}” is not a host. It looks like example.org, *.example.org or example.org:443.`;
  } else if (r.allow.length > bounds.allow) {
    out.allow = `An allow-list has at most ${bounds.allow} hosts; these are ${r.allow.length}.`;
  }
  return out;
}

function within(n: number, b: { min: number; max: number }): boolean {
  return n >= b.min && n <= b.max;
}

/** clean is a recipe as it is sent: no reference where none belongs. */
export function clean(r: Recipe): Recipe {
  const ref = r.base.ref?.trim();
  return { ...r, base: r.base.kind === 'default' || !ref ? { kind: r.base.kind } : { kind: r.base.kind, ref } };
}

/** sameImage tells recipes that build the same: they differ at most in what a Sandbox may take or reach. */
export function sameImage(a: Recipe, b: Recipe): boolean {
  return a.base.kind === b.base.kind && (a.base.ref ?? '') === (b.base.ref ?? '') && a.setup === b.setup;
}

export function same(a: Recipe, b: Recipe): boolean {
  return changed(a, b).length === 0;
}

export type Field = 'base' | 'setup' | 'cpus' | 'memory' | 'disk' | 'network' | 'allow';
const fields: Field[] = ['base', 'setup', 'cpus', 'memory', 'disk', 'network', 'allow'];

/** changed names the fields in which two recipes differ. */
export function changed(a: Recipe, b: Recipe): Field[] {
  const text = (r: Recipe, f: Field) => JSON.stringify(f === 'base' ? [r.base.kind, r.base.ref ?? ''] : r[f]);
  const x = clean(a);
  const y = clean(b);
  return fields.filter((f) => text(x, f) !== text(y, f));
}

/**
 * merge puts my changes upon theirs, where both started from the same recipe. Fields that both changed, each in their own
 * way, are clashes: there mine stands, and the person is told.
 */
export function merge(base: Recipe, mine: Recipe, theirs: Recipe): { recipe: Recipe; clashes: Field[] } {
  const my = changed(base, mine);
  const their = changed(base, theirs);
  const recipe = { ...theirs, ...Object.fromEntries(my.map((f) => [f, mine[f]])) };
  return { recipe, clashes: my.filter((f) => their.includes(f) && changed(mine, theirs).includes(f)) };
}

/** hasBuild tells whether there is anything to build: without a base of its own and a script, a recipe is its limits. */
export function hasBuild(r: Recipe): boolean {
  return r.base.kind !== 'default' || r.setup.trim() !== '';
}

/** final tells that a build's state does not change any more. */
export function final(b: Build): boolean {
  return b.state === 'ready' || b.state === 'failed' || b.state === 'cancelled';
}

/**
 * builtOn finds the build on a Runner whose image a version would use, if one was made: of the same version, or of another
 * that builds the same. The newest comes first.
 */
export function builtOn(
  runner: string,
  recipe: Recipe,
  versions: EnvironmentVersion[],
  builds: Build[],
): Build | undefined {
  const fit = new Set(versions.filter((v) => sameImage(v.recipe, recipe)).map((v) => v.version));
  return builds.find((b) => b.runner === runner && b.state === 'ready' && fit.has(b.version));
}

/** lastBuilds gives the newest build on each Runner. Builds come newest first. */
export function lastBuilds(builds: Build[]): Build[] {
  const seen = new Set<string>();
  return builds.filter((b) => !seen.has(b.runner) && seen.add(b.runner));
}

/** baseText names a base in one line. */
export function baseText(b: Base): string {
  return b.kind === 'default' ? 'the Runner’s own system' : (b.ref ?? '');
}
