/**
 * What comes for a copy, from books that go on meanwhile, from connections that break and from servers that lie: what was
 * changed, forged or cut short on its way is not kept, and nothing of another history.
 */
import { basename, join } from 'node:path';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { Copy } from '../../src/cli/follow/copy.ts';
import { StrangeBooksError } from '../../src/cli/follow/incoming.ts';
import { AwayError } from '../../src/cli/follow/source.ts';
import type { BooksListed } from '../../src/followers.ts';
import { keyPairFromSecret } from '../../src/proof/keys.ts';
import { sign, verifyBy } from '../../src/proof/verify.ts';
import type { Done } from '../../src/storage/disk.ts';
import {
  type Disk,
  type OpenMode,
  readAll,
  readWhole,
  withFile,
  writeAll,
  writeWhole,
} from '../../src/storage/disk.ts';
import {
  FORMAT_VERSION,
  SEGMENT_HEADER_BYTES,
  segmentName,
  segmentSeq,
  writeSegmentHeader,
} from '../../src/storage/format.ts';
import { SpoiltFrameError } from '../../src/storage/frame-chain.ts';
import { JOURNAL_START, type JournalEnd } from '../../src/storage/journal.ts';
import { readJournal } from '../../src/storage/journal-reader.ts';
import { journalStart } from '../../src/storage/segments.ts';
import { takeSnapshot } from '../../src/storage/snapshot.ts';
import { SNAPSHOT_HEADER_BYTES, SnapshotError, snapshotName, snapshotSeq } from '../../src/storage/snapshot-format.ts';
import { differencesOf } from '../../src/storage/state-digest.ts';
import { issue } from '../core/books.ts';
import { DIRECTORY, House, signHash, verifyHash } from '../engine/house.ts';
import { live, lived, SCRIPT } from '../engine/life.ts';
import { FakeDisk } from '../storage/fake-disk.ts';
import { answering } from '../support/of-test.ts';
import { between, booksIn, COPY, catchUp, filesOf, followOnce, moves, openTo, sourceOf, untold } from './copies.ts';
import { SOME_KEY, showTo } from './follower.ts';

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
    const { url, followers } = await showTo({
      disk,
      directory: DIRECTORY,
      journal,
      refused: [{ file: newest, error: new SnapshotError('damaged') }],
    });
    const copy = await followOnce(new FakeDisk(1), url);
    expect([copy.end!.seq, copy.newestSnapshot]).not.toContain(0);
    expect(copy.newestSnapshot).toBeLessThan(copy.end!.seq);
    house.disk.put(path, whole);
    followers.tookSnapshot(snapshotSeq(newest));
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

  test('is no snapshot whose part has gone there', async () => {
    const { house } = await withPart();
    for (const name of house.disk.readdir(DIRECTORY))
      if (name.startsWith(part)) house.disk.unlink(join(DIRECTORY, name));
    const disk = new FakeDisk(1);
    const copy = new Copy(disk, COPY, verifyHash, untold);
    await catchUp(copy, sourceOf((await openTo(house)).url));
    expect([copy.end!.seq, copy.newestSnapshot]).toEqual([house.journal.position.seq, 0]);
    expect(filesOf(disk).filter((name) => name.endsWith('.ays'))).toEqual([]);
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
      verifyFrame: () => null,
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

describe('a copy that goes on', () => {
  test('keeps no byte that has changed on its way, and goes on once they come as they are', async () => {
    const house = await lived('pruned');
    const { url } = await openTo(house);
    let flips = 0;
    const lies = await between(url, (path, body) => {
      if (!path.startsWith('/books/')) return body;
      const spoilt = Buffer.from(body);
      if (body.length > 0) spoilt[(flips * 37) % body.length]! ^= 1 << (flips % 8);
      flips++;
      return spoilt;
    });
    for (let n = 0; n < 60; n++) {
      const disk = new FakeDisk(n);
      const copy = new Copy(disk, COPY, verifyHash, untold);
      flips = n;
      const error = await catchUp(copy, sourceOf(lies)).catch((error: Error) => error);
      expect(error).toBeInstanceOf(Error);
      expect(
        [SpoiltFrameError, StrangeBooksError].some((kind) => error instanceof kind),
        String(error),
      ).toBe(true);
      await catchUp(copy, sourceOf(url));
      copy.close();
      expect(differencesOf(booksIn(disk).state, house.state)).toEqual([]);
    }
  });

  test('writes nowhere but in its directory, whatever names it is told', async () => {
    const house = await lived('pruned');
    const { url } = await openTo(house);
    const [first] = house.disk.readdir(DIRECTORY).filter((name) => name.startsWith('journal')) as [string];
    const names = ['../journal-00000000000000000001.ayj', '/etc/journal-1.ayj', 7, 'journal-x.ayj', 'server.key'];
    const lies = await between(url, (path, body) => {
      // Where there is no such file, that of another.
      if (path.startsWith('/books/') || !path.startsWith('/books'))
        return body.length > 0 ? body : house.disk.bytesOf(join(DIRECTORY, first));
      const listed = JSON.parse(body.toString()) as BooksListed;
      return Buffer.from(
        JSON.stringify({
          ...listed,
          segments: [...names, ...listed.segments],
          snapshots: [...listed.snapshots, ...names],
        }),
      );
    });
    const disk = new FakeDisk(1);
    const opened: string[] = [];
    const open = (path: string, mode: OpenMode) => {
      if (mode !== 'read') opened.push(path);
      return disk.open(path, mode);
    };
    const watched: Disk = new Proxy(disk, {
      get: (target, name) => (name === 'open' ? open : Reflect.get(target, name).bind(target)),
    });
    const copy = new Copy(watched, COPY, verifyHash, untold);
    await catchUp(copy, sourceOf(lies));
    copy.close();
    expect(opened.filter((path) => !/^\/copy\/[^/]+$/.test(path))).toEqual([]);
    expect(differencesOf(booksIn(disk).state, house.state)).toEqual([]);
  });

  test('keeps what came whole of an answer that broke off, and takes the rest later', async () => {
    const house = await lived('whole');
    const { url } = await openTo(house);
    const disk = new FakeDisk(1);
    const copy = new Copy(disk, COPY, verifyHash, untold);
    await catchUp(copy, sourceOf(url));
    for (let n = 0; n < 4; n++) await moves(house, `later-${n}`);
    let breaks = true;
    const broken = await between(url, (_path, body) => (breaks && body.length > 100 ? body.length - 30 : body));
    const { seq } = copy.end!;
    await expect(catchUp(copy, sourceOf(broken))).rejects.toThrow(AwayError);
    expect(booksIn(disk).end.seq).toBeGreaterThanOrEqual(seq);
    breaks = false;
    await catchUp(copy, sourceOf(broken));
    copy.close();
    expect(differencesOf(booksIn(disk).state, house.state)).toEqual([]);
  });

  test('takes no books of another history of the same server', async () => {
    const house = await lived('whole');
    const disk = new FakeDisk(1);
    const copy = new Copy(disk, COPY, verifyHash, untold);
    await catchUp(copy, sourceOf((await openTo(house)).url));
    const before = booksIn(disk).end;
    // With the same key, and as long, and longer.
    const other = await House.open(new FakeDisk(9), { world: { now: 1e12, made: 50 }, segmentBytesMax: 900 });
    await live(other, SCRIPT.slice(0, 3));
    const lookAt = async () => catchUp(copy, sourceOf((await openTo(other)).url)).catch((error: Error) => error);
    for (let n = 0; n < 12; n++) {
      await live(other, [(each) => each.intent(`other-${n}`, issue('a', 1))]);
      const error = await lookAt();
      if (other.journal.position.seq > before.seq) expect(error).toBeInstanceOf(Error);
    }
    copy.close();
    expect(booksIn(disk).end).toEqual(before);
  });

  test('takes no snapshot of another history of the same server', async () => {
    const disk = new FakeDisk(1);
    const copy = new Copy(disk, COPY, verifyHash, untold);
    const house = await lived('pruned');
    for (let n = 0; n < 6; n++) await moves(house, `later-${n}`);
    await catchUp(copy, sourceOf((await openTo(house)).url));
    const names = filesOf(disk);
    let tried = 0;
    // Put back from an older copy, it has gone on, as far as this and not so far, and taken snapshots on its way.
    const other = await House.open(new FakeDisk(9), { world: { now: 1e12, made: 50 }, segmentBytesMax: 900 });
    await live(other, SCRIPT.slice(0, 3));
    const { url } = await openTo(other);
    for (let n = 0; other.journal.position.seq < house.journal.position.seq - 1; n++) {
      await live(other, [(each) => each.intent(`other-${n}`, issue('a', 1))]);
      await other.takeSnapshot();
      if (other.journal.position.seq <= copy.newestSnapshot) continue;
      await expect(copy.takeSnapshots(sourceOf(url))).rejects.toThrow(StrangeBooksError);
      tried++;
    }
    expect(tried).toBeGreaterThan(0);
    copy.close();
    expect(filesOf(disk)).toEqual(names);
    expect(differencesOf(booksIn(disk).state, house.state)).toEqual([]);
  });

  test('asks on another connection where the one it had was closed', async () => {
    const heard = new WeakSet();
    const url = await answering((request, response) => {
      if (heard.has(request.socket)) return void request.socket.destroy();
      heard.add(request.socket);
      response.end(JSON.stringify({ server: SOME_KEY, segments: [], snapshots: [] }));
    });
    const source = sourceOf(url);
    for (let n = 0; n < 3; n++) expect((await source.list()).segments).toEqual([]);
  });

  test('asks once where a connection of its own is closed', async () => {
    let asked = 0;
    const url = await answering(({ socket }, response) => {
      asked++;
      // Who asks again each time would do so without an end.
      if (asked < 5) return void socket.destroy();
      response.end(JSON.stringify({ server: SOME_KEY, segments: [], snapshots: [] }));
    });
    await expect(sourceOf(url).list()).rejects.toThrow(AwayError);
    expect(asked).toBe(1);
  });

  test('asks again where the answer switches to another protocol', async () => {
    const switches = 'HTTP/1.1 101 Switching Protocols\r\nupgrade: websocket\r\nconnection: upgrade\r\n\r\n';
    const url = await answering(({ socket }) => void socket.write(switches));
    await expect(sourceOf(url).list()).rejects.toThrow(AwayError);
  });
});

describe('books that are of another history than their copy', () => {
  /** A copy, and books that have gone on otherwise from an older state: the same up to that. */
  async function parted(own: string[], theirs: string[]) {
    const first = await lived('whole');
    const older = new FakeDisk(1);
    older.mkdir(DIRECTORY);
    for (const name of first.disk.readdir(DIRECTORY)) {
      const path = join(DIRECTORY, name);
      writeWhole(older, path, readWhole(first.disk, path, 1 << 20));
    }
    const second = await House.open(older, { world: { ...first.world }, segmentBytesMax: 900 });
    expect(second.journal.position).toEqual(first.journal.position);
    for (const name of own) await moves(first, name);
    for (const name of theirs) await moves(second, name);
    const disk = new FakeDisk(1);
    const copy = new Copy(disk, COPY, verifyHash, untold);
    await catchUp(copy, sourceOf((await openTo(first)).url));
    return { copy, second, ...(await openTo(second)) };
  }

  test.each([
    ['as long as it', ['own-1', 'own-2'], ['new-1', 'new-2'], /another history/],
    ['longer', ['own-1', 'own-2'], ['a-new-one', 'and-another', 'and-a-third'], /another history/],
    ['shorter', ['own-1', 'own-2', 'own-3'], ['new-1'], /end before entry \d+/],
  ])('are no books to go on from, where they are %s', async (_how, own, theirs, why) => {
    const { copy, url } = await parted(own, theirs);
    const before = copy.end;
    await expect(copy.compare(sourceOf(url))).rejects.toThrow(why);
    expect(copy.end).toEqual(before);
  });

  test('are none either where nobody has compared them, and say so when they hear it twice', async () => {
    const { copy, second, url, followers, told } = await parted(['own-1'], ['new-1']);
    const { seq } = second.journal.position;
    await expect(copy.goOn(sourceOf(url), false)).rejects.toThrow(/another history/);
    expect(told).toEqual([]);
    await expect(copy.goOn(sourceOf(url), true)).rejects.toThrow(/another history/);
    expect(told).toEqual([expect.stringContaining(`A copy says that it has another entry ${seq} than these books`)]);
    const isCaughtUp = followers.caughtUp();
    // It goes on from there: one that stood still before the time is over would never end it.
    const now = performance.now.bind(performance);
    const clock = vi.spyOn(performance, 'now').mockImplementation(() => now() + 3_001);
    onTestFinished(() => clock.mockRestore());
    expect(await isCaughtUp).toMatchObject({ haveAll: false, text: expect.stringContaining('one has others') });
  });
});

test('books in which a byte before the copy’s end has changed are no other history: it goes on', async () => {
  const house = await lived('whole');
  const { url } = await openTo(house);
  const copy = new Copy(new FakeDisk(1), COPY, verifyHash, untold);
  await catchUp(copy, sourceOf(url));
  const { file, byte, seq } = copy.end as JournalEnd;
  await moves(house, 'more');
  withFile(house.disk, join(DIRECTORY, file!), 'write', (journal) => {
    const [at, one] = [byte - 100, new Uint8Array(1)];
    readAll(journal, one, at);
    one[0]! ^= 1;
    writeAll(journal, one, 0, 1, at);
  });
  await copy.compare(sourceOf(url));
  await catchUp(copy, sourceOf(url));
  expect(copy.end!.seq).toBeGreaterThan(seq);
});

test('a copy whose last segment has gone there goes on with the one that follows it', async () => {
  const house = await lived('whole');
  const { url } = await openTo(house);
  const disk = new FakeDisk(1);
  const copy = new Copy(disk, COPY, verifyHash, untold);
  await catchUp(copy, sourceOf(url));
  const { seq, file } = copy.end as JournalEnd;
  while (house.journal.end!.file === file) await moves(house, `more-${house.journal.position.seq}`);
  await catchUp(copy, sourceOf(url));
  // So far as that segment goes.
  const source = sourceOf(url);
  const gone = sourceOf(url);
  const last = copy.end as JournalEnd;
  while (house.journal.end!.file === last.file) await moves(house, `more-${house.journal.position.seq}`);
  const next = house.journal.end!.file!;
  while (copy.end!.seq < segmentSeq(next) - 1) await copy.goOn(source, false);
  gone.fetch = (name, question) => (name < next ? Promise.resolve({ kind: 'missing' }) : source.fetch(name, question));
  gone.list = async () => {
    const { segments, ...rest } = await source.list();
    return { ...rest, segments: segments.filter((name) => name >= next) };
  };
  expect(copy.end!.seq).toBeGreaterThan(seq);
  await catchUp(copy, gone);
  expect(copy.end).toMatchObject({ seq: house.journal.position.seq, file: next });
  expect(differencesOf(booksIn(disk).state, house.state)).toEqual([]);
  copy.close();
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
