import { defineConfig } from 'vitest/config';

// Tests run on what the build made, so that they exercise the files that ship (workers included).
const dist = process.env.AYNI_DIST ?? 'dist';

export default defineConfig({
  test: {
    include: [`${dist}/test/**/*.test.js`],
    // Many tests wait for processes and disks rather than for a core.
    maxWorkers: 2,
    testTimeout: 30_000,
    hookTimeout: 60_000,
  },
});
