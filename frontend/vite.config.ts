import react from '@vitejs/plugin-react';
import { defineConfig } from 'vitest/config';

// The Hub that `npm run dev` talks to. `make run` prints its address.
const hub = process.env.CLAUDE_HUB_URL ?? 'http://127.0.0.1:8080';

export default defineConfig({
  plugins: [react()],
  resolve: { alias: { '~': new URL('./src', import.meta.url).pathname } },
  // The Hub fills in a fresh nonce each time it serves index.html.
  html: { cspNonce: '__CSP_NONCE__' },
  build: {
    outDir: '../hub/web/dist',
    emptyOutDir: true,
    assetsInlineLimit: 0, // data: URLs would need a wider Content-Security-Policy
    chunkSizeWarningLimit: 1500,
    sourcemap: false,
    target: 'es2022',
  },
  server: { proxy: { '/api': { target: hub, ws: true }, '/healthz': hub } },
  test: { environment: 'jsdom', include: ['src/**/*.test.{ts,tsx}'], restoreMocks: true },
});
