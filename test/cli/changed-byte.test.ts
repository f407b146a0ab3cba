/**
 * One changed byte, anywhere in a real directory: the audit finds it and names its file. What it does not look at it
 * names as such. Says how many bytes were changed, and how quickly they were found.
 *
 * `npm run test:long` changes every byte of small files and of the last frame; without it, every few.
 */
import { createHash } from 'node:crypto';
import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { readJournal } from '../../src/storage/journal-reader.ts';
import { journalStart } from '../../src/storage/segments.ts';
import { FakeDisk, randomFrom } from '../storage/fake-disk.ts';
import { connect, makeKeys } from '../support/client.ts';
import { freshDirectory } from '../support/directory.ts';
import { flip } from '../support/flip.ts';
import { issue, makeKit, until } from '../support/kit.ts';
import { againWith, isLong, often, SHARE } from '../support/long.ts';
import { startServer } from '../support/server.ts';
import { ayni, filesIn, look } from './books.ts';

const BOOKS = '/books';
const MiB = 1024 * 1024;
/** Of a file longer than this a sample is changed: its ends, and bytes by chance. */
const SMALL_BYTES = 2048;
const ENDS_BYTES = often(3, 100);
const SAMPLED = often(3, 300);
/** Every so-maniest byte of small files and of the last frame. */
const STEP = often(83, 1);

const directory = freshDirectory();

beforeAll(async () => {
  const server = await startServer({ directory, flags: ['--snapshot-every', '9', '--segment-bytes-max', '4096'] });
  const kit = makeKit(connect(server), makeKeys());
  const [wallet, symbol] = [await kit.wallet(), await kit.symbol()];
  for (let n = 0; n < 20; n++) await kit.done([issue(wallet, symbol, 1)]);
  await until(() => filesIn(directory, /^snapshot.*ays$/).length >= 2);
  await server.kill();
});

/** The directory in memory, so that thousands of changes take seconds. */
function inMemory(): { disk: FakeDisk; files: Map<string, Buffer> } {
  const disk = new FakeDisk();
  disk.mkdir(BOOKS);
  const files = new Map(filesIn(directory, /./).map((name) => [name, readFileSync(join(directory, name))]));
  // As a crash may leave it behind: a full chunk whose snapshot never came.
  const chunk = Buffer.alloc(1500, 'a full chunk ');
  files.set(`part-records.chunk.000000-${createHash('sha256').update(chunk).digest('hex').slice(0, 16)}.ayp`, chunk);
  for (const [name, bytes] of files) disk.put(`${BOOKS}/${name}`, bytes);
  return { disk, files };
}

const lookAt = (disk: FakeDisk) => look(BOOKS, { disk });

function lastFrameOf(disk: FakeDisk): { file: string; byte: number } {
  let last = { file: '', byte: 0 };
  readJournal(disk, BOOKS, journalStart(disk, BOOKS), {
    verifyFrame: () => true,
    onEntry() {},
    onFrame: ({ file, byte }) => {
      last = { file, byte };
    },
  });
  return last;
}

/** Bytes of a file to be changed: all where it is small, and all of the last frame. */
function placesIn(name: string, bytes: Buffer, lastFrame: { file: string; byte: number }): Set<number> {
  const places = new Set<number>();
  const add = (from: number, to: number, step = 1) => {
    for (let byte = Math.max(from, 0); byte < Math.min(to, bytes.length); byte += step) places.add(byte);
  };
  if (bytes.length <= SMALL_BYTES) add(0, bytes.length, STEP);
  add(0, ENDS_BYTES);
  add(bytes.length - ENDS_BYTES, bytes.length);
  if (lastFrame.file === `${BOOKS}/${name}`) add(lastFrame.byte, bytes.length, STEP);
  const random = randomFrom(bytes.length + SHARE);
  for (let n = 0; n < SAMPLED; n++) places.add(Math.floor(random() * bytes.length));
  return places;
}

describe('one changed byte', () => {
  test('in any file of the books is found, and its file named', async () => {
    const { disk, files } = inMemory();
    const honest = await lookAt(disk);
    expect(honest.finding).toBeNull();
    expect(honest.snapshots).toBe(2);
    const covered = [...files.keys()].filter((name) => !honest.strangers.includes(name));
    expect(covered.filter((name) => /^journal/.test(name)).length).toBeGreaterThan(2);
    expect(covered).toContain('server.key');
    expect(honest.parts).toBe(1);
    const lastFrame = lastFrameOf(disk);
    const random = randomFrom(SHARE);
    const missed: string[] = [];
    let changes = 0;
    const began = performance.now();
    for (const name of covered) {
      const bytes = files.get(name)!;
      const path = `${BOOKS}/${name}`;
      for (const byte of placesIn(name, bytes, lastFrame)) {
        const changed = Buffer.from(bytes);
        changed[byte]! ^= random() < 0.7 ? 1 << Math.floor(random() * 8) : 1 + Math.floor(random() * 255);
        disk.put(path, changed);
        const seen = await whatIsSeen(disk, name);
        if (seen !== path) missed.push(`${name} byte ${byte}: ${seen}`);
        changes++;
      }
      disk.put(path, bytes);
    }
    const seconds = (performance.now() - began) / 1000;
    process.stderr.write(
      `note: changed ${changes} bytes, one at a time, in ${covered.length} files: all found, ${Math.round(changes / seconds)} a second\n`,
    );
    expect(missed, againWith()).toEqual([]);
    expect((await lookAt(disk)).finding).toBeNull();
  });

  test.skipIf(!isLong)(
    'in a full chunk of 64 MiB, which all snapshots share, is found',
    async () => {
      const path = freshDirectory();
      const server = await startServer({ directory: path, flags: ['--body-bytes-max', String(16 * MiB)] });
      const kit = makeKit(connect(server), makeKeys());
      for (let n = 0; n < 5; n++) await kit.wallet({ custom: { text: 'much '.repeat(3 * MiB) } });
      server.process.kill('SIGUSR2');
      await until(() => filesIn(path, /^snapshot.*ays$/).length > 0);
      await server.stop();
      const [chunk, ...others] = filesIn(path, /^part-/);
      expect([chunk, others]).toEqual([expect.stringMatching(/^part-records\.chunk\.000000-/), []]);
      const file = join(path, chunk!);
      const size = statSync(file).size;
      expect(size).toBe(64 * MiB);
      const ran = await ayni('verify', path);
      expect(ran.out + ran.err).toMatch(/parts +1 +67 MB/);
      for (const byte of [0, 12_345_678, size - 1]) {
        flip(file, byte);
        const { finding } = await look(path);
        expect(finding).toMatchObject({ kind: 'damage', file });
        flip(file, byte);
      }
    },
    60_000,
  );

  test('in a file that is no part of the books is not, and the file is named', async () => {
    const { disk, files } = inMemory();
    disk.put(`${BOOKS}/README.md`, Buffer.from('# Mine'));
    const { strangers } = await lookAt(disk);
    expect(strangers).toEqual([expect.stringMatching(/^README\.md$/), expect.stringMatching(/^lock-\d{10}$/)]);
    for (const name of strangers) {
      const bytes = Buffer.from(files.get(name) ?? '# Mine');
      bytes[3]! ^= 1;
      disk.put(`${BOOKS}/${name}`, bytes);
      expect((await lookAt(disk)).finding).toBeNull();
    }
    const ran = await ayni('verify', directory, '--workers', '1');
    expect(ran.out).toMatch(/Not of the books, and not looked at: lock-\d{10}\./);
  });
});

/** Path of the file the audit complains of, or what it says instead. */
async function whatIsSeen(disk: FakeDisk, name: string): Promise<string> {
  try {
    const { finding, notes } = await lookAt(disk);
    if (finding !== null) return finding.file;
    // Behind the last frame a byte at the border of a sector may be all that is left of a write that did not end.
    if (notes.join().includes(`${name} ends with a torn tail of `)) return `${BOOKS}/${name}`;
    // The white space of the key file may change without harm; that is told, not held against the books.
    return name === 'server.key' && notes.join().includes('not written as the server writes it')
      ? `${BOOKS}/server.key`
      : 'nothing found';
  } catch (error) {
    return (error as { finding?: { file: string } }).finding?.file ?? (error as Error).message;
  }
}
