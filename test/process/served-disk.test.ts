/** Books on a file system that is the work of another program (FUSE), which may do less than those of the system itself. */
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { ayni } from '../cli/books.ts';
import { answeredWith, clientOf, crowd } from '../engine/process.ts';
import { makeKeys } from '../support/client.ts';
import { freshDirectory } from '../support/directory.ts';
import { makeKit } from '../support/kit.ts';
import { serverOfTest } from '../support/of-test.ts';
import { launch, startRefused } from '../support/server.ts';
import { canServeFiles, canTraceForbidding, mountServed, trace } from './system.ts';

const servable = await canServeFiles('books on a file system that is the work of another program');

async function served(options: string) {
  const disk = await mountServed(freshDirectory(), options);
  onTestFinished(disk.remove);
  return disk;
}

// Of files that are not cached the system hands over writes, and leaves out the sync that was asked for with them.
test.skipIf(!servable || !canTraceForbidding('syncs that fail'))(
  'nothing is acknowledged before that program has synced it: 69 intents were, without a single sync',
  async () => {
    const disk = await served('direct_io');
    const server = await launch(disk.path, {});
    onTestFinished(async () => {
      if (server.child.kill('SIGKILL')) await server.ended;
    });
    const kit = makeKit(await clientOf(server), makeKeys());
    const [wallet, symbol] = [await kit.wallet(), await kit.symbol()];
    const traced = await trace(disk.pid, 'fsync,fdatasync', 'fsync,fdatasync:error=EIO');
    onTestFinished(traced.detach);
    const load = crowd(server.url, 1, wallet, symbol);
    await load.acknowledged(1);
    expect(answeredWith(load, 201)).toBe(0);
    expect(await server.ended).toBe(1);
    expect(server.log()).toContain('The disk failed');
    await load.end();
  },
);

test.skipIf(!servable)(
  'where every file is open to others no key is made, and it is told before there are books: the second start refused them',
  async () => {
    const { path } = await served('umask=000');
    for (let n = 0; n < 2; n++) {
      const { code, log } = await startRefused({ directory: path });
      expect(code).toBe(1);
      expect(log).toContain(`${path} lies on a file system where every file is open to others`);
      expect(log).toContain('--server-key');
    }
  },
);

test.skipIf(!servable)(
  'where every file is open to others no copy of the key is left: it lay there for all',
  async () => {
    const directory = freshDirectory();
    await (await serverOfTest({ directory })).stop();
    const { path } = await served('umask=000');
    const to = join(path, 'copy');
    const { code, out, err } = await ayni('backup', directory, to, '--with-key');
    expect([code, out + err]).toEqual([1, expect.stringContaining('open to others')]);
    const left = await readdir(to).catch(() => []);
    expect(left).not.toContain('server.key');
    expect((await ayni('backup', directory, join(path, 'second'))).code).toBe(0);
  },
);
