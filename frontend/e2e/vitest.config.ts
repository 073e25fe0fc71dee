import { defineConfig } from 'vitest/config';

// One story at a time: each has a browser, a Hub, a Runner and real Claude Code to itself.
export default defineConfig({
  test: {
    include: ['stories/*.test.ts'],
    fileParallelism: false,
    testTimeout: 240_000,
    hookTimeout: 120_000,
    globalSetup: ['./claude.ts'],
    reporters: ['verbose'],
  },
});
