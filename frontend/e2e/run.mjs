// Runs the end-to-end stories, or those that are named. An unknown name is an error.
import { spawnSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';

const here = import.meta.dirname;
const stories = readdirSync(join(here, 'stories'))
  .filter((f) => f.endsWith('.test.ts'))
  .map((f) => f.replace('.test.ts', ''));
const wanted = process.argv.slice(2).filter((name) => name !== 'all');
const unknown = wanted.find((name) => !stories.includes(name));
if (unknown) {
  console.error(`There is no story called "${unknown}". There are: ${stories.join(', ')}.`);
  process.exit(1);
}
const files = wanted.map((name) => `stories/${name}.test.ts`);
const run = spawnSync('npx', ['vitest', 'run', '--root', here, '--config', join(here, 'vitest.config.ts'), ...files], {
  stdio: 'inherit',
  cwd: join(here, '..'),
});
process.exit(run.status ?? 1);
