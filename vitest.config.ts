import { defineConfig } from 'vitest/config';

// Tests run on what the build made, so that they exercise the files that ship (workers included).
const dist = process.env.AYNI_DIST ?? 'dist';

/** Rooms whose tests leave nothing behind in their process: one process for many files spares loading all again. */
const shared = ['core', 'memory', 'storage', 'effects', 'http', 'house'].map(
  (room) => `${dist}/test/${room}/**/*.test.js`,
);

export default defineConfig({
  test: {
    // Many tests wait for processes and disks rather than for a core.
    maxWorkers: 3,
    // Nothing is judged by its time; this only ends what hangs.
    testTimeout: 120_000,
    hookTimeout: 120_000,
    projects: [
      { extends: true, test: { name: 'rooms', include: shared, isolate: false } },
      { extends: true, test: { name: 'processes', include: [`${dist}/test/**/*.test.js`], exclude: shared } },
    ],
  },
});
