import { defineConfig } from 'vitest/config';

// Tests run on what the build made, so that they exercise the files that ship (workers included).
const dist = process.env.AYNI_DIST ?? 'dist';

export default defineConfig({
  test: {
    include: [`${dist}/test/**/*.test.js`],
    // Many tests wait for processes and disks rather than for a core.
    maxWorkers: 2,
    // Nothing is judged by its time; this only ends what hangs.
    testTimeout: 120_000,
    hookTimeout: 120_000,
  },
});
