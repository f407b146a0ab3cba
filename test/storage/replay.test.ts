/**
 * Replay takes short cuts: another thread looks through the frames ahead, and of the signatures only those are checked
 * that prove all before them. None of it may hand on anything else, or pass over what a plain reading finds.
 */
import { createHash } from 'node:crypto';
import { basename } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { sealFrame } from '../../src/storage/format.ts';
import { JOURNAL_START, Journal, type JournalPosition } from '../../src/storage/journal.ts';
import {
  NOT_SIGNED,
  type ReadOptions,
  type ReadResult,
  readJournal,
  replayJournal,
} from '../../src/storage/journal-reader.ts';
import { DamageError } from '../../src/storage/segments.ts';
import { often } from '../support/long.ts';
import { giveNoThreads } from '../support/no-threads.ts';
import { slow } from '../support/slow.ts';
import { type FakeDisk, randomFrom } from './fake-disk.ts';
import {
  commit,
  DIRECTORY,
  diskOf,
  entriesFrom,
  filesOf,
  freshDisk,
  intentFrom,
  JOURNAL_OPTIONS,
  readFrames,
  server,
  signerOf,
  writeFrames,
} from './kit.ts';

type Handed = Pick<ReadOptions<unknown>, 'verifyFrame' | 'onEntry'>;
type Read = (disk: FakeDisk, after: JournalPosition, options: Handed) => ReadResult;

const plainly: Read = (disk, after, options) => readJournal(disk, DIRECTORY, after, options);
const alone: Read = (disk, after, options) => replayJournal(disk, DIRECTORY, after, options, Number.POSITIVE_INFINITY);
const ahead: Read = (disk, after, options) => replayJournal(disk, DIRECTORY, after, options, 0);

/** What a reading hands on, as one hash of all bytes with their numbers, and how it ends. */
function cameOf(read: Read, disk: FakeDisk, after: JournalPosition = JOURNAL_START): unknown {
  const hash = createHash('sha256');
  let entries = 0;
  try {
    const result = read(disk, after, {
      verifyFrame: server.verify,
      onEntry(_entry, bytes, from, to, seq) {
        entries++;
        hash.update(`${seq}`).update(bytes.subarray(from, to));
      },
    });
    return { ...result, entries, handedOn: hash.digest('hex') };
  } catch (error) {
    if (!(error instanceof DamageError)) throw error;
    const { file, byte, what } = error;
    // The piece that held the damage may have been handed on as far as it was whole.
    return { file, byte, what, entries, handedOn: hash.digest('hex') };
  }
}

describe('frames looked through ahead', () => {
  /** Several segments of several pieces, frames of one entry and of many, and one that is longer than a piece. */
  let files: Map<string, Buffer>;
  let positions: JournalPosition[];

  beforeAll(async () => {
    const disk = freshDisk();
    const random = randomFrom(5);
    const bytes = (length: number) => Uint8Array.from({ length }, () => Math.floor(random() * 256));
    const next = entriesFrom(3);
    const journal = Journal.open(disk, DIRECTORY, JOURNAL_START, {
      ...JOURNAL_OPTIONS,
      ...{ segmentBytesMax: 6_000_000, reserveBytes: 100_000 },
    });
    for (let frame = 1; frame <= 60; frame++) {
      const count = frame % 3 === 0 ? 400 : 1 + Math.floor(random() * 5);
      for (let n = 0; n < count; n++) journal.add(next());
      if (frame % 4 === 0) journal.add(intentFrom(frame, bytes, 150_000));
      if (frame === 20) journal.add(intentFrom(frame, bytes, 5_000_000));
      await commit(journal, frame);
    }
    await journal.close();
    files = filesOf(disk);
    positions = readFrames(disk).spans.map(({ position }) => position);
    expect(files.size).toBeGreaterThan(1);
  });

  slow('hand on the same as a plain reading, from every frame on', () => {
    for (const after of [JOURNAL_START, ...positions.filter((_, index) => index % 19 === 3), positions.at(-1)!]) {
      const expected = cameOf(plainly, diskOf(files), after);
      expect(expected).toHaveProperty('torn', null);
      expect(cameOf(ahead, diskOf(files), after)).toEqual(expected);
      expect(cameOf(alone, diskOf(files), after)).toEqual(expected);
    }
  });

  test('are read by this thread where the system gives no other: a start was refused, and told to mend the disk', () => {
    giveNoThreads();
    expect(cameOf(ahead, diskOf(files))).toEqual(cameOf(plainly, diskOf(files)));
  });

  test.each(Array.from({ length: often(6, 60) }, (_, seed) => seed))(
    'find the same damage and torn tails: %i',
    (seed) => {
      const random = randomFrom(seed + 100);
      const spoilt = new Map(files);
      const names = [...files.keys()];
      const name = seed % 2 === 0 ? names.at(-1)! : names[Math.floor(random() * names.length)]!;
      const bytes = Buffer.from(files.get(name)!);
      const at = Math.floor(random() * bytes.length);
      if (seed % 3 === 0) spoilt.set(name, bytes.subarray(0, at));
      else {
        bytes[at]! ^= 1 << Math.floor(random() * 8);
        spoilt.set(name, bytes);
      }
      const expected = cameOf(plainly, diskOf(spoilt));
      expect(cameOf(ahead, diskOf(spoilt))).toEqual(expected);
      expect(cameOf(alone, diskOf(spoilt))).toEqual(expected);
    },
  );
});

describe('signatures in replay', () => {
  const segments = { segmentBytesMax: 3000 };
  const stranger = signerOf('somebody else');

  /** A journal whose frames this server signed, but for those: whole, and chained like all others. */
  async function signedByOthers(isForged: (frame: number, frames: number) => boolean): Promise<FakeDisk> {
    const disk = freshDisk();
    await writeFrames(disk, Array(12).fill(2), segments);
    const { spans } = readFrames(disk);
    const files = filesOf(disk);
    for (const [frame, { file, byte, bytes: length, position }] of spans.entries()) {
      if (isForged(frame, spans.length))
        sealFrame(files.get(basename(file))!, byte, byte + length, stranger.sign(position.chain));
    }
    return diskOf(files);
  }

  test.each([
    ['the first', (frame: number) => frame === 0],
    ['the last', (frame: number, frames: number) => frame === frames - 1],
    ['all', () => true],
    ['all but the last', (frame: number, frames: number) => frame < frames - 1],
  ])('a forged one is refused: %s', async (_, isForged) => {
    const disk = await signedByOthers(isForged);
    for (const read of [plainly, alone, ahead]) expect(cameOf(read, disk)).toMatchObject({ what: NOT_SIGNED });
  });

  test.each([
    ['room for more', 0],
    ['a torn tail', 7],
  ])('the last is refused too with %s behind it', async (_, byte) => {
    const files = filesOf(await signedByOthers((frame, frames) => frame === frames - 1));
    const [last, bytes] = [...files].at(-1)!;
    files.set(last, Buffer.concat([bytes, Buffer.alloc(600, byte)]));
    for (const read of [plainly, alone, ahead]) expect(cameOf(read, diskOf(files))).toMatchObject({ what: NOT_SIGNED });
  });

  test('one among others proves nothing that the last does not: replay passes it over, an audit does not', async () => {
    const disk = await signedByOthers((frame) => frame === 1);
    expect(cameOf(plainly, disk)).toMatchObject({ what: NOT_SIGNED });
    expect(cameOf(alone, disk)).toMatchObject({ entries: 24, torn: null });
  });

  test('entries that nobody has proven and that cannot be applied are told as what they are', async () => {
    const disk = await signedByOthers((frame) => frame > 0);
    const apply = (seq: number) => {
      if (seq === 3) throw new Error('this cannot be');
    };
    const options: Handed = { verifyFrame: server.verify, onEntry: (_entry, _bytes, _from, _to, seq) => apply(seq) };
    expect(() => alone(disk, JOURNAL_START, options)).toThrow(NOT_SIGNED);
  });

  test('what cannot be applied though the server signed it stays what it is', async () => {
    const disk = await signedByOthers(() => false);
    const options: Handed = {
      verifyFrame: server.verify,
      onEntry() {
        throw new Error('this cannot be');
      },
    };
    expect(() => alone(disk, JOURNAL_START, options)).toThrow('this cannot be');
  });
});
