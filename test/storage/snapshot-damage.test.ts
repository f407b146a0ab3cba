/** A newest snapshot that was spoilt is passed over, with the reason. */
import { beforeAll, describe, expect, test } from 'vitest';
import { crc } from '../../src/storage/format.ts';
import { takeSnapshot } from '../../src/storage/snapshot.ts';
import {
  FOOT_BYTES,
  packFoot,
  packManifest,
  SNAPSHOT_HEADER_BYTES,
  unpackFoot,
  unpackManifest,
} from '../../src/storage/snapshot-format.ts';
import type { FakeDisk } from './fake-disk.ts';
import { DIRECTORY, readInFull, signerOf } from './kit.ts';
import { contentAt, fresh, noise, part, read, START, take } from './snapshots.ts';

describe('a spoilt newest one is passed over, with the reason', () => {
  const own = [part('table', false, 300), part('chunk-0', true, 200), part('tail', false, 30)];
  const newest = `${DIRECTORY}/snapshot-00000000000000000006.ays`;
  let files: Map<string, Buffer>;

  beforeAll(async () => {
    const disk = fresh();
    await take(disk, contentAt(START, [part('table', false, 10)]));
    await take(disk, contentAt({ ...START, seq: 6 }, own));
    files = new Map(
      disk.readdir(DIRECTORY).map((name) => [`${DIRECTORY}/${name}`, disk.bytesOf(`${DIRECTORY}/${name}`)]),
    );
  });

  function spoilt(path: string, bytes: Uint8Array | null): FakeDisk {
    const disk = fresh();
    for (const [file, content] of files) disk.put(file, file === path ? bytes : content);
    return disk;
  }

  function expectOlder(disk: FakeDisk, reason: RegExp, kind: unknown = expect.any(String)): void {
    const { snapshot, refused } = read(disk);
    expect(snapshot?.seq).toBe(5);
    expect(refused).toEqual([
      {
        file: 'snapshot-00000000000000000006.ays',
        reason: expect.stringMatching(reason) as string,
        kind,
        error: expect.any(Error),
      },
    ]);
  }

  test('a bit flipped at every byte', () => {
    const content = files.get(newest)!;
    for (let byte = 0; byte < content.length; byte++) {
      const bytes = Buffer.from(content);
      bytes[byte]! ^= 1 << (byte % 8);
      expectOlder(spoilt(newest, bytes), /^its? /);
    }
  });

  test('cut short at every byte', () => {
    const content = files.get(newest)!;
    for (let size = 0; size < content.length; size++) {
      expectOlder(spoilt(newest, content.subarray(0, size)), /half-written|damaged/);
    }
  });

  test('a page of zeros', () => {
    const bytes = Buffer.from(files.get(newest)!);
    bytes.fill(0, 100, 200);
    expectOlder(spoilt(newest, bytes), /damaged between bytes 12 and 312: its part table/);
    const other = Buffer.from(files.get(newest)!);
    other.fill(0, 320, 340);
    expectOlder(spoilt(newest, other), /damaged between bytes 312 and 342: its part tail/);
  });

  test("its part missing, cut short, with one bit flipped, or another part's", () => {
    const path = [...files.keys()].find((name) => name.includes('/part-'))!;
    expectOlder(spoilt(path, null), /part .* is missing/);
    expectOlder(spoilt(path, files.get(path)!.subarray(1)), /another length/);
    const bytes = Buffer.from(files.get(path)!);
    bytes[7]! ^= 1;
    expectOlder(spoilt(path, bytes), /part .* is damaged/);
    expectOlder(spoilt(path, noise(200)), /part .* is damaged/);
  });

  test('by somebody without the key, who names parts longer than any memory', () => {
    const bytes = files.get(newest)!;
    const foot = unpackFoot(bytes.subarray(-FOOT_BYTES));
    const at = bytes.length - FOOT_BYTES - foot.manifestBytes;
    const manifest = unpackManifest(bytes.subarray(at, at + foot.manifestBytes));
    for (const length of [Number.MAX_SAFE_INTEGER, 2 ** 40, 2 ** 33, 201]) {
      for (const isFinal of [true, false]) {
        const parts = manifest.parts.map((row) => (row.final === isFinal ? { ...row, bytes: length } : row));
        const forged = Buffer.concat([...packManifest({ ...manifest, parts })]);
        const manifestCrc = crc(forged, 0, forged.length);
        const end = packFoot({ ...foot, manifestBytes: forged.length, manifestCrc });
        expectOlder(
          spoilt(newest, Buffer.concat([bytes.subarray(0, at), forged, end])),
          isFinal ? /damaged: its hash does not fit/ : /its parts do not fill it/,
        );
      }
    }
  });

  test.each<[string, number | null, RegExp]>([
    ['a manifest longer than the file', 2 ** 32 - 1, /no room for its manifest/],
    ['a manifest that begins in the header', null, /no room for its manifest/],
    ['a manifest that is shorter', 100, /its manifest$/],
  ])('by somebody without the key, who tells of %s', (_, told, reason) => {
    const bytes = files.get(newest)!;
    const manifestBytes = told ?? bytes.length - FOOT_BYTES - SNAPSHOT_HEADER_BYTES + 1;
    const foot = packFoot({ ...unpackFoot(bytes.subarray(-FOOT_BYTES)), manifestBytes });
    expectOlder(spoilt(newest, Buffer.concat([bytes.subarray(0, -FOOT_BYTES), foot])), reason);
  });

  test('of another server', async () => {
    const disk = fresh();
    await take(disk, contentAt(START, []));
    await takeSnapshot(disk, DIRECTORY, contentAt({ ...START, seq: 6 }, []), signerOf('another server'));
    expectOlder(disk, /not signed by this server/, 'unsigned');
  });

  test('under the name of another entry', () => {
    const disk = spoilt(newest, null);
    disk.put(`${DIRECTORY}/snapshot-00000000000000000009.ays`, files.get(newest)!);
    const { snapshot, refused } = read(disk);
    expect([snapshot?.seq, refused[0]?.reason]).toEqual([5, 'it is of entry 6']);
  });

  test('of a later format', () => {
    const bytes = Buffer.from(files.get(newest)!);
    bytes.writeUInt32BE(6, 8);
    expectOlder(spoilt(newest, bytes), /its format version is 6/, 'newer');
  });

  test('that the disk does not give', () => {
    const disk = spoilt('', null);
    disk.inject({ call: 'read', path: newest, code: 'EIO' });
    expectOlder(disk, /EIO/, 'other');
  });

  test('that becomes shorter while it is read, or its part', () => {
    const part = [...files.keys()].find((name) => name.includes('/part-'))!;
    // Header, foot, manifest, and the parts that lie in it.
    for (const [path, reads] of [[newest, 5] as const, [part, 1] as const]) {
      for (let skip = 0; skip < reads; skip++) {
        const disk = spoilt('', null);
        disk.inject({ call: 'read', path, skip, short: 0 });
        expectOlder(disk, /^it ends while being read$/, 'other');
      }
    }
  });

  test.each(['EACCES', 'EPERM', 'EMFILE', 'ENFILE', 'ENOMEM'])(
    'that this process may not have (%s): an error, since nothing is wrong with it',
    (code) => {
      for (const call of ['open', 'read'] as const) {
        const disk = spoilt('', null);
        disk.inject({ call, path: newest, code });
        expect(() => read(disk)).toThrow(code);
      }
    },
  );

  test('a mistake of ours while one is looked at is told, and none is passed over for it', () => {
    const verify = () => {
      throw new Error('a mistake of ours');
    };
    expect(() => readInFull(spoilt('', null), DIRECTORY, verify)).toThrow('a mistake of ours');
  });

  test('none whole: none, and all are named', () => {
    const disk = fresh();
    for (const [file, content] of files) disk.put(file, content.subarray(0, content.length - 1));
    const { snapshot, refused } = read(disk);
    expect([snapshot, refused.length]).toEqual([null, 2]);
  });
});
