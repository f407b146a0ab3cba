/** Snapshots: what was taken comes back, and nothing old goes before two newer ones stand. */
import { readdirSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { realDisk, withFile } from '../../src/storage/disk.ts';
import { takeSnapshot } from '../../src/storage/snapshot.ts';
import {
  checkSnapshotHeader,
  type Manifest,
  packManifest,
  SnapshotError,
  snapshotHeader,
  unpackManifest,
} from '../../src/storage/snapshot-format.ts';
import { type LoadSnapshot, listSnapshots, readSnapshots } from '../../src/storage/snapshot-reader.ts';
import { measured } from '../fuzz/memory.ts';
import { freshDirectory } from '../support/directory.ts';
import { isLong } from '../support/long.ts';
import { slow } from '../support/slow.ts';
import { FakeDisk } from './fake-disk.ts';
import { DIRECTORY, hanging, readFrames, readInFull, server, signerOf, writeFrames } from './kit.ts';
import { chunk, chunk2, contentAt, fresh, noise, part, plain, read, START, take, withJournal } from './snapshots.ts';

describe('a snapshot', () => {
  test('comes back as it was', async () => {
    const disk = fresh();
    const content = contentAt(START, [part('table', false, 1000), chunk, part('empty', false, 0), chunk2]);
    await take(disk, content);
    const { snapshot, refused } = read(disk);
    expect(plain(snapshot)).toEqual(plain(content));
    expect(refused).toEqual([]);
  });

  test('is taken, and what it makes superfluous removed, without a wait for a disk that hangs: everybody waited with it', async () => {
    const { disk, positions } = await withJournal();
    const parts = () => [part('table', false, 10_000), part('chunk', true, 9000)];
    for (const at of [1, 2]) await take(disk, contentAt(positions[at]!, parts()));
    const content = contentAt(positions[3]!, parts());
    const { removed } = await takeSnapshot(hanging(disk), DIRECTORY, content, server);
    expect(plain(read(disk).snapshot)).toEqual(plain(content));
    expect(removed.length).toBeGreaterThan(2);
  });

  test('without parts, and of an empty ledger, comes back too', async () => {
    const disk = fresh();
    const content = contentAt({ seq: 0, chain: new Uint8Array(32), moment: 0 }, []);
    await take(disk, content);
    expect(plain(read(disk).snapshot)).toEqual(plain(content));
  });

  slow('with as much outside its parts as a million used tokens take comes back', async () => {
    const disk = fresh();
    const extra = Buffer.alloc(72_000_013, 'a token ');
    await take(disk, { ...START, extra, parts: [] });
    const { snapshot, refused } = read(disk);
    expect(refused).toEqual([]);
    expect(Buffer.compare(snapshot!.extra, extra)).toBe(0);
  });

  test('of several pieces comes back', async () => {
    const disk = fresh();
    const bytes = Buffer.alloc(2_500_000, 'some bytes to repeat');
    const content = contentAt(START, [
      { name: 'long', final: true, bytes },
      { name: 'table', final: false, pieces: [bytes.subarray(0, 1_700_000), bytes.subarray(1_700_000)] },
    ]);
    disk.inject({ call: 'write', short: 1000, times: 3 });
    disk.inject({ call: 'read', short: 1000, times: 3 });
    await take(disk, content);
    const { snapshot } = read(disk);
    for (const got of snapshot!.parts) expect(Buffer.compare(got.bytes, bytes)).toBe(0);
  });

  test.runIf(isLong)('with a part longer than 2 GiB comes back', async () => {
    const directory = freshDirectory();
    const piece = Buffer.alloc(1 << 20, 'slots of a table');
    const pieces = Array.from({ length: 2049 }, () => piece);
    const content = contentAt(START, [{ name: 'long', final: false, pieces }]);
    await takeSnapshot(realDisk, directory, content, server);
    const { snapshot, refused } = readInFull(realDisk, directory, server.verify);
    expect([refused, snapshot?.parts[0]?.bytes.length]).toEqual([[], 2049 * 2 ** 20]);
  });

  test.runIf(isLong)(
    'with a part or a manifest longer than can be read is not taken, and the older ones stay',
    async () => {
      const directory = freshDirectory();
      await takeSnapshot(realDisk, directory, contentAt(START, []), server);
      const pieces = Array.from({ length: 4097 }, () => Buffer.alloc(1 << 20));
      const long = contentAt({ ...START, seq: 6 }, [{ name: 'long', final: false, pieces }]);
      await expect(takeSnapshot(realDisk, directory, long, server)).rejects.toThrow('more than can be read');
      const wide = { ...START, seq: 6, parts: [], extra: new Uint8Array(2 ** 30) };
      await expect(takeSnapshot(realDisk, directory, wide, server)).rejects.toThrow('more than are read');
      expect(readdirSync(directory)).toEqual(['snapshot-00000000000000000005.ays']);
    },
  );

  test('one at a time', async () => {
    const disk = fresh();
    const first = take(disk, contentAt(START, [chunk]));
    await expect(take(disk, contentAt(START, [chunk]))).rejects.toThrow('one snapshot at a time');
    await first;
    await take(disk, contentAt(START, [chunk]));
  });

  test('two parts of one name, or a name that is a path, are refused', async () => {
    const disk = fresh();
    await expect(take(disk, contentAt(START, [part('a', false, 1), part('a', false, 1)]))).rejects.toThrow("'a'");
    await expect(take(disk, contentAt(START, [part('../a', false, 1)]))).rejects.toThrow("'../a'");
  });

  test.each<[string, object]>([
    ['moment', { moment: -1 }],
    ['entry', { seq: 1.5 }],
    ['chain', { chain: new Uint8Array(31) }],
    ['rest', { extra: 'x' }],
    ['hash of a part', { parts: [{ name: 'a', final: true, bytes: 1, crc: 1, hash: new Uint8Array(31) }] }],
  ])('its manifest is none with what cannot be its %s', (_, wrong) => {
    const right = contentAt(START, []);
    const packed = (manifest: object) => Buffer.concat([...packManifest(manifest as Manifest)]);
    expect(unpackManifest(packed(right)).seq).toBe(5);
    expect(() => unpackManifest(packed({ ...right, ...wrong }))).toThrow(SnapshotError);
  });

  test('of a version that is not known is refused', () => {
    const versions = [0, 1, 2, 3, 4, 5, 6].filter((version) => {
      const header = snapshotHeader();
      header.writeUInt32BE(version, 8);
      try {
        checkSnapshotHeader(header);
        return true;
      } catch (error) {
        expect(error).toBeInstanceOf(SnapshotError);
        return false;
      }
    });
    expect(versions).toEqual([1, 2, 3, 4, 5]);
  });

  test('no directory is no snapshot', () => {
    expect(read(new FakeDisk())).toEqual({ snapshot: null, refused: [] });
  });
});

describe('parts that are not final', () => {
  const name = 'snapshot-00000000000000000006.ays';
  const parts = () => ['one', 'two'].map((name) => part(name, false, 3000));

  /** Two snapshots, and the newest whole one of them loaded when `between` has had its way with the newer. */
  async function loaded(between: (disk: FakeDisk, path: string) => void) {
    const disk = fresh();
    await take(disk, contentAt(START, []));
    await take(disk, contentAt({ ...START, seq: 6 }, parts()));
    return readSnapshots(disk, DIRECTORY, server.verify, ({ seq, parts }) => {
      if (seq === 6) between(disk, `${DIRECTORY}/${name}`);
      return parts.rows.map((row) => Buffer.from(parts.get(row.name)!));
    });
  }

  test('are never in memory all at once: a start took up to 1.6 times the memory of the server that had stopped', async () => {
    const disk = fresh();
    const bytes = 1_000_000;
    const names = Array.from({ length: 16 }, (_, index) => `part-${index}`);
    await take(
      disk,
      contentAt(
        START,
        names.map((name) => ({ name, final: false, pieces: [Buffer.alloc(bytes, name)] })),
      ),
    );
    const load: LoadSnapshot<void> = ({ parts }) => {
      for (const name of names) expect(Buffer.compare(parts.get(name)!, Buffer.alloc(bytes, name))).toBe(0);
    };
    const { allocated, outcome } = measured(() => readSnapshots(disk, DIRECTORY, server.verify, load));
    expect(outcome).toMatchObject({ snapshot: { seq: 5 }, refused: [] });
    // The parts that are expected, one of ours, and a piece of one.
    expect(allocated - names.length * bytes).toBeLessThan(2 * bytes);
  });

  test('that change between the hash over all and their turn are not taken', async () => {
    const { snapshot, refused } = await loaded((disk, path) =>
      withFile(disk, path, 'write', (file) => file.write(Uint8Array.of(1, 2, 3), 0, 3, 4000)),
    );
    expect(snapshot?.seq).toBe(5);
    const reason = 'it changed between bytes 3012 and 6012 while it was read: its part two';
    expect(refused).toEqual([{ file: name, reason, kind: 'other', error: expect.any(SnapshotError) }]);
  });

  test('that cannot be read when it is their turn are not taken, unless that is no fault of theirs', async () => {
    const { snapshot, refused } = await loaded((disk, path) => disk.inject({ call: 'read', path, code: 'EIO' }));
    expect([snapshot?.seq, refused.length]).toEqual([5, 1]);
    const short = await loaded((disk, path) => withFile(disk, path, 'write', (file) => file.truncate(5000)));
    expect([short.snapshot?.seq, short.refused[0]?.reason]).toEqual([5, 'it ends while being read']);
    await expect(loaded((disk, path) => disk.inject({ call: 'read', path, code: 'ENOMEM' }))).rejects.toThrow('ENOMEM');
  });

  test('may be no state: what goes wrong in loading them, whatever its code, is not passed over', async () => {
    const error = Object.assign(new Error('no state'), { code: 'EIO' });
    const loading = loaded(() => {
      throw error;
    });
    await expect(loading).rejects.toBe(error);
  });
});

describe('final parts', () => {
  const partFiles = (disk: FakeDisk) => disk.readdir(DIRECTORY).filter((name) => name.startsWith('part-'));

  test('are written once, and later only named', async () => {
    const disk = fresh();
    const first = await take(disk, contentAt(START, [chunk]));
    const second = await take(disk, contentAt({ ...START, seq: 6 }, [chunk, chunk2]));
    const third = await take(disk, contentAt({ ...START, seq: 7 }, [chunk, chunk2]));
    expect(first.bytes).toBeGreaterThan(3000);
    expect(second.bytes).toBeLessThan(1000);
    expect(third.bytes).toBeLessThan(second.bytes);
    expect(partFiles(disk)).toHaveLength(2);
    expect(plain(read(disk).snapshot)?.parts).toEqual(plain(contentAt(START, [chunk, chunk2]))?.parts);
  });

  test('as read from disk are known again', async () => {
    const disk = fresh();
    await take(disk, contentAt(START, [part('chunk-0', true, 3000)]));
    const { snapshot } = read(disk);
    expect(snapshot!.parts[0]!.bytes.buffer).toBeInstanceOf(SharedArrayBuffer);
    const again = { ...snapshot!.parts[0]!, final: true as const };
    const { bytes } = await take(disk, contentAt({ ...START, seq: 6 }, [again]));
    expect(bytes).toBeLessThan(1000);
  });

  test.each<[string, string, number, number, string]>([
    ['from another place on', 'chunk-0', 500, 3000, DIRECTORY],
    ['to another end', 'chunk-0', 0, 2999, DIRECTORY],
    ['under another name', 'chunk-1', 0, 3000, DIRECTORY],
    ['for another directory', 'chunk-0', 0, 3000, '/others'],
  ])('whose memory is known, but %s, are others', async (_, name, from, length, directory) => {
    const disk = fresh();
    disk.mkdir('/others');
    const { buffer } = noise(4000);
    await take(disk, contentAt(START, [{ name: 'chunk-0', final: true, bytes: new Uint8Array(buffer, 0, 3000) }]));
    const other = contentAt({ ...START, seq: 6 }, [{ name, final: true, bytes: new Uint8Array(buffer, from, length) }]);
    await takeSnapshot(disk, directory, other, server);
    expect(plain(readInFull(disk, directory, server.verify).snapshot)).toEqual(plain(other));
  });

  test('whose file is gone or cut short are written again', async () => {
    for (const spoil of [null, new Uint8Array(10)]) {
      const disk = fresh();
      const own = part('chunk-0', true, 3000);
      await take(disk, contentAt(START, [own]));
      disk.put(`${DIRECTORY}/${partFiles(disk)[0]}`, spoil);
      await take(disk, contentAt({ ...START, seq: 6 }, [own]));
      expect(read(disk).snapshot?.seq).toBe(6);
    }
  });

  test('that only the older of the two kept names stay with it', async () => {
    const disk = fresh();
    await take(disk, contentAt({ ...START, seq: 1 }, [chunk]));
    await take(disk, contentAt({ ...START, seq: 2 }, [chunk, chunk2]));
    const { file } = await take(disk, contentAt({ ...START, seq: 3 }, [chunk]));
    expect(partFiles(disk)).toHaveLength(2);
    disk.put(`${DIRECTORY}/${file}`, null);
    expect(read(disk)).toMatchObject({ snapshot: { seq: 2 }, refused: [] });
  });

  test('go with the last snapshot that names them', async () => {
    const disk = fresh();
    for (let seq = 1; seq <= 4; seq++) {
      await take(disk, contentAt({ ...START, seq }, seq === 1 ? [chunk, chunk2] : [chunk]));
    }
    expect(partFiles(disk)).toHaveLength(1);
    expect(read(disk).snapshot?.seq).toBe(4);
  });
});

describe('what a new one makes superfluous', () => {
  test('two are kept, and the segments the older of them needs', async () => {
    const { disk, positions } = await withJournal();
    const removed: string[] = [];
    for (const [index, position] of positions.slice(0, 4).entries()) {
      const taken = await take(disk, contentAt(position, [part('table', false, 10 + index)]));
      removed.push(...taken.removed);
    }
    expect(removed.sort()).toEqual([
      ...[1, 3, 5].map((seq) => `journal-${String(seq).padStart(20, '0')}.ayj`),
      ...[2, 4].map((seq) => `snapshot-${String(seq).padStart(20, '0')}.ays`),
    ]);
    expect(disk.readdir(DIRECTORY)).toEqual([
      ...[7, 9, 11].map((seq) => `journal-${String(seq).padStart(20, '0')}.ayj`),
      ...[6, 8].map((seq) => `snapshot-${String(seq).padStart(20, '0')}.ays`),
    ]);
    for (const position of positions.slice(2, 4)) expect(readFrames(disk, position).position.seq).toBe(12);
    expect(disk.openFiles, 'with each snapshot one more would be left open').toEqual([]);
  });

  // It went with all that stood beside it: whatever was still whole of that was gone.
  test('is no more once the one that was to stay is found to have changed', async () => {
    const { disk, positions } = await withJournal();
    for (const position of positions.slice(0, 2)) await take(disk, contentAt(position, []));
    const before = disk.readdir(DIRECTORY);
    let times = 0;
    const options = { ...server, counts: () => ++times < 2 };
    const { file, removed } = await takeSnapshot(disk, DIRECTORY, contentAt(positions[3]!, []), options);
    expect([removed, disk.readdir(DIRECTORY)]).toEqual([[], [...before, file].sort()]);
  });

  test('one of a later entry is not judged by it, whatever it is', async () => {
    const { disk, positions } = await withJournal();
    const whole = await take(disk, contentAt(positions[4]!, []));
    const damagedLater = `${DIRECTORY}/snapshot-00000000000000000011.ays`;
    disk.put(damagedLater, new Uint8Array(50));
    await take(disk, contentAt(positions[0]!, []));
    await take(disk, contentAt(positions[1]!, []));
    const { removed } = await take(disk, contentAt(positions[2]!, []));
    expect(removed).toContain('snapshot-00000000000000000002.ays');
    expect(listSnapshots(disk, DIRECTORY)).toEqual([
      'snapshot-00000000000000000011.ays',
      whole.file,
      'snapshot-00000000000000000006.ays',
      'snapshot-00000000000000000004.ays',
    ]);
  });

  test('the segment of the one entry after the older of them stays, and so does the last of all', async () => {
    const disk = fresh();
    await writeFrames(disk, [1, 1, 1, 1], { segmentBytesMax: 1 });
    const positions = readFrames(disk).spans.map((span) => span.position);
    await take(disk, contentAt(positions[0]!, []));
    await take(disk, contentAt(positions[1]!, []));
    expect(readFrames(disk, positions[0]).position.seq).toBe(4);
    await take(disk, contentAt(positions[3]!, []));
    await take(disk, contentAt({ ...positions[3]!, seq: 5 }, []));
    expect(disk.readdir(DIRECTORY).filter((name) => name.startsWith('journal-'))).toEqual([
      'journal-00000000000000000004.ayj',
    ]);
  });

  test('the first removes nothing', async () => {
    const { disk, positions } = await withJournal();
    const { removed } = await take(disk, contentAt(positions[4]!, []));
    expect(removed).toEqual([]);
    expect(readFrames(disk).position.seq).toBe(12);
  });

  const damaged = `${DIRECTORY}/snapshot-00000000000000000006.ays`;
  const fileOf = (disk: FakeDisk, start: string) =>
    `${DIRECTORY}/${disk.readdir(DIRECTORY).find((name) => name.startsWith(start))}`;

  test.each<[string, (disk: FakeDisk) => void]>([
    ['that is damaged', (disk) => disk.put(damaged, new Uint8Array(50))],
    ['whose first part is gone', (disk) => disk.put(fileOf(disk, 'part-chunk-0'), null)],
    ['whose last part is cut short', (disk) => disk.put(fileOf(disk, 'part-chunk.1'), new Uint8Array(99))],
    ['that has the name of another', (disk) => disk.put(damaged, disk.bytesOf(fileOf(disk, 'snapshot-')))],
    ['that the disk does not give', (disk) => disk.inject({ call: 'read', path: damaged, code: 'EIO' })],
  ])('one %s does not count as kept', async (_, spoil) => {
    const { disk, positions } = await withJournal();
    await take(disk, contentAt(positions[0]!, []));
    await take(disk, contentAt(positions[2]!, [chunk, chunk2]));
    spoil(disk);
    await take(disk, contentAt(positions[3]!, []));
    disk.heal();
    expect(readFrames(disk, positions[0]).position.seq).toBe(12);
    expect(listSnapshots(disk, DIRECTORY)).toEqual([
      'snapshot-00000000000000000008.ays',
      'snapshot-00000000000000000002.ays',
    ]);
    disk.put(`${DIRECTORY}/snapshot-00000000000000000008.ays`, null);
    expect(read(disk).snapshot?.seq).toBe(2);
    expect(disk.openFiles).toEqual([]);
  });

  test('one that a start has refused does not count as kept, though its frame is whole', async () => {
    const { disk, positions } = await withJournal();
    await take(disk, contentAt(positions[0]!, []));
    const { file } = await take(disk, contentAt(positions[2]!, []));
    const options = { ...server, counts: (name: string) => name !== file };
    const { removed } = await takeSnapshot(disk, DIRECTORY, contentAt(positions[3]!, []), options);
    expect(removed).toContain(file);
    expect(read(disk).snapshot?.seq).toBe(8);
    disk.put(`${DIRECTORY}/snapshot-00000000000000000008.ays`, null);
    expect(read(disk).snapshot?.seq).toBe(2);
  });

  test.each([3, 5, 6, 9])(
    'one of entry %i that another key has signed stays, and so do its parts: they went, with all that was left of other books',
    async (seq) => {
      const { disk, positions } = await withJournal();
      const { file } = await takeSnapshot(
        disk,
        DIRECTORY,
        contentAt({ ...START, seq }, [part('table', false, 30), chunk, chunk2]),
        signerOf('another server'),
      );
      const others = disk.readdir(DIRECTORY).filter((name) => name === file || name.startsWith('part-'));
      expect(others).toHaveLength(3);
      for (const position of positions.slice(0, 4)) {
        if (position.seq !== seq) await take(disk, contentAt(position, [part('table', false, 20)]));
      }
      expect(disk.readdir(DIRECTORY)).toEqual(expect.arrayContaining(others));
      // Our own go as ever.
      expect(listSnapshots(disk, DIRECTORY)).toHaveLength(3);
      disk.put(`${DIRECTORY}/${file}`, null);
      await take(disk, contentAt(positions[5]!, []));
      expect(disk.readdir(DIRECTORY).filter((name) => name.startsWith('part-'))).toEqual([]);
    },
  );

  test('one that this user may not look at stays, whosever it is', async () => {
    const { disk, positions } = await withJournal();
    const first = await take(disk, contentAt(positions[0]!, []));
    await take(disk, contentAt(positions[1]!, []));
    disk.inject({ call: 'open', path: first.file, code: 'EACCES' });
    expect((await take(disk, contentAt(positions[2]!, []))).removed).not.toContain(first.file);
    expect((await take(disk, contentAt(positions[3]!, []))).removed).toContain(first.file);
  });

  // A start passes it over; each snapshot after that ended the server.
  test.each(['snapshot', 'journal'])(
    'what is a directory in the place of a %s stays, and all else goes',
    async (kind) => {
      const { disk, positions } = await withJournal();
      for (const position of positions.slice(0, 2)) await take(disk, contentAt(position, []));
      const name = disk.readdir(DIRECTORY).find((file) => file.startsWith(kind))!;
      disk.inject({ call: 'unlink', path: name, code: 'EISDIR', times: Number.POSITIVE_INFINITY });
      const removed: string[] = [];
      for (const position of positions.slice(2)) removed.push(...(await take(disk, contentAt(position, []))).removed);
      expect(disk.readdir(DIRECTORY)).toContain(name);
      expect(removed).not.toContain(name);
      expect(removed.some((file) => file.startsWith('snapshot'))).toBe(true);
      expect(removed.some((file) => file.startsWith('journal'))).toBe(true);
    },
  );

  test('a damaged one alone before it lets nothing go', async () => {
    const { disk, positions } = await withJournal();
    await take(disk, contentAt(positions[2]!, [chunk]));
    disk.put(damaged, new Uint8Array(50));
    const { removed } = await take(disk, contentAt(positions[3]!, []));
    expect(removed).toEqual([]);
    expect(readFrames(disk).position.seq).toBe(12);
  });

  test('what a crash left half-written', async () => {
    const disk = fresh();
    disk.put(`${DIRECTORY}/snapshot-00000000000000000003.ays.tmp`, noise(10));
    disk.put(`${DIRECTORY}/part-chunk-9.tmp`, noise(10));
    await take(disk, contentAt(START, []));
    const { removed } = await take(disk, contentAt({ ...START, seq: 6 }, []));
    expect(disk.readdir(DIRECTORY).filter((name) => name.endsWith('.tmp'))).toEqual([]);
    expect(removed.sort()).toEqual(['part-chunk-9.tmp', 'snapshot-00000000000000000003.ays.tmp']);
  });

  test('what one that failed could not take away is in no later one’s way, though it has its names', async () => {
    const disk = fresh();
    disk.put(`${DIRECTORY}/part-chunk-0.tmp`, noise(10));
    disk.put(`${DIRECTORY}/snapshot-00000000000000000005.ays.tmp`, noise(10));
    const content = contentAt(START, [part('chunk-0', true, 3000)]);
    await take(disk, content);
    expect(plain(read(disk).snapshot)).toEqual(plain(content));
  });
});
