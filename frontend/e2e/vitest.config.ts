import { defineConfig } from 'vitest/config';
import { slower } from './wait.ts';

const report = process.env.CLAUDE_HUB_STORIES_REPORT;

// One story at a time: each has a browser, a Hub, a Runner and real Claude Code to itself.
export default defineConfig({
  test: {
    include: ['stories/*.test.ts'],
    fileParallelism: false,
    testTimeout: 420_000 * slower,
    hookTimeout: 120_000 * slower,
    globalSetup: ['./claude.ts', './warm.ts'],
    reporters: report ? ['verbose', ['json', { outputFile: report }]] : ['verbose'],
  },
});
