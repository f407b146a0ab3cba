/**
 * Books that are gone when a server starts, by who deletes the largest files or a disk that is not mounted: a first start
 * looks the same, so it is told, and refused where books are known to be.
 */
import { mkdirSync, readdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { freshDirectory } from '../support/directory.ts';
import { startRefused, startServer } from '../support/server.ts';
import { slow } from '../support/slow.ts';

const THERE = ['--new-books', 'no'];
const REFUSED = { code: 2, log: expect.stringMatching(/has no books, and by .* none are begun\..*last backup/) };

/** A directory that a server has begun, and its key. */
async function begun(flags: string[] = []) {
  const directory = freshDirectory();
  const server = await startServer({ directory, flags });
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
