/**
 * A server that V8 gives little, as in a small container: with nothing to do it collected garbage without end, as much of a
 * core as there is.
 */
import { expect, onTestFinished, test } from 'vitest';
import { startServer } from '../../src/cli/server-process.ts';
import { freshDirectory } from '../support/directory.ts';
import { pause } from '../support/kit.ts';
import { freePort } from '../support/of-test.ts';

/** What is loaded after the start takes its collections. */
const QUIET_MS = 4000;
const WATCHED_MS = 3000;

test('a server with a small heap and nothing to do collects no garbage', async () => {
  const metrics = await freePort();
  const options = { nodeFlags: ['--max-old-space-size=128'], flags: ['--metrics', String(metrics)] };
  const server = await startServer(freshDirectory(), options);
  onTestFinished(() => server.stop('SIGKILL') as Promise<unknown> as Promise<void>);
  const collections = async () => {
    const text = await (await fetch(`http://127.0.0.1:${metrics}/metrics`)).text();
    return Number(/^nodejs_gc_duration_seconds_count\{.*kind="major".*\} (\d+)/m.exec(text)?.[1] ?? 0);
  };
  await pause(QUIET_MS);
  const before = await collections();
  await pause(WATCHED_MS);
  expect((await collections()) - before).toBeLessThanOrEqual(2);
});
