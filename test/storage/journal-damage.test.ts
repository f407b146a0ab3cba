/**
 * Each way a journal can be spoilt: found, named with file and byte, and never passed over. Only in the
 * last frame can spoilt bytes look like a torn tail; there they are cut, and nothing before them.
 */
import { beforeAll, describe, expect, test } from 'vitest';
import type { Entry } from '../../src/core/entry.ts';
import { encode } from '../../src/storage/codec.ts';
import {
  digestEntry,
  FORMAT_VERSION,
  FRAME_FOOT_BYTES,
  FRAME_HEAD_BYTES,
  fillFrame,
  SEGMENT_HEADER_BYTES,
  sealFrame,
  segmentSeq,
  writeSegmentHeader,
} from '../../src/storage/format.ts';
import { FrameBuffer } from '../../src/storage/frame-buffer.ts';
import { JOURNAL_START, Journal, type JournalPosition } from '../../src/storage/journal.ts';
import { DamageError } from '../../src/storage/segments.ts';
import { againWith, places } from '../support/long.ts';
import { type FakeDisk, randomFrom, SECTOR_BYTES } from './fake-disk.ts';
import { DIRECTORY, freshDisk, JOURNAL_OPTIONS, readFrames, recover, sameEntries, server, writeFrames } from './kit.ts';

interface Span {
  file: string;
  byte: number;
  bytes: number;
  position: JournalPosition;
}

/** Two segments of three small frames each, on a disk that every test spoils anew. */
let files: Map<string, Buffer>;
let entries: Entry[];
let spans: Span[];
let last: Span;

beforeAll(async () => {
  const disk = freshDisk();
  entries = await writeFrames(disk, [2, 1, 2, 1, 2, 2], { segmentBytesMax: 1300 });
  spans = readFrames(disk).spans;
  last = spans.at(-1)!;
  files = new Map(
    disk.readdir(DIRECTORY).map((name) => [`${DIRECTORY}/${name}`, disk.bytesOf(`${DIRECTORY}/${name}`)]),
  );
  expect(files.size).toBeGreaterThan(1);
});

function diskWith(file: string, bytes: Uint8Array | null): FakeDisk {
  const disk = freshDisk();
  for (const [path, content] of files) disk.put(path, path === file ? bytes : content);
  return disk;
}

function changed(file: string, change: (bytes: Buffer) => void): FakeDisk {
  const bytes = Buffer.from(files.get(file)!);
  change(bytes);
  return diskWith(file, bytes);
}

/** Reads a spoilt journal: the error, which must be named damage, or the seq it was cut back to. */
function outcome(disk: FakeDisk): DamageError | number {
  try {
    const { read, position, torn } = recover(disk);
    expect(torn).not.toBeNull();
    expect(sameEntries(read, entries.slice(0, position.seq))).toBe(true);
    return position.seq;
  } catch (error) {
    expect(error).toBeInstanceOf(DamageError);
    return error as DamageError;
  }
}

/** The frame that holds this byte, or undefined for a segment's header. */
function spanAt(file: string, byte: number): Span | undefined {
  return spans.find((span) => span.file === file && byte >= span.byte && byte < span.byte + span.bytes);
}

function digestsOf(some: readonly Entry[]): Uint8Array {
  const digests = new Uint8Array(32 * some.length);
  const buffer = new FrameBuffer();
  for (const [index, entry] of some.entries()) {
    const from = buffer.end;
    encode(entry, buffer);
    digestEntry(buffer.bytes, from, buffer.end, digests, 32 * index);
  }
  return digests;
}

const beforeLast = () => spans.at(-2)!.position.seq;

test.each([
  ['one bit flipped', (value: number) => value ^ 0x10],
  ['the highest bit flipped', (value: number) => value ^ 0x80],
  ['the lowest bit flipped', (value: number) => value ^ 0x01],
  ['all bits flipped', (value: number) => value ^ 0xff],
])('%s, at every byte: damage named within its frame, or a torn tail where it is the last', (_name, spoil) => {
  for (const [file, content] of files) {
    for (const byte of places(0, content.length, 3)) {
      const found = outcome(
        changed(file, (bytes) => {
          bytes[byte] = spoil(bytes[byte]!);
        }),
      );
      const span = spanAt(file, byte);
      if (span === last) {
        expect(found, againWith()).toBe(beforeLast());
        continue;
      }
      expect(found, againWith()).toMatchObject({ file, byte: span?.byte ?? 0 });
    }
  }
});

test('torn at every byte of the last frame: cut there, and the journal goes on', async () => {
  const content = files.get(last.file)!;
  for (const size of [last.byte, ...places(last.byte + 1, content.length, 3)]) {
    const disk = diskWith(last.file, content.subarray(0, size));
    const { read, position, torn } = recover(disk);
    expect(sameEntries(read, entries.slice(0, beforeLast()))).toBe(true);
    const bytes = content.subarray(last.byte, size).findLastIndex((byte) => byte !== 0) + 1;
    expect(torn).toEqual(size === last.byte ? null : { file: position.file, byte: last.byte, bytes });
    expect(disk.bytesOf(last.file)).toHaveLength(last.byte);
    const more = await writeFrames(disk, [1], {}, position);
    expect(sameEntries(readFrames(disk).read, [...read, ...more])).toBe(true);
  }
});

test('the tail of a frame replaced by zeros or noise, from every byte on: cut', () => {
  const random = randomFrom(7);
  const content = files.get(last.file)!;
  for (const from of places(last.byte, content.length, 3)) {
    for (const fill of [() => 0, () => Math.floor(random() * 256)]) {
      const disk = changed(last.file, (bytes) => {
        for (let at = from; at < bytes.length; at++) bytes[at] = fill();
        // The last byte at least must differ, or nothing is torn.
        bytes[bytes.length - 1]! = content.at(-1)! ^ 0x55;
      });
      expect(outcome(disk)).toBe(beforeLast());
    }
  }
});

test('noise or old bytes behind the last frame, or among the zeros there: cut', () => {
  const content = files.get(last.file)!;
  const random = randomFrom(3);
  const tails = [
    Buffer.alloc(4096).fill(1, 3000, 3001),
    Buffer.from(Array.from({ length: 4096 }, () => Math.floor(random() * 256))),
    content.subarray(SEGMENT_HEADER_BYTES + 13, last.byte),
  ];
  for (const tail of tails) {
    const disk = diskWith(last.file, Buffer.concat([content, tail]));
    expect(outcome(disk)).toBe(entries.length);
    expect(disk.bytesOf(last.file)).toEqual(content);
  }
});

test('bytes before the last frame are damage, and that is not cut off with them', () => {
  const content = files.get(last.file)!;
  for (const fill of [0, 1]) {
    for (const size of [1, 7, 512]) {
      const [before, behind] = [content.subarray(0, last.byte), content.subarray(last.byte)];
      const disk = diskWith(last.file, Buffer.concat([before, Buffer.alloc(size, fill), behind]));
      const what = `no whole frame, but one follows at byte ${last.byte + size}`;
      expect(outcome(disk)).toMatchObject({ file: last.file, byte: last.byte, what });
    }
  }
});

test('a frame that was spoilt is damage where one was begun behind it, however little came to be of that', () => {
  const [spoilt, begun] = [spans.at(-2)!, last];
  expect(begun.file).toBe(spoilt.file);
  const content = files.get(last.file)!;
  for (const size of [begun.byte + FRAME_HEAD_BYTES, begun.byte + 200, content.length - 1]) {
    for (const bytes of [1, 2, 40]) {
      const disk = changed(last.file, (whole) => {
        for (let at = 0; at < bytes; at++) whole[spoilt.byte + FRAME_HEAD_BYTES + at]! ^= 0x11;
      });
      disk.put(last.file, Buffer.concat([disk.bytesOf(last.file).subarray(0, size), Buffer.alloc(5000)]));
      expect(outcome(disk), `${bytes} bytes, up to ${size}`).toMatchObject({ file: spoilt.file, byte: spoilt.byte });
    }
  }
});

test('zeros behind the last frame of any segment are room: left as they are, and written over', async () => {
  for (const [file, content] of files) {
    const disk = diskWith(file, Buffer.concat([content, Buffer.alloc(70_000)]));
    const { read, position, torn } = recover(disk);
    expect(torn).toBeNull();
    expect(sameEntries(read, entries)).toBe(true);
    expect(disk.bytesOf(file)).toHaveLength(content.length + 70_000);
    const more = await writeFrames(disk, [2, 1], {}, position);
    expect(sameEntries(readFrames(disk).read, [...entries, ...more])).toBe(true);
  }
});

test('a byte among the zeros of a segment is damage while another follows', () => {
  const [first] = [...files.keys()];
  const content = files.get(first!)!;
  const tail = Buffer.alloc(70_000).fill(7, 65_000, 65_001);
  expect(outcome(diskWith(first!, Buffer.concat([content, tail])))).toMatchObject({
    file: first,
    byte: content.length,
  });
});

test('a whole segment cut short at any byte is damage while another follows', () => {
  const [first] = [...files.keys()];
  const content = files.get(first!)!;
  for (const size of places(0, content.length, 3)) {
    expect(outcome(diskWith(first!, content.subarray(0, size)))).toBeInstanceOf(DamageError);
  }
});

test('the last segment cut short at any byte loses its last frames only, and never reads other entries', () => {
  const content = files.get(last.file)!;
  for (const size of places(0, content.length, 3)) {
    const disk = diskWith(last.file, content.subarray(0, size));
    const { read, position } = recover(disk);
    expect(sameEntries(read, entries.slice(0, position.seq))).toBe(true);
    expect(readFrames(disk).torn).toBeNull();
    expect(() => Journal.open(disk, DIRECTORY, position, JOURNAL_OPTIONS)).not.toThrow();
  }
});

describe('a sector', () => {
  const spoil: [string, (bytes: Buffer, at: number) => void][] = [
    ['zeroed', (bytes, at) => bytes.fill(0, at, Math.min(at + SECTOR_BYTES, bytes.length))],
    ['with the content of the one before', (bytes, at) => bytes.copy(bytes, at, at - SECTOR_BYTES, at)],
    ["with the content of the file's first", (bytes, at) => bytes.copy(bytes, at, 0, SECTOR_BYTES)],
  ];
  test.each(spoil)('%s, at every sector: found', (_name, change) => {
    for (const [file, content] of files) {
      for (let at = SECTOR_BYTES; at < content.length; at += SECTOR_BYTES) {
        const found = outcome(changed(file, (bytes) => change(bytes, at)));
        const onlyLast = file === last.file && at >= last.byte;
        if (onlyLast) expect(found).toBe(beforeLast());
        else if (file !== last.file) expect(found).toBeInstanceOf(DamageError);
        else if (!(found instanceof DamageError)) {
          // Spoilt up to the end of the file: as torn as far as anyone can tell, back to the first frame in it.
          expect(at + SECTOR_BYTES).toBeGreaterThan(last.byte);
        }
      }
    }
  });
});

describe('frames', () => {
  const bytesOf = (span: Span) => files.get(span.file)!.subarray(span.byte, span.byte + span.bytes);

  test('one twice is damage, also at the end', () => {
    for (const span of spans) {
      const content = files.get(span.file)!;
      const end = span.byte + span.bytes;
      const disk = diskWith(span.file, Buffer.concat([content.subarray(0, end), bytesOf(span), content.subarray(end)]));
      expect(outcome(disk)).toMatchObject({ file: span.file, byte: end });
    }
  });

  test('one missing is damage, unless it is the last', () => {
    for (const span of spans.slice(0, -1)) {
      const content = files.get(span.file)!;
      const rest = content.subarray(span.byte + span.bytes);
      const disk = diskWith(span.file, Buffer.concat([content.subarray(0, span.byte), rest]));
      expect(outcome(disk)).toBeInstanceOf(DamageError);
    }
  });

  test('two swapped are damage', () => {
    const [one, two] = [spans[0]!, spans[1]!];
    const content = files.get(one.file)!;
    const rest = content.subarray(two.byte + two.bytes);
    const parts = [content.subarray(0, one.byte), bytesOf(two), bytesOf(one), rest];
    expect(outcome(diskWith(one.file, Buffer.concat(parts)))).toMatchObject({ file: one.file, byte: one.byte });
  });

  test('one of another journal that fits in number and time is damage', async () => {
    const other = freshDisk();
    const later = { ...JOURNAL_START, moment: 100 };
    await writeFrames(other, [2, 1, 2, 1, 2, 2], { segmentBytesMax: 1300 }, later);
    const stranger = readFrames(other).spans.at(-1)!;
    const bytes = other.bytesOf(stranger.file).subarray(stranger.byte);
    const disk = diskWith(last.file, Buffer.concat([files.get(last.file)!.subarray(0, last.byte), bytes]));
    expect(outcome(disk)).toMatchObject({ byte: last.byte, what: 'does not continue the frame before it' });
  });

  test.each([
    ['a gap in the sequence', { firstSeq: 10 }, 'entry 10 where 9 belongs'],
    ['an entry twice', { firstSeq: 8 }, 'entry 8 where 9 belongs'],
    ['time going back', { moment: 4 }, 'time goes back'],
    ['a moment that no calendar has', { moment: 8_640_000_000_000_001 }, 'a frame of no moment'],
    ['a wrong count', { count: 1 }, 'bytes after the last entry'],
    ['no entries', { count: 0 }, 'a frame without entries'],
    ['an entry beyond all numbers', { firstSeq: Number.MAX_SAFE_INTEGER }, 'a frame with entries beyond all numbers'],
  ])('one signed by this server with %s is damage', (_name, wrong, what) => {
    const disk = changed(last.file, (bytes) => {
      const head = { firstSeq: 9, count: 2, moment: 6, ...wrong };
      const before = spans.at(-2)!.position.chain;
      const hash = fillFrame(bytes, last.byte, bytes.length, head, before, digestsOf(entries.slice(-2)));
      sealFrame(bytes, last.byte, bytes.length, server.sign(hash));
    });
    expect(outcome(disk)).toMatchObject({ file: last.file, what });
  });

  test('one by somebody without the key, with more entries than it has room for, is damage before any is noted', () => {
    const byte = last.byte + FRAME_HEAD_BYTES;
    const disk = changed(last.file, (bytes) => {
      // Nothing, again and again: the shortest that can be passed over.
      const count = bytes.fill(0xc0, byte).length - byte - FRAME_FOOT_BYTES;
      const head = { firstSeq: 9, count, moment: 6 };
      fillFrame(bytes, last.byte, bytes.length, head, spans.at(-2)!.position.chain, new Uint8Array(0));
      sealFrame(bytes, last.byte, bytes.length, new Uint8Array(64));
    });
    const what = 'a frame that miscounts itself';
    expect(outcome(disk)).toMatchObject({ file: last.file, byte: last.byte, what });
    // Of entries that a snapshot knows only the digests are taken.
    const known = { ...last.position, seq: 1_000_000 };
    expect(() => readFrames(disk, known)).toThrow(what);
  });
});

test('a tail that was cut stays cut after a power cut', () => {
  for (let seed = 1; seed <= 20; seed++) {
    for (const kept of [last.byte + 50, 20]) {
      const disk = freshDisk(seed);
      for (const [path, content] of files) disk.put(path, path === last.file ? content.subarray(0, kept) : content);
      expect(recover(disk).torn).not.toBeNull();
      disk.crash();
      expect(readFrames(disk).torn).toBeNull();
    }
  }
});

describe('segments', () => {
  test('any but the last missing is damage', () => {
    for (const file of [...files.keys()].slice(0, -1)) {
      expect(outcome(diskWith(file, null))).toBeInstanceOf(DamageError);
    }
  });

  // Only the one behind it was named, which is whole, and was to be put back.
  test('one missing in the middle is named, and so are the entries that are missing with it', async () => {
    const disk = freshDisk();
    await writeFrames(disk, [2, 1, 2, 1, 2, 2], { segmentBytesMax: 700 });
    const [, missing, next] = disk.readdir(DIRECTORY) as [string, string, string];
    const [from, to] = [segmentSeq(missing), segmentSeq(next) - 1];
    disk.put(`${DIRECTORY}/${missing}`, null);
    const what = `${next}: damaged at byte 0: begins with entry ${to + 1} where ${from} belongs: entries up to ${to} are missing, with ${missing},`;
    expect(() => readFrames(disk)).toThrow(what);
  });

  test('one under the name of another is damage', () => {
    const [first, second] = [...files.keys()];
    expect(outcome(diskWith(second!, files.get(first!)!))).toMatchObject({ file: second, byte: 0 });
    const renamed = diskWith(second!, null);
    renamed.put(`${DIRECTORY}/journal-00000000000000000099.ayj`, files.get(second!)!);
    expect(outcome(renamed)).toBeInstanceOf(DamageError);
  });

  test('one with nothing but a header is damage where that is of another entry than its name, or of another journal', () => {
    const { chain } = recover(diskWith('', null)).position;
    const header = Buffer.alloc(SEGMENT_HEADER_BYTES);
    const withLast = (named: number, stated: number, before = chain) => {
      writeSegmentHeader(header, stated, before, FORMAT_VERSION);
      const disk = diskWith('', null);
      disk.put(`${DIRECTORY}/journal-${String(named).padStart(20, '0')}.ayj`, header);
      return disk;
    };
    const next = entries.length + 1;
    expect(readFrames(withLast(next, next)).read).toEqual(entries);
    expect(outcome(withLast(next, next + 1))).toMatchObject({
      byte: 0,
      what: `the header of the segment with entry ${next + 1}`,
    });
    const continues = outcome(withLast(next, next, new Uint8Array(32)));
    expect(continues).toMatchObject({ byte: 0, what: 'does not continue the frame before it' });
    const belongs = expect.stringContaining(`begins with entry ${next + 1} where ${next} belongs`);
    expect(outcome(withLast(next + 1, next + 1))).toMatchObject({ byte: 0, what: belongs });
  });

  test.each([0, 1, 55])(
    'made by a crash with %i bytes of its header: gone with the tail, and made again',
    async (size) => {
      const disk = diskWith('', null);
      disk.put(`${DIRECTORY}/journal-00000000000000000011.ayj`, Buffer.alloc(size));
      const { position, torn, read } = recover(disk);
      expect([read.length, torn?.byte, torn?.bytes]).toEqual([10, 0, size]);
      const more = await writeFrames(disk, [1], { segmentBytesMax: 1 }, position);
      expect(readFrames(disk).read).toEqual([...entries, ...more]);
    },
  );

  test('the last without its header is damage where a snapshot knows of its entries, the very last one too', () => {
    const known = spans.filter(({ file }) => file === last.file).map(({ position }) => position);
    expect(known.length).toBeGreaterThan(1);
    for (const [index, after] of known.entries()) {
      const disk = changed(last.file, (bytes) => {
        bytes[6]! ^= 1 << index;
      });
      expect(() => readFrames(disk, after), `after entry ${after.seq}`).toThrow(
        expect.objectContaining({
          file: last.file,
          byte: 0,
          what: expect.stringMatching(/^no whole header, but entry/),
        }),
      );
    }
  });

  test('one with a header and no frame is used', async () => {
    const disk = diskWith('', null);
    const content = files.get(last.file)!;
    const tail = diskWith(last.file, content.subarray(0, SEGMENT_HEADER_BYTES));
    const { position, torn } = recover(tail);
    expect([torn, position.file, position.byte]).toEqual([null, last.file.slice(DIRECTORY.length + 1), 56]);
    const more = await writeFrames(tail, [2], {}, position);
    expect(readFrames(tail).read).toEqual([...entries.slice(0, position.seq), ...more]);
    expect(tail.readdir(DIRECTORY)).toEqual(disk.readdir(DIRECTORY));
  });

  test('one of a later format is refused as such, not cut', () => {
    for (const file of files.keys()) {
      const disk = changed(file, (bytes) => {
        bytes.writeUInt32BE(FORMAT_VERSION + 1, 8);
        bytes.writeUInt32BE(crcOf(bytes.subarray(0, 52)), 52);
      });
      expect(outcome(disk)).toMatchObject({ what: `format version ${FORMAT_VERSION + 1}`, kind: 'newer' });
    }
  });
});

function crcOf(bytes: Uint8Array): number {
  let crc = 0xffff_ffff;
  for (const byte of bytes) {
    crc ^= byte;
    for (let bit = 0; bit < 8; bit++) crc = (crc >>> 1) ^ (crc & 1 ? 0xedb8_8320 : 0);
  }
  return (crc ^ 0xffff_ffff) >>> 0;
}
