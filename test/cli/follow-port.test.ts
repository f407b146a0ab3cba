/**
 * What goes between who shows books and who follows them: nothing is handed out that the server's disk does not have, and
 * whoever answers in the place of a server is taken for none.
 */
import { getEventListeners, once } from 'node:events';
import { writeFileSync } from 'node:fs';
import type { RequestListener } from 'node:http';
import { connect } from 'node:net';
import { basename, join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { AwayError, Source } from '../../src/cli/follow/source.ts';
import type { BooksListed } from '../../src/followers.ts';
import { type Done, type OpenMode, realDisk } from '../../src/storage/disk.ts';
import { segmentName } from '../../src/storage/format.ts';
import { JOURNAL_START, Journal } from '../../src/storage/journal.ts';
import { partName, snapshotName } from '../../src/storage/snapshot-format.ts';
import { DIRECTORY, NOON, signHash } from '../engine/house.ts';
import { lived } from '../engine/life.ts';
import { entriesFrom } from '../storage/kit.ts';
import { freshDirectory } from '../support/directory.ts';
import { pause, until } from '../support/kit.ts';
import { answering } from '../support/of-test.ts';
import { turn } from '../support/turns.ts';
import { moves, openTo, sourceOf } from './copies.ts';
import { emptyJournal, SOME_KEY, showTo } from './follower.ts';

describe('what who follows is given', () => {
  test('are no snapshots of others, however often it asks', async () => {
    const directory = freshDirectory();
    writeFileSync(join(directory, snapshotName(5)), 'x'.repeat(1_000));
    const { url } = await showTo({ directory, journal: emptyJournal() });
    for (let n = 0; n < 2; n++) expect(await (await fetch(`${url}/books`)).json()).toMatchObject({ snapshots: [] });
  });

  test('is what the disk has, and no more, as soon as it has it', async () => {
    const directory = freshDirectory();
    const syncs: (() => void)[] = [];
    const open = (path: string, mode: OpenMode) => {
      const file = realDisk.open(path, mode);
      return { ...file, syncLater: (done: Done) => void syncs.push(() => file.syncLater(done)) };
    };
    const disk = { ...realDisk, open, openSynced: () => null };
    const journal = Journal.open(disk, directory, JOURNAL_START, {
      segmentBytesMax: 500,
      sign: signHash,
    });
    const { url, followers } = await showTo({ disk, directory, journal });
    const nextEntry = entriesFrom(1);
    const listed = async () => ((await (await fetch(`${url}/books`)).json()) as BooksListed).segments;
    for (let n = 0; n < 3; n++) {
      const { file, byte } = journal.end ?? { file: segmentName(1), byte: 0 };
      const before = await listed();
      journal.add(nextEntry());
      const written = new Promise<void>((resolve) => journal.commit(NOON, () => resolve()));
      const ask = (more: string) => fetch(`${url}/books/${file}?from=${byte}${more}`);
      // It is in the file, and may not be on the device: a power cut would make it another.
      expect((await ask('&wait=no')).status).toBe(n === 0 ? 404 : 204);
      expect(await listed()).toEqual(before);
      const waiting = n === 0 ? null : ask('');
      await until(() => syncs.length > 0);
      for (const sync of syncs.splice(0)) sync();
      await written;
      followers.look();
      const answer = await (waiting ?? ask(''));
      const end = journal.end!;
      const isSame = end.file === file;
      expect([answer.status, (await answer.arrayBuffer()).byteLength]).toEqual([200, isSame ? end.byte - byte : 0]);
      expect(await listed()).toContain(end.file);
    }
    await journal.close();
  });

  test.each([
    ['GET', '', 200],
    ['POST', '', 404],
    ['GET', '/x', 404],
    ['GET', '?from=x', 400],
    ['GET', '?from=-1', 400],
    ['GET', '?from=1.5', 400],
    ['GET', '?from=9999999&wait=no', 416],
  ])('is not what it cannot be: %s of a segment%s is answered %i', async (method, more, status) => {
    const { url } = await openTo(await lived('whole'));
    const answer = await fetch(`${url}/books/${segmentName(1)}${more}`, { method });
    await answer.arrayBuffer();
    expect(answer.status).toBe(status);
  });

  test.each(['//', 'http://[', 'http://books:99999/books'])(
    'is nothing where no URL is asked for: %s',
    async (target) => {
      const { url } = await openTo(await lived('whole'));
      const socket = connect(Number(new URL(url).port), '127.0.0.1');
      socket.write(`GET ${target} HTTP/1.1\r\nhost: books\r\n\r\n`);
      const [answer] = await once(socket, 'data');
      socket.destroy();
      expect(String(answer)).toMatch(/^HTTP\/1.1 404 /);
    },
  );

  test('is one answer at a time on a connection', async () => {
    const house = await lived('whole');
    const { url } = await openTo(house);
    const socket = connect(Number(new URL(url).port), '127.0.0.1');
    let heard = '';
    socket.on('data', (chunk: Buffer) => (heard += chunk.toString())).on('error', () => {});
    socket.write('GET /books HTTP/1.1\r\nhost: books\r\n\r\n'.repeat(20));
    await Promise.race([once(socket, 'close'), until(() => heard.split('HTTP/1.1').length > 20)]);
    socket.destroy();
    expect(heard.split('HTTP/1.1').length - 1).toBeLessThanOrEqual(1);
  });

  test('is nothing behind an answer that is the last on its connection, and no file stays open for it', async () => {
    const house = await lived('whole');
    const { disk } = house;
    const name = partName('pages-0', Buffer.alloc(32));
    disk.put(join(DIRECTORY, name), Buffer.alloc(3 << 20));
    const opened: string[] = [];
    const open = disk.open.bind(disk);
    disk.open = (path, mode) => {
      opened.push(basename(path));
      return open(path, mode);
    };
    const { url } = await openTo(house);
    const socket = connect(Number(new URL(url).port), '127.0.0.1').resume();
    const ask = (path: string) => `GET ${path} HTTP/1.0\r\nconnection: keep-alive\r\n\r\n`;
    socket.write(ask('/books') + ask(`/books/${name}`));
    await once(socket, 'close');
    expect(opened).not.toContain(name);
  });

  test('leaves no file open, and nothing more is read once somebody has hung up', async () => {
    const house = await lived('whole');
    const { disk } = house;
    const name = snapshotName(1);
    disk.put(join(DIRECTORY, name), Buffer.alloc(64 << 20));
    const { url } = await openTo(house);
    const count = (call: 'open' | 'close' | 'read') => disk.calls.get(call) ?? 0;
    const openNow = () => count('open') - count('close');
    const before = openNow();
    for (const file of [segmentName(1), `${segmentName(1)}?from=8`]) {
      await (await fetch(`${url}/books/${file}`)).arrayBuffer();
    }
    await until(() => openNow() === before);
    const readBefore = count('read');
    const hangUp = new AbortController();
    const { body } = await fetch(`${url}/books/${name}`, { signal: hangUp.signal });
    await body!.getReader().read();
    hangUp.abort();
    await until(() => openNow() === before);
    expect(count('read') - readBefore).toBeLessThan(40);
  });

  test('is nothing in the place of what a file does not have any more', async () => {
    const house = await lived('whole');
    const { disk } = house;
    const name = snapshotName(1);
    const path = join(DIRECTORY, name);
    const { url } = await openTo(house);
    const open = disk.open.bind(disk);
    let opened = 0;
    disk.open = (path, mode) => {
      if (path.endsWith(name) && ++opened === 2) disk.put(path, Buffer.alloc(100));
      return open(path, mode);
    };
    disk.put(path, Buffer.alloc(5000));
    const body = fetch(`${url}/books/${name}`).then((answer) => answer.arrayBuffer());
    await expect(body).rejects.toThrow();
    expect(opened).toBe(2);
  });

  test('beyond its end is told at once, and who waited for more is forgotten', async () => {
    const house = await lived('whole');
    const { url, followers } = await openTo(house);
    const { file, byte } = house.journal.end!;
    const beyond = fetch(`${url}/books/${file}?from=${byte + 1}`).then(({ status }) => status);
    expect(await Promise.race([beyond, pause(20_000)])).toBe(416);
    const clear = vi.spyOn(globalThis, 'clearTimeout');
    onTestFinished(() => clear.mockRestore());
    const waits = fetch(`${url}/books/${file}?from=${byte}`);
    await pause(50);
    await moves(house, 'more');
    followers.look();
    expect((await waits).status).toBe(200);
    clear.mockClear();
    followers.look();
    expect(clear).not.toHaveBeenCalled();
  });

  test('breaks off where the disk gives no more of it, and is an error where it gives nothing', async () => {
    const house = await lived('whole');
    const { disk } = house;
    const name = snapshotName(1);
    const path = join(DIRECTORY, name);
    disk.put(path, Buffer.alloc(3 << 20));
    const { url } = await openTo(house);
    disk.inject({ call: 'read', path, skip: 1, code: 'EIO' });
    const body = (await fetch(`${url}/books/${name}`)).arrayBuffer();
    // Whoever is not told waits for the rest until it loses its patience.
    expect(await Promise.race([body.catch(() => 'broken off'), pause(20_000)])).toBe('broken off');
    // Whoever asks for what comes behind has not met it; who asks again is told why.
    expect((await fetch(`${url}/books/${name}?from=1&to=2`)).status).toBe(200);
    const why = await fetch(`${url}/books/${name}`);
    expect([why.status, await why.text()]).toEqual([500, expect.stringContaining('EIO')]);
    expect((await fetch(`${url}/books/${name}?to=2`)).status).toBe(200);
    disk.inject({ call: 'open', path, code: 'EIO' });
    expect((await fetch(`${url}/books/${name}`)).status).toBe(500);
  });

  test.each([
    'server.key',
    'lock-0000000001',
    '..%2fbooks%2fserver.key',
    '../server.key',
    'journal-00000000000000000001.ayj.tmp',
    'journal-00000000000009999999.ayj',
    'snapshot-00000000000000000001.ays/x',
  ])('is no %s', async (name) => {
    const house = await lived('whole');
    house.disk.put(join(DIRECTORY, 'server.key'), Buffer.from('secret'));
    house.disk.put(join(DIRECTORY, 'lock-0000000001'), Buffer.from('lock'));
    const { url } = await openTo(house);
    expect((await fetch(`${url}/books/${name}`)).status).toBe(404);
  });
});

describe('who answers in the place of a server', () => {
  const sourceWith = async (answer: RequestListener) => sourceOf(await answering(answer));
  const told = (status: number, type: string, more = {}, body: Buffer | string = 'page') =>
    ((_, response) => {
      const length = { 'content-length': Buffer.byteLength(body) };
      response.writeHead(status, { 'content-type': type, ...length, ...more }).end(body);
    }) satisfies RequestListener;
  const listOf = (server: string) =>
    told(200, 'application/json', {}, JSON.stringify({ server, segments: [], snapshots: [] }));
  const file = 'application/octet-stream';
  const endless: RequestListener = (_, response) => {
    const more = () => {
      while (!response.destroyed && response.write(Buffer.alloc(1 << 20, ' ')));
    };
    response.writeHead(503).on('drain', more);
    more();
  };
  const fetching = (source: Source) => source.fetch(segmentName(1), { from: 0, has: null, waits: false });

  test.each<[string, RequestListener, RegExp]>([
    ['with a page', told(200, 'text/html'), /with none of its files/],
    ['with a file in other bytes', told(200, file, { 'content-encoding': 'gzip' }, gzipSync('x')), /none of its files/],
    [
      'with a file of no length',
      (_, response) => response.writeHead(200, { 'content-type': file }).end('x'),
      /none of/,
    ],
    ['that it is elsewhere', told(302, 'text/html', { location: '/books' }), /it answers 302/],
    ['that it cannot', told(502, 'text/html'), /it answers 502$/],
    ['without an end', endless, /it answers 503$/],
  ])('%s is away, and asked again', async (_, answer, reason) => {
    const error = await fetching(await sourceWith(answer)).catch((error: Error) => error);
    expect(error).toBeInstanceOf(AwayError);
    expect((error as Error).message).toMatch(reason);
  });

  test.each([
    [204, 'nothing'],
    [404, 'missing'],
    [416, 'shorter'],
  ])('with %i tells that there is %s', async (status, kind) => {
    const answer: RequestListener = (_, response) => response.writeHead(status).end();
    expect(await fetching(await sourceWith(answer))).toEqual({ kind });
  });

  /** What came of each piece of a file, and of what went wrong at last. */
  async function readAll(source: Source, took: () => void): Promise<string> {
    try {
      const fetched = await fetching(source);
      if (fetched.kind === 'bytes') for await (const _ of fetched.chunks) took();
      return fetched.kind;
    } catch (error) {
      return (error as Error).message;
    }
  }

  /** Answers with the beginning of a file of ten bytes, or where that is '' not at all; `begun` when that has come. */
  async function begins(beginning: string, signal?: AbortSignal) {
    let begin = () => {};
    const begun = new Promise<void>((resolve) => {
      begin = resolve;
    });
    const url = await answering((_, response) => {
      if (beginning === '') return begin();
      response.writeHead(200, { 'content-type': file, 'content-length': 10 }).write(beginning);
    });
    const source = signal === undefined ? sourceOf(url) : new Source(url, 'copy', signal);
    onTestFinished(() => source.close());
    const read = readAll(source, begin);
    await begun;
    await turn();
    return { source, read };
  }

  const handClock = () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    onTestFinished(() => void vi.useRealTimers());
  };

  test.each([
    ['', ''],
    [' more', 'x'],
  ])('and says nothing%s for 45 seconds is away, not sooner', async (_, beginning) => {
    handClock();
    const { read } = await begins(beginning);
    const turn = new Promise((resolve) => setImmediate(() => resolve('waits')));
    vi.advanceTimersByTime(44_999);
    expect(await Promise.race([read, turn])).toBe('waits');
    vi.advanceTimersByTime(1);
    expect(await read).toBe('it says nothing any more');
  });

  test('and says something again and again is heard to the end, however long somebody takes with each piece', async () => {
    handClock();
    let say = () => {};
    const source = await sourceWith((_, response) => {
      response.writeHead(200, { 'content-type': file, 'content-length': 4 }).flushHeaders();
      say = () => void response.write('x');
    });
    const fetched = await fetching(source);
    const chunks = fetched.kind === 'bytes' && fetched.chunks[Symbol.asyncIterator]();
    if (chunks === false) throw new Error(fetched.kind);
    for (let n = 0; n < 4; n++) {
      const next = chunks.next();
      vi.advanceTimersByTime(40_000);
      say();
      expect(String((await next).value)).toBe('x');
      vi.advanceTimersByTime(100_000);
    }
    expect((await chunks.next()).done).toBe(true);
  });

  test('and has no end is hung up on', async () => {
    let hangUp = (_: string) => {};
    const hungUp = new Promise<string>((resolve) => {
      hangUp = resolve;
    });
    const source = await sourceWith((request, response) => {
      response.once('close', () => hangUp('hung up'));
      endless(request, response);
    });
    await expect(fetching(source)).rejects.toThrow(AwayError);
    expect(await Promise.race([hungUp, pause(20_000)])).toBe('hung up');
  });

  test.each(['', 'x'])('is left at once by who is stopped, after "%s"', async (beginning) => {
    const stop = new AbortController();
    const { source, read } = await begins(beginning, stop.signal);
    stop.abort();
    const told = await Promise.race([read, pause(20_000)]);
    expect(told).toMatch(/aborted/);
    // And is not asked again.
    expect(await Promise.race([readAll(source, () => {}), pause(20_000)])).toMatch(/aborted/);
    expect(getEventListeners(stop.signal, 'abort')).toEqual([]);
  });

  test.each<[string, RequestListener, RegExp]>([
    ['a page', told(200, 'text/html'), /no list of books/],
    ['a list that names no server', told(200, 'application/json', {}, '{"segments":[],"snapshots":[]}'), /no list/],
    [
      'a list that names something else than a key',
      listOf('x\nHas entries 1 to 9'),
      /^it answers with no list of books$/,
    ],
    ['a list with a key in other base64', listOf(SOME_KEY.replace('=', '')), /^it answers with no list of books$/],
    ['why it cannot', told(500, 'text/plain', {}, 'no memory\n'), /it answers 500 no memory$/],
    [
      'what would be a line of its own, or an escape, in the log',
      told(500, 'text/plain', {}, 'x)\nHas entries 1 to 9\u001b[2J\u202e'),
      /^it answers 500 x\)\\u000aHas entries 1 to 9\\u001b\[2J\\u202e$/,
    ],
    ['more than anybody reads', told(500, 'text/plain', {}, 'x'.repeat(300)), /^it answers 500 x{200} …$/],
    ['a list without an end', endless, /it answers 503/],
  ])('lists the books with %s: it is away, and asked again', async (_, answer, reason) => {
    const error = await (await sourceWith(answer)).list().catch((error: Error) => error);
    expect(error).toBeInstanceOf(AwayError);
    expect((error as Error).message).toMatch(reason);
  });

  test('lists no books: that is a list', async () => {
    const list = { server: SOME_KEY, segments: [], snapshots: [] };
    expect(await (await sourceWith(listOf(SOME_KEY))).list()).toEqual(list);
  });
});
