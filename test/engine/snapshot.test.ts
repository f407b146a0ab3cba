/** Snapshots beside traffic: what they hold, what a cut or a fault leaves of them, and the way back without them. */
import { describe, expect, test } from 'vitest';
import { dumpState, finalParts, type Part } from '../../src/core/dump.ts';
import { Kind } from '../../src/core/kinds.ts';
import { emptyState } from '../../src/core/state.ts';
import { makeKeyPair } from '../../src/proof/keys.ts';
import { verifyBy } from '../../src/proof/verify.ts';
import { recover, show } from '../../src/recovery.ts';
import { entryCodec } from '../../src/storage/codec.ts';
import {
  FRAME_BYTES_MAX,
  frameBytesAt,
  readFrameHead,
  SEGMENT_HEADER_BYTES,
  segmentName,
  segmentSeq,
} from '../../src/storage/format.ts';
import { takeSnapshot } from '../../src/storage/snapshot.ts';
import { snapshotSeq } from '../../src/storage/snapshot-format.ts';
import { differencesOf } from '../../src/storage/state-digest.ts';
import { packValue } from '../../src/storage/values.ts';
import { Books, issue, transfer } from '../core/books.ts';
import { FakeDisk, type Fault } from '../storage/fake-disk.ts';
import { atPlaces } from '../support/long.ts';
import { turns } from '../support/turns.ts';
import { DIRECTORY, House, type HouseOptions, isAcknowledged, reasonOf, recoverFrom } from './house.ts';
import { chance, checkReplay, freshWorld, Ledger, live, restart, SCRIPT } from './life.ts';
import { viewOf } from './view.ts';

const SIGNATURE = new Uint8Array(64);
const path = (name: string) => `${DIRECTORY}/${name}`;
const namesOf = (disk: FakeDisk, end: string) => disk.readdir(DIRECTORY).filter((name) => name.endsWith(end));

/** A house with books in it, and everything written. */
async function lived(options: HouseOptions = {}, seed = 1, steps = SCRIPT.length): Promise<House> {
  const house = await House.open(new FakeDisk(seed), { world: freshWorld(), ...options });
  await live(house, SCRIPT.slice(0, steps));
  return house;
}

describe('a snapshot', () => {
  test('with the tail behind it is the live state, and so is the journal alone', async () => {
    const house = await lived();
    await house.takeSnapshot();
    const act = chance(5);
    for (let step = 0; step < 20; step++) act(house);
    await house.quiet();
    const bySnapshot = recoverFrom(house.disk);
    expect(bySnapshot.notes.join()).toMatch(/snapshot after entry/);
    for (const name of namesOf(house.disk, '.ays')) house.disk.put(path(name), null);
    const byJournal = recoverFrom(house.disk, 3);
    expect(byJournal.entries).toBeGreaterThan(bySnapshot.entries);
    expect(differencesOf(bySnapshot.state, house.state)).toEqual([]);
    expect(differencesOf(byJournal.state, house.state)).toEqual([]);
    expect(viewOf(bySnapshot.state)).toEqual(viewOf(house.state));
    expect(viewOf(byJournal.state)).toEqual(viewOf(house.state));
  });

  test('has for final what the state says that it has for good, and nothing else', async () => {
    const { state } = await lived({ sizes: { chunkBytes: 4096, pageRows: 16 } });
    const finals = dumpState(state).parts.filter(({ final }) => final);
    const namesOf = (parts: readonly Part[]) => [...new Set(parts.map(({ name }) => name.replace(/\.[^.]*$/, '')))];
    expect(namesOf(finals)).toEqual([
      'row-kind.page',
      'row-ledger.page',
      'records.chunk',
      'order.page',
      'log.page',
      'terms.nodes.page',
    ]);
    expect(finalParts(state)).toEqual(finals);
  });

  test('holds the state at its entry, though traffic goes on while it is written', async () => {
    // A slow disk: each of its answers takes a turn of the event loop.
    const disk = new FakeDisk(1, (run) => void setImmediate(run));
    const house = await House.open(disk, { world: freshWorld() });
    await live(house, SCRIPT);
    const view = viewOf(house.state);
    const [segment] = namesOf(disk, '.ayj');
    const journal = disk.bytesOf(path(segment!));
    const taken = house.takeSnapshot();
    const act = chance(8);
    let batches = 0;
    while (house.snapshots === 0) {
      const before = house.engine.stats.batches;
      act(house);
      await turns(1);
      batches += house.engine.stats.batches - before;
    }
    await taken;
    await house.quiet();
    expect(batches, 'traffic was cleared meanwhile').toBeGreaterThan(3);
    checkReplay(house);
    // The journal as it was when the snapshot was begun, and the snapshot: nothing of what came later is in it.
    const then = new FakeDisk();
    then.put(path(segment!), journal);
    const [snapshot] = namesOf(disk, '.ays');
    then.put(path(snapshot!), disk.bytesOf(path(snapshot!)));
    const { state, entries } = recoverFrom(then);
    expect(entries).toBe(0);
    expect(viewOf(state)).toEqual(view);
  });

  test('is due after so many entries, and never begun while one is under way', async () => {
    const ends: (() => void)[] = [];
    const snapshot = () => new Promise<void>((resolve) => ends.push(resolve));
    const house = await House.open(new FakeDisk(), { snapshotEvery: 5, snapshot });
    const counts: number[] = [];
    for (let n = 0; n < 20; n++) {
      house.create(Kind.wallet, { handle: `w${n}` });
      await turns(3);
      counts.push(ends.length);
      if (n === 11) ends[0]!();
      await turns(2);
    }
    // Two entries make the ledger; the third wallet is the fifth entry.
    expect(counts.slice(0, 4)).toEqual([0, 0, 1, 1]);
    expect(counts.slice(3, 12)).toEqual(Array(9).fill(1));
    expect(counts.at(-1)).toBe(2);
  });

  test('is due after so many entries, however many starts lie between them', async () => {
    const disk = new FakeDisk();
    const world = freshWorld();
    const taken: number[] = [];
    // Two entries in the first life, and three in each.
    for (let life = 0; life < 6; life++) {
      const house = await House.open(disk, { world, snapshotEvery: 7 });
      await live(
        house,
        [0, 1, 2].map((n) => (each) => each.create(Kind.wallet, { handle: `w${life}${n}` })),
      );
      taken.push(house.snapshots);
      await house.stop();
    }
    expect(taken).toEqual([0, 1, 0, 1, 0, 0]);
  });

  test('asked for is taken at once, after the batch on its way, or after the one being taken', async () => {
    const seqs: number[] = [];
    const ends: (() => void)[] = [];
    const house = await House.open(new FakeDisk(), {
      snapshot: () => {
        const { seq } = house.journal.position;
        expect(house.state.log.length, 'nothing is in the state that is not on the disk').toBe(seq);
        seqs.push(seq);
        return new Promise<void>((resolve) => ends.push(resolve));
      },
    });
    const write = async (handle: string) => {
      house.disk.holdSyncs();
      house.create(Kind.wallet, { handle });
      await turns(2);
    };
    house.engine.requestSnapshot();
    expect(seqs).toEqual([2]);
    await write('w');
    ends[0]!();
    await turns(2);
    house.engine.requestSnapshot();
    house.engine.requestSnapshot();
    expect(seqs, 'a batch is on its way').toEqual([2]);
    house.disk.releaseSyncs();
    await turns(2);
    expect(seqs).toEqual([2, 3]);
    await write('x');
    house.engine.requestSnapshot();
    ends[1]!();
    await turns(2);
    expect(seqs, 'one was being taken, and now a batch is on its way').toEqual([2, 3]);
    house.disk.releaseSyncs();
    await turns(2);
    expect(seqs).toEqual([2, 3, 4]);
    house.engine.requestSnapshot();
    ends[2]!();
    await turns(2);
    expect(seqs, 'nothing is written, and it is taken all the same').toEqual([2, 3, 4, 4]);
    ends[3]!();
    await house.stop();
    expect(seqs).toEqual([2, 3, 4, 4]);
  });

  test('writes what is new: full chunks and pages once, for ever', async () => {
    const disk = new FakeDisk();
    disk.mkdir(DIRECTORY);
    const books = new Books(emptyState(entryCodec, 7, { chunkBytes: 1 << 16 }));
    books.create(Kind.ledger, { handle: 'main', access: [{ action: 'any', record: 'any' }] }, 0);
    books.symbols('usd').wallets('a', 'b').intent(issue('a', 1e9));
    const sizes = () =>
      new Map(disk.readdir(DIRECTORY).map((name) => [name, disk.bytesOf(path(name)).length] as const));
    let seq = 0;
    /** Snapshots after so many more transfers: bytes written, and how the files before and after differ. */
    const grow = async (transfers: number) => {
      for (let n = 0; n < transfers; n++) books.intent(transfer('a', 'b', 1));
      const before = sizes();
      const { extra, parts } = dumpState(books.state);
      const content = { seq: ++seq, chain: new Uint8Array(32), moment: 1, extra: packValue(extra), parts };
      const { bytes, file } = await takeSnapshot(disk, DIRECTORY, content, {
        sign: () => SIGNATURE,
        verify: () => true,
      });
      const fresh = [...sizes()].filter(([name]) => !before.has(name));
      const stillThere = [...before].filter(([name]) => name.startsWith('part-') && !sizes().has(name));
      expect(bytes).toBe(fresh.reduce((sum, [, size]) => sum + size, 0));
      expect(stillThere, 'parts that went').toEqual([]);
      return { bytes, own: sizes().get(file)!, parts: fresh.filter(([name]) => name.startsWith('part-')) };
    };
    const first = await grow(6000);
    const second = await grow(600);
    const third = await grow(0);
    // What is new is a tenth, and so are the chunks; the rest is each snapshot's own: the last chunk, and the indexes.
    expect(first.parts.length).toBeGreaterThan(30);
    expect(second.parts.length).toBeGreaterThan(1);
    expect(second.parts.length).toBeLessThan(first.parts.length / 8);
    expect(second.bytes).toBeLessThan(first.bytes / 3);
    expect([third.parts, third.bytes]).toEqual([[], third.own]);
    const chunks = disk.readdir(DIRECTORY).filter((name) => name.startsWith('part-records'));
    expect(chunks.length * (1 << 16)).toBeGreaterThan(3 * third.own);
  });

  test('keeps a stop waiting until it is done', async () => {
    const ends: (() => void)[] = [];
    const snapshot = () => new Promise<void>((resolve) => ends.push(resolve));
    const house = await House.open(new FakeDisk(), { snapshotEvery: 3, snapshot });
    house.create(Kind.wallet, { handle: 'w' });
    let isStopped = false;
    const stopped = house.stop().then(() => (isStopped = true));
    await turns(5);
    expect([ends.length, isStopped]).toEqual([1, false]);
    ends[0]!();
    await stopped;
    expect(isStopped).toBe(true);
  });
});

/** Steps of the script before a snapshot that is cut: a short life, since it is lived once for every call. */
const STEPS_BEFORE = 4;

/** How many calls of the disk one snapshot takes, after those steps and another snapshot. */
async function callsOfSnapshot(): Promise<number> {
  const house = await lived({}, 1, STEPS_BEFORE);
  await house.takeSnapshot();
  await live(house, [(each) => each.create(Kind.wallet, { handle: 'between' })]);
  const before = house.power.count;
  await house.takeSnapshot();
  return house.power.count - before;
}

/** By so many calls of the disk one snapshot may be shorter than another of the same life. */
const FEWER_CALLS = 12;

describe('the power goes during a snapshot', () => {
  test('at every call of the disk: nothing acknowledged is lost, and the next snapshot is taken', async () => {
    const calls = await callsOfSnapshot();
    expect(calls).toBeGreaterThan(10);
    await atPlaces(1, calls, 5, async (cutAt) => {
      const ledger = new Ledger();
      const house = await lived({}, cutAt, STEPS_BEFORE);
      await house.takeSnapshot();
      await live(house, [(each) => each.create(Kind.wallet, { handle: 'between' })]);
      house.power.cutIn(cutAt);
      await Promise.race([house.takeSnapshot().catch(() => {}), house.power.gone]);
      // Two luids are made by chance, and where they share a page of an index a snapshot has fewer parts.
      if (cutAt > calls - FEWER_CALLS && !house.power.isOff) return;
      expect(house.power.isOff).toBe(true);
      ledger.remember(house);
      const again = await restart(house.disk, ledger);
      expect(namesOf(again.disk, '.tmp'), 'what was half-written is gone').toEqual([]);
      checkReplay(again);
      await live(again, [(each) => each.intent('later', transfer('a', 'b', 1))]);
      await again.takeSnapshot();
      expect(namesOf(again.disk, '.tmp')).toEqual([]);
      checkReplay(again);
    });
  });
});

describe('the power goes while a third snapshot is taken, and what it makes superfluous removed', () => {
  const SMALL: HouseOptions = { segmentBytesMax: 700 };
  /** A house with two snapshots, segments before them already gone, and traffic since. */
  async function ripe(options: HouseOptions, seed: number): Promise<House> {
    const house = await lived({ ...SMALL, ...options }, seed, STEPS_BEFORE);
    for (let n = 0; n < 3; n++) {
      const steps = [1, 2, 3].map((m) => (each: House) => each.intent(`before-${n}-${m}`, transfer('a', 'b', 1)));
      await live(house, steps);
      if (n < 2) await house.takeSnapshot();
    }
    return house;
  }

  test('at every call of the disk: nothing acknowledged is lost, and no segment went that is needed', async () => {
    const whole = await ripe({}, 1);
    const before = whole.power.count;
    const segments = namesOf(whole.disk, '.ayj').length;
    await whole.takeSnapshot();
    const calls = whole.power.count - before;
    expect(namesOf(whole.disk, '.ayj').length, 'segments are removed').toBeLessThan(segments);
    expect(namesOf(whole.disk, '.ays')).toHaveLength(2);
    const starts = new Set<number>();
    await atPlaces(1, calls, 8, async (cutAt) => {
      const ledger = new Ledger();
      const house = await ripe({}, cutAt);
      house.power.cutIn(cutAt);
      await Promise.race([house.takeSnapshot().catch(() => {}), house.power.gone]);
      // Two luids are made by chance, and where they share a page of an index a snapshot has fewer parts.
      if (cutAt > calls - FEWER_CALLS && !house.power.isOff) return;
      expect(house.power.isOff).toBe(true);
      ledger.remember(house);
      // Also without the newest snapshot, as where that is spoilt: the one before and the journal must do.
      const newest = namesOf(house.disk, '.ays').at(-1)!;
      const bytes = house.disk.bytesOf(path(newest));
      house.disk.put(path(newest), null);
      ledger.check(recoverFrom(house.disk).state);
      house.disk.put(path(newest), bytes);
      const again = await restart(house.disk, ledger, SMALL);
      checkReplay(again);
      starts.add(Number(/\d+/.exec(namesOf(again.disk, '.ays').at(-1)!)![0]));
      await live(again, [(each) => each.intent('later', transfer('a', 'b', 1))]);
      await again.takeSnapshot();
      expect(namesOf(again.disk, '.ays')).toHaveLength(2);
      checkReplay(again);
    });
    expect(starts.size, 'cuts before and after the third one counts').toBe(2);
  });
});

describe('a snapshot that is not whole', () => {
  /** Two snapshots and a tail. */
  async function twoSnapshots(): Promise<{ house: House; names: string[] }> {
    const house = await lived({ segmentBytesMax: 1500 });
    await house.takeSnapshot();
    await live(house, [(each) => each.intent('one', transfer('a', 'b', 1))]);
    await house.takeSnapshot();
    await live(house, [(each) => each.intent('two', transfer('a', 'b', 1))]);
    return { house, names: namesOf(house.disk, '.ays') };
  }

  const spoil: [string, (bytes: Buffer, older: Buffer) => Buffer | null][] = [
    ['a bit of a part', (bytes) => bytes.fill(bytes[200]! ^ 1, 200, 201)],
    ['a bit of its foot', (bytes) => bytes.fill(bytes.at(-20)! ^ 1, bytes.length - 20, bytes.length - 19)],
    ['half of it', (bytes) => bytes.subarray(0, bytes.length >> 1)],
    ['all of its bytes', (bytes) => bytes.subarray(0, 0)],
    ['a page zeroed', (bytes) => bytes.fill(0, 512, 1024)],
    ['the bytes of the one before', (_bytes, older) => older],
    ['itself', () => null],
  ];
  test.each(spoil)('newest one loses %s: the one before is read, and the state is the same', async (what, change) => {
    const { house, names } = await twoSnapshots();
    const [older, newest] = names as [string, string];
    const olderBytes = house.disk.bytesOf(path(older));
    house.disk.put(path(newest), change(house.disk.bytesOf(path(newest)), olderBytes));
    const { state, notes } = recoverFrom(house.disk);
    expect(differencesOf(state, house.state)).toEqual([]);
    expect(viewOf(state)).toEqual(viewOf(house.state));
    expect(notes.join('\n')).toContain(`snapshot after entry ${Number(/\d+/.exec(older)![0])}`);
    if (what !== 'itself') expect(notes.join('\n')).toContain(`${newest} is not used`);
  });

  test('and the journal before the older one gone: damage, named, nothing changed', async () => {
    const { house, names } = await twoSnapshots();
    for (const name of names) house.disk.put(path(name), Buffer.from('no snapshot'));
    const before = house.disk.readdir(DIRECTORY);
    const said = names.toReversed().map((name) => `${name} cannot be used: it is half-written`);
    expect(() => recoverFrom(house.disk)).toThrow(
      new RegExp(
        `${names[1]}: damaged at byte 0: ${said[0]}.*; ${said[1]}.*; the segment .* is missing, and no snapshot`,
      ),
    );
    expect(house.disk.readdir(DIRECTORY)).toEqual(before);
  });

  describe('where the journal does not do without it', () => {
    const SIZES = { chunkBytes: 2048, pageRows: 16, segments: 2 };
    const again = (disk: FakeDisk) => recoverFrom(disk, 7, SIZES);

    /** Two snapshots that share parts, a tail, and no journal before the older of them. */
    async function ripe() {
      const house = await lived({ segmentBytesMax: 1500, sizes: SIZES });
      for (const handle of ['one', 'two', 'three']) {
        await house.takeSnapshot();
        await live(
          house,
          [1, 2, 3, 4].map((n) => (each) => each.intent(`${handle}-${n}`, transfer('a', 'b', 1))),
        );
      }
      const { disk } = house;
      const names = namesOf(disk, '.ays') as [older: string, newest: string];
      const part = namesOf(disk, '.ayp').find((name) => name.startsWith('part-records'))!;
      expect([names.length, segmentSeq(namesOf(disk, '.ayj')[0]!) > 1]).toEqual([2, true]);
      return { house, disk, names, part };
    }

    /** What the error of a start says of file and kind. */
    function refusal(disk: FakeDisk): { file?: string; kind?: string; code?: string; message: string } {
      try {
        again(disk);
      } catch (error) {
        return error as Error;
      }
      throw new Error('it was read');
    }

    test.each<[string, (names: [string, string], part: string) => string[]]>([
      ['a part that both share', (_, part) => [part]],
      ['both of them', (names) => names],
    ])(
      '%s that the device does not give is no damage: EIO is told, and a start without it finds all',
      async (_, of) => {
        const { house, disk, names, part } = await ripe();
        for (const file of of(names, part)) disk.inject({ call: 'read', path: file, code: 'EIO', times: 100 });
        expect(refusal(disk)).toMatchObject({ code: 'EIO', message: expect.not.stringMatching(/missing/) });
        disk.heal();
        expect(differencesOf(again(disk).state, house.state)).toEqual([]);
      },
    );

    test('the newest that the device does not give, where the frames to it are damaged, is told as EIO, and not beyond it', async () => {
      const { disk, names } = await ripe();
      const isBetween = (name: string) =>
        segmentSeq(name) > snapshotSeq(names[0]) && segmentSeq(name) < snapshotSeq(names[1]);
      const between = namesOf(disk, '.ayj').find(isBetween)!;
      const last = namesOf(disk, '.ayj').findLast((name) => segmentSeq(name) <= snapshotSeq(names[1]) + 1)!;
      disk.inject({ call: 'read', path: names[1], code: 'EIO', times: 100 });
      expect(again(disk).refused, 'the one before does as well').toMatchObject([{ file: names[1] }]);
      disk.flip(path(between), SEGMENT_HEADER_BYTES + 30);
      expect(refusal(disk)).toMatchObject({ code: 'EIO' });
      disk.flip(path(between), SEGMENT_HEADER_BYTES + 30);
      disk.put(path(last), disk.bytesOf(path(last)).subarray(0, SEGMENT_HEADER_BYTES));
      for (const name of namesOf(disk, '.ayj')) if (name > last) disk.put(path(name), null);
      expect(refusal(disk), 'no snapshot brings back what came after it').toMatchObject({
        file: path(last),
        message: expect.stringMatching(/the journal ends at entry/),
      });
    });

    /** Changes a byte of the frame that begins with this entry, or of the last before. */
    function spoilFrame(disk: FakeDisk, seq: number): void {
      const name = namesOf(disk, '.ayj').findLast((each) => segmentSeq(each) <= seq)!;
      const bytes = disk.bytesOf(path(name));
      const head = { firstSeq: 0, count: 0, moment: 0 };
      let at = SEGMENT_HEADER_BYTES;
      for (;;) {
        const next = at + frameBytesAt(bytes, at, FRAME_BYTES_MAX);
        readFrameHead(bytes, at, next, head);
        if (head.firstSeq + head.count > seq) break;
        at = next;
      }
      bytes[at + 30]! ^= 1;
      disk.put(path(name), bytes);
    }

    test('the newest that the device does not give is told as EIO up to its last entry, and not from the next one on', async () => {
      const { disk, names } = await ripe();
      const seq = snapshotSeq(names[1]);
      disk.inject({ call: 'read', path: names[1], code: 'EIO', times: 100 });
      const files = namesOf(disk, '.ayj').map((name) => [name, disk.bytesOf(path(name))] as const);
      for (const [spoilt, isLedPast] of [
        [seq, true],
        [seq + 1, false],
      ] as const) {
        spoilFrame(disk, spoilt);
        expect([spoilt - seq, refusal(disk).code]).toEqual([spoilt - seq, isLedPast ? 'EIO' : undefined]);
        for (const [name, bytes] of files) disk.put(path(name), bytes);
      }
    });

    test.each([
      ['that the device does not give', 'read'],
      ['that is damaged', null],
    ] as const)(
      'one %s stands for a beginning of the journal up to its entry, and for none beyond it',
      async (_, call) => {
        const { disk, names } = await ripe();
        const [older, newest] = names;
        disk.put(path(newest), null);
        if (call !== null) disk.inject({ call, path: older, code: 'EIO', times: 100 });
        else disk.put(path(older), disk.bytesOf(path(older)).fill(7, 300, 301));
        const told = call === null ? { file: path(older) } : { code: 'EIO' };
        const first = () => namesOf(disk, '.ayj')[0]!;
        expect([segmentSeq(first()) <= snapshotSeq(older) + 1, refusal(disk)]).toMatchObject([true, told]);
        // As if the segments began right behind it, and behind that.
        const next = namesOf(disk, '.ayj').find((name) => segmentSeq(name) > snapshotSeq(older) + 1)!;
        for (const name of namesOf(disk, '.ayj')) if (name < next) disk.put(path(name), null);
        disk.put(path(segmentName(snapshotSeq(older) + 1)), Buffer.alloc(0));
        expect(refusal(disk)).toMatchObject(told);
        disk.put(path(segmentName(snapshotSeq(older) + 1)), null);
        disk.put(path(segmentName(snapshotSeq(older) + 2)), Buffer.alloc(0));
        expect(refusal(disk)).toMatchObject({
          file: path(segmentName(snapshotSeq(older) + 2)),
          kind: 'no-beginning',
        });
      },
    );

    test('those that are damaged are told of at the byte', async () => {
      const { disk, names } = await ripe();
      for (const name of names) disk.put(path(name), disk.bytesOf(path(name)).fill(7, 300, 301));
      const { message, ...told } = refusal(disk) as Error & { byte?: number };
      const byte = Number(/is damaged[^;]* bytes? (\d+)/.exec(message)![1]);
      expect(told).toMatchObject({ file: path(names[1]), byte });
      expect(byte).toBeGreaterThan(0);
      expect(byte).toBeLessThanOrEqual(300);
    });

    test.each<[string, RegExp, (bytes: Buffer) => Buffer | null]>([
      ['missing', /is missing;/, () => null],
      ['cut', /has another length;/, (bytes) => bytes.subarray(1)],
      ['flipped', /is damaged;/, (bytes) => bytes.fill(bytes[100]! ^ 1, 100, 101)],
    ])('a part that is %s is the file to be told of, not the journal, which is whole', async (_, why, change) => {
      const { disk, part } = await ripe();
      disk.put(path(part), change(disk.bytesOf(path(part))));
      expect(refusal(disk)).toMatchObject({ file: path(part), kind: 'other', message: expect.stringMatching(why) });
    });
  });

  test('one that a start could not use does not count as kept: the next lives beside the one before it', async () => {
    const { house, names } = await twoSnapshots();
    const [older, newest] = names as [string, string];
    house.disk.put(path(newest), spoil[0]![1](house.disk.bytesOf(path(newest)), Buffer.alloc(0))!);
    await house.stop();
    const again = await House.open(house.disk, { segmentBytesMax: 1500, world: house.world });
    await live(again, [(each) => each.intent('three', transfer('a', 'b', 1))]);
    await again.takeSnapshot();
    const left = namesOf(house.disk, '.ays');
    expect([left.length, left.includes(older), left.includes(newest)]).toEqual([2, true, false]);
    // Should the new one be lost too, nothing is.
    house.disk.put(path(left.at(-1)!), Buffer.from('no snapshot'));
    expect(differencesOf(recoverFrom(house.disk).state, again.state)).toEqual([]);
  });

  test('of another server is not used', async () => {
    const { house, names } = await twoSnapshots();
    const stranger = house.disk.bytesOf(path(names[1]!));
    // The signature lies before the last four bytes, and those are a CRC that a stranger computes as well.
    stranger[stranger.length - 40]! ^= 1;
    house.disk.put(path(names[1]!), stranger);
    expect(differencesOf(recoverFrom(house.disk).state, house.state)).toEqual([]);
  });
});

describe('snapshots that another key has signed, and nothing of this one', () => {
  const OTHER = verifyBy(makeKeyPair(Buffer.alloc(32, 9)).public);
  const journal = path(segmentName(1));

  test.each<[string, (disk: FakeDisk) => void]>([
    ['no journal', (disk) => disk.put(journal, null)],
    ['a journal cut to nothing', (disk) => disk.put(journal, new Uint8Array(0))],
    ['a header alone', (disk) => disk.put(journal, disk.bytesOf(journal).subarray(0, SEGMENT_HEADER_BYTES))],
    ['half a frame', (disk) => disk.put(journal, disk.bytesOf(journal).subarray(0, SEGMENT_HEADER_BYTES + 60))],
  ])(
    '%s: refused, and nothing changes; new books were begun beside them, and then those removed',
    async (_what, cut) => {
      const house = await lived();
      await house.takeSnapshot();
      await live(house, [(each) => each.intent('one', transfer('a', 'b', 1))]);
      await house.takeSnapshot();
      const { disk } = house;
      await house.stop();
      const newest = namesOf(disk, '.ays').at(-1)!;
      const options = { disk, directory: DIRECTORY, verify: OTHER, hashSeed: 7 };
      for (const spoilt of [false, true]) {
        // Where the newest is not whole either, the one before still says whose they are.
        if (spoilt) disk.put(path(newest), disk.bytesOf(path(newest)).subarray(0, 900));
        cut(disk);
        const before = disk.readdir(DIRECTORY).map((name) => [name, disk.bytesOf(path(name)).toString('hex')]);
        for (const read of [recover, show]) {
          expect(() => read(options)).toThrow(expect.objectContaining({ kind: 'unsigned' }));
          expect(() => read(options)).toThrow(/snapshot-\d+\.ays.* not signed by this server/);
        }
        expect(disk.readdir(DIRECTORY).map((name) => [name, disk.bytesOf(path(name)).toString('hex')])).toEqual(before);
      }
    },
  );

  test('beside books of this key they are passed over, and told to stay', async () => {
    const house = await lived();
    const { disk } = house;
    await house.stop();
    const seq = recoverFrom(disk).end.seq + 5;
    const content = { seq, chain: new Uint8Array(32), moment: 1, extra: new Uint8Array(0), parts: [] };
    const { file } = await takeSnapshot(disk, DIRECTORY, content, { sign: () => SIGNATURE, verify: () => true });
    const { notes, state } = recoverFrom(disk);
    expect(notes).toContain(`Snapshot ${file} is not used, nor removed: it is not signed by this server.`);
    expect(differencesOf(state, house.state)).toEqual([]);
  });
});

describe('a fault while a snapshot is taken', () => {
  const faults: [string, Fault][] = [
    ['no space to write it', { call: 'write', path: 'snapshot-', code: 'ENOSPC' }],
    ['no space to sync it', { call: 'sync', path: 'snapshot-', code: 'ENOSPC' }],
    ['no file to open', { call: 'open', path: 'snapshot-', code: 'EMFILE' }],
    ['read-only at the rename', { call: 'rename', path: 'snapshot-', code: 'EROFS' }],
    ['an error when the directory is synced', { call: 'syncDirectory', code: 'EIO' }],
    ['an error when it is read back', { call: 'read', path: 'snapshot-', code: 'EIO' }],
  ];
  test.each(faults)(
    '%s: the process ends, everybody is told, and all that was acknowledged is there',
    async (_n, fault) => {
      const ledger = new Ledger();
      const house = await lived({ snapshotEvery: 30 });
      house.disk.inject(fault);
      while (house.fatals.length === 0) {
        expect(house.sent.length, 'a snapshot must come').toBeLessThan(200);
        house.create(Kind.wallet, { handle: `w${house.sent.length}` });
        await turns(2);
      }
      const late = house.create(Kind.wallet, { handle: 'late' });
      await turns(3);
      expect(reasonOf(late)).toBe('api.unexpected-error');
      expect(house.sent.every(({ answers }) => answers === 1)).toBe(true);
      expect(house.fatals).toHaveLength(1);
      expect(house.fatals[0]).toMatchObject({ code: fault.code });
      ledger.remember(house);
      house.power.cut();
      house.disk.heal();
      const again = await restart(house.disk, ledger);
      const sent = again.create(Kind.wallet, { handle: 'after' });
      await again.takeSnapshot();
      await again.quiet();
      expect(isAcknowledged(sent)).toBe(true);
      checkReplay(again);
    },
  );
});
