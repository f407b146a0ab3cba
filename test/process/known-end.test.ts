/**
 * A stop leaves the journal whole and notes where it ends: what is gone of it afterwards, or spoilt, is damage, and no
 * write that did not end. After a crash it may be one.
 */
import { cpSync, existsSync, readdirSync, readFileSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { realDisk } from '../../src/storage/disk.ts';
import { JOURNAL_START } from '../../src/storage/journal.ts';
import { readJournal } from '../../src/storage/journal-reader.ts';
import { END_FILE } from '../../src/storage/known-end.ts';
import { ayniProcess } from '../cli/books.ts';
import { connect, makeKeys } from '../support/client.ts';
import { directoryCopy, freshDirectory } from '../support/directory.ts';
import { flip } from '../support/flip.ts';
import { makeKit, unique } from '../support/kit.ts';
import { startRefused, startServer } from '../support/server.ts';

const keys = makeKeys(Buffer.alloc(32, 7));

/** Books with some entries, of a server that has been stopped, or killed after the same. */
async function left(how: 'stop' | 'kill'): Promise<string> {
  const directory = freshDirectory();
  const server = await startServer({ directory });
  const kit = makeKit(connect(server), keys);
  for (let n = 0; n < 3; n++) await kit.make('wallets', { handle: unique('wallet') });
  await server[how]();
  return directory;
}

const lastSegment = (directory: string) =>
  join(directory, readdirSync(directory).findLast((name) => name.startsWith('journal-'))!);

/** Where the last frame of the journal begins. */
function lastFrame(directory: string): number {
  return readJournal(realDisk, directory, JOURNAL_START, { verifyFrame: () => true, onEntry() {} }).position.written;
}

function spoil(path: string): void {
  const bytes = readFileSync(path);
  bytes.fill(7, bytes.length - 40, bytes.length - 20);
  writeFileSync(path, bytes);
}

const cut = (path: string) => truncateSync(path, statSync(path).size - 25);

describe('after a stop', () => {
  let stopped: string;
  beforeAll(async () => {
    stopped = await left('stop');
  });

  test.each([
    ['cut', cut],
    ['spoilt', spoil],
  ])(
    'an end that is %s is damage for a start, an audit and a copy; without the note it is cut',
    async (_how, change) => {
      const directory = directoryCopy(stopped);
      change(lastSegment(directory));
      const before = readFileSync(lastSegment(directory));
      const refused = await startRefused({ directory });
      expect([refused.code, refused.log]).toEqual([
        1,
        expect.stringMatching(/the journal ends at entry \d+, and a server stopped properly at entry \d+/),
      ]);
      expect(refused.log).toContain(`take ${END_FILE} away`);
      expect(readFileSync(lastSegment(directory)).equals(before)).toBe(true);
      for (const args of [
        ['verify', directory],
        ['backup', directory, join(freshDirectory(), 'copy')],
        ['inspect', directory],
      ]) {
        const told = await ayniProcess(...args);
        expect([told.code, told.out]).toEqual([1, expect.stringContaining('a server stopped properly')]);
      }
      rmSync(join(directory, END_FILE));
      const server = await startServer({ directory });
      expect(server.log()).toContain('Cut a torn tail');
      await server.kill();
    },
  );

  test('a stray byte behind a lost end does not hide that: it was taken for all that is wrong', async () => {
    const directory = directoryCopy(stopped);
    const path = lastSegment(directory);
    const whole = readFileSync(path);
    // Up to where its last frame begins, and then what looks like room for more.
    const byte = lastFrame(directory);
    const bytes = Buffer.concat([whole.subarray(0, byte), Buffer.alloc(8000)]);
    bytes[byte + 4000] = 8;
    writeFileSync(path, bytes);
    for (const flags of [['--read-only', 'yes'], []]) {
      const { code, log } = await startRefused({ directory, flags });
      expect([code, log]).toEqual([1, expect.stringContaining('a server stopped properly')]);
    }
    expect(readFileSync(path).equals(bytes)).toBe(true);
    expect((await ayniProcess('verify', directory)).out).toContain('a server stopped properly');
  });

  test('one byte that has changed is put back as ever', async () => {
    const directory = directoryCopy(stopped);
    flip(lastSegment(directory), -90);
    const server = await startServer({ directory });
    expect(server.log()).toContain('it was put back');
    await server.kill();
  });

  test('an older copy of the journal in its place is told; gone on with, the note of before holds', async () => {
    const directory = directoryCopy(stopped);
    const older = directoryCopy(stopped);
    const server = await startServer({ directory });
    await makeKit(connect(server), keys).make('wallets', { handle: unique('later') });
    const note = readFileSync(join(directory, END_FILE), 'utf8');
    await server.kill();
    expect(readFileSync(join(directory, END_FILE), 'utf8')).toBe(note);
    const again = await startServer({ directory });
    await again.stop();
    expect(readFileSync(join(directory, END_FILE), 'utf8')).not.toBe(note);
    cpSync(lastSegment(older), lastSegment(directory));
    const { code, log } = await startRefused({ directory });
    expect([code, log]).toEqual([1, expect.stringContaining('a server stopped properly')]);
  });

  test.each([
    ['not JSON', () => 'x'],
    ['of another number', (text: string) => text.replace(/"seq":\d+/, '"seq":1')],
  ])('a note that is %s is told, and its file', async (_what, change) => {
    const directory = directoryCopy(stopped);
    const path = join(directory, END_FILE);
    writeFileSync(path, change(readFileSync(path, 'utf8')));
    const { code, log } = await startRefused({ directory });
    expect([code, log]).toEqual([1, expect.stringContaining(`${END_FILE} holds nothing that this server's key`)]);
  });
});

test('after a kill there is no note, and what was not whole is cut', async () => {
  const directory = await left('kill');
  expect(existsSync(join(directory, END_FILE))).toBe(false);
  const path = lastSegment(directory);
  const bytes = readFileSync(path);
  const end = bytes.findLastIndex((byte) => byte !== 0);
  truncateSync(path, end - 20);
  const server = await startServer({ directory });
  expect(server.log()).toContain('Cut a torn tail');
  await server.kill();
});

test('what waits for no disk leaves no note', async () => {
  const directory = freshDirectory();
  const server = await startServer({ directory, flags: ['--durability', 'none'] });
  await server.stop();
  expect(existsSync(join(directory, END_FILE))).toBe(false);
});
