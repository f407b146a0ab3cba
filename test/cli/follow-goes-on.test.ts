/**
 * A copy that goes on, from books that went on meanwhile, from connections that are closed, and from books that were put
 * back or are of another history: what is of its own history it takes, and of another nothing.
 */
import { join } from 'node:path';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { Copy } from '../../src/cli/follow/copy.ts';
import { StrangeBooksError } from '../../src/cli/follow/incoming.ts';
import { AwayError } from '../../src/cli/follow/source.ts';
import type { BooksListed } from '../../src/followers.ts';
import {
  type Disk,
  type OpenMode,
  readAll,
  readWhole,
  withFile,
  writeAll,
  writeWhole,
} from '../../src/storage/disk.ts';
import { segmentName, segmentSeq } from '../../src/storage/format.ts';
import { SpoiltFrameError } from '../../src/storage/frame-chain.ts';
import type { JournalEnd } from '../../src/storage/journal.ts';
import { differencesOf } from '../../src/storage/state-digest.ts';
import { issue } from '../core/books.ts';
import { DIRECTORY, House, verifyHash } from '../engine/house.ts';
import { live, lived, SCRIPT } from '../engine/life.ts';
import { FakeDisk } from '../storage/fake-disk.ts';
import { answering } from '../support/of-test.ts';
import { between, booksIn, COPY, catchUp, filesOf, moves, openTo, sourceOf, untold } from './copies.ts';
import { SOME_KEY } from './follower.ts';

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
    await expect(copy.goOn(sourceOf(url), true)).rejects.toThrow(/another history/);
    expect(told).toHaveLength(1);
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

test('a copy that is left behind is told so, and twice the same: who heard each time that more had gone asked again for ever', async () => {
  const house = await lived('pruned');
  const copy = new Copy(new FakeDisk(1), COPY, verifyHash, untold);
  const source = sourceOf((await openTo(house)).url);
  await catchUp(copy, source);
  source.fetch = async () => ({ kind: 'missing' });
  const said: string[] = [];
  for (const oldest of [1000, 2000]) {
    source.list = async () => ({ server: SOME_KEY, segments: [segmentName(oldest)], snapshots: [] });
    const error = await copy.goOn(source, false).catch((error: Error) => error);
    expect(error).toBeInstanceOf(StrangeBooksError);
    said.push((error as Error).message);
  }
  copy.close();
  expect(said[0]).toMatch(new RegExp(`does not go back any more to entry ${house.journal.position.seq + 1}, `));
  expect(said[1]).toBe(said[0]);
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
