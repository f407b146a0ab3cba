/**
 * A copy of books whose disk has changed some of their files, lost them, or does not give them: it begins, or goes on,
 * with what a start there does without them.
 */
import { basename, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { Copy } from '../../src/cli/follow/copy.ts';
import { StrangeBooksError } from '../../src/cli/follow/incoming.ts';
import { AwayError } from '../../src/cli/follow/source.ts';
import { segmentName, segmentSeq } from '../../src/storage/format.ts';
import { SpoiltFrameError } from '../../src/storage/frame-chain.ts';
import { readJournal } from '../../src/storage/journal-reader.ts';
import { journalStart } from '../../src/storage/segments.ts';
import { snapshotSeq } from '../../src/storage/snapshot-format.ts';
import { differencesOf } from '../../src/storage/state-digest.ts';
import { DIRECTORY, type House, verifyHash } from '../engine/house.ts';
import { lived } from '../engine/life.ts';
import { FakeDisk } from '../storage/fake-disk.ts';
import { booksIn, COPY, catchUp, followOnce, livedOn, moves, openTo, sourceOf, untold } from './copies.ts';

// All snapshots and segments there are were asked for: no copy could be begun until an entry came, and a snapshot behind it.
test.each([
  'the older snapshot',
  'a segment that only that needs',
  'a segment that the newest needs',
  'the segment in use',
])('a copy can be begun of books of which the disk has changed %s, once that is found', async (which) => {
  const house = await livedOn('pruned');
  for (let m = 0; m < 8; m++) await moves(house, `2-${m}`);
  const { disk, journal } = house;
  const named = (kind: string) => disk.readdir(DIRECTORY).filter((name) => name.startsWith(kind));
  const [[older, newest], segments] = [named('snapshot-'), named('journal-')] as [[string, string], string[]];
  const behind = segments.findLast((name) => segmentSeq(name) <= snapshotSeq(newest))!;
  const file = {
    'the older snapshot': older,
    'a segment that only that needs': segments[1]!,
    'a segment that the newest needs': behind,
    'the segment in use': journal.end!.file,
  }[which]!;
  expect([segments[1]! < behind, behind < journal.end!.file]).toEqual([true, true]);
  const { url } = await openTo(house);
  disk.flip(
    join(DIRECTORY, file),
    which === 'the segment in use' ? 100 : disk.bytesOf(join(DIRECTORY, file)).length >> 1,
  );
  const early = followOnce(new FakeDisk(1), url);
  // Another segment begins right behind the newest: before that one a start reads none.
  expect(segments).toContain(segmentName(snapshotSeq(newest) + 1));
  if (which.startsWith('a segment')) await early;
  else await expect(early).rejects.toThrow();
  await house.kept.scrub!.round();
  await house.quiet();
  const copy = new FakeDisk(1);
  await followOnce(copy, url);
  const start = journalStart(copy, COPY);
  const read = readJournal(copy, COPY, start, { verifyFrame: verifyHash, onEntry() {} });
  expect([read.position.seq, read.torn]).toEqual([journal.position.seq, null]);
  expect(differencesOf(booksIn(copy).state, house.state)).toEqual([]);
});

// Who began it was given nothing for good, and asked again and again; with --followers-min nobody was served meanwhile.
describe('a copy can be begun of books whose disk does not give', () => {
  const KINDS = ['the newest snapshot', 'the snapshot before it', 'a segment that no start needs'] as const;

  // What has changed of a snapshot no server has noticed yet: it looks at that once a day, where nobody says otherwise.
  test.each(KINDS.flatMap((which) => (['open', 'read', 'bytes'] as const).map((fault) => [which, fault] as const)))(
    '%s: its %s',
    async (which, fault) => {
      const house = await livedOn('pruned');
      await moves(house, 'behind');
      const { disk, journal } = house;
      const named = (kind: string) => disk.readdir(DIRECTORY).filter((name) => name.startsWith(kind));
      const [older, newest] = named('snapshot-') as [string, string];
      const [spare] = named('journal-') as [string];
      const file = { [KINDS[0]]: newest, [KINDS[1]]: older, [KINDS[2]]: spare }[which]!;
      expect(segmentSeq(spare)).toBeLessThan(snapshotSeq(newest));
      const path = join(DIRECTORY, file);
      const { url } = await openTo(house);
      // Whether a snapshot is this server's is known by then.
      await sourceOf(url).list();
      if (fault === 'bytes') disk.flip(path, disk.bytesOf(path).length >> 1);
      else disk.inject({ call: fault, path, code: 'EIO', times: Number.POSITIVE_INFINITY });
      const [copied, told] = [new FakeDisk(1), [] as string[]];
      const copy = new Copy(copied, COPY, verifyHash, (text) => void told.push(text));
      const source = sourceOf(url);
      for (let n = 0; n < 20 && copy.end === null; n++)
        await copy.begin(source).catch((error: Error) => {
          expect(error).toBeInstanceOf(fault === 'bytes' ? SpoiltFrameError : AwayError);
        });
      while ((await copy.goOn(source, false)) === 'more');
      expect(told.join()).toMatch(new RegExp(`${file}.* ${fault === 'bytes' ? '' : '.*EIO'}`));
      expect(copy.end!.seq).toBe(journal.position.seq);
      expect(differencesOf(booksIn(copied).state, house.state)).toEqual([]);
      // It is asked for as long as it is the newest one.
      const later = await copy.takeSnapshots(source).catch((error: Error) => error);
      if (which === KINDS[0]) expect(later).toBeInstanceOf(fault === 'bytes' ? SpoiltFrameError : AwayError);
      else expect(later).toEqual([]);
    },
  );
});

// It was told that a snapshot there is of another history, or that one segment does not lead to the next.
test.each([0, 1].flatMap((nth) => (['gone', 'empty'] as const).map((how) => [nth, how] as const)))(
  'a copy can be begun of books of whose segments that no start needs number %i is %s',
  async (nth, how) => {
    const house = await livedOn('pruned');
    await moves(house, 'behind');
    const { disk, journal } = house;
    const named = (kind: string) => disk.readdir(DIRECTORY).filter((name) => name.startsWith(kind));
    const spare = named('journal-').filter((name) => segmentSeq(name) < snapshotSeq(named('snapshot-').at(-1)!));
    expect(spare.length).toBeGreaterThan(nth + 1);
    disk.put(join(DIRECTORY, spare[nth]!), how === 'gone' ? null : Buffer.alloc(0));
    const { url } = await openTo(house);
    const copied = new FakeDisk(1);
    const copy = await followOnce(copied, url);
    expect(copy.end!.seq).toBe(journal.position.seq);
    expect(differencesOf(booksIn(copied).state, house.state)).toEqual([]);
  },
);

// Whoever began it asked for good, told it each time of another segment that the copy begins behind, and of files that went.
test('a copy is not begun behind the gap that a segment leaves which a start there needs', async () => {
  const house = await livedOn('pruned');
  for (let m = 0; m < 8; m++) await moves(house, `behind-${m}`);
  const { disk } = house;
  const named = (kind: string) => disk.readdir(DIRECTORY).filter((name) => name.startsWith(kind));
  const segments = named('journal-');
  const at = segments.findLastIndex((name) => segmentSeq(name) <= snapshotSeq(named('snapshot-').at(-1)!) + 1);
  expect(segments.length).toBeGreaterThan(at + 2);
  disk.put(join(DIRECTORY, segments[at]!), Buffer.alloc(0));
  const { url } = await openTo(house);
  const told: string[] = [];
  const copy = new Copy(new FakeDisk(1), COPY, verifyHash, (text) => void told.push(text));
  const error = await copy.begin(sourceOf(url)).catch((error: Error) => error);
  expect(error).toBeInstanceOf(StrangeBooksError);
  expect((error as Error).message).toContain(`does not lead to ${segments[at + 1]}`);
  expect(told).toEqual([]);
});

describe('a copy of books of which more than one file has changed', () => {
  const changed = async (which: (house: House) => readonly string[], shape: 'pruned' | 'one' = 'pruned') => {
    const house = await livedOn(shape);
    await moves(house, 'behind');
    const { url } = await openTo(house);
    const source = sourceOf(url);
    await source.list();
    for (const name of which(house)) {
      const path = join(DIRECTORY, name);
      house.disk.flip(path, house.disk.bytesOf(path).length >> 1);
    }
    const [copied, told] = [new FakeDisk(1), [] as string[]];
    const copy = new Copy(copied, COPY, verifyHash, (text) => void told.push(text));
    return { house, source, copied, copy, told };
  };
  const named = ({ disk }: House, kind: string) => disk.readdir(DIRECTORY).filter((name) => name.startsWith(kind));

  // Of each it took five tries to know that, one after the other: who follows gives up at the sixth (src/cli/follow.ts).
  test('is begun from the journal where both snapshots have, before who follows gives up', async () => {
    const { house, source, copied, copy } = await changed((it) => named(it, 'snapshot-'), 'one');
    let tries = 0;
    for (; copy.end === null && tries < 20; tries++)
      await copy.begin(source).catch((error: Error) => expect(error).toBeInstanceOf(SpoiltFrameError));
    expect(tries).toBeLessThanOrEqual(5);
    while ((await copy.goOn(source, false)) === 'more');
    expect(differencesOf(booksIn(copied).state, house.state)).toEqual([]);
  });

  // It was told at each try, each second, for good.
  test('is not said to begin behind a segment before it does', async () => {
    const spare = (it: House) => named(it, 'journal-')[0]!;
    const { house, source, copy, told } = await changed((it) => [spare(it)]);
    const newest = join(DIRECTORY, named(house, 'snapshot-').at(-1)!);
    const faults = { call: 'open', path: newest, code: 'EIO', times: 4 } as const;
    house.disk.inject(faults);
    for (let n = 0; n < 8 && copy.end === null; n++)
      await copy.begin(source).catch((error: Error) => {
        expect(error).toBeInstanceOf(AwayError);
        expect(told).toEqual([]);
      });
    expect(told.join()).toContain(`${spare(house)} there is not whole`);
  });
});

// It was asked for before the newer one, each time, for good.
test.each(['open', 'bytes'] as const)(
  'a copy that goes on takes the newest snapshot though the one before it cannot be had: its %s',
  async (fault) => {
    const house = await lived('pruned');
    const { url } = await openTo(house);
    const source = sourceOf(url);
    const copied = new FakeDisk(1);
    const copy = new Copy(copied, COPY, verifyHash, untold);
    await catchUp(copy, source);
    const { disk } = house;
    const snapshots = () => disk.readdir(DIRECTORY).filter((name) => name.startsWith('snapshot-'));
    const goOn = async (name: string) => {
      for (let m = 0; m < 8; m++) await moves(house, `${name}-${m}`);
      await house.takeSnapshot();
      await source.list();
      while ((await copy.goOn(source, false)) === 'more');
    };
    await goOn('a');
    const path = join(DIRECTORY, snapshots().at(-1)!);
    if (fault === 'bytes') disk.flip(path, disk.bytesOf(path).length >> 1);
    await goOn('b');
    if (fault === 'open') disk.inject({ call: fault, path, code: 'EIO', times: Number.POSITIVE_INFINITY });
    expect(snapshots()).toContain(basename(path));
    expect(await copy.takeSnapshots(source)).toEqual([snapshots().at(-1)]);
    expect(differencesOf(booksIn(copied).state, house.state)).toEqual([]);
  },
);
