import { basename, dirname } from 'node:path';
import { defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

// Tests run on what the build made, so that they exercise the files that ship (workers included).
const dist = process.env.AYNI_DIST ?? 'dist';

/**
 * A sweep that is taken whole lasts minutes, and longer where the machine has other work. Others last seconds; but a machine
 * may stand still for a minute or two, and a busy one has taken a hundred seconds for a start.
 */
const isLong = process.env.AYNI_LONG === '1';
const patienceMs = isLong ? 1_200_000 : 600_000;

/** Scenes of whole processes, and of much memory, that take or wait seconds each: left to CI, where something quicker guards most of it. */
const SLOW = { name: 'slow', description: 'left out by npm test' };
const isWhole = isLong || process.env.AYNI_TESTS === 'all';

/** Rooms whose tests leave something behind in their process. The others share one for many files, which spares loading all again. */
const alone = ['simulate', 'fuzz'].map((room) => `${dist}/test/${room}/**/*.test.js`);

// With certificates of a machine's own Node reads all that it has at each start: 90 ms of processor time, and a complaint
// among what a server says where they cannot be read. The tests start hundreds of processes; the one that speaks TLS brings its own.
delete process.env.NODE_EXTRA_CA_CERTS;

/** Files that take or wait longest, the longest first: one of them begun last would have the machine to itself. */
const LONGEST = [
  ...['cli/send', 'cli/follow-min', 'process/faults', 'cli/follow-tls', 'cli/verify', 'golden/golden', 'cli/follow'],
  ...['api/restart', 'cli/export-checked', 'cli/export', 'proof/pool', 'engine/process', 'api/openapi'],
  ...['process/trouble', 'bridge/process', 'process/two-servers', 'cli/follow-disk', 'core/effort'],
  ...['cli/follow-books', 'api/door', 'bridge/two-banks', 'http/server-limits', 'api/metrics', 'core/access-memo'],
  ...['api/configuration', 'api/effect-delivery', 'api/access', 'core/found-once', 'cli/past', 'cli/backup'],
  ...['process/read-only', 'cli/server-key', 'effects/feeds-many', 'cli/tools', 'proof/verify', 'cli/sign'],
  ...['core/effort-quorums'],
];

class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rank = ({ moduleId }: TestSpecification) => {
      const place = LONGEST.indexOf(`${basename(dirname(moduleId))}/${basename(moduleId, '.test.js')}`);
      return place >= 0 ? place : LONGEST.length;
    };
    const isAlone = ({ project }: TestSpecification) => project.name === 'alone';
    return [...files].sort((one, other) => Number(isAlone(other)) - Number(isAlone(one)) || rank(one) - rank(other));
  }
}

export default defineConfig({
  test: {
    // Many tests wait for processes and disks rather than for a core.
    maxWorkers: 3,
    // Nothing is judged by its time; this only ends what hangs.
    testTimeout: patienceMs,
    hookTimeout: patienceMs,
    tags: [SLOW],
    ...(!isWhole && { tagsFilter: [`!${SLOW.name}`] }),
    sequence: { sequencer: LongestFirst },
    globalSetup: `${dist}/test/support/temporary.js`,
    setupFiles: `${dist}/test/support/fetch.js`,
    // What the build made is loaded as it is; only the files with the tests themselves need vitest's hand.
    server: { deps: { external: [new RegExp(`/${dist}/(?!test/.*\\.test\\.js)`)] } },
    projects: [
      { extends: true, test: { name: 'alone', include: alone } },
      {
        extends: true,
        test: { name: 'rooms', include: [`${dist}/test/**/*.test.js`], exclude: alone, isolate: false },
      },
    ],
  },
});
