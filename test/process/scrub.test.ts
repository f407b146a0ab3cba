/** The real server on a disk that changes what lies on it: it is seen and mended while the server runs; see scrub.ts. */
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statfsSync,
  statSync,
} from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { ayni, ayniProcess, filesIn, fillBooks, fresh } from '../cli/books.ts';
import { connect, makeKeys, record } from '../support/client.ts';
import { freshDirectory } from '../support/directory.ts';
import { flip } from '../support/flip.ts';
import { until } from '../support/kit.ts';
import { type Server, startServer } from '../support/server.ts';
import { slow } from '../support/slow.ts';
import { canMount, mountDisk } from './system.ts';

const mountable = canMount('a disk that is really full');

const told = (server: Server, what: RegExp) => until(() => what.exec(server.log()), server.log);

/** How many snapshots it has taken. */
const taken = (server: Server) => server.log().split('Took snapshot').length - 1;

/** A start passes nothing by. */
async function readsAll(directory: string): Promise<void> {
  const again = await startServer({ directory });
  expect(again.log()).not.toContain('not used');
  await again.stop();
}

test('a newest snapshot that has changed on the disk is followed by a new one, and a start reads that', async () => {
  const directory = freshDirectory();
  const first = await startServer({ directory, flags: ['--snapshot-every', '20'] });
  await fillBooks(first, 20);
  await first.stop();
  const newest = filesIn(directory, /^snapshot/).at(-1)!;
  const server = await startServer({ directory, flags: ['--scrub-seconds', '1'] });
  flip(join(directory, newest), statSync(join(directory, newest)).size >> 1);
  await told(server, new RegExp(`${newest} has changed on the disk \\(other bytes\\)\\. A new snapshot is taken`));
  await told(server, /Took snapshot-\d+\.ays/);
  await server.kill();
  await readsAll(directory);
});

// Left with the next entry only, it was what the next start refused where a server that had nothing to do was stopped.
test.each<[string, 'stop' | 'kill', boolean]>([
  ['and a start after a stop reads what lies behind it', 'stop', false],
  ['and a start after a kill, and entries', 'kill', true],
])('a segment in use that has changed on the disk is left at once, %s', async (_, end, isUsed) => {
  const directory = freshDirectory();
  const server = await startServer({ directory, flags: ['--scrub-seconds', '1'] });
  await fillBooks(server, 20);
  const [segment] = filesIn(directory, /^journal/) as [string];
  flip(join(directory, segment), 700);
  await told(server, new RegExp(`${segment} has changed on the disk \\(from byte \\d+ on\\)`));
  await told(server, /Took snapshot-\d+\.ays/);
  const post = (to: Server, handle: string) => connect(to).post('/wallets', record({ handle }, makeKeys()));
  if (isUsed) expect((await post(server, 'behind')).status).toBe(201);
  await server[end]();
  const again = await startServer({ directory });
  expect(again.log()).toMatch(/Read the snapshot after entry \d+/);
  expect((await connect(again).get('/wallets/behind')).status).toBe(isUsed ? 200 : 404);
  expect((await post(again, 'more')).status).toBe(201);
  await again.stop();
  await readsAll(directory);
});

test.skipIf(!mountable).each([/^snapshot/, /^journal/])(
  'where there is no room for a snapshot in the place of what has changed, the server, which may have all that is whole, goes on: %s',
  async (kind) => {
    const disk = mountDisk('16m');
    onTestFinished(disk.remove);
    const directory = join(disk.path, 'books');
    mkdirSync(directory);
    const server = await startServer({
      directory,
      flags: ['--scrub-seconds', '1', '--segment-bytes-max', '8192'],
    });
    await fillBooks(server, 20);
    server.process.kill('SIGUSR2');
    await told(server, /Took snapshot-\d+\.ays/);
    await fillBooks(server, 40);
    expect(taken(server)).toBe(1);
    const { blocks, bfree, bsize } = statfsSync(disk.path);
    disk.resize(String((blocks - bfree) * bsize));
    const file = filesIn(directory, kind).at(kind.test('journal') ? -2 : -1)!;
    flip(join(directory, file), statSync(join(directory, file)).size >> 1);
    await told(server, /No snapshot could be taken in the place of what has changed on the disk \(ENOSPC.*SIGUSR2/);
    expect((await connect(server).get('/head')).status).toBe(200);
    disk.resize('16m');
    await until(() => taken(server) > 1, server.log);
    await server.kill();
    await readsAll(directory);
  },
);

// Of entries that the backup has not one was taken, and what stood in the backup went for it: no server started there any more.
test('a backup put back beside an idle server is left as it is: no snapshot is taken there, and a start reads it', async () => {
  const directory = freshDirectory();
  const server = await startServer({ directory, flags: ['--snapshot-every', '20', '--scrub-seconds', '1'] });
  await fillBooks(server, 40);
  const backup = fresh();
  expect(await ayni('backup', directory, backup)).toMatchObject({ code: 0 });
  await fillBooks(server, 40);
  for (const name of filesIn(directory, /^(snapshot|journal|part)-/)) rmSync(join(directory, name));
  const names = readdirSync(backup);
  for (const name of names) copyFileSync(join(backup, name), join(directory, name));
  await told(server, /is not this server's any more: its journal-\d+\.ayj is gone, or not as it was left/);
  await until(() => server.process.exitCode === 1);
  for (const name of names)
    expect(readFileSync(join(directory, name)).equals(readFileSync(join(backup, name)))).toBe(true);
  expect(filesIn(directory, /^snapshot/)).toEqual(filesIn(backup, /^snapshot/));
  await readsAll(directory);
});

test('nothing is read again where nobody wants it', async () => {
  const directory = freshDirectory();
  const server = await startServer({ directory, flags: ['--snapshot-every', '20', '--scrub-seconds', '0'] });
  await fillBooks(server, 20);
  const newest = filesIn(directory, /^snapshot/).at(-1)!;
  flip(join(directory, newest), 100);
  await server.stop();
  expect(server.log()).not.toContain('has changed');
});

/** A server with two snapshots, and entries behind them in several segments, where copies can be begun. */
async function withOlder() {
  const directory = freshDirectory();
  const flags = ['--followers', '0', '--scrub-seconds', '1', '--segment-bytes-max', '8192'];
  const server = await startServer({ directory, flags });
  const snap = async () => {
    const before = taken(server);
    server.process.kill('SIGUSR2');
    await until(() => taken(server) > before, server.log);
  };
  for (let n = 0; n < 2; n++) {
    await fillBooks(server, 20);
    await snap();
  }
  await fillBooks(server, 20);
  const [url] = /http:\/\/127\.0\.0\.1:\d+(?=\.)/.exec(server.log())!;
  const copy = () => {
    const to = fresh();
    const ran = ayniProcess('follow', url, to, '--against', server.publicKey, '--once');
    return ran.then(async (ran) => (ran.code === 0 ? ayniProcess('verify', to) : ran));
  };
  return { directory, server, snap, copy };
}

// Nobody said so, and no copy could be begun, for ever where nobody wrote.
test.each([/^snapshot/, /^journal/])(
  'what a start would only fall back on has changed: that is told once, a copy can be begun, and it goes with the next snapshot: %s',
  async (kind) => {
    const { directory, server, snap, copy } = await withOlder();
    const [file] = filesIn(directory, kind) as [string];
    flip(join(directory, file), statSync(join(directory, file)).size >> 1);
    await told(server, new RegExp(`${file} has changed on the disk \\(.+\\)\\. A start does not need it as long as `));
    expect(await copy()).toMatchObject({ code: 0 });
    await new Promise((resolve) => setTimeout(resolve, 2500));
    expect([...server.log().matchAll(/has changed/g)].length).toBe(1);
    const newest = filesIn(directory, /^snapshot/).at(-1);
    await snap();
    expect(existsSync(join(directory, file))).toBe(false);
    expect(filesIn(directory, /^snapshot/)[0]).toBe(newest);
    expect(await copy()).toMatchObject({ code: 0 });
    await server.kill();
    await readsAll(directory);
  },
);

test('a new copy can be begun as soon as no start reads a segment that has changed', async () => {
  const { directory, server, snap, copy } = await withOlder();
  const segment = filesIn(directory, /^journal/).at(-2)!;
  flip(join(directory, segment), 700);
  await until(() => taken(server) > 2, server.log);
  expect(await copy()).toMatchObject({ code: 0 });
  const { status } = await connect(server).post('/wallets', record({ handle: 'behind' }, makeKeys()));
  expect(status).toBe(201);
  await snap();
  await until(() => !existsSync(join(directory, segment)), server.log);
  expect(await copy()).toMatchObject({ code: 0 });
  expect(await ayniProcess('verify', directory)).toMatchObject({ code: 0 });
  await server.stop();
});

// The next entry ended the server, and what the file had was gone.
test.skipIf(!existsSync('/proc/self/fd')).each(['stop', 'kill'] as const)(
  'a segment in use that was taken away is told of, and can be put back from what the server has open, before a %s',
  async (end) => {
    const { directory, server } = await withOlder();
    const segment = filesIn(directory, /^journal/).at(-1)!;
    const path = join(directory, segment);
    rmSync(path);
    await told(
      server,
      new RegExp(`${segment}, which is written to, is gone from the directory.* /proc/${server.process.pid}/fd `),
    );
    const open = `/proc/${server.process.pid}/fd`;
    const fd = readdirSync(open).find((name) => readlinkSync(join(open, name)).startsWith(path))!;
    const head = (await connect(server).get('/head')).body;
    copyFileSync(join(open, fd), path);
    await server[end]();
    const again = await startServer({ directory });
    expect((await connect(again).get('/head')).body.data).toEqual(head.data);
    await again.stop();
  },
);

// Of fewer entries no page of a column is full.
slow('a part that has changed, or is gone, is written anew, and a start reads it', async () => {
  const directory = freshDirectory();
  const first = await startServer({ directory });
  const keys = makeKeys();
  const wallets = Array.from({ length: 66_000 }, (_, n) => n);
  const post = async () => {
    for (let n = wallets.pop(); n !== undefined; n = wallets.pop()) {
      const body = JSON.stringify(record({ handle: `w${n}` }, keys));
      // Nobody looks at so many answers.
      await (await fetch(`${first.url}/wallets`, { method: 'POST', body })).arrayBuffer();
    }
  };
  await Promise.all(Array.from({ length: 64 }, post));
  first.process.kill('SIGUSR2');
  await told(first, /Took snapshot-\d+\.ays/);
  await first.kill();
  const server = await startServer({ directory, flags: ['--scrub-seconds', '2'] });
  const parts = readdirSync(directory).filter((name) => name.startsWith('part-'));
  expect(parts.length).toBeGreaterThan(1);
  for (const part of parts) flip(join(directory, part), 60_000);
  for (const part of parts) {
    await told(server, new RegExp(`${part} had changed on the disk \\(other bytes\\), and is written anew`));
  }
  expect(parts.filter((name) => !existsSync(join(directory, name)))).toEqual([]);
  await server.kill();
  const again = await startServer({ directory });
  expect(again.log()).not.toContain('not used');
  const { status } = await connect(again).get('/wallets/w65999');
  expect(status).toBe(200);
  await again.stop();
});
