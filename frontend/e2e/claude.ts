// Fetches Claude Code once, as the Runner does, for all stories of a run.
import { execFileSync } from 'node:child_process';
import { join, resolve } from 'node:path';

export default function setup(): void {
  // The emulated machine has its own.
  if (process.env.CLAUDE_HUB_TEST_CLAUDE || process.env.CLAUDE_HUB_MACHINE) return;
  const root = resolve(import.meta.dirname, '../..');
  const path = execFileSync(
    join(root, 'bin/claude-hub-runner'),
    ['--dir', join(process.env.HOME ?? '/tmp', '.cache/claude-hub-test'), 'claude'],
    {
      encoding: 'utf8',
      timeout: 600_000,
      stdio: ['ignore', 'pipe', 'inherit'],
    },
  );
  process.env.CLAUDE_HUB_TEST_CLAUDE = path.trim();
}
