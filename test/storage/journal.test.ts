import { createHash } from 'node:crypto';
import { Unpackr } from 'msgpackr';
import { describe, expect, test } from 'vitest';
import type { Entry } from '../../src/core/entry.ts';
import { encode } from '../../src/storage/codec.ts';
import { FORMAT_VERSION, FRAME_HEAD_BYTES, SEGMENT_HEADER_BYTES, sha256 } from '../../src/storage/format.ts';
import { FrameBuffer } from '../../src/storage/frame-buffer.ts';
import { JOURNAL_START, Journal, JournalChangedError, type JournalOptions } from '../../src/storage/journal.ts';
import { cutTornTail, readJournal } from '../../src/storage/journal-reader.ts';
import { DamageError, journalStart } from '../../src/storage/segments.ts';
import { startText } from '../../src/trouble.ts';
import { FIRST_FORMAT } from '../support/first-format.ts';
import { SECOND_FORMAT } from '../support/second-format.ts';
import { turn } from '../support/turns.ts';
import { FakeDisk, type Fault } from './fake-disk.ts';
import {
  commit,
  DIRECTORY,
  entriesFrom,
  freshDisk,
  hanging,
  intentFrom,
  JOURNAL_OPTIONS,
  readFrames,
  server,
  signerOf,
  withCalls,
  writeFrames,
} from './kit.ts';

function bytesOf(entry: Entry): Buffer {
  const buffer = new FrameBuffer();
  encode(entry, buffer);
  return buffer.bytes.subarray(0, buffer.end);
}

describe('what was written', () => {
  test('is read again, in order, numbered without gap', async () => {
    const disk = freshDisk();
    const entries = await writeFrames(disk, [1, 3, 2, 64]);
    const { read, position, torn, frames } = readFrames(disk);
    expect(read).toEqual(entries);
    expect({ seq: position.seq, torn, frames }).toEqual({ seq: 70, torn: null, frames: 4 });
  });

  test('is continued after a start, in the same segment', async () => {
    const disk = freshDisk();
    const first = await writeFrames(disk, [2, 2]);
    const second = await writeFrames(disk, [3], {}, readFrames(disk).position);
    expect(readFrames(disk).read).toEqual([...first, ...second]);
    expect(disk.readdir(DIRECTORY)).toHaveLength(1);
  });

  test('an empty directory, or none, is an empty journal', () => {
    expect(readFrames(freshDisk()).position).toEqual({ ...JOURNAL_START, file: null, byte: 0, written: 0 });
    expect(readFrames(new FakeDisk()).position.seq).toBe(0);
  });

  test('add gives the bytes of the entry, and counts', () => {
    const disk = freshDisk();
    const journal = Journal.open(disk, DIRECTORY, JOURNAL_START, JOURNAL_OPTIONS);
    const next = entriesFrom(3);
    const empty = journal.frameBytes;
    let total = 0;
    for (let count = 1; count <= 500; count++) {
      const bytes = journal.add(next());
      expect(bytes[0]! & 0xf0).toBe(0x90);
      total += bytes.length;
      expect([journal.frameEntries, journal.frameBytes]).toEqual([count, empty + total]);
    }
  });

  test('the next frame goes on while a commit waits for the disk', async () => {
    const disk = freshDisk();
    const journal = Journal.open(disk, DIRECTORY, JOURNAL_START, JOURNAL_OPTIONS);
    const next = entriesFrom(3);
    journal.add(next());
    journal.add(next());
    disk.holdSyncs();
    const done = commit(journal, 1);
    journal.add(next());
    expect([journal.frameEntries, journal.position.seq]).toEqual([1, 0]);
    disk.releaseSyncs();
    await done;
    expect(journal.position.seq).toBe(2);
    await commit(journal, 1);
    expect(readFrames(disk).position.seq).toBe(3);
  });

  test('a frame is one MessagePack array that any reader reads, signed over its hash', async () => {
    const disk = freshDisk();
    const entries = await writeFrames(disk, [2]);
    const { spans, position } = readFrames(disk);
    const { file, byte, bytes } = spans[0]!;
    const frame = disk.bytesOf(file).subarray(byte, byte + bytes);
    const items = new Unpackr({ useRecords: false, int64AsType: 'number' }).unpack(frame.subarray(8)) as unknown[];
    expect(items.slice(0, 4)).toEqual([FORMAT_VERSION, 1, 2, 1]);
    expect(items).toHaveLength(8);
    const sum = (...pieces: Uint8Array[]) => createHash('sha256').update(Buffer.concat(pieces)).digest();
    const hash = sum(frame.subarray(4, 71), sum(...entries.map((entry) => sum(bytesOf(entry)))));
    expect(Buffer.compare(hash, position.chain)).toBe(0);
    expect(server.verify(hash, items.at(-1) as Uint8Array)).toBe(true);
  });

  test('a frame larger than a read of the disk comes back too', async () => {
    const disk = freshDisk();
    const journal = Journal.open(disk, DIRECTORY, JOURNAL_START, JOURNAL_OPTIONS);
    const entry = intentFrom(1, (length) => new Uint8Array(length));
    const data = 'é'.repeat(3_000_000);
    const big = { ...entry, data, hash: sha256(data) };
    journal.add(entry);
    await commit(journal, 1);
    journal.add(big);
    journal.add(entry);
    await commit(journal, 2);
    expect(readFrames(disk).read).toEqual([entry, big, entry]);
  });
});

describe.each([FIRST_FORMAT, SECOND_FORMAT])('a journal of an older server, format version $version', (format) => {
  const { version: old } = format;
  const versionsIn = (disk: FakeDisk) => readFrames(disk).spans.map(({ file, byte }) => disk.bytesOf(file)[byte + 13]);
  const headersIn = (disk: FakeDisk) =>
    disk.readdir(DIRECTORY).map((name) => disk.bytesOf(`${DIRECTORY}/${name}`).readUInt32BE(8));

  test('is gone on with in the same segment, and every entry comes back', async () => {
    const disk = freshDisk();
    const entries = await writeFrames(disk, [3, 50], { format });
    entries.push(...(await writeFrames(disk, [50, 1], {}, readFrames(disk).position)));
    expect(readFrames(disk).read).toEqual(entries);
    expect([versionsIn(disk), headersIn(disk)]).toEqual([[old, old, FORMAT_VERSION, FORMAT_VERSION], [old]]);
  });

  test('is gone on with in a new segment, and every entry comes back', async () => {
    const disk = freshDisk();
    const options = { segmentBytesMax: 1 };
    const entries = await writeFrames(disk, [20, 20], { format, ...options });
    entries.push(...(await writeFrames(disk, [20, 20], options, readFrames(disk).position)));
    expect(readFrames(disk).read).toEqual(entries);
    const versions = [old, old, FORMAT_VERSION, FORMAT_VERSION];
    expect([versionsIn(disk), headersIn(disk)]).toEqual([versions, versions]);
  });

  test('read from a point within, what lies before is followed to it', async () => {
    const disk = freshDisk();
    await writeFrames(disk, [5], { format });
    const upgrade = readFrames(disk).position;
    const later = await writeFrames(disk, [5], {}, upgrade);
    const { read, position } = readFrames(disk, upgrade);
    expect(read).toEqual(later);
    expect(readFrames(disk, position).read).toEqual([]);
  });
});

test('a frame of a later version is refused as such', async () => {
  const disk = freshDisk();
  await writeFrames(disk, [1]);
  await writeFrames(disk, [1], { format: { version: FORMAT_VERSION + 1, encode } }, readFrames(disk).position);
  const what = `frame of format version ${FORMAT_VERSION + 1}`;
  expect(() => readFrames(disk)).toThrow(expect.objectContaining({ what, kind: 'newer' }));
});

describe('room in a segment for the frames to come', () => {
  const ROOM = 20_000;
  const SEGMENT = `${DIRECTORY}/journal-00000000000000000001.ayj`;

  function openWithRoom(disk: FakeDisk, options: Partial<JournalOptions> = {}): Journal {
    const after = disk.exists(SEGMENT) ? readFrames(disk).position : JOURNAL_START;
    return Journal.open(disk, DIRECTORY, after, { ...JOURNAL_OPTIONS, reserveBytes: ROOM, ...options });
  }

  async function addFrame(journal: Journal): Promise<void> {
    const seq = journal.position.seq + 1;
    journal.add(entriesFrom(seq)());
    await commit(journal, seq);
  }

  test('is made once, filled by many frames without the file growing, and made again', async () => {
    const disk = freshDisk();
    const journal = openWithRoom(disk);
    const sizes = new Map<number, number>();
    for (let frame = 1; frame <= 200; frame++) {
      await addFrame(journal);
      const size = disk.bytesOf(SEGMENT).length;
      sizes.set(size, (sizes.get(size) ?? 0) + 1);
      expect(readFrames(disk).position).toMatchObject({ seq: frame });
    }
    expect(sizes.size).toBeGreaterThan(2);
    expect(Math.max(...sizes.values())).toBeGreaterThan(20);
  });

  /** Each segment ends where its last frame does. */
  function expectNoRoom(disk: FakeDisk): void {
    const { spans } = readFrames(disk);
    for (const name of disk.readdir(DIRECTORY)) {
      const last = spans.findLast(({ file }) => file.endsWith(name))!;
      expect(disk.bytesOf(`${DIRECTORY}/${name}`), name).toHaveLength(last.byte + last.bytes);
    }
  }

  // Of whole blocks, which seed 2 has, the last one of a segment has some even without room.
  test.each([1, 2])(
    'is given back when the journal is closed, and when the next segment begins, which has its own (seed %i)',
    async (seed) => {
      const disk = freshDisk(seed);
      const journal = openWithRoom(disk, { segmentBytesMax: 30_000 });
      while (disk.readdir(DIRECTORY).length < 3) await addFrame(journal);
      expect(disk.bytesOf(`${DIRECTORY}/${disk.readdir(DIRECTORY)[2]}`).length).toBeGreaterThan(ROOM);
      await journal.close();
      expectNoRoom(disk);
    },
  );

  test.each([1, 2])('is given back where segments are to be shorter from now on (seed %i)', async (seed) => {
    const disk = freshDisk(seed);
    await addFrame(openWithRoom(disk));
    disk.kill();
    const journal = openWithRoom(disk, { segmentBytesMax: 100 });
    await addFrame(journal);
    await journal.close();
    expect(disk.readdir(DIRECTORY)).toHaveLength(2);
    expectNoRoom(disk);
  });

  test('is not made past the length at which the next segment begins', async () => {
    const disk = freshDisk();
    await addFrame(openWithRoom(disk, { segmentBytesMax: 5000 }));
    expect(disk.bytesOf(SEGMENT)).toHaveLength(5000);
  });

  test('that a killed process leaves is used by the next one', async () => {
    const disk = freshDisk();
    await addFrame(openWithRoom(disk));
    disk.kill();
    const { length } = disk.bytesOf(SEGMENT);
    expect(readFrames(disk).position.byte).toBeLessThan(length);
    await addFrame(openWithRoom(disk));
    expect(disk.bytesOf(SEGMENT)).toHaveLength(length);
    expect(readFrames(disk).read).toHaveLength(2);
  });

  test.each(['ENOSPC', 'EDQUOT', 'EFBIG'])('that the disk does not have (%s) costs no frame', async (code) => {
    const disk = freshDisk();
    const journal = openWithRoom(disk);
    disk.inject({ call: 'write', code });
    for (let frame = 1; frame <= 3; frame++) await addFrame(journal);
    const { position, read } = readFrames(disk);
    expect(read).toHaveLength(3);
    expect(disk.bytesOf(SEGMENT)).toHaveLength(position.byte);
  });

  test('that fails for any other reason is a failed write, which is final', async () => {
    const disk = freshDisk();
    const journal = openWithRoom(disk);
    disk.inject({ call: 'write', code: 'EIO' });
    await expect(addFrame(journal)).rejects.toThrow('EIO');
    await expect(addFrame(journal)).rejects.toThrow('EIO');
    expect(journal.position.seq).toBe(0);
  });
});

const nameOf = (seq: number) => `journal-${String(seq).padStart(20, '0')}.ayj`;

describe('segments', () => {
  test('a full one is followed by the next, named by its first entry', async () => {
    const disk = freshDisk();
    const entries = await writeFrames(disk, [4, 4, 4, 4], { segmentBytesMax: 500 });
    expect(disk.readdir(DIRECTORY)).toEqual([1, 5, 9, 13].map(nameOf));
    expect(readFrames(disk).read).toEqual(entries);
  });

  const begin = (journal: Journal) => new Promise<Error | null>((done) => journal.beginSegment(done));

  /** A journal that grows by an entry a frame. */
  function growing(disk: FakeDisk, options: Partial<JournalOptions> = {}) {
    const next = entriesFrom(1);
    const entries: Entry[] = [];
    const journal = Journal.open(disk, DIRECTORY, JOURNAL_START, { ...JOURNAL_OPTIONS, ...options });
    const write = () => {
      entries.push(next());
      journal.add(entries.at(-1)!);
      return commit(journal, entries.length);
    };
    return { journal, entries, write };
  }

  test('the next is begun where that is asked for, and told when its name and header are on the device', async () => {
    const disk = freshDisk();
    const { journal, write } = growing(disk);
    await write();
    await write();
    expect(await begin(journal)).toBeNull();
    disk.crash();
    expect(disk.readdir(DIRECTORY)).toEqual([1, 3].map(nameOf));
    expect(readFrames(disk).position).toMatchObject({ seq: 2, file: nameOf(3), byte: SEGMENT_HEADER_BYTES });
  });

  test('the next takes what comes, and is there once', async () => {
    const disk = freshDisk();
    const { journal, entries, write } = growing(disk, { reserveBytes: 5000 });
    for (let frame = 0; frame < 6; frame++) {
      await write();
      if (frame % 2 === 0) continue;
      expect(await begin(journal)).toBeNull();
      expect(await begin(journal)).toBeNull();
    }
    expect(journal.end).toEqual({ file: nameOf(7), byte: SEGMENT_HEADER_BYTES });
    await journal.close();
    expect(disk.readdir(DIRECTORY)).toEqual([1, 3, 5, 7].map(nameOf));
    expect(readFrames(disk).read).toEqual(entries);
    expect(disk.openFiles).toEqual([]);
  });

  test.each([1, 2])(
    'one without a frame is written again, whatever has become of its header, and takes the next: %i',
    async (seed) => {
      const disk = freshDisk(seed);
      await writeFrames(disk, [1]);
      const path = `${DIRECTORY}/${nameOf(1)}`;
      disk.put(path, disk.bytesOf(path).subarray(0, SEGMENT_HEADER_BYTES));
      const { journal, entries, write } = growing(disk);
      disk.flip(path, 9);
      expect(await begin(journal)).toBeNull();
      expect(readFrames(disk).position).toMatchObject({ seq: 0, byte: SEGMENT_HEADER_BYTES });
      await write();
      expect(disk.readdir(DIRECTORY)).toEqual([nameOf(1)]);
      await journal.close();
      expect(readFrames(disk).read).toEqual(entries);
    },
  );

  test.each<[string, Fault]>([
    ['made, for the disk does not tell how the one before was left,', { call: 'read', code: 'EIO' }],
    ['made', { call: 'open', code: 'ENOSPC' }],
    ['closed when it is made', { call: 'close', code: 'EIO' }],
    ['opened', { call: 'open', skip: 1, code: 'EMFILE' }],
    ['written', { call: 'write', code: 'ENOSPC' }],
    ['synced', { call: 'sync', code: 'EIO' }],
    ['named durably', { call: 'syncDirectory', code: 'EIO' }],
  ])('where the next cannot be %s all goes on in the one that there is', async (_, fault) => {
    const disk = freshDisk();
    const { journal, entries, write } = growing(disk);
    await write();
    disk.inject(fault);
    expect(await begin(journal)).toMatchObject({ code: fault.code });
    await write();
    await journal.close();
    expect(disk.openFiles).toEqual([]);
    disk.crash();
    expect(disk.readdir(DIRECTORY)).toEqual([nameOf(1)]);
    expect(readFrames(disk).read).toEqual(entries);
  });

  // The next write ended the server, whose memory alone may be whole.
  test.each(['truncate', 'close'] as const)(
    'the next is begun, whatever becomes of the one before: %s',
    async (call) => {
      const disk = freshDisk();
      const { journal, entries, write } = growing(disk, { reserveBytes: 5000 });
      await write();
      disk.inject({ call, path: nameOf(1), code: 'EIO' });
      expect(await begin(journal)).toBeNull();
      disk.heal();
      await write();
      await journal.close();
      expect(disk.readdir(DIRECTORY)).toEqual([1, 2].map(nameOf));
      expect(readFrames(disk).read).toEqual(entries);
      expect(disk.openFiles).toEqual([]);
    },
  );

  test('where somebody else has made it nothing is written any more, and it stays', async () => {
    const disk = freshDisk();
    const { journal, write } = growing(disk);
    await write();
    const others = Buffer.from('of somebody else');
    disk.put(`${DIRECTORY}/${nameOf(2)}`, others);
    expect(await begin(journal)).toMatchObject({ code: 'EEXIST' });
    await expect(write()).rejects.toThrow('EEXIST');
    expect(disk.bytesOf(`${DIRECTORY}/${nameOf(2)}`)).toEqual(others);
  });

  test('where it cannot be taken away again nothing is written any more: it has the name of what comes', async () => {
    const disk = freshDisk();
    const { journal, write } = growing(disk);
    await write();
    disk.inject({ call: 'write', code: 'ENOSPC' });
    disk.inject({ call: 'unlink', code: 'EROFS' });
    expect(await begin(journal)).toMatchObject({ code: 'EROFS' });
    await expect(write()).rejects.toThrow('EROFS');
  });

  test('a frame in a new segment is acknowledged after the directory is synced', async () => {
    const disk = freshDisk();
    const journal = Journal.open(disk, DIRECTORY, JOURNAL_START, JOURNAL_OPTIONS);
    journal.add(entriesFrom(1)());
    disk.inject({ call: 'syncDirectory', code: 'EIO' });
    await expect(commit(journal, 1)).rejects.toThrow('EIO');
    expect(journal.position.seq).toBe(0);
  });

  test('reading behind a snapshot skips what lies before it, from every frame on', async () => {
    const disk = freshDisk();
    const entries = await writeFrames(disk, [4, 4, 1, 4, 2, 4], { segmentBytesMax: 500 });
    for (const { position } of readFrames(disk).spans) {
      expect(readFrames(disk, position).read).toEqual(entries.slice(position.seq));
    }
  });

  test('segments that a snapshot made superfluous may be gone', async () => {
    const disk = freshDisk();
    const entries = await writeFrames(disk, [4, 4, 4], { segmentBytesMax: 500 });
    const after = readFrames(disk).spans[0]!.position;
    disk.unlink(`${DIRECTORY}/${disk.readdir(DIRECTORY)[0]}`);
    expect(readFrames(disk, after).read).toEqual(entries.slice(4));
    expect(() => readFrames(disk)).toThrow(/journal-0+5\.ayj: damaged at byte 0: .*entry 1 is missing/);
  });

  // Whoever put one there, those entries were acknowledged: a start took the header's word, and went on without them.
  test.each(['a header', 'a segment with frames'])(
    '%s right behind a snapshot hides no entries of the segment before',
    async (what) => {
      const disk = freshDisk();
      await writeFrames(disk, [4, 4, 4]);
      const { position } = readFrames(disk).spans[1]!;
      const other = freshDisk();
      await writeFrames(other, [4, 4, 1], { segmentBytesMax: 500 });
      const bytes = other.bytesOf(`${DIRECTORY}/${nameOf(9)}`);
      const whole = disk.bytesOf(`${DIRECTORY}/${nameOf(1)}`);
      disk.put(`${DIRECTORY}/${nameOf(9)}`, what === 'a header' ? bytes.subarray(0, SEGMENT_HEADER_BYTES) : bytes);
      const damage = /journal-0+9\.ayj: damaged at byte 0: begins with entry 9, which journal-0+1\.ayj has, too/;
      expect(() => readFrames(disk, position)).toThrow(damage);
      disk.flip(`${DIRECTORY}/${nameOf(1)}`, 60);
      expect(() => readFrames(disk, position), 'nor where that has changed').toThrow(damage);
      disk.inject({ call: 'read', path: nameOf(1), code: 'EIO' });
      expect(readFrames(disk, position).position.seq, 'what the disk does not give is not needed').toBeGreaterThan(7);
      const broken = withCalls(disk, {
        open(path, mode) {
          if (path.endsWith(nameOf(1))) throw new Error('a mistake of ours');
          return disk.open(path, mode);
        },
      });
      expect(() => readFrames(broken, position), 'what is none of the disk is told').toThrow('a mistake of ours');
      disk.put(`${DIRECTORY}/${nameOf(1)}`, whole.subarray(0, 300));
      expect(readFrames(disk, position).position.seq, 'of an end that is gone the snapshot has all').toBeGreaterThan(7);
    },
  );

  test('another journal than the snapshot was taken from is damage', async () => {
    const disk = freshDisk();
    await writeFrames(disk, [4, 4, 4], { segmentBytesMax: 500 });
    for (const { position } of readFrames(disk).spans) {
      const other = { ...position, chain: new Uint8Array(32).fill(1) };
      expect(() => readFrames(disk, other)).toThrow(DamageError);
    }
  });

  test('a snapshot inside a frame is damage', async () => {
    const disk = freshDisk();
    await writeFrames(disk, [4]);
    const { position } = readFrames(disk);
    expect(() => readFrames(disk, { ...position, seq: 2 })).toThrow('entry 2 does not end a frame');
  });

  test.each([
    ['the last segment is gone', (disk: FakeDisk, names: string[]) => disk.unlink(`${DIRECTORY}/${names.at(-1)}`)],
    [
      'all are gone',
      (disk: FakeDisk, names: string[]) => {
        for (const name of names) disk.unlink(`${DIRECTORY}/${name}`);
      },
    ],
  ])('a journal that ends before its snapshot is damage: %s', async (_name, spoil) => {
    const disk = freshDisk();
    // Though it is one entry only that is missing.
    await writeFrames(disk, [4, 4, 1], { segmentBytesMax: 500 });
    const { position } = readFrames(disk);
    spoil(disk, disk.readdir(DIRECTORY));
    expect(() => readFrames(disk, position)).toThrow(/entry 9 is known/);
  });
});

/** By way of the page cache, and past it. */
test.each([1, 2])(
  'a journal asks the disk itself for nothing that may wait, from segment to segment: reads and /healthz stood still with a disk that hung just then, %d',
  async (seed) => {
    const disk = freshDisk(seed);
    const options = { ...JOURNAL_OPTIONS, segmentBytesMax: 60_000, reserveBytes: 10_000 };
    const journal = Journal.open(hanging(disk), DIRECTORY, JOURNAL_START, options);
    const next = entriesFrom(seed);
    const entries: Entry[] = [];
    for (let moment = 1; disk.readdir(DIRECTORY).length < 4; moment++) {
      entries.push(next());
      journal.add(entries.at(-1)!);
      await commit(journal, moment);
    }
    await journal.close();
    expect(readFrames(disk).read).toEqual(entries);
  },
);

test('the next frame is made while the next segment is', async () => {
  const disk = freshDisk();
  const created: (() => void)[] = [];
  const slow = withCalls(disk, {
    createLater: (path, done) => disk.createLater(path, (error) => void created.push(() => done(error))),
  });
  const journal = Journal.open(slow, DIRECTORY, JOURNAL_START, { ...JOURNAL_OPTIONS, segmentBytesMax: 1 });
  const next = entriesFrom(5);
  const entries: Entry[] = [];
  for (let moment = 1; moment <= 3; moment++) {
    entries.push(next());
    journal.add(entries.at(-1)!);
    const done = commit(journal, moment);
    while (created.length === 0) await turn();
    entries.push(next());
    const added = Buffer.from(journal.add(entries.at(-1)!));
    expect([journal.frameEntries, journal.position.seq]).toEqual([1, 2 * moment - 2]);
    created.pop()!();
    await done;
    expect(added).toEqual(bytesOf(entries.at(-1)!));
    const second = commit(journal, moment);
    while (created.length === 0) await turn();
    created.pop()!();
    await second;
  }
  expect(readFrames(disk).read).toEqual(entries);
  expect(disk.readdir(DIRECTORY)).toHaveLength(6);
});

test('short writes are gone on with until all is written', async () => {
  const disk = freshDisk();
  for (const short of [1, 55, 200, 1]) disk.inject({ call: 'write', short });
  const entries = await writeFrames(disk, [3, 3]);
  expect(readFrames(disk).read).toEqual(entries);
});

test('short reads are gone on with until all is read', async () => {
  const disk = freshDisk();
  const entries = await writeFrames(disk, [3, 3], { segmentBytesMax: 500 });
  disk.inject({ call: 'read', short: 7, times: 400 });
  expect(readFrames(disk).read).toEqual(entries);
});

describe('what only a mistake of ours can ask for is refused', () => {
  function opened(): { journal: Journal; disk: FakeDisk } {
    const disk = freshDisk();
    const journal = Journal.open(disk, DIRECTORY, JOURNAL_START, JOURNAL_OPTIONS);
    return { journal, disk };
  }

  test('a second commit while one is on its way', async () => {
    const { journal } = opened();
    journal.add(entriesFrom(1)());
    const first = commit(journal, 1);
    journal.add(entriesFrom(1)());
    expect(() => journal.commit(1, () => {})).toThrow('one commit at a time');
    await first;
  });

  test('an empty frame, time going back, a commit after close', async () => {
    const { journal } = opened();
    expect(() => journal.commit(1, () => {})).toThrow('an empty frame');
    journal.add(entriesFrom(1)());
    await commit(journal, 5);
    journal.add(entriesFrom(1)());
    expect(() => journal.commit(4, () => {})).toThrow('time goes back');
    await journal.close();
    expect(() => journal.commit(6, () => {})).toThrow('closed');
  });

  test('opening behind a position the disk does not have', async () => {
    const { journal, disk } = opened();
    journal.add(entriesFrom(1)());
    await commit(journal, 1);
    await journal.close();
    const { position } = readFrames(disk);
    const open = (at: typeof position) => () => Journal.open(disk, DIRECTORY, at, JOURNAL_OPTIONS);
    expect(open({ ...position, byte: position.byte - 1 })).toThrow('not as long as it was read');
    expect(open({ ...position, file: null })).toThrow('not as long as it was read');
    // A server that this one had taken the directory from was ending a write: that was told as a defect of ours.
    expect(startText(new JournalChangedError('/books/journal'), '/books')).not.toMatch(/\n\s+at /);
    disk.put(`${DIRECTORY}/${position.file}`, null);
    expect(open(position)).toThrow('the journal is gone');
  });
});

test('the only segment there is, with half a header and entries missing before it, is damage: no start of the books', () => {
  const disk = freshDisk();
  disk.put(`${DIRECTORY}/journal-00000000000000000005.ayj`, Buffer.alloc(10));
  expect(() => journalStart(disk, DIRECTORY)).toThrow(DamageError);
});

test('close waits for the commit on its way', async () => {
  const disk = freshDisk();
  const journal = Journal.open(disk, DIRECTORY, JOURNAL_START, JOURNAL_OPTIONS);
  journal.add(entriesFrom(1)());
  disk.holdSyncs();
  const order: string[] = [];
  const done = commit(journal, 1).then(() => order.push('commit'));
  const closed = journal.close().then(() => order.push('close'));
  await turn();
  expect(order).toEqual([]);
  disk.releaseSyncs();
  await Promise.all([done, closed]);
  expect(order).toEqual(['commit', 'close']);
});

test('durability none acknowledges without a sync', async () => {
  const disk = freshDisk();
  await writeFrames(disk, [1, 1], { durability: 'none' });
  expect(disk.calls.get('sync')).toBeUndefined();
  expect(readFrames(disk).position.seq).toBe(2);
});

describe('signatures', () => {
  test('of another server: damage, at the first frame', async () => {
    const disk = freshDisk();
    await writeFrames(disk, [1, 1], { sign: signerOf('another server').sign });
    expect(() => readFrames(disk)).toThrow(/damaged at byte 56: not signed by this server/);
  });

  test('are not checked where the reader does not want it', async () => {
    const disk = freshDisk();
    await writeFrames(disk, [1, 1], { sign: signerOf('another server').sign });
    const { position } = readJournal(disk, DIRECTORY, JOURNAL_START, { verifyFrame: () => true, onEntry: () => {} });
    expect(position.seq).toBe(2);
  });
});

test('an entry that cannot be read, in a frame that is whole, is damage at its byte', async () => {
  const disk = freshDisk();
  const journal = Journal.open(disk, DIRECTORY, JOURNAL_START, JOURNAL_OPTIONS);
  journal.add(entriesFrom(1)())[0] = 0x91;
  await commit(journal, 1);
  const at = SEGMENT_HEADER_BYTES + FRAME_HEAD_BYTES;
  expect(() => readFrames(disk)).toThrow(`damaged at byte ${at}`);
});

test('an error of the disk while reading is no damage', async () => {
  const disk = freshDisk();
  await writeFrames(disk, [2]);
  for (const call of ['open', 'read', 'readdir'] as const) {
    disk.inject({ call, code: 'EIO' });
    expect(() => readFrames(disk)).toThrow('EIO');
  }
  disk.inject({ call: 'truncate', code: 'EROFS' });
  const torn = { file: readFrames(disk).position.file!, byte: 60, bytes: 1 };
  expect(() => cutTornTail(disk, DIRECTORY, torn)).toThrow('EROFS');
});
