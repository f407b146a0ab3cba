import { defineConfig } from 'vitest/config';

// Tests run on what the build made, so that they exercise the files that ship (workers included).
const dist = process.env.AYNI_DIST ?? 'dist';

/** A sweep that is taken whole lasts minutes, and longer where the machine has other work. */
const patienceMs = process.env.AYNI_LONG === '1' ? 1_200_000 : 120_000;

/** Rooms whose tests leave nothing behind in their process: one process for many files spares loading all again. */
const shared = ['core', 'memory', 'storage', 'effects', 'http', 'house', 'api', 'bridge'].map(
  (room) => `${dist}/test/${room}/**/*.test.js`,
);

export default defineConfig({
  test: {
    // Many tests wait for processes and disks rather than for a core.
    maxWorkers: 3,
    // Nothing is judged by its time; this only ends what hangs.
    testTimeout: patienceMs,
    hookTimeout: patienceMs,
    projects: [
      { extends: true, test: { name: 'rooms', include: shared, isolate: false } },
      { extends: true, test: { name: 'processes', include: [`${dist}/test/**/*.test.js`], exclude: shared } },
    ],
  },
});
