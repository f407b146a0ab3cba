/**
 * Copies of books that are written to meanwhile: each can be started from and holds all that was acknowledged before
 * it was begun; half a copy is never taken for a whole one; nothing of the books themselves changes.
 */
import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { checkBooks } from '../../src/cli/audit/check-books.ts';
import { copyBooks } from '../../src/cli/backup.ts';
import type { Part } from '../../src/core/dump.ts';
import { findHandle } from '../../src/core/finding.ts';
import { Kind } from '../../src/core/kinds.ts';
import { readRow } from '../../src/core/records.ts';
import { verifyBy } from '../../src/proof/verify.ts';
import { readBooks } from '../../src/recovery.ts';
import { type Disk, type DiskFile, type OpenMode, realDisk } from '../../src/storage/disk.ts';
import { JOURNAL_START } from '../../src/storage/journal.ts';
import { readJournal } from '../../src/storage/journal-reader.ts';
import { pin } from '../../src/storage/pinned.ts';
import { type SnapshotContent, takeSnapshot } from '../../src/storage/snapshot.ts';
import { differencesOf } from '../../src/storage/state-digest.ts';
import { transfer } from '../core/books.ts';
import { DIRECTORY, MAIN_LEDGER, SERVER, signHash, verifyHash } from '../engine/house.ts';
import { live, lived, type Shape } from '../engine/life.ts';
import { Power, PowerCut } from '../engine/power.ts';
import { crowd, judge } from '../engine/process.ts';
import { FakeDisk } from '../storage/fake-disk.ts';
import { readInFull } from '../storage/kit.ts';
import { connect, makeKeys } from '../support/client.ts';
import { freshDirectory } from '../support/directory.ts';
import { flip } from '../support/flip.ts';
import { makeKit } from '../support/kit.ts';
import { atPlaces, isLong, often } from '../support/long.ts';
import { startServer } from '../support/server.ts';
import { ayni, ayniProcess, copyOf, copyWithoutKey, filesIn, fresh, keyIn, prunedBooks, reportOf } from './books.ts';

const TO = '/copy';
const books = await prunedBooks();

const imprint = (directory: string) =>
  filesIn(directory, /./).map((name) => [name, readFileSync(join(directory, name)).toString('base64')]);

describe('ayni backup', () => {
  test('copies what a start needs and nothing else, and says what it is', async () => {
    const to = fresh();
    const before = imprint(books);
    const ran = await ayniProcess('backup', books, to);
    expect(ran.out + ran.err).toContain(`Copied ${books} to ${to}: `);
    expect(ran.code).toBe(0);
    expect(imprint(books)).toEqual(before);
    const copied = before.filter(([name]) => /^(journal|snapshot|part)-/.test(name!));
    expect(imprint(to)).toEqual(copied);
    const seq = /It holds entries 1 to (\d+), the last written 20.*Z, chain [0-9a-f]{64}\./.exec(ran.out)![1];
    expect((await ayni('verify', books)).out).toContain(`Nothing wrong up to entry ${seq}`);
    expect(ran.out).toContain("Without the server's key");
    const report = reportOf(await ayni('backup', books, fresh(), '--json'));
    expect(report).toMatchObject({ ok: true, seq: Number(seq), torn: 0, withKey: false, snapshots: 2 });
    expect(report.bytes).toBe(copied.reduce((sum, [, text]) => sum + Buffer.from(text!, 'base64').length, 0));
  });

  test('copies the key where it is asked to, for its owner alone, and says so', async () => {
    const to = fresh();
    const ran = await ayni('backup', books, to, '--with-key', '--no-check');
    expect(ran.out).toContain('whoever has this copy can sign as the server');
    expect(ran.out).toContain('Not checked');
    expect(statSync(join(to, 'server.key')).mode & 0o777).toBe(0o600);
    expect(readFileSync(join(to, 'server.key'), 'utf8')).toBe(readFileSync(join(books, 'server.key'), 'utf8'));
    const server = await startServer({ directory: to });
    expect(await server.stop()).toBe(0);
  });

  test('tells of a torn tail, which stays', async () => {
    const torn = copyOf(books);
    const path = join(torn, filesIn(torn, /^journal/).at(-1)!);
    writeFileSync(path, Buffer.concat([readFileSync(path), Buffer.alloc(333, 7)]));
    const to = fresh();
    const ran = await ayni('backup', torn, to);
    expect([ran.code, ran.out.includes('333 bytes at its end are of a write that was on its way')]).toEqual([0, true]);
    expect(readFileSync(join(to, path.split('/').at(-1)!)).equals(readFileSync(path))).toBe(true);
  });

  test('tells of books that are not sound', async () => {
    for (const pattern of [/^journal/, /^snapshot/]) {
      const bad = copyOf(books);
      const path = join(bad, filesIn(bad, pattern)[0]!);
      flip(path, statSync(path).size >> 1);
      const ran = await ayni('backup', bad, fresh());
      expect(ran.code).toBe(1);
      expect(ran.out).toMatch(/those are not sound\. DAMAGE: .*\/copy/);
    }
  });

  test.each<[string, () => string[], number, RegExp]>([
    [
      'a directory with something in it',
      () => [books, join(freshWith('x'))],
      1,
      /is not empty; a copy goes to a new or empty/,
    ],
    ['the books themselves', () => [books, books], 1, /is not empty/],
    ['a file', () => [books, join(freshWith('x'), 'x')], 1, /ENOTDIR/],
    ['nowhere', () => [books], 2, /two directories/],
    ['a copy of nothing', () => [freshDirectory(), fresh()], 1, /holds no books/],
    ['a copy of what is not there', () => ['/nowhere/at/all', fresh()], 1, /there is no directory/],
    [
      'books with a key that is none, and names its file',
      () => [copyWithBadKey(books), fresh()],
      1,
      /DAMAGE: .*server\.key, byte 0: /,
    ],
    ['with a key that is not there', () => [copyWithoutKey(books), fresh(), '--with-key'], 1, /holds no server\.key/],
  ])('refuses %s', async (_name, args, code, what) => {
    const given = args();
    const ran = await ayni('backup', ...given);
    expect(ran.err).toMatch(what);
    expect(ran.code).toBe(code);
    if (given[1]?.endsWith('/copy')) expect(existsSync(given[1])).toBe(false);
  });

  test('of two at once to one directory, one makes it and the other touches nothing of it', async () => {
    const to = fresh();
    const both = await Promise.all([0, 1].map(() => ayniProcess('backup', books, to, '--no-check')));
    expect(both.map(({ code }) => code).sort()).toEqual([0, 1]);
    expect(both.map(({ err }) => err).join('')).toMatch(/^ayni: .*\/copy is not empty; [^\n]*\n$/);
    expect(filesIn(to, /./)).toEqual(filesIn(books, /^(journal|snapshot|part)-/));
  });

  test('fills an empty directory', async () => {
    const to = fresh();
    mkdirSync(to);
    expect((await ayni('backup', books, to)).code).toBe(0);
  });
});

function copyWithBadKey(directory: string): string {
  const copy = copyOf(directory);
  writeFileSync(join(copy, 'server.key'), 'x');
  return copy;
}

function freshWith(name: string): string {
  const directory = freshDirectory();
  writeFileSync(join(directory, name), 'x');
  return directory;
}

// ---------------------------------------------------------------- on a disk that fails

const booksIn = (disk: Disk) => readBooks({ disk, directory: TO, verify: verifyHash, hashSeed: 7 });

describe.each<[string, Shape]>([
  ['one segment', 'one'],
  ['many segments', 'whole'],
  ['many segments, the first of them gone, and two snapshots', 'pruned'],
])('a copy of %s', (_name, shape) => {
  test('that is cut off at any call of the disk is whole, or refused by every start', async () => {
    // The same books each time: a signature that ends with a zero takes one call more.
    const house = await lived(shape);
    const files = house.disk.readdir(DIRECTORY).map((name) => join(DIRECTORY, name));
    const same = (seed: number): FakeDisk => {
      const disk = new FakeDisk(seed);
      disk.mkdir(DIRECTORY);
      for (const path of files) disk.put(path, house.disk.bytesOf(path));
      return disk;
    };
    const whole = new Power(same(1));
    copyBooks(whole, DIRECTORY, TO, false);
    expect(whole.count).toBeGreaterThan(10);
    const ends = { whole: 0, refused: 0, nothing: 0 };
    await atPlaces(1, whole.count, shape === 'one' ? 1 : 3, async (cutAt) => {
      const disk = same(cutAt);
      expect(() => copyBooks(new Power(disk, cutAt), DIRECTORY, TO, false)).toThrow(PowerCut);
      const names = disk.exists(TO) ? disk.readdir(TO) : [];
      // Half of a first file too: with the key beside it, a start would make new books there.
      if (names.length === 0) {
        ends.nothing++;
        return;
      }
      try {
        const { state } = booksIn(disk);
        expect(differencesOf(state, house.state), `cut at ${cutAt}`).toEqual([]);
        ends.whole++;
      } catch (error) {
        expect((error as Error).name, (error as Error).stack).toBe('DamageError');
        ends.refused++;
      }
    });
    expect(ends.nothing).toBeGreaterThan(0);
    // The last calls alone leave a whole copy, and a share may be without them.
    if (shape === 'one' || isLong) expect(ends.whole).toBeGreaterThan(0);
    if (shape !== 'one') expect(ends.refused).toBeGreaterThan(often(0, 3));
  });

  test('that another has made since the directory was seen to be empty is left as it is', async () => {
    const { disk } = await lived(shape);
    const made = (): string[] => disk.readdir(TO).map((name) => `${name} ${disk.identity(join(TO, name))}`);
    let other: string[] | null = null;
    const late = new Proxy<Disk>(disk, {
      get: (_, name: keyof Disk) => {
        return (...args: [string, string, () => void]): unknown => {
          if (name === 'mkdir' && other === null) {
            other = [];
            copyBooks(disk, DIRECTORY, TO, false);
            other = made();
          }
          return (disk[name] as (...args: unknown[]) => unknown)(...args);
        };
      },
    });
    expect(() => copyBooks(late, DIRECTORY, TO, false)).toThrow(/is not empty/);
    expect(made()).toEqual(other);
  });

  test.each(['ENOSPC', 'EIO'])('that meets %s at any call leaves nothing, and the books as they were', async (code) => {
    const calls = ['write', 'sync', 'open', 'rename', 'syncDirectory', 'close'] as const;
    let failed = 0;
    for (const call of calls) {
      for (let skip = 0; ; skip++) {
        const house = await lived(shape);
        const before = house.disk
          .readdir(DIRECTORY)
          .map((name) => house.disk.bytesOf(join(DIRECTORY, name)).toString('hex'));
        house.disk.inject({ call, code, path: TO, skip });
        try {
          copyBooks(house.disk, DIRECTORY, TO, false);
          break;
        } catch (error) {
          failed++;
          expect((error as Error).message).toContain(code);
          house.disk.heal();
          expect(house.disk.readdir(TO)).toEqual([]);
          const after = house.disk
            .readdir(DIRECTORY)
            .map((name) => house.disk.bytesOf(join(DIRECTORY, name)).toString('hex'));
          expect(after).toEqual(before);
          copyBooks(house.disk, DIRECTORY, TO, false);
          expect(differencesOf(booksIn(house.disk).state, house.state)).toEqual([]);
        }
      }
    }
    expect(failed).toBeGreaterThan(5);
  });

  test('that fails where it cannot be taken away either is not said to be gone', async () => {
    const house = await lived(shape);
    house.disk.inject({ call: 'syncDirectory', code: 'EIO', path: TO });
    house.disk.inject({ call: 'unlink', code: 'EIO', path: TO });
    expect(() => copyBooks(house.disk, DIRECTORY, TO, false)).toThrow(/files of it are still in /);
    expect(house.disk.readdir(TO).length).toBeGreaterThan(0);
  });

  test('is checked: what it holds, and each way it could be less', async () => {
    const house = await lived(shape);
    const copy = () => {
      for (const name of house.disk.exists(TO) ? house.disk.readdir(TO) : []) house.disk.put(join(TO, name), null);
      copyBooks(house.disk, DIRECTORY, TO, false);
      return house.disk.readdir(TO);
    };
    const names = copy();
    expect(checkBooks(house.disk, TO, SERVER.public)).toMatchObject({ seq: house.journal.position.seq, torn: 0 });
    const segments = names.filter((name) => name.startsWith('journal'));
    const snapshots = names.filter((name) => name.startsWith('snapshot'));
    // Without its last segment a journal looks whole, and one snapshot is enough to start from.
    for (const gone of [...segments.slice(0, -1).map((name) => [name]), ...(shape === 'pruned' ? [snapshots] : [])]) {
      copy();
      for (const name of gone) house.disk.put(join(TO, name), null);
      expect(() => checkBooks(house.disk, TO, SERVER.public), gone.join()).toThrow();
    }
    for (const name of copy()) {
      const bytes = house.disk.bytesOf(join(TO, name));
      for (let byte = 3; byte < bytes.length; byte += 211) {
        const changed = Buffer.from(bytes);
        changed[byte]! ^= 32;
        house.disk.put(join(TO, name), changed);
        expect(() => checkBooks(house.disk, TO, SERVER.public), `${name} byte ${byte}`).toThrow();
      }
      house.disk.put(join(TO, name), bytes);
    }
  });
});

describe('a copy whose snapshot the server has signed, and that is', () => {
  /** A copy with its newest snapshot taken again as of somewhere else. */
  async function copied(change: Partial<SnapshotContent>): Promise<FakeDisk> {
    const { disk } = await lived('pruned');
    copyBooks(disk, DIRECTORY, TO, false);
    const { snapshot } = readInFull(disk, TO, verifyHash);
    for (const name of disk.readdir(TO)) if (name.startsWith('snapshot-')) disk.put(join(TO, name), null);
    const parts = snapshot!.parts.map(
      ({ name, final, bytes }): Part => (final ? { name, final, bytes } : { name, final, pieces: [bytes] }),
    );
    await takeSnapshot(disk, TO, { ...snapshot!, parts, ...change }, { sign: signHash, verify: verifyHash });
    return disk;
  }

  test('as it was is sound', async () => {
    const disk = await copied({});
    expect(checkBooks(disk, TO, SERVER.public).torn).toBe(0);
  });

  test('of another history is a lie', async () => {
    const disk = await copied({ chain: new Uint8Array(32) });
    expect(() => checkBooks(disk, TO, SERVER.public)).toThrow('a snapshot is of another journal: its chain differs');
  });

  test('of an entry that the journal does not come to is damage', async () => {
    const disk = await copied({ seq: 1_000 });
    expect(() => checkBooks(disk, TO, SERVER.public)).toThrow(/the journal leads to entry \d+, not there/);
  });
});

describe('a directory that changes while it is pinned', () => {
  /** Changes the directory after so many calls of `readdir`. */
  function changing(disk: FakeDisk, at: number, change: () => void): Disk {
    let calls = 0;
    return Object.assign(Object.create(disk) as Disk, {
      open: (path: string, mode: 'read') => disk.open(path, mode),
      exists: (path: string) => disk.exists(path),
      readdir(path: string) {
        if (++calls === at) change();
        return disk.readdir(path);
      },
    });
  }
  const name = (seq: number) => `${DIRECTORY}/journal-${String(seq).padStart(20, '0')}.ayj`;
  const withSegments = (...seqs: number[]) => {
    const disk = new FakeDisk();
    for (const seq of seqs) disk.put(name(seq), Buffer.from('x'));
    return disk;
  };

  test('by a segment that goes: looked at again', () => {
    const disk = withSegments(1, 5, 9);
    const pinned = pin(
      changing(disk, 3, () => disk.put(name(1), null)),
      DIRECTORY,
    );
    expect(pinned.readdir(DIRECTORY)).toHaveLength(2);
  });

  test('by a segment that comes between two others, missed by the first look: looked at again', () => {
    const disk = withSegments(1, 9);
    const pinned = pin(
      changing(disk, 3, () => disk.put(name(5), Buffer.from('x'))),
      DIRECTORY,
    );
    expect(pinned.readdir(DIRECTORY)).toHaveLength(3);
  });

  test('by a segment and a snapshot after it: the segment is in where the snapshot is', () => {
    const disk = withSegments(1);
    const change = () => disk.put(name(5), Buffer.from('x'));
    expect(pin(changing(disk, 2, change), DIRECTORY).readdir(DIRECTORY)).toHaveLength(2);
  });
});

describe('a segment that a server writes to while it is read', () => {
  /** Reads move little, and after some of them the server has written more frames over the zeros behind its last. */
  class BusyDisk extends FakeDisk {
    onRead = () => {};

    override open(path: string, mode: OpenMode): DiskFile {
      const file = super.open(path, mode);
      if (mode !== 'read' || !path.startsWith(DIRECTORY)) return file;
      const read: DiskFile['read'] = (bytes, from, to, position) => {
        const count = file.read(bytes, from, Math.min(to, from + 700), position);
        this.onRead();
        return count;
      };
      return { ...file, read };
    }
  }

  let path = '';
  let bytes: Buffer = Buffer.alloc(0);
  const frames: { end: number; seq: number }[] = [];

  beforeAll(async () => {
    const house = await lived('one');
    for (let n = 0; n < 40; n++) await live(house, [(each) => each.intent(`late-${n}`, transfer('a', 'b', 1))]);
    path = join(DIRECTORY, house.disk.namesIn(DIRECTORY).at(-1)!);
    bytes = house.disk.bytesOf(path);
    readJournal(house.disk, DIRECTORY, JOURNAL_START, {
      verifyFrame: () => true,
      onEntry() {},
      onFrame: ({ byte, bytes: length, seq }) => frames.push({ end: byte + length, seq }),
    });
  });

  /**
   * Books of some frames with zeros behind them. After so many reads the server writes the frames to come there, all at
   * once, or gives the room back, as it does when it stops or goes on to the next segment.
   */
  function busyBooks(reads: number, goesOn = true): { disk: BusyDisk; seq: number } {
    const { end, seq } = frames[8]!;
    const disk = new BusyDisk();
    disk.put(path, Buffer.concat([bytes.subarray(0, end), Buffer.alloc(9000)]));
    const file = disk.open(path, 'write');
    let left = reads;
    disk.onRead = () => {
      if (--left !== 0) return;
      if (goesOn) file.write(bytes, end, frames.at(-1)!.end, end);
      else file.truncate(end);
    };
    return { disk, seq };
  }

  const READS = Array.from({ length: 30 }, (_, n) => 2 * n + 1);

  test('is copied as it was: zeros, and frames behind them that had come meanwhile, looked like damage', () => {
    for (const reads of READS) {
      const { disk, seq } = busyBooks(reads);
      copyBooks(disk, DIRECTORY, TO, false);
      const checked = checkBooks(disk, TO, SERVER.public);
      expect(checked.seq, `written after ${reads} reads`).toBeGreaterThanOrEqual(seq);
    }
  });

  test('is copied as it was, also where its room is given back meanwhile: the copy failed, it had become shorter', () => {
    for (const reads of READS) {
      const { disk, seq } = busyBooks(reads, false);
      copyBooks(disk, DIRECTORY, TO, false);
      expect(checkBooks(disk, TO, SERVER.public), `after ${reads} reads`).toMatchObject({ seq, torn: 0 });
    }
  });

  test('is read by an audit as it was', () => {
    for (const reads of READS) {
      const { disk, seq } = busyBooks(reads);
      const options = { verifyFrame: () => true, onEntry() {} };
      const { position } = readJournal(pin(disk, DIRECTORY), DIRECTORY, JOURNAL_START, options);
      expect(position.seq, `written after ${reads} reads`).toBeGreaterThanOrEqual(seq);
    }
  });
});

// ---------------------------------------------------------------- of a server at work

const COPIES = often(3, 6);

describe('copies of a server under load', () => {
  test('one after the other, each with all that was acknowledged before it was begun', async () => {
    const directory = freshDirectory();
    const flags = ['--snapshot-every', '60', '--segment-bytes-max', '30000'];
    const server = await startServer({ directory, flags });
    const client = connect(server);
    const kit = makeKit(client, makeKeys());
    const [wallet, symbol] = [await kit.wallet(), await kit.symbol()];
    const load = crowd(server.url, 8, wallet, symbol);
    const copies: { to: string; acknowledged: number; seq: number }[] = [];
    for (let n = 0; n < COPIES; n++) {
      // Far enough apart for other snapshots to be there.
      await load.acknowledged(100 + 150 * n);
      const acknowledged = load.sent.length;
      const to = fresh();
      const ran = await ayniProcess('backup', directory, to, '--json', ...(n === COPIES - 1 ? ['--with-key'] : []));
      expect(ran.out + ran.err).toContain('"ok":true');
      copies.push({ to, acknowledged, seq: reportOf(ran).seq });
    }
    expect(filesIn(directory, /^journal/)[0], 'segments went meanwhile').not.toMatch(/0001\.ayj$/);
    const audited = await ayni('verify', copies[1]!.to, '--against', server.publicKey, '--workers', '1');
    expect(audited.out + audited.err).toContain('Nothing wrong');
    await load.end(true);
    await server.stop();
    expect(load.sent.every(({ status }) => status === 201)).toBe(true);
    const isOurs = verifyBy(keyIn(directory).public);
    let seq = 0;
    for (const copy of copies) {
      const { state, end } = readBooks({ disk: realDisk, directory: copy.to, verify: isOurs, hashSeed: 1 });
      expect(end.seq).toBe(copy.seq);
      expect(copy.seq).toBeGreaterThan(seq);
      seq = copy.seq;
      for (const { body, reply } of load.sent.slice(0, copy.acknowledged)) {
        const row = findHandle(state, MAIN_LEDGER, Kind.intent, body.data.handle);
        expect(row, `${body.data.handle} was acknowledged`).toBeGreaterThanOrEqual(0);
        expect(readRow(state, row).entry.luid).toBe(reply.luid);
      }
    }
    expect(
      new Set(copies.map(({ to }) => filesIn(to, /^snapshot/).join())).size,
      'snapshots came and went',
    ).toBeGreaterThan(2);
    const last = copies.at(-1)!;
    const restored = await startServer({ directory: last.to });
    await judge(connect(restored), load.sent.slice(0, last.acknowledged), wallet, symbol);
    await restored.stop();
  });
});
