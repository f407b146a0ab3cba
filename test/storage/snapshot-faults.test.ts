/** Whatever fails while a snapshot is taken, and whenever the power goes, the older ones stay. */
import { describe, expect, test } from 'vitest';
import { takeSnapshot } from '../../src/storage/snapshot.ts';
import { FOOT_BYTES, SnapshotError } from '../../src/storage/snapshot-format.ts';
import { listSnapshots } from '../../src/storage/snapshot-reader.ts';
import { turns } from '../support/turns.ts';
import type { Fault } from './fake-disk.ts';
import { DIRECTORY, filesOf, freshDisk, readFrames, server, writeFrames } from './kit.ts';
import { chunk, chunk2, contentAt, fresh, part, plain, read, START, take, withJournal } from './snapshots.ts';

describe('a fault while taking one leaves the older ones, and the next one is taken', () => {
  let own: Uint8Array = new Uint8Array(0);
  const calls: Fault['call'][] = ['open', 'write', 'sync', 'close', 'rename', 'syncDirectory', 'unlink', 'readdir'];
  const cases = calls.flatMap((call) =>
    ['ENOSPC', 'EIO', 'EROFS'].map((code): [string, Fault] => [`${code} on ${call}`, { call, code }]),
  );

  test.each(cases)('%s, at each such call', async (_name, fault) => {
    for (let skip = 0; ; skip++) {
      const { disk, positions } = await withJournal();
      const first = part('table', false, 100);
      await take(disk, contentAt(positions[0]!, [first, chunk]));
      await take(disk, contentAt(positions[1]!, [first, chunk]));
      disk.inject({ ...fault, skip });
      const error = await take(disk, contentAt(positions[2]!, [first, chunk, part('chunk-1', true, 50)])).catch(
        (thrown: Error) => thrown,
      );
      disk.heal();
      disk.crash();
      const { snapshot } = read(disk);
      expect([positions[1]!.seq, positions[2]!.seq]).toContain(snapshot?.seq);
      expect(readFrames(disk, snapshot!).position.seq).toBe(12);
      await take(disk, contentAt(positions[3]!, [first, chunk]));
      expect(read(disk).snapshot?.seq).toBe(positions[3]!.seq);
      if (!(error instanceof Error)) break;
      expect(error.message).toContain(fault.code);
    }
  });

  const flipped = (bytes: Buffer, at: number) => {
    bytes[at]! ^= 1;
    return bytes;
  };

  test.each<[string, (bytes: Buffer) => Uint8Array]>([
    ['a bit of a part flipped', (bytes) => flipped(bytes, 700)],
    ['a bit of its manifest flipped', (bytes) => flipped(bytes, bytes.length - FOOT_BYTES - 1)],
    ['a bit of its foot flipped', (bytes) => flipped(bytes, bytes.length - 1)],
    ['its end missing', (bytes) => bytes.subarray(0, -1)],
    ['another that this server has signed', () => own],
  ])('read back with %s: refused, the older ones stand', async (_, spoil) => {
    const disk = fresh();
    const content = contentAt(START, [part('table', false, 2000)]);
    await take(disk, content);
    own = disk.bytesOf(`${DIRECTORY}/snapshot-00000000000000000005.ays`);
    const open = disk.open.bind(disk);
    disk.open = (path, mode) => {
      if (mode === 'read' && path.endsWith('.tmp')) disk.put(path, spoil(disk.bytesOf(path)));
      return open(path, mode);
    };
    const later = contentAt({ ...START, seq: 6 }, [part('table', false, 2000)]);
    await expect(take(disk, later)).rejects.toThrow(SnapshotError);
    expect(listSnapshots(disk, DIRECTORY)).toEqual(['snapshot-00000000000000000005.ays']);
    expect(plain(read(disk).snapshot)).toEqual(plain(content));
    expect(disk.calls.get('open')! - disk.calls.get('close')!, 'files left open').toBe(0);
  });

  test('read back with a signature that is not this server’s: refused, the older ones stand', async () => {
    const disk = fresh();
    await take(disk, contentAt(START, []));
    const lying = {
      sign: server.sign,
      verify: () => false,
    };
    await expect(takeSnapshot(disk, DIRECTORY, contentAt({ ...START, seq: 6 }, []), lying)).rejects.toThrow('signed');
    expect(read(disk).snapshot?.seq).toBe(5);
    expect(disk.exists(`${DIRECTORY}/snapshot-00000000000000000006.ays`)).toBe(false);
  });

  test.each<[Fault['call'], number]>([
    ['write', Number.POSITIVE_INFINITY],
    ['sync', Number.POSITIVE_INFINITY],
    // A third comes when all was read back.
    ['close', 2],
  ])('leaves nothing half-written, nor open, at each %s', async (call, times) => {
    const content = contentAt(START, [part('table', false, 100), part('chunk-0', true, 50)]);
    for (let skip = 0; skip < times; skip++) {
      const disk = fresh();
      disk.inject({ call, code: 'ENOSPC', skip });
      const error = await take(disk, content).catch((thrown: Error) => thrown);
      if (!(error instanceof Error)) break;
      expect(disk.readdir(DIRECTORY).filter((name) => name.endsWith('.tmp'))).toEqual([]);
      expect(disk.calls.get('open')! - disk.calls.get('close')!, 'files left open').toBe(0);
    }
  });

  test('is on the device, with its parts, once it is taken', async () => {
    const disk = fresh();
    await take(disk, contentAt(START, [part('table', false, 100), part('chunk-0', true, 50)]));
    const names = disk.readdir(DIRECTORY);
    expect(names.filter((name) => disk.isDurable(`${DIRECTORY}/${name}`))).toEqual(names);
    expect(names).toHaveLength(2);
  });

  test.each([
    ['at first', false],
    ['after one that failed when its part had been named', true],
  ])('power cuts at every moment, %s: its name is there only where its parts are', async (_, isSecond) => {
    for (let seed = 1; seed <= 120; seed++) {
      const disk = freshDisk(seed, (run) => setImmediate(run));
      const parts = [part('chunk-0', true, 900), part('table', false, 200)];
      if (isSecond) {
        disk.inject({ call: 'syncDirectory', code: 'EIO' });
        await expect(take(disk, contentAt(START, parts))).rejects.toThrow('EIO');
      }
      void take(disk, contentAt({ ...START, seq: 6 }, parts)).catch(() => {});
      await turns(seed % 24);
      disk.crash();
      expect(read(disk).refused, `seed ${seed}`).toEqual([]);
    }
  });

  test('power cuts at every moment: a whole snapshot, and the journal behind it', async () => {
    for (let seed = 1; seed <= 120; seed++) {
      const disk = freshDisk(seed, (run) => setImmediate(run));
      await writeFrames(disk, [2, 2, 2, 2], { segmentBytesMax: 1 });
      const positions = readFrames(disk).spans.map((span) => span.position);
      await take(disk, contentAt(positions[0]!, [chunk]));
      await take(disk, contentAt(positions[1]!, [chunk, part('table', false, 2000)]));
      const parts = [chunk, part('chunk-1', true, 900), part('table', false, 2000)];
      void take(disk, contentAt(positions[2]!, parts)).catch(() => {});
      await turns(seed % 24);
      disk.crash();
      const { snapshot } = read(disk);
      expect([4, 6], `seed ${seed}`).toContain(snapshot?.seq);
      expect(readFrames(disk, snapshot!).position.seq).toBe(8);
    }
  });

  test('power cuts while one goes with its part: none is left that misses a part', async () => {
    let isTaken = false;
    for (let turn = 0; !isTaken; turn++) {
      for (let seed = 1; seed <= 8; seed++) {
        const disk = freshDisk(seed, (run) => setImmediate(run));
        await take(disk, contentAt(START, [chunk2]));
        await take(disk, contentAt({ ...START, seq: 6 }, [chunk]));
        isTaken = false;
        const taken = () => {
          isTaken = true;
        };
        // What is cut off never ends.
        void take(disk, contentAt({ ...START, seq: 7 }, [chunk])).then(taken, taken);
        await turns(turn);
        disk.crash();
        const files = filesOf(disk);
        for (const name of listSnapshots(disk, DIRECTORY)) {
          const others = freshDisk();
          for (const [file, bytes] of files) {
            if (file === name || !file.endsWith('.ays')) others.put(`${DIRECTORY}/${file}`, bytes);
          }
          expect(read(others).refused, `seed ${seed}, turn ${turn}`).toEqual([]);
        }
      }
    }
  });
});
