/** A service as a child process: it is known to listen once it says so, whatever else it says. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { startServer } from '../../src/cli/server-process.ts';

const directory = mkdtempSync(join(tmpdir(), 'ayni-server-process-'));
afterEach(() => rmSync(directory, { recursive: true, force: true }));

test('a service that says very much before it listens', async () => {
  const strange = Array.from({ length: 500 }, (_, n) => [`AYNI_NO_SETTING_OF_THIS_NAME_${n}`, 'x']);
  let log = '';
  const environment = { ...process.env, ...Object.fromEntries(strange) };
  const server = await startServer(directory, { environment, onLog: (text) => (log += text) });
  expect((await fetch(`${server.url}/wallets`)).status).toBe(200);
  expect(await server.stop('SIGTERM')).toBe(0);
  expect(log.length).toBeGreaterThan(10_000);
});
