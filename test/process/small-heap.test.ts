/**
 * A server that V8 gives little, as in a small container: with nothing to do it collected garbage without end, as much of a
 * core as there is. And what is kept or waits in it is to be small there as well.
 */
import { execFileSync } from 'node:child_process';
import { connect } from 'node:net';
import { fileURLToPath } from 'node:url';
import { expect, onTestFinished, test } from 'vitest';
import { startServer } from '../../src/cli/server-process.ts';
import { YOUNG_GENERATION_FLAGS } from '../../src/young-generation.ts';
import { freshDirectory } from '../support/directory.ts';
import { pause, until } from '../support/kit.ts';
import { freePort } from '../support/of-test.ts';

/** What is loaded after the start takes its collections. */
const QUIET_MS = 4000;
const WATCHED_MS = 3000;

const SMALL = '--max-old-space-size=128';

test('a server with a small heap and nothing to do collects no garbage', async () => {
  const metrics = await freePort();
  const options = { nodeFlags: [SMALL], flags: ['--metrics', String(metrics)] };
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

test('caches of a server with a small heap are small', () => {
  const program = fileURLToPath(new URL('./small-rooms.js', import.meta.url));
  const flags = [...YOUNG_GENERATION_FLAGS, SMALL, program, freshDirectory()];
  const said = execFileSync(process.execPath, flags, { encoding: 'utf8', stdio: 'pipe' });
  expect(JSON.parse(said)).toEqual({
    ...{ cacheShare: 96 / 5632, keepsProof: false, keepsSchema: false, keepsText: false, status: 200 },
  });
});

test('long heads of requests that wait take a part of a small heap, and not as much as bodies may', async () => {
  const server = await startServer(freshDirectory(), {
    nodeFlags: [SMALL],
    flags: ['--arriving-bytes-max', String(1 << 26), '--body-ms-max', '60000'],
  });
  onTestFinished(() => server.stop('SIGKILL') as Promise<unknown> as Promise<void>);
  // Seven megabytes of them, each before half a body.
  const head = `POST /v2/wallets?${'x'.repeat(15_000)} HTTP/1.1\r\nhost: a\r\ncontent-length: 2\r\n\r\na`;
  const answers: string[] = [];
  for (let n = 0; n < 500 && answers.length === 0; n++) {
    const socket = connect(server.port, '127.0.0.1');
    onTestFinished(() => void socket.destroy());
    socket.on('error', () => {});
    let told = '';
    socket.on('data', (data) => {
      told += data;
      if (told.includes('\r\n')) answers.push(told);
    });
    await new Promise<void>((resolve) => socket.write(head, () => resolve()));
  }
  await until(() => answers.length > 0);
  expect(answers[0]).toMatch(/^HTTP\/1.1 429 /);
});
