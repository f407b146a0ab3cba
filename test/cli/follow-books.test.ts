/**
 * What comes for a copy that is begun, from connections that break and from servers that lie: what was changed, forged or
 * cut short on its way is not kept, and of snapshots and segments nothing that leaves a gap.
 */
import { basename, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { Copy } from '../../src/cli/follow/copy.ts';
import { StrangeBooksError } from '../../src/cli/follow/incoming.ts';
import { AwayError } from '../../src/cli/follow/source.ts';
import { keyPairFromSecret } from '../../src/proof/keys.ts';
import { sign, verifyBy } from '../../src/proof/verify.ts';
import type { Done } from '../../src/storage/disk.ts';
import { type Disk, writeWhole } from '../../src/storage/disk.ts';
import {
  FORMAT_VERSION,
  SEGMENT_HEADER_BYTES,
  segmentName,
  segmentSeq,
  writeSegmentHeader,
} from '../../src/storage/format.ts';
import { SpoiltFrameError } from '../../src/storage/frame-chain.ts';
import { JOURNAL_START } from '../../src/storage/journal.ts';
import { readJournal } from '../../src/storage/journal-reader.ts';
import { journalStart } from '../../src/storage/segments.ts';
import { takeSnapshot } from '../../src/storage/snapshot.ts';
import { SNAPSHOT_HEADER_BYTES, snapshotName, snapshotSeq } from '../../src/storage/snapshot-format.ts';
import { differencesOf } from '../../src/storage/state-digest.ts';
import { DIRECTORY, House, signHash, verifyHash } from '../engine/house.ts';
import { lived } from '../engine/life.ts';
import { FakeDisk } from '../storage/fake-disk.ts';
import {
  between,
  booksIn,
  COPY,
  catchUp,
  filesOf,
  followOnce,
  leftHouse,
  moves,
  openTo,
  sourceOf,
  untold,
} from './copies.ts';
import { showTo } from './follower.ts';

describe('a copy that is begun', () => {
  test.each(['whole', 'pruned'] as const)('again, of books that went on since, %s, has no gap', async (shape) => {
    const house = await lived(shape);
    const { url } = await openTo(house);
    let [asked, at] = [0, 0];
    const isBroken = (path: string) => path.startsWith('/books/journal') && asked++ === at;
    const [breaks, whole] = [await between(url, (path, body) => (isBroken(path) ? 1 : body)), sourceOf(url)];
    for (at = 1; at < 4; at++) {
      for (let n = 0; n < 8; n++) await moves(house, `before-${at}-${n}`);
      asked = 0;
      const disk = new FakeDisk(at);
      const copy = new Copy(disk, COPY, verifyHash, untold);
      const error = await copy.begin(sourceOf(breaks)).catch((error: Error) => error);
      expect(error).toBeInstanceOf(AwayError);
      for (let n = 0; n < 5; n++) {
        await moves(house, `${at}-${n}`);
        if (shape === 'pruned' && n % 2 === 0) await house.takeSnapshot();
      }
      await catchUp(copy, whole);
      copy.close();
      expect(differencesOf(booksIn(disk).state, house.state)).toEqual([]);
      const start = journalStart(disk, COPY);
      const read = readJournal(disk, COPY, start, { verifyFrame: verifyHash, onEntry() {} });
      expect([read.position.seq, read.torn]).toEqual([house.journal.position.seq, null]);
    }
  });

  test.each([
    ['and not the newest segment that is here', 8],
    ['and its newest segment shorter than it is here', 1],
  ])('again, of books that became an older copy meanwhile %s, keeps what they lost', async (_how, count) => {
    const first = await lived('whole');
    const older = new FakeDisk(2);
    older.mkdir(DIRECTORY);
    for (const name of first.disk.readdir(DIRECTORY))
      if (!name.startsWith('lock')) older.put(join(DIRECTORY, name), first.disk.bytesOf(join(DIRECTORY, name)));
    for (let n = 0; n < count; n++) await moves(first, `lost-${n}`);
    let asked = 0;
    const breaks = await between((await openTo(first)).url, (path, body) =>
      path.startsWith('/books/journal') && asked++ > 0 ? 1 : body,
    );
    const disk = new FakeDisk(1);
    const copy = new Copy(disk, COPY, verifyHash, untold);
    await expect(copy.begin(sourceOf(breaks))).rejects.toThrow(AwayError);
    const left = () => filesOf(disk).map((name) => [name, disk.bytesOf(join(COPY, name))]);
    const before = left();
    expect(before).toHaveLength(1);
    const second = await House.open(older, { world: { ...first.world }, segmentBytesMax: 900 });
    const source = sourceOf((await openTo(second)).url);
    await expect(copy.begin(source)).rejects.toThrow(StrangeBooksError);
    expect(left()).toEqual(before);
    await catchUp(copy, sourceOf((await openTo(first)).url));
    copy.close();
    expect(differencesOf(booksIn(disk).state, first.state)).toEqual([]);
  });

  test('is none while snapshots are missing that its journal does not go back behind', async () => {
    const house = await lived('pruned');
    const { url } = await openTo(house);
    const copy = new Copy(new FakeDisk(1), COPY, verifyHash, untold);
    const [source, gone] = [sourceOf(url), sourceOf(url)];
    gone.fetch = (name, question) =>
      name.startsWith('snapshot') ? Promise.resolve({ kind: 'missing' }) : source.fetch(name, question);
    await expect(copy.begin(gone)).rejects.toThrow(AwayError);
    expect(copy.end).toBeNull();
    await catchUp(copy, source);
    expect(copy.end!.seq).toBe(house.journal.position.seq);
    copy.close();
  });
});

describe('snapshots that another key has signed, or that are not whole', () => {
  /** A snapshot of other books, as that of this entry. */
  async function ofOthers(disk: Disk, seq: number): Promise<void> {
    const others = new FakeDisk(3);
    const { position } = (await lived('one')).journal;
    const key = keyPairFromSecret(Buffer.alloc(32, 9));
    const content = { ...position, seq, extra: new Uint8Array(1), parts: [] };
    const signed = { sign: (hash: Uint8Array) => sign(hash, key), verify: verifyBy(key.public) };
    others.mkdir(DIRECTORY);
    await takeSnapshot(others, DIRECTORY, content, signed);
    writeWhole(disk, join(DIRECTORY, snapshotName(seq)), others.bytesOf(join(DIRECTORY, snapshotName(seq))));
  }

  test.each(['before', 'behind'])('and stand %s those of these books keep nobody from following', async (where) => {
    const house = await lived('pruned');
    await ofOthers(house.disk, where === 'before' ? 1 : house.journal.position.seq);
    const { url } = await openTo(house);
    const disk = new FakeDisk(1);
    const copy = await followOnce(disk, url);
    const end = house.journal.position.seq;
    for (let n = 0; n < 2; n++) {
      await moves(house, `later-${n}`);
      await house.takeSnapshot();
    }
    const again = await followOnce(disk, url);
    expect([copy.end!.seq, again.end!.seq]).toEqual([end, house.journal.position.seq]);
    expect(again.newestSnapshot).toBe(house.journal.position.seq);
    expect(differencesOf(booksIn(disk).state, house.state)).toEqual([]);
  });

  test('and that the start passed over keep nobody from following, and are told of once they are taken again', async () => {
    const house = await lived('pruned');
    const newest = snapshotName(house.journal.position.seq);
    await house.takeSnapshot();
    const path = join(DIRECTORY, newest);
    const whole = house.disk.bytesOf(path);
    const damaged = Buffer.from(whole);
    damaged[SNAPSHOT_HEADER_BYTES]! ^= 1;
    house.disk.put(path, damaged);
    const { disk, journal } = house;
    let isPassedOver = true;
    const offers = (name: string) => name !== newest || !isPassedOver;
    const { url } = await showTo({ disk, directory: DIRECTORY, journal, offers });
    const copy = await followOnce(new FakeDisk(1), url);
    expect([copy.end!.seq, copy.newestSnapshot]).not.toContain(0);
    expect(copy.newestSnapshot).toBeLessThan(copy.end!.seq);
    house.disk.put(path, whole);
    isPassedOver = false;
    expect((await sourceOf(url).list()).snapshots).toContain(newest);
  });

  test('are not told of', async () => {
    const house = await lived('pruned');
    const { url } = await openTo(house);
    const { snapshots } = await sourceOf(url).list();
    await ofOthers(house.disk, 1);
    house.disk.put(join(DIRECTORY, snapshotName(2)), Buffer.alloc(100));
    expect((await sourceOf(url).list()).snapshots).toEqual(snapshots);
    await ofOthers(house.disk, 1000);
    const later = await openTo(house);
    const source = sourceOf(later.url);
    expect((await source.list()).snapshots).toEqual(snapshots);
    await source.fetch(snapshots[0]!, { from: 0, waits: false });
    expect(source.newestSnapshot).toBe(snapshotSeq(snapshots.at(-1)!));
  });
});

// It waited for an entry, and where answers waited for it (--followers-min) none could come.
describe('a copy that is begun behind a journal that was left, where no entry has come yet', () => {
  const begun = async () => {
    const house = await leftHouse();
    const { url } = await openTo(house);
    const disk = new FakeDisk(1);
    const copy = new Copy(disk, COPY, verifyHash, untold);
    await catchUp(copy, sourceOf(url));
    const { end, state } = booksIn(disk);
    expect([end.seq, end.moment]).toEqual([house.journal.position.seq, house.journal.position.moment]);
    expect(differencesOf(state, house.state)).toEqual([]);
    return { house, url, disk, copy };
  };

  test('counts as one that has all there is, and says when its last entry was', async () => {
    const { house, copy } = await begun();
    const { position } = house.journal;
    const { followers, url } = await openTo(house);
    const source = sourceOf(url);
    expect(await copy.goOn(source, false)).toBe('nothing');
    await followers.guard(1);
    const { seq, moment, chain } = copy.end!;
    expect([seq, moment, Buffer.from(chain)]).toEqual([position.seq, position.moment, Buffer.from(position.chain)]);
  });

  test.each([0, 1, 2])(
    'goes on with the segment that follows once that has %i entries, begun again or not',
    async (count) => {
      for (const again of [false, true]) {
        const { house, url, disk, copy } = await begun();
        if (again) copy.close();
        for (let n = 0; n < count; n++) await moves(house, `behind-${n}`);
        if (again) await followOnce(disk, url);
        else {
          await catchUp(copy, sourceOf(url));
          copy.close();
        }
        const start = journalStart(disk, COPY);
        const read = readJournal(disk, COPY, start, { verifyFrame: verifyHash, onEntry() {} });
        expect([read.position.seq, read.torn]).toEqual([house.journal.position.seq, null]);
        expect(differencesOf(booksIn(disk).state, house.state)).toEqual([]);
      }
    },
  );

  // An audit takes a header of a newer version than the first frame's for damage.
  test('has the header of who wrote the first entry there, whichever version of ayni had begun the copy', async () => {
    const { house, url, disk, copy } = await begun();
    copy.close();
    const { seq, chain } = house.journal.position;
    const own = Buffer.alloc(SEGMENT_HEADER_BYTES);
    writeSegmentHeader(own, seq + 1, chain, FORMAT_VERSION - 1);
    disk.put(join(COPY, segmentName(seq + 1)), own);
    await moves(house, 'behind');
    await followOnce(disk, url);
    const [here, there] = [COPY, DIRECTORY].map((directory) => join(directory, segmentName(seq + 1)));
    expect(disk.bytesOf(here!)).toEqual(house.disk.bytesOf(there!).subarray(0, house.journal.end!.byte));
  });

  test('is where somebody goes on with the books', async () => {
    const { disk, copy } = await begun();
    copy.close();
    const heir = new FakeDisk(2);
    heir.mkdir(DIRECTORY);
    for (const name of filesOf(disk)) heir.put(join(DIRECTORY, name), disk.bytesOf(join(COPY, name)));
    const house = await House.open(heir);
    await moves(house, 'there');
    await house.takeSnapshot();
    const { url } = await openTo(house);
    await followOnce(disk, url);
    expect(differencesOf(booksIn(disk).state, house.state)).toEqual([]);
  });

  test('follows no books without that segment, and keeps what it has', async () => {
    const { disk, copy } = await begun();
    copy.close();
    const before = filesOf(disk);
    const { url } = await openTo(await lived('pruned'));
    await expect(followOnce(disk, url)).rejects.toThrow(
      /no segment there begins with entry \d+, where this copy is to go on/,
    );
    expect(filesOf(disk)).toEqual(before);
  });

  // As an older version leaves it, which takes the header for nothing, and then waits for an entry.
  test('is made whole again where its segment is gone, and only the snapshot is here', async () => {
    const { house, url, disk, copy } = await begun();
    copy.close();
    disk.unlink(join(COPY, segmentName(house.journal.position.seq + 1)));
    expect(() => booksIn(disk)).toThrow('no journal, but entry');
    await followOnce(disk, url);
    expect(differencesOf(booksIn(disk).state, house.state)).toEqual([]);
  });

  test.each(['another chain than its snapshot', 'no snapshot', 'a snapshot that is damaged'])(
    'is none with %s',
    async (what) => {
      const { house, url, disk, copy } = await begun();
      copy.close();
      const { seq } = house.journal.position;
      const [segment, snapshot] = [join(COPY, segmentName(seq + 1)), join(COPY, snapshotName(seq))];
      if (what === 'no snapshot') disk.unlink(snapshot);
      else if (what === 'another chain than its snapshot') {
        const header = Buffer.alloc(SEGMENT_HEADER_BYTES);
        writeSegmentHeader(header, seq + 1, Buffer.alloc(32, 1), FORMAT_VERSION);
        disk.put(segment, header);
      } else disk.flip(snapshot, disk.bytesOf(snapshot).length - 20);
      const ended = await followOnce(disk, url).catch((error: Error) => error);
      expect(ended instanceof Error ? ended.name : differencesOf(booksIn(disk).state, house.state)).toEqual(
        what === 'no snapshot' ? [] : 'DamageError',
      );
    },
  );
});

// Who begins it got no further than what had changed, till the server looked at that again, a day later by default.
test.each([0, 1])(
  'a copy is begun behind a journal that was left before the server was started again, with %i entries behind it',
  async (count) => {
    const left = await leftHouse();
    for (let n = 0; n < count; n++) await moves(left, `behind-${n}`);
    await left.stop();
    const house = await House.open(left.disk);
    expect(house.lost).toEqual([]);
    const { url } = await openTo(house);
    const disk = new FakeDisk(1);
    await followOnce(disk, url);
    expect(differencesOf(booksIn(disk).state, house.state)).toEqual([]);
    await moves(house, 'more');
    await followOnce(disk, url);
    expect(differencesOf(booksIn(disk).state, house.state)).toEqual([]);
  },
);

describe('what comes for a copy', () => {
  const part = 'part-pages-0';
  const partIn = (disk: Disk) => disk.readdir(COPY).filter((name) => name.startsWith(part));

  /** Books whose newest snapshot names a final part. */
  async function withPart(): Promise<{ house: House; bytes: Buffer }> {
    const house = await lived('whole');
    const bytes = Buffer.alloc(5000, 'a page');
    const { seq, chain, moment } = house.journal.position;
    const parts = [{ name: 'pages-0', final: true as const, bytes }];
    const server = { sign: signHash, verify: verifyHash };
    await takeSnapshot(house.disk, DIRECTORY, { seq, chain, moment, extra: new Uint8Array(1), parts }, server);
    return { house, bytes };
  }

  test('is parts too, each once, and again where one was cut short', async () => {
    const { house, bytes } = await withPart();
    const { url } = await openTo(house);
    const disk = new FakeDisk(1);
    const copy = new Copy(disk, COPY, verifyHash, untold);
    const source = sourceOf(url);
    const asked: string[] = [];
    const fetch = source.fetch.bind(source);
    source.fetch = (name, question) => {
      asked.push(name);
      return fetch(name, question);
    };
    await catchUp(copy, source);
    const [name] = partIn(disk) as [string];
    expect(disk.bytesOf(join(COPY, name)).equals(bytes)).toBe(true);
    const snapshot = filesOf(disk).at(-1)!;
    disk.unlink(join(COPY, snapshot));
    await copy.begin(source);
    expect(asked.filter((each) => each === name)).toHaveLength(1);
    disk.unlink(join(COPY, snapshot));
    disk.put(join(COPY, name), bytes.subarray(0, 100));
    await copy.begin(source);
    expect(disk.bytesOf(join(COPY, name)).equals(bytes)).toBe(true);
    expect(asked.filter((each) => each === name)).toHaveLength(2);
    copy.close();
  });

  test.each<[string, (bytes: Buffer) => Buffer]>([
    ['with another byte', (bytes) => Buffer.concat([bytes.subarray(0, 4999), Buffer.from('?')])],
    ['cut short', (bytes) => bytes.subarray(0, 4999)],
    ['longer', (bytes) => Buffer.concat([bytes, Buffer.from('?')])],
  ])('is no part %s, nor the snapshot that names it', async (_, change) => {
    const { house } = await withPart();
    const { url } = await openTo(house);
    const lies = await between(url, (path, body) => (path.startsWith(`/books/${part}`) ? change(body) : body));
    const disk = new FakeDisk(1);
    const copy = new Copy(disk, COPY, verifyHash, untold);
    await expect(catchUp(copy, sourceOf(lies))).rejects.toThrow(SpoiltFrameError);
    expect(filesOf(disk).filter((name) => /\.ay[ps]$/.test(name))).toEqual([]);
    await catchUp(copy, sourceOf(url));
    expect(partIn(disk)).toHaveLength(1);
    copy.close();
  });

  test('is no snapshot whose part has gone there, and nothing of one', async () => {
    const { house } = await withPart();
    for (const name of house.disk.readdir(DIRECTORY))
      if (name.startsWith(part)) house.disk.unlink(join(DIRECTORY, name));
    const disk = new FakeDisk(1);
    const copy = new Copy(disk, COPY, verifyHash, untold);
    await catchUp(copy, sourceOf((await openTo(house)).url));
    expect([copy.end!.seq, copy.newestSnapshot]).toEqual([house.journal.position.seq, 0]);
    // What had come of it took as much room as a snapshot until the next was taken.
    expect(filesOf(disk).filter((name) => name.startsWith('snapshot'))).toEqual([]);
    copy.close();
  });

  test('is no snapshot under the name of another', async () => {
    const house = await lived('pruned');
    const { url } = await openTo(house);
    const [older, newer] = house.disk.readdir(DIRECTORY).filter((name) => name.startsWith('snapshot')) as [
      string,
      string,
    ];
    const bytes = house.disk.bytesOf(join(DIRECTORY, older));
    const lies = await between(url, (path, body) => (path.startsWith(`/books/${newer}`) ? bytes : body));
    const disk = new FakeDisk(1);
    const copy = new Copy(disk, COPY, verifyHash, untold);
    await expect(catchUp(copy, sourceOf(lies))).rejects.toThrow(StrangeBooksError);
    expect(disk.exists(join(COPY, newer))).toBe(false);
    copy.close();
  });

  test('is no snapshot with another byte than was signed, wherever that is', async () => {
    const house = await lived('pruned');
    const { url } = await openTo(house);
    const name = house.disk.readdir(DIRECTORY).findLast((each) => each.startsWith('snapshot'))!;
    const { length } = house.disk.bytesOf(join(DIRECTORY, name));
    let at = 0;
    const lies = await between(url, (path, body) => {
      const spoilt = Buffer.from(body);
      if (path.startsWith(`/books/${name}`)) spoilt[at]! ^= 1;
      return spoilt;
    });
    const disk = new FakeDisk(1);
    const copy = new Copy(disk, COPY, verifyHash, untold);
    for (at of [0, 12, 13, length >> 2, length >> 1, length - 1]) {
      await expect(catchUp(copy, sourceOf(lies)), `byte ${at}`).rejects.toThrow(SpoiltFrameError);
      expect(filesOf(disk).filter((each) => each.startsWith(name))).toEqual([]);
    }
    copy.close();
  });

  test('leaves no file open but the last segment, however many come', async () => {
    const house = await lived('whole');
    const source = sourceOf((await openTo(house)).url);
    const disk = new FakeDisk(1);
    const left: string[] = [];
    const open = disk.open.bind(disk);
    disk.open = (path, mode) => {
      const file = open(path, mode);
      left.push(path);
      const closed = () => void left.splice(left.indexOf(path), 1);
      const close = () => {
        closed();
        file.close();
      };
      const closeLater = (done: Done) => {
        closed();
        file.closeLater(done);
      };
      return { ...file, close, closeLater };
    };
    const copy = new Copy(disk, COPY, verifyHash, untold);
    await catchUp(copy, source);
    const segments = filesOf(disk).length;
    for (let n = 0; n < 8; n++) {
      await moves(house, `later-${n}`);
      await catchUp(copy, source);
    }
    expect(filesOf(disk).length).toBeGreaterThan(segments + 2);
    const isOfBooks = (path: string) => !path.includes('lock');
    expect(left.filter(isOfBooks)).toEqual([join(COPY, filesOf(disk).at(-1)!)]);
    copy.close();
    expect(left).toEqual([]);
  });

  test('is no snapshot ahead of its journal: that is taken once the journal has come so far', async () => {
    const house = await lived('pruned');
    const source = sourceOf((await openTo(house)).url);
    const copy = new Copy(new FakeDisk(1), COPY, verifyHash, untold);
    await catchUp(copy, source);
    await moves(house, 'later');
    await house.takeSnapshot();
    expect(await copy.takeSnapshots(source)).toEqual([]);
    await catchUp(copy, source);
    expect(copy.newestSnapshot).toBe(house.journal.position.seq);
    copy.close();
  });

  test('is no segment that does not lead to the next, nor one that ends in half a frame', async () => {
    const house = await lived('whole');
    const { url } = await openTo(house);
    const ends = new Map<string, number[]>();
    readJournal(house.disk, DIRECTORY, JOURNAL_START, {
      verifyFrame: () => true,
      onEntry() {},
      onFrame: ({ file, byte, bytes }) => ends.set(basename(file), [...(ends.get(basename(file)) ?? []), byte + bytes]),
    });
    const [name, [end]] = [...ends].find(([, all]) => all.length > 1) as [string, [number]];
    const last = [...ends.keys()].at(-1);
    expect(name).not.toBe(last);
    for (const [left, kind] of [
      [end, StrangeBooksError],
      [end + 60, SpoiltFrameError],
    ] as const) {
      const lies = await between(url, (path, body) =>
        path.startsWith(`/books/${name}`) ? body.subarray(0, left) : body,
      );
      const disk = new FakeDisk(1);
      const copy = new Copy(disk, COPY, verifyHash, untold);
      await expect(catchUp(copy, sourceOf(lies))).rejects.toThrow(kind);
      expect(disk.exists(join(COPY, name))).toBe(false);
      await catchUp(copy, sourceOf(url));
      copy.close();
      expect(differencesOf(booksIn(disk).state, house.state)).toEqual([]);
    }
  });
});

describe('a segment that is a header alone, which nobody signs', () => {
  /** The header that a segment behind the end of these books would have. */
  function headerAfter({ seq, chain }: { seq: number; chain: Uint8Array }): { name: string; bytes: Buffer } {
    const bytes = Buffer.alloc(SEGMENT_HEADER_BYTES);
    writeSegmentHeader(bytes, seq + 1, chain, FORMAT_VERSION);
    return { name: segmentName(seq + 1), bytes };
  }

  const segmentsIn = (disk: FakeDisk) => filesOf(disk).filter((name) => segmentSeq(name) > 0);

  test('is not kept of who lies: the honest books were taken for others, which had lost an entry', async () => {
    const house = await lived('whole');
    const { url } = await openTo(house);
    const disk = new FakeDisk(1);
    const copy = new Copy(disk, COPY, verifyHash, untold);
    await catchUp(copy, sourceOf(url));
    const [before, end] = [segmentsIn(disk), copy.end!];
    const { name, bytes } = headerAfter(end);
    const lies = sourceOf(url);
    lies.fetch = async (asked) => ({
      kind: 'bytes',
      chunks: (async function* () {
        if (asked === name) yield bytes;
      })(),
    });
    expect(await copy.goOn(lies, false)).toBe('nothing');
    expect([segmentsIn(disk), copy.end]).toEqual([before, end]);
    await moves(house, 'more');
    await catchUp(copy, sourceOf(url));
    copy.close();
    expect(differencesOf(booksIn(disk).state, house.state)).toEqual([]);
  });

  test('at the end of a copy goes, whoever left it there, and is no whole copy by itself', async () => {
    const house = await lived('whole');
    const { url } = await openTo(house);
    const disk = new FakeDisk(1);
    (await followOnce(disk, url)).close();
    const before = segmentsIn(disk);
    const { name, bytes } = headerAfter(house.journal.position);
    writeWhole(disk, join(COPY, name), bytes);
    const copy = new Copy(disk, COPY, verifyHash, untold);
    expect([segmentsIn(disk), copy.end!.seq]).toEqual([before, house.journal.position.seq]);
    copy.close();
    const alone = new FakeDisk(2);
    alone.mkdir(COPY);
    const first = headerAfter({ seq: 0, chain: JOURNAL_START.chain });
    writeWhole(alone, join(COPY, first.name), first.bytes);
    const begun = new Copy(alone, COPY, verifyHash, untold);
    expect([begun.end, segmentsIn(alone)]).toEqual([null, []]);
    await catchUp(begun, sourceOf(url));
    begun.close();
    expect(differencesOf(booksIn(alone).state, house.state)).toEqual([]);
  });

  test('makes no whole copy of a server that has nothing else, and is passed by where one has it at its end', async () => {
    const house = await lived('whole');
    const { url } = await openTo(house);
    const { name, bytes } = headerAfter(house.journal.position);
    const first = headerAfter({ seq: 0, chain: JOURNAL_START.chain });
    for (const [added, only] of [
      [name, false],
      [first.name, true],
    ] as const) {
      const source = sourceOf(url);
      const [list, fetch] = [source.list.bind(source), source.fetch.bind(source)];
      source.list = async () => {
        const books = await list();
        return only
          ? { ...books, segments: [added], snapshots: [] }
          : { ...books, segments: [...books.segments, added] };
      };
      source.fetch = async (asked, question) => {
        if (asked !== added) return fetch(asked, question);
        const chunks = (async function* () {
          yield only ? first.bytes : bytes;
        })();
        return { kind: 'bytes', chunks };
      };
      const disk = new FakeDisk(1);
      const copy = new Copy(disk, COPY, verifyHash, untold);
      const began = await copy.begin(source).catch((error: Error) => error);
      expect(began).toEqual(only ? expect.any(AwayError) : undefined);
      expect([copy.end?.seq, segmentsIn(disk).includes(added)]).toEqual([
        only ? undefined : house.journal.position.seq,
        false,
      ]);
      copy.close();
    }
  });
});
