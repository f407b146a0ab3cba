/**
 * Books that are gone when a server starts, by who deletes the largest files or a disk that is not mounted: a first start
 * looks the same, so it is told, and refused where books are known to be.
 */
import { mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { TEMPORARY } from '../../src/storage/disk.ts';
import { segmentName } from '../../src/storage/format.ts';
import { END_FILE } from '../../src/storage/known-end.ts';
import { connect, makeKeys } from '../support/client.ts';
import { freshDirectory } from '../support/directory.ts';
import { makeKit, until } from '../support/kit.ts';
import { startRefused, startServer } from '../support/server.ts';
import { slow } from '../support/slow.ts';

const THERE = ['--new-books', 'no'];
const REFUSED = { code: 2, log: expect.stringMatching(/has no books, and by .* none are begun\..*last backup/) };

/** A directory that a server has begun, and its key. */
async function begun() {
  const directory = freshDirectory();
  const server = await startServer({ directory });
  expect(await server.stop()).toBe(0);
  return { directory, server };
}

function remove(directory: string, names: RegExp): void {
  for (const name of readdirSync(directory)) if (names.test(name)) rmSync(join(directory, name));
}

async function logOf(directory: string, flags: string[] = []): Promise<string> {
  const server = await startServer({ directory, flags });
  expect(await server.stop()).toBe(0);
  return server.log();
}

test('a first start says that it is one, a second does not, and starts where books are to be there', async () => {
  const { directory, server } = await begun();
  expect(server.log()).toContain(`${directory} has no books: new ones are begun, with a new key.`);
  expect(await logOf(directory, THERE)).not.toContain('has no books');
});

slow(
  'a start on a key without its books says that they are gone, and does not take place where they are to be there',
  async () => {
    const { directory, server } = await begun();
    remove(directory, /^(?:journal|snapshot|part)-/);
    const before = readdirSync(directory);
    expect(await startRefused({ directory, flags: THERE })).toEqual(REFUSED);
    expect(readdirSync(directory)).toEqual(before);
    // A server stopped there, and left a word of it.
    const refused = await startRefused({ directory });
    expect([refused.code, refused.log]).toEqual([1, expect.stringContaining('a server stopped properly at entry')]);
    remove(directory, /^stopped-at/);
    const log = await logOf(directory);
    expect(log).toContain(
      'new ones are begun; the key was there already, so where this server has had books, they are gone',
    );
    expect(log).toContain(server.publicKey);
  },
);

slow('nothing is made where a disk is to be mounted, be the directory there or not', async () => {
  const parent = freshDirectory();
  const key = join(freshDirectory(), 'key');
  writeFileSync(key, readFileSync(join((await begun()).directory, 'server.key')), { mode: 0o600 });
  expect(await startRefused({ directory: join(parent, 'books'), flags: [...THERE, '--server-key', key] })).toEqual(
    REFUSED,
  );
  expect(readdirSync(parent)).toEqual([]);
  mkdirSync(join(parent, 'books'));
  expect(await startRefused({ directory: join(parent, 'books'), flags: THERE })).toEqual(REFUSED);
  expect(readdirSync(join(parent, 'books'))).toEqual([]);
  expect(await logOf(join(parent, 'books'), ['--server-key', key])).toContain('the key was there already');
});

test('a journal that was cut to nothing is no books either', async () => {
  const { directory } = await begun();
  const [segment] = readdirSync(directory).filter((name) => name.startsWith('journal-'));
  truncateSync(join(directory, segment!), 0);
  const before = readdirSync(directory);
  expect(await startRefused({ directory, flags: THERE })).toEqual(REFUSED);
  expect(readdirSync(directory)).toEqual(before);
});

test.each([segmentName(1), segmentName(Number.MAX_SAFE_INTEGER)])(
  'a start on half of a copy, %s, is refused and writes nothing there: it made a key, for no books',
  async (name) => {
    const directory = freshDirectory();
    writeFileSync(join(directory, name + TEMPORARY), 'x');
    const log = expect.stringMatching(/half of a copy, which was cut off, and no books beside it/);
    expect(await startRefused({ directory })).toEqual({ code: 1, log });
    expect(readdirSync(directory)).toEqual([name + TEMPORARY]);
  },
);

test('a start makes no key beside the note of a stop, which another key has signed, and then refuses that', async () => {
  const directory = freshDirectory();
  writeFileSync(join(directory, END_FILE), '{}');
  const log = expect.stringMatching(/server\.key is missing, but stopped-at\.json was signed by the server's key/);
  expect(await startRefused({ directory })).toEqual({ code: 1, log });
  expect(readdirSync(directory)).not.toContain('server.key');
});

test('a start whose --server-key is not there makes no directory', async () => {
  const parent = freshDirectory();
  const flags = ['--server-key', join(parent, 'key')];
  const log = expect.stringMatching(/does not exist; put the key there/);
  expect(await startRefused({ directory: join(parent, 'books'), flags })).toEqual({ code: 1, log });
  expect(readdirSync(parent)).toEqual([]);
});

// It was asked whether there are books at all, and the oldest file of them said nothing: a start needs none of it.
test.each([
  ['a directory', (path: string) => mkdirSync(path)],
  ['a link that leads nowhere', (path: string) => symlinkSync('/not/mounted', path)],
])('%s in the place of the oldest segment, which no start needs, keeps nobody from starting', async (_what, put) => {
  const directory = freshDirectory();
  const server = await startServer({ directory, flags: ['--segment-bytes-max', '4096'] });
  const kit = makeKit(connect(server), makeKeys());
  for (let n = 0; n < 40; n++) await kit.wallet();
  server.process.kill('SIGUSR2');
  await until(() => server.log().includes('Took snapshot-'));
  expect(await server.stop()).toBe(0);
  const [oldest, ...others] = readdirSync(directory).filter((name) => name.startsWith('journal-'));
  expect(others.length).toBeGreaterThan(1);
  remove(directory, new RegExp(oldest!));
  put(join(directory, oldest!));
  expect(await logOf(directory, THERE)).toContain('Read the snapshot after');
});
