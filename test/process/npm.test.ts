/**
 * The server as `npm start` runs it: who asks npm to stop asks the server, and hears how it ended. A supervisor knows
 * npm's process alone; a server that outlived it would hold port and books, and the next start could have neither.
 */
import { spawn, spawnSync } from 'node:child_process';
import { expect, test } from 'vitest';
import { dieWithUs } from '../support/children.ts';
import { freshDirectory } from '../support/directory.ts';
import { until } from '../support/kit.ts';
import { ROOT } from '../support/pages.ts';
import { startServer } from '../support/server.ts';

// Node may be there alone; and on Windows npm is nothing that could be run so.
const hasNpm = spawnSync('npm', ['--version']).error === undefined;
if (!hasNpm) process.stderr.write('note: npm cannot be run; left out: a server that npm starts\n');

test.skipIf(!hasNpm)('a server that npm started outlived the npm that was stopped', async () => {
  const directory = freshDirectory();
  // Built it is already, and another's build is not to be changed under its feet.
  const flags = ['start', '--ignore-scripts', '--', '--port', '0', '--data', directory, '--workers', '1'];
  // A group of its own, so that a server which is left behind goes too.
  const npm = spawn('npm', flags, { cwd: ROOT, stdio: ['ignore', 'pipe', 'pipe'], detached: true });
  dieWithUs(npm);
  let log = '';
  for (const stream of [npm.stdout, npm.stderr]) {
    stream.on('data', (chunk) => {
      log += chunk;
    });
  }
  const ended = new Promise<number | null>((resolve) => npm.once('exit', resolve));
  try {
    await until(() => log.includes('serves http://') || npm.exitCode !== null);
    npm.kill('SIGTERM');
    expect(await ended, log).toBe(0);
    expect(log).toContain('SIGTERM: stops listening');
    const next = await startServer({ directory });
    expect(await next.stop()).toBe(0);
  } finally {
    endGroup(npm.pid!);
  }
});

/** Ends what is left of a group; mostly nothing is. */
function endGroup(leader: number): void {
  try {
    process.kill(-leader, 'SIGKILL');
  } catch (error) {
    expect((error as NodeJS.ErrnoException).code).toBe('ESRCH');
  }
}
