/** What a disk has changed of the books is found, and what of it is in memory written anew; see scrub.ts. */
import { describe, expect, test } from 'vitest';
import type { FinalPart } from '../../src/core/dump.ts';
import { type Disk, withFile } from '../../src/storage/disk.ts';
import { SEGMENT_HEADER_BYTES } from '../../src/storage/format.ts';
import { MemoryChangedError, Scrub, type ScrubOptions } from '../../src/storage/scrub.ts';
import { takeSnapshot } from '../../src/storage/snapshot.ts';
import { PIECE_BYTES } from '../../src/storage/snapshot-format.ts';
import { DIRECTORY, filesOf, freshDisk, readFrames, server, signerOf, withCalls, writeFrames } from './kit.ts';
import { contentAt, part, plain, read, take } from './snapshots.ts';

/** With and without a way past the page cache. */
const WAYS = [
  ['by way of the page cache', 1],
  ['past it', 2],
] as const;
const NEWEST = 'snapshot-00000000000000000006.ays';
const own = `${DIRECTORY}/${NEWEST}`;
const OLDER = 'snapshot-00000000000000000004.ays';

/**
 * Two snapshots with the same two final parts, one of which takes several pieces; and four segments of a frame each, of which
 * the first begins right behind the newer snapshot; one before them, which only the older one needs, is spare.
 */
async function standing(seed: number = 1) {
  const disk = freshDisk(seed, (run) => setImmediate(run));
  await writeFrames(disk, [2, 2, 2, 2, 2, 2, 2], { segmentBytesMax: 1 });
  const [, before, at] = readFrames(disk).spans.map(({ position }) => position);
  const finals = [part('chunk-0', true, 2 * PIECE_BYTES + 1000), part('chunk-1', true, 4096)] as FinalPart[];
  const parts = [part('table', false, 300), ...finals];
  const older = contentAt(before!, parts);
  const newer = contentAt(at!, parts);
  await take(disk, older);
  await take(disk, newer);
  const namesOf = (kind: string) => disk.readdir(DIRECTORY).filter((name) => name.startsWith(kind));
  const path = `${DIRECTORY}/${namesOf('part-')[0]}`;
  const [spare, ...segments] = namesOf('journal-');
  return { disk, finals, older, newer, path, spare: `${DIRECTORY}/${spare}`, segments };
}

function scrubOf(disk: Disk, finals: readonly FinalPart[], more: Partial<ScrubOptions> = {}) {
  const [told, rests]: [string[], number[]] = [[], []];
  const [renewed, left]: [string[], string[]] = [[], []];
  const lost: (string | number)[] = [];
  const scrub = new Scrub({
    disk,
    directory: DIRECTORY,
    verify: server.verify,
    newest: () => NEWEST,
    finals: () => finals,
    async rest(share) {
      rests.push(share);
    },
    tell: (what) => told.push(what),
    renew: (name) => renewed.push(name),
    end() {
      const file = disk.readdir(DIRECTORY).findLast((name) => name.startsWith('journal-'));
      return file === undefined
        ? null
        : { file, byte: withFile(disk, `${DIRECTORY}/${file}`, 'read', (each) => each.size()) };
    },
    leave: (file) => left.push(file),
    lacks() {},
    counts: () => true,
    lose: (name) => lost.push(name),
    breakUpTo: (seq) => lost.push(seq),
    ...more,
  });
  return { scrub, told, rests, renewed, left, lost };
}

const flipped = (bytes: Buffer, at: number) => {
  bytes[at]! ^= 1;
  return bytes;
};

describe.each(WAYS)('%s', (_, seed) => {
  test('books that are as they were are read through, and left alone; the rests are as long as all of it together', async () => {
    const { disk, finals, segments, spare } = await standing(seed);
    const before = filesOf(disk);
    const { scrub, told, rests, renewed, left, lost } = scrubOf(disk, finals);
    const paths = [own, `${DIRECTORY}/${OLDER}`, spare, ...segments.map((name) => `${DIRECTORY}/${name}`)];
    const bytes = paths.reduce((sum, path) => sum + disk.bytesOf(path).length, 0) - 2 * 108;
    const parts = 2 * PIECE_BYTES + 1000 + 4096;
    expect([await scrub.round(), scrub.stats]).toEqual([
      bytes + 2 * parts,
      { bytes: bytes + parts, changed: 0, mended: 0 },
    ]);
    expect([told, renewed, lost, filesOf(disk)]).toEqual([[], [], [], before]);
    expect([segments.length, left]).toEqual([4, []]);
    expect(rests.reduce((sum, rest) => sum + rest, 0)).toBeCloseTo(1);
    expect(Math.max(...rests)).toBeLessThan(0.25);
    expect(disk.openFiles).toEqual([]);
  });

  test.each<[string, (bytes: Buffer) => Buffer | null, string]>([
    ['its first byte', (bytes) => flipped(bytes, 0), 'other bytes'],
    ['the first byte of its second piece', (bytes) => flipped(bytes, PIECE_BYTES), 'other bytes'],
    ['its last byte', (bytes) => flipped(bytes, bytes.length - 1), 'other bytes'],
    ['a page of it, which is zeros', (bytes) => bytes.fill(0, 4096, 8192), 'other bytes'],
    ['its end, which is missing', (bytes) => bytes.subarray(0, -1), 'it has 525287 bytes'],
    ['its length: it has a byte more', (bytes) => Buffer.concat([bytes, Buffer.of(0)]), 'it has 525289 bytes'],
    ['all of it: it is gone', () => null, 'it is missing'],
  ])('a part is written anew where the disk has changed %s, and both snapshots are whole', async (_, spoil, fault) => {
    const { disk, finals, older, newer, path } = await standing(seed);
    disk.put(path, spoil(disk.bytesOf(path)));
    expect(read(disk).snapshot, 'neither can be loaded').toBeNull();
    const { scrub, told, renewed } = scrubOf(disk, finals);
    await scrub.round();
    const file = path.slice(DIRECTORY.length + 1);
    expect(told).toEqual([`${file} had changed on the disk (${fault}), and is written anew: see to the disk.`]);
    expect([scrub.stats.mended, renewed, disk.isDurable(path)]).toEqual([1, [], true]);
    expect(plain(read(disk).snapshot)).toEqual(plain(newer));
    await scrub.round();
    expect(told.length).toBe(1);
    disk.put(own, null);
    expect(plain(read(disk).snapshot)).toEqual(plain(older));
    expect(disk.openFiles).toEqual([]);
  });

  test('a round takes as long where what it reads is damaged, missing or not to be read: the next one begins behind it', async () => {
    for (const isMissing of [true, false]) {
      const { disk, finals, path, segments, spare } = await standing(seed);
      const older = `${DIRECTORY}/${OLDER}`;
      for (const file of [own, path, older, spare, ...segments.slice(1).map((name) => `${DIRECTORY}/${name}`)])
        disk.put(file, isMissing ? null : flipped(disk.bytesOf(file), 0));
      const { scrub, rests } = scrubOf(disk, finals);
      await scrub.round();
      expect(rests.reduce((sum, rest) => sum + rest, 0)).toBeCloseTo(1);
    }
    const { disk, finals } = await standing(seed);
    const { scrub, rests } = scrubOf(disk, finals);
    disk.inject({ call: 'open', code: 'EACCES', skip: 1, times: 100 });
    await scrub.round();
    expect(rests.reduce((sum, rest) => sum + rest, 0)).toBeCloseTo(1);
  });

  // Of books that are young the segment in use has many times the bytes by the end of a day: the next round began weeks later.
  test('a round takes as long where a segment has grown meanwhile', async () => {
    const { disk, finals, segments } = await standing(seed);
    const path = `${DIRECTORY}/${segments.at(-1)}`;
    const whole = disk.bytesOf(path);
    let rested = 0;
    const { scrub, told } = scrubOf(disk, finals, {
      async rest(share) {
        rested += share;
        disk.put(path, Buffer.concat([whole, Buffer.alloc(40 * PIECE_BYTES)]));
      },
    });
    await scrub.round();
    expect(rested).toBeCloseTo(1);
    expect(told).toEqual([]);
  });

  test('a part that the disk does not give is written anew', async () => {
    const { disk, finals, newer, path } = await standing(seed);
    disk.inject({ call: 'read', code: 'EIO', path });
    const { scrub, told } = scrubOf(disk, finals);
    await scrub.round();
    expect(told).toEqual([expect.stringMatching(/\.ayp had changed on the disk \(EIO.*\), and is written anew/)]);
    expect(plain(read(disk).snapshot)).toEqual(plain(newer));
  });

  test.each(['EACCES', 'EMFILE', 'ENOMEM'])('%s says nothing against a file: it is left alone', async (code) => {
    const { disk, finals } = await standing(seed);
    const before = filesOf(disk);
    const { scrub, told, renewed, left, lost } = scrubOf(disk, finals);
    for (let skip = 0; skip < 12; skip++) {
      disk.inject({ call: 'open', code, skip });
      await scrub.round();
    }
    if (code !== 'EACCES') expect(told).toEqual([]);
    expect([renewed, left, lost, filesOf(disk)]).toEqual([[], [], [], before]);
    expect(scrub.stats.changed).toBe(0);
  });

  // Nobody heard of it: that a start could not read it was found by the start.
  test.each(['EACCES', 'EPERM'])('a file that this user may not read (%s) is told of, once', async (code) => {
    const { disk, finals, path, spare, segments } = await standing(seed);
    const { scrub, told } = scrubOf(disk, finals);
    const paths = [own, path, `${DIRECTORY}/${OLDER}`, spare, `${DIRECTORY}/${segments[1]}`];
    for (const each of paths) {
      disk.inject({ call: 'open', code, path: each, times: 12 });
      for (let round = 0; round < 3; round++) await scrub.round();
      disk.heal();
    }
    const texts = paths.map((each) => `${each.slice(DIRECTORY.length + 1)} cannot be read (${code}`);
    expect(told).toEqual(texts.map((text) => expect.stringContaining(text)));
    expect(told[0]).toMatch(
      /: whether the disk has changed it is not known\. See that this user may read it, as a start/,
    );
  });

  test('where a part cannot be written anew that is told, and it is tried again', async () => {
    const { disk, finals, newer, path } = await standing(seed);
    disk.put(path, flipped(disk.bytesOf(path), 5));
    const { scrub, told } = scrubOf(disk, finals);
    disk.inject({ call: 'write', code: 'ENOSPC' });
    await scrub.round();
    const tried =
      /\.ayp has changed on the disk \(other bytes\), and cannot be written anew \(ENOSPC.*\): no start could/;
    expect(told).toEqual([expect.stringMatching(tried)]);
    expect(disk.readdir(DIRECTORY).filter((name) => name.endsWith('.tmp'))).toEqual([]);
    await scrub.round();
    expect([told.length, scrub.stats.changed, scrub.stats.mended]).toEqual([2, 2, 1]);
    expect(plain(read(disk).snapshot)).toEqual(plain(newer));
  });

  test.each([12, 200, 400, 500])(
    'of the newest snapshot itself, byte %s changed: a new one is asked for',
    async (at) => {
      const { disk, finals } = await standing(seed);
      disk.put(own, flipped(disk.bytesOf(own), disk.bytesOf(own).length - at));
      const { scrub, told, renewed } = scrubOf(disk, finals);
      await scrub.round();
      expect(told).toEqual([
        expect.stringMatching(/^snapshot-0*6\.ays has changed .* A new snapshot is taken: see to/),
      ]);
      expect(renewed).toEqual([NEWEST]);
      expect(scrub.stats.changed).toBe(1);
    },
  );
});

describe.each(WAYS)('a segment of the journal, %s', (_, seed) => {
  const saidOf = (file: string, byte: number) =>
    `${file} has changed on the disk (from byte ${byte} on), and a start may not be able to read it: a snapshot is taken behind it. See to the disk.`;

  test.each([0, 1, 2, 3])(
    'the %sth: whatever byte of it has changed, that is told, and it is to be left',
    async (nth) => {
      const { disk, finals, segments } = await standing(seed);
      const file = segments[nth]!;
      const path = `${DIRECTORY}/${file}`;
      const whole = disk.bytesOf(path);
      for (let at = nth; at < whole.length; at += 7) {
        disk.put(path, flipped(Buffer.from(whole), at));
        const { scrub, told, left } = scrubOf(disk, finals);
        await scrub.round();
        expect([told, left]).toEqual([[saidOf(file, at < SEGMENT_HEADER_BYTES ? 0 : SEGMENT_HEADER_BYTES)], [file]]);
        expect(scrub.stats.changed).toBe(1);
      }
    },
  );

  test('that has lost its end, or lies there no more', async () => {
    const { disk, finals, segments, spare } = await standing(seed);
    const [first, second] = segments as [string, string];
    const bytes = disk.bytesOf(`${DIRECTORY}/${second}`);
    for (const size of [bytes.length - 1, SEGMENT_HEADER_BYTES + 7, SEGMENT_HEADER_BYTES, 55, 0]) {
      disk.put(`${DIRECTORY}/${second}`, bytes.subarray(0, size));
      const { scrub, told, left } = scrubOf(disk, finals);
      await scrub.round();
      expect([told, left]).toEqual([
        [saidOf(second, size < SEGMENT_HEADER_BYTES ? 0 : SEGMENT_HEADER_BYTES)],
        [second],
      ]);
    }
    disk.put(`${DIRECTORY}/${second}`, bytes);
    disk.put(spare, null);
    disk.put(`${DIRECTORY}/${first}`, null);
    const { scrub, told, left } = scrubOf(disk, finals);
    await scrub.round();
    expect(told).toEqual([
      expect.stringContaining('the journal has changed on the disk (the segment with entry 7 is missing'),
    ]);
    expect(left).toEqual(['the journal']);
  });

  // One that could not be opened kept all of them from being looked at, and nobody said so.
  test.each(['EIO', 'EACCES'])('that the disk does not give (%s) keeps no other from being looked at', async (code) => {
    const { disk, finals, segments } = await standing(seed);
    const [first, , third] = segments as [string, string, string];
    const path = `${DIRECTORY}/${third}`;
    disk.put(path, flipped(disk.bytesOf(path), 80));
    disk.inject({ call: 'open', code, path: first, times: 100 });
    const { scrub, left } = scrubOf(disk, finals);
    await scrub.round();
    expect(left).toEqual(code === 'EIO' ? [first, third] : [third]);
  });

  test('may have zeros behind its last frame, and nothing else', async () => {
    const { disk, finals, segments } = await standing(seed);
    const path = `${DIRECTORY}/${segments[1]}`;
    const whole = disk.bytesOf(path);
    for (const [size, last, isRight] of [
      [1, 0, true],
      [8, 0, true],
      [PIECE_BYTES, 0, true],
      [7, 1, false],
      [9, 1, false],
      [PIECE_BYTES, 1, false],
    ] as const) {
      const room = Buffer.alloc(size);
      room[size - 1] = last;
      disk.put(path, Buffer.concat([whole, room]));
      const { scrub, left } = scrubOf(disk, finals);
      await scrub.round();
      expect([size, last, left.length === 0]).toEqual([size, last, isRight]);
    }
  });

  test('that is being written is looked at up to its last frame on the device', async () => {
    const { disk, finals, segments } = await standing(seed);
    const file = segments.at(-1)!;
    const path = `${DIRECTORY}/${file}`;
    const byte = disk.bytesOf(path).length;
    disk.put(path, Buffer.concat([disk.bytesOf(path), Buffer.from('half a frame')]));
    const { scrub, told } = scrubOf(disk, finals, { end: () => ({ file, byte }) });
    await scrub.round();
    expect(told).toEqual([]);
  });

  test('of which nothing is on the device yet is not looked at', async () => {
    const { disk, finals, segments } = await standing(seed);
    const last = `${DIRECTORY}/${segments.at(-1)}`;
    disk.put(last, disk.bytesOf(last).subarray(0, 20));
    const [file, byte] = [segments.at(-2)!, disk.bytesOf(`${DIRECTORY}/${segments.at(-2)}`).length];
    const { scrub, told } = scrubOf(disk, finals, { end: () => ({ file, byte }) });
    await scrub.round();
    expect(told).toEqual([]);
  });

  test.each([true, false])('that no start reads any more may be gone by now: %s', async (isGone) => {
    const { disk, finals, segments } = await standing(seed);
    const path = `${DIRECTORY}/${segments[0]}`;
    disk.put(path, flipped(disk.bytesOf(path), 80));
    let name = NEWEST;
    const { scrub, told, left, lost } = scrubOf(disk, finals, {
      newest: () => name,
      async rest() {
        name = 'snapshot-00000000000000000008.ays';
        if (isGone) disk.put(path, null);
      },
    });
    await scrub.round();
    expect([told.length, left, lost]).toEqual(isGone ? [0, [], []] : [1, [], [8]]);
  });

  test('with frames longer than a piece', async () => {
    const disk = freshDisk(seed, (run) => setImmediate(run));
    await writeFrames(disk, [6000, 1]);
    const { scrub, told } = scrubOf(disk, [], { newest: () => null });
    expect(await scrub.round()).toBeGreaterThan(2 * PIECE_BYTES);
    expect(told).toEqual([]);
  });
});

describe.each(WAYS)('what a start would only fall back on, %s', (_, seed) => {
  const saidOf = (file: string, fault: string) =>
    `${file} has changed on the disk (${fault}). A start does not need it as long as ${NEWEST} is whole: no copy is given it any more, and the next snapshot makes up for it. See to the disk.`;

  /** A scrub that remembers what counts no more, as Snapshots does. */
  const remembering = ({ disk, finals }: Awaited<ReturnType<typeof standing>>, more: Partial<ScrubOptions> = {}) => {
    const gone = new Set<string | number>();
    return scrubOf(disk, finals, {
      counts: (file) => !gone.has(file) && !gone.has(6),
      lose: (name) => gone.add(name),
      breakUpTo: (seq) => gone.add(seq),
      ...more,
    });
  };

  test('the older snapshot: whatever byte of it has changed, that is told once, and it counts no more', async () => {
    const books = await standing(seed);
    const { disk, finals } = books;
    const path = `${DIRECTORY}/${OLDER}`;
    const whole = disk.bytesOf(path);
    for (let at = 0; at < whole.length; at += 7) {
      disk.put(path, flipped(Buffer.from(whole), at));
      const { scrub, told, lost, renewed, left } = scrubOf(disk, finals);
      await scrub.round();
      expect([lost, renewed, left, scrub.stats.changed]).toEqual([[OLDER], [], [], 1]);
      expect(told).toEqual([
        expect.stringMatching(/^snapshot-0*4\.ays has changed on the disk \(.+\)\. A start does not/),
      ]);
    }
    disk.put(path, flipped(Buffer.from(whole), whole.length >> 1));
    const { scrub, told } = remembering(books);
    for (let round = 0; round < 3; round++) await scrub.round();
    expect([told, scrub.stats.changed]).toEqual([[saidOf(OLDER, 'other bytes')], 1]);
    expect(disk.openFiles).toEqual([]);
  });

  test('a segment that only the older one needs: whatever byte of it has changed, nothing counts that needs it', async () => {
    const books = await standing(seed);
    const { disk, finals, spare } = books;
    const whole = disk.bytesOf(spare);
    for (let at = 0; at < whole.length; at += 7) {
      disk.put(spare, flipped(Buffer.from(whole), at));
      const { scrub, lost, renewed, left } = scrubOf(disk, finals);
      await scrub.round();
      expect([lost, renewed, left, scrub.stats.changed]).toEqual([[6], [], [], 1]);
    }
    disk.put(spare, whole.subarray(0, -1));
    const { scrub, told } = remembering(books);
    for (let round = 0; round < 3; round++) await scrub.round();
    const file = spare.slice(DIRECTORY.length + 1);
    expect([told, scrub.stats.changed]).toEqual([[saidOf(file, `from byte ${SEGMENT_HEADER_BYTES} on`)], 1]);
  });

  test('the same of one that lies there no more: the older snapshot cannot be gone on from', async () => {
    const books = await standing(seed);
    books.disk.put(books.spare, null);
    const { scrub, told } = remembering(books);
    for (let round = 0; round < 3; round++) await scrub.round();
    expect(told).toEqual([saidOf(OLDER, 'the segment with entry 5 is missing')]);
  });

  test('what counts no more is not read again, and of what others have signed nothing is said', async () => {
    const { disk, finals, older, spare } = await standing(seed);
    await takeSnapshot(disk, DIRECTORY, { ...older, seq: 3, parts: [] }, signerOf('another server'));
    const { scrub, told } = scrubOf(disk, finals);
    await scrub.round();
    expect([disk.readdir(DIRECTORY).filter((name) => name.endsWith('.ays')).length, told]).toEqual([3, []]);
    disk.flip(spare, 100);
    disk.flip(`${DIRECTORY}/${OLDER}`, 20);
    const { bytes } = scrub.stats;
    const blind = scrubOf(disk, finals, { counts: () => false });
    await blind.scrub.round();
    const spared = [spare, `${DIRECTORY}/${OLDER}`].reduce((sum, path) => sum + disk.bytesOf(path).length, -108);
    expect([blind.told, blind.scrub.stats.bytes]).toEqual([[], bytes - spared]);
  });

  test('may be gone by now, behind a newer snapshot', async () => {
    const { disk, finals, spare } = await standing(seed);
    const older = `${DIRECTORY}/${OLDER}`;
    disk.flip(spare, 100);
    disk.flip(older, 20);
    const { scrub, told, lost } = scrubOf(disk, finals, {
      async rest() {
        for (const path of [older, spare]) disk.put(path, null);
      },
    });
    await scrub.round();
    expect([told, lost]).toEqual([[], []]);
  });
});

// Whoever was about to put a backup there found a snapshot of entries that it has not, and what it has was removed for that.
test.each([true, false])(
  'the segment in use was taken away, others are there: %s. That is told, and nothing is written there',
  async (areOthers) => {
    const { disk, finals, segments, spare } = await standing();
    const file = segments.at(-1)!;
    const byte = disk.bytesOf(`${DIRECTORY}/${file}`).length;
    const taken = areOthers ? [file] : [spare.slice(DIRECTORY.length + 1), ...segments];
    for (const name of taken) disk.put(`${DIRECTORY}/${name}`, null);
    const before = filesOf(disk);
    const { scrub, told, renewed, left } = scrubOf(disk, finals, { end: () => ({ file, byte }) });
    for (let round = 0; round < 3; round++) await scrub.round();
    expect(told).toEqual([
      expect.stringMatching(new RegExp(`^${file}, which is written to, is gone .* /proc/\\d+/fd`)),
    ]);
    expect([renewed, left, scrub.stats.changed, filesOf(disk)]).toEqual([[], [], 1, before]);
  },
);

test.each([
  ['open', 'EROFS'],
  ['open', 'EACCES'],
  ['read', 'EINVAL'],
] as const)(
  'where blocks cannot be had past the page cache (%s: %s) that says nothing against a file: it is read as others are',
  async (call, code) => {
    const { disk, finals, path } = await standing(2);
    const { scrub, told, left } = scrubOf(disk, finals);
    const { openSynced } = disk;
    disk.openSynced = (name) => {
      disk.inject({ call, code, path: name });
      return openSynced.call(disk, name);
    };
    await scrub.round();
    expect([told, left]).toEqual([[], []]);
    disk.put(path, flipped(disk.bytesOf(path), 0));
    await scrub.round();
    expect(told).toEqual([expect.stringMatching(/had changed .* is written anew/)]);
    expect(disk.openFiles).toEqual([]);
  },
);

test('a part whose memory has changed is not written, whatever the disk has: the process is to end', async () => {
  for (const isSpoilt of [false, true]) {
    const { disk, finals, path } = await standing();
    if (isSpoilt) disk.put(path, flipped(disk.bytesOf(path), 5));
    finals[0]!.bytes[PIECE_BYTES + 3]! ^= 1;
    const before = filesOf(disk);
    await expect(scrubOf(disk, finals).scrub.round()).rejects.toThrow(MemoryChangedError);
    expect(filesOf(disk)).toEqual(before);
  }
});

test('a snapshot that is not the newest any more may be gone: nothing is told of it, and no other asked for', async () => {
  for (const spoil of [() => null, (bytes: Buffer) => flipped(bytes, 20)]) {
    const { disk, finals } = await standing();
    disk.put(own, spoil(disk.bytesOf(own)));
    // Taken meanwhile.
    const later = 'snapshot-00000000000000000008.ays';
    const names = [NEWEST, later];
    const { scrub, lost, renewed } = scrubOf(disk, finals, { newest: () => names.shift() ?? later });
    await scrub.round();
    expect([lost, renewed]).toEqual([disk.exists(own) ? [NEWEST] : [], []]);
  }
});

test('before the first snapshot, or with parts that were never written, there is nothing to read', async () => {
  const disk = freshDisk(1, (run) => setImmediate(run));
  const { scrub } = scrubOf(disk, [part('chunk-0', true, 100) as FinalPart], { newest: () => null });
  expect(await scrub.round()).toBe(0);
});

test('nothing is written while a snapshot is, nor a snapshot while a part is', async () => {
  const { disk, finals, path } = await standing();
  disk.put(path, flipped(disk.bytesOf(path), 5));
  const { scrub } = scrubOf(disk, finals);
  const steps: string[] = [];
  let letGo = () => {};
  const snapshot = scrub.alone(async () => {
    await new Promise<void>((resolve) => {
      letGo = resolve;
    });
    steps.push(`snapshot, ${scrub.stats.mended} mended`);
  });
  const round = scrub.round();
  await new Promise((resolve) => setTimeout(resolve, 50));
  expect(scrub.stats.mended).toBe(0);
  letGo();
  await Promise.all([snapshot, round]);
  await scrub.alone(async () => {
    steps.push(`snapshot, ${scrub.stats.mended} mended`);
  });
  expect(steps).toEqual(['snapshot, 0 mended', 'snapshot, 1 mended']);
});

test('a snapshot that fails is told to who takes it, and keeps nobody from writing', async () => {
  const { disk, finals, path } = await standing();
  disk.put(path, flipped(disk.bytesOf(path), 5));
  const { scrub } = scrubOf(disk, finals);
  await expect(scrub.alone(() => Promise.reject(new Error('no room')))).rejects.toThrow('no room');
  await scrub.round();
  expect(scrub.stats.mended).toBe(1);
});

test('once it is closed nothing is written, told or asked for: the directory may be another server’s', async () => {
  const { disk, finals, path } = await standing();
  disk.put(path, flipped(disk.bytesOf(path), 5));
  disk.put(own, flipped(disk.bytesOf(own), 20));
  const before = filesOf(disk);
  const { scrub, told, renewed } = scrubOf(disk, finals);
  await scrub.close();
  await scrub.round();
  expect([told, renewed, filesOf(disk)]).toEqual([[], [], before]);
});

test('it is closed when what is being written is there', async () => {
  const { disk, finals, path } = await standing();
  disk.put(path, flipped(disk.bytesOf(path), 5));
  const slow = withCalls(disk, {
    renameLater: (from, to, done) => setTimeout(() => disk.renameLater(from, to, done), 50),
  });
  const { scrub } = scrubOf(slow, finals);
  const round = scrub.round();
  while (!disk.readdir(DIRECTORY).some((name) => name.endsWith('.tmp'))) await new Promise((r) => setImmediate(r));
  await scrub.close();
  expect(scrub.stats.mended).toBe(1);
  await round;
});

test('power cuts at every moment while a part is written anew: it is as it was, or whole', async () => {
  for (let seed = 1; seed <= 60; seed++) {
    const { disk, finals, newer, path } = await standing(seed);
    const spoilt = flipped(disk.bytesOf(path), 5);
    disk.put(path, spoilt);
    void scrubOf(disk, finals)
      .scrub.round()
      .catch(() => {});
    for (let turn = 0; turn < seed; turn++) await new Promise((resolve) => setImmediate(resolve));
    disk.crash();
    if (!disk.bytesOf(path).equals(spoilt)) expect(plain(read(disk).snapshot), `seed ${seed}`).toEqual(plain(newer));
  }
});
