/**
 * Copies on disks that lose their power, fail, or were changed meanwhile: half a copy is refused by every start, and one that
 * goes on is a beginning of the books.
 */
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { Copy } from '../../src/cli/follow/copy.ts';
import type { Disk } from '../../src/storage/disk.ts';
import { segmentName } from '../../src/storage/format.ts';
import type { JournalEnd } from '../../src/storage/journal.ts';
import { differencesOf } from '../../src/storage/state-digest.ts';
import { House, verifyHash } from '../engine/house.ts';
import { freshWorld, live, lived, SCRIPT, type Shape } from '../engine/life.ts';
import { Power, PowerCut } from '../engine/power.ts';
import { FakeDisk } from '../storage/fake-disk.ts';
import { afterRead, linked } from '../storage/kit.ts';
import { until } from '../support/kit.ts';
import { atPlaces } from '../support/long.ts';
import {
  booksIn,
  COPY,
  catchUp,
  filesOf,
  followOnce,
  forgetLock,
  leftHouse,
  moves,
  openTo,
  sourceOf,
  untold,
} from './copies.ts';

describe.each(['whole', 'pruned', 'left'] as const)('a copy of books whose journal is %s', (shape) => {
  test('that is cut off at any call of the disk is whole, or refused by every start, and made whole by going on', async () => {
    const house = await (shape === 'left' ? leftHouse() : lived(shape));
    const { url } = await openTo(house);
    const before = { seq: house.journal.position.seq, state: differencesOf(house.state, house.state) };
    expect(before.state).toEqual([]);
    const run = async (disk: Disk) => {
      const copy = new Copy(disk, COPY, verifyHash, untold);
      const source = sourceOf(url);
      await catchUp(copy, source).finally(() => source.close());
      return copy;
    };
    const whole = new Power(new FakeDisk(3));
    (await run(whole)).close();
    expect(differencesOf(booksIn(whole).state, house.state)).toEqual([]);
    const ends = { whole: 0, refused: 0, nothing: 0 };
    await atPlaces(1, whole.count, 5, async (cutAt) => {
      const disk = new FakeDisk(cutAt);
      const power = new Power(disk, cutAt);
      const ended = run(power).then((copy) => copy.close());
      // What comes over the network comes in more pieces or fewer: it may come to its end before.
      await Promise.race([ended, power.gone]).catch((error) => expect(error).toBeInstanceOf(PowerCut));
      const names = disk.exists(COPY) ? disk.readdir(COPY).filter((name) => !name.startsWith('lock')) : [];
      if (names.length === 0) ends.nothing++;
      else {
        try {
          const { end, state } = booksIn(disk);
          expect(end.seq, `half a copy is started on, cut at ${cutAt}`).toBe(before.seq);
          expect(differencesOf(state, house.state), `cut at ${cutAt}`).toEqual([]);
          ends.whole++;
        } catch (error) {
          expect((error as Error).name, (error as Error).stack).toBe('DamageError');
          ends.refused++;
        }
      }
      forgetLock(disk);
      (await run(disk)).close();
      expect(differencesOf(booksIn(disk).state, house.state), `cut at ${cutAt}`).toEqual([]);
    });
    expect(ends.nothing * ends.refused * ends.whole).toBeGreaterThan(0);
  });
});

describe('a copy that goes on', () => {
  test('that is cut off at any call of the disk is a beginning of the books', async () => {
    const house = await lived('pruned');
    const { url } = await openTo(house);
    const disk = new FakeDisk(5);
    const first = await followOnce(disk, url);
    const files = disk.readdir(COPY).map((name) => [join(COPY, name), disk.bytesOf(join(COPY, name))] as const);
    const { seq } = first.end!;
    for (let n = 0; n < 6; n++) await moves(house, `later-${n}`);
    await house.takeSnapshot();
    await moves(house, 'last');
    const same = (seed: number) => {
      const other = new FakeDisk(seed);
      other.mkdir(COPY);
      for (const [path, bytes] of files) other.put(path, bytes);
      return other;
    };
    const run = async (on: Disk) => {
      await followOnce(on, url);
    };
    const whole = new Power(same(1));
    await run(whole);
    expect(whole.readdir(COPY).filter((name) => name.startsWith('snapshot'))).toHaveLength(2);
    await atPlaces(1, whole.count, 7, async (cutAt) => {
      const torn = same(cutAt);
      const power = new Power(torn, cutAt);
      await Promise.race([run(power).catch(() => {}), power.gone]);
      expect(booksIn(torn).end.seq).toBeGreaterThanOrEqual(seq);
      forgetLock(torn);
      await run(torn);
      expect(differencesOf(booksIn(torn).state, house.state), `cut at ${cutAt}`).toEqual([]);
    });
  });

  test('counts what a killed one has left when it is on the device', async () => {
    for (let seed = 0; seed < 8; seed++) {
      const house = await lived('whole');
      const { url } = await openTo(house);
      const disk = new FakeDisk(seed);
      const power = new Power(disk);
      const killed = new Copy(power, COPY, verifyHash, untold);
      await catchUp(killed, sourceOf(url));
      for (let n = 0; n < 3; n++) await moves(house, `later-${n}`);
      disk.holdSyncs();
      const written = disk.calls.get('write') ?? 0;
      void catchUp(killed, sourceOf(url)).catch(() => {});
      await until(() => (disk.calls.get('write') ?? 0) > written);
      power.cut('kill');
      disk.releaseSyncs();
      forgetLock(disk);
      const copy = new Copy(disk, COPY, verifyHash, untold);
      const { seq } = copy.end!;
      disk.crash();
      expect(booksIn(disk).end.seq, `seed ${seed}`).toBeGreaterThanOrEqual(seq);
    }
  });

  test.each(['sync', 'syncDirectory'] as const)(
    'counts what one whose %s failed has left when it is on the device',
    async (call) => {
      for (let seed = 0; seed < 8; seed++) {
        const house = await lived('whole');
        const { url } = await openTo(house);
        const disk = new FakeDisk(seed);
        const failed = new Copy(disk, COPY, verifyHash, untold);
        await catchUp(failed, sourceOf(url));
        for (let n = 0; n < 8; n++) await moves(house, `later-${n}`);
        disk.inject({ call, path: call === 'sync' ? 'journal' : COPY, code: 'EIO' });
        await expect(catchUp(failed, sourceOf(url))).rejects.toThrow('EIO');
        failed.close();
        const copy = new Copy(disk, COPY, verifyHash, untold);
        const { seq } = copy.end!;
        disk.crash();
        expect(booksIn(disk).end.seq, `seed ${seed}`).toBeGreaterThanOrEqual(seq);
      }
    },
  );

  test('that was put there, and is not on the device yet, is there before it is spoken of', async () => {
    const house = await lived('pruned');
    const { url } = await openTo(house);
    const whole = new FakeDisk(1);
    await followOnce(whole, url);
    for (let seed = 1; seed <= 5; seed++) {
      const disk = new FakeDisk(seed);
      disk.mkdir(COPY);
      for (const name of filesOf(whole)) {
        const bytes = whole.bytesOf(join(COPY, name));
        const file = disk.open(join(COPY, name), 'create');
        file.write(bytes, 0, bytes.length, 0);
        file.close();
      }
      const copy = new Copy(disk, COPY, verifyHash, untold);
      const { seq } = copy.end!;
      disk.crash();
      expect(booksIn(disk).end.seq, `seed ${seed}`).toBe(seq);
    }
  });

  test('has nothing more of what was being written when the last one ended who followed', async () => {
    const house = await lived('whole');
    const { url } = await openTo(house);
    const disk = new FakeDisk(1);
    await followOnce(disk, url);
    const path = join(COPY, filesOf(disk).findLast((name) => name.startsWith('journal'))!);
    const bytes = disk.bytesOf(path);
    disk.put(path, Buffer.concat([bytes, Buffer.alloc(3000, 7)]));
    const copy = new Copy(disk, COPY, verifyHash, untold);
    expect(disk.bytesOf(path).equals(bytes)).toBe(true);
    expect(copy.end!.seq).toBe(house.journal.position.seq);
    copy.close();
  });

  test('that loses its power while several frames are on their way is a beginning of the books', async () => {
    const house = await House.open(new FakeDisk(1), { world: freshWorld() });
    await live(house, SCRIPT.slice(0, 3));
    const { url } = await openTo(house);
    const disks = Array.from({ length: 24 }, (_, seed) => new FakeDisk(seed));
    const copies = disks.map((disk) => {
      const power = new Power(disk);
      return { disk, power, copy: new Copy(power, COPY, verifyHash, untold), source: sourceOf(url) };
    });
    for (const { copy, source } of copies) await catchUp(copy, source);
    const { seq } = house.journal.position;
    for (let n = 0; n < 8; n++) await moves(house, `later-${n}`);
    for (const { disk, power, copy, source } of copies) {
      disk.holdSyncs();
      const written = disk.calls.get('write') ?? 0;
      void catchUp(copy, source).catch(() => {});
      await until(() => (disk.calls.get('write') ?? 0) > written);
      power.cut();
      expect(booksIn(disk).end.seq).toBeGreaterThanOrEqual(seq);
    }
  });

  test.each(['write', 'sync'] as const)('says of nothing that it has it where a %s failed', async (call) => {
    const house = await House.open(new FakeDisk(1), { world: freshWorld() });
    await live(house, SCRIPT.slice(0, 3));
    const { url } = await openTo(house);
    const disk = new FakeDisk(1);
    const copy = new Copy(disk, COPY, verifyHash, untold);
    await catchUp(copy, sourceOf(url));
    for (let n = 0; n < 4; n++) await moves(house, `later-${n}`);
    disk.inject({ call, path: 'journal', code: 'ENOSPC' });
    const { seq } = copy.end!;
    await expect(catchUp(copy, sourceOf(url))).rejects.toThrow('ENOSPC');
    expect(copy.end!.seq).toBe(seq);
  });
});

describe('the end of a copy', () => {
  async function copied(shape: Shape = 'whole') {
    const house = await lived(shape);
    await moves(house, 'last');
    const { url } = await openTo(house);
    const disk = new FakeDisk(1);
    return { house, url, disk, copy: await followOnce(disk, url) };
  }

  test('of whose last frame one byte has changed is put back, as by a start, and that is told', async () => {
    const { disk, copy } = await copied();
    const { file, byte } = copy.end as JournalEnd;
    const bytes = Buffer.alloc(1);
    const held = disk.open(join(COPY, file!), 'write');
    held.read(bytes, 0, 1, byte - 100);
    bytes[0]! ^= 4;
    held.write(bytes, 0, 1, byte - 100);
    held.close();
    const told: string[] = [];
    const again = new Copy(disk, COPY, verifyHash, (text) => told.push(text));
    expect(again.end).toMatchObject({ seq: copy.end!.seq, byte });
    expect(told).toEqual([
      expect.stringMatching(/^Byte \d+ of journal-.*, in the last frame, had changed\..* put back/),
    ]);
    again.close();
  });

  test('of whose last frame one byte has changed, with something behind it, is put back, and only that is cut', async () => {
    const { disk, copy } = await copied();
    const { file, byte } = copy.end as JournalEnd;
    const whole = disk.bytesOf(join(COPY, file!));
    const changed = Buffer.concat([whole, Buffer.alloc(30, 0xa5)]);
    changed[byte - 100]! ^= 4;
    disk.put(join(COPY, file!), changed);
    const told: string[] = [];
    const again = new Copy(disk, COPY, verifyHash, (text) => told.push(text));
    expect(again.end).toMatchObject({ seq: copy.end!.seq, byte });
    expect(told).toEqual([
      expect.stringMatching(/^Byte \d+ of/),
      expect.stringMatching(/^Cut a torn tail of 30 bytes/),
    ]);
    expect(disk.bytesOf(join(COPY, file!)).equals(whole)).toBe(true);
    again.close();
  });

  test('that is torn is cut, and that is told: it is fetched again, and may have been acknowledged', async () => {
    const { disk, copy } = await copied();
    const { file, byte } = copy.end as JournalEnd;
    const held = disk.open(join(COPY, file!), 'write');
    held.truncate(byte - 40);
    held.close();
    const told: string[] = [];
    const again = new Copy(disk, COPY, verifyHash, (text) => told.push(text));
    expect(again.end!.seq).toBeLessThan(copy.end!.seq);
    const what = 'it had not come whole, or was cut here since, and is fetched again';
    expect(told).toEqual([
      expect.stringMatching(`^Cut a torn tail of \\d+ bytes off ${file} at byte \\d+: ${what}\\.$`),
    ]);
    again.close();
  });

  test.each([
    ['its last segment', false],
    ['the one before its last, which is empty and removed,', true],
  ])('of which %s is another copy too, by a link, is written to apart from that', async (_, hasEmpty) => {
    const { house, url, disk, copy } = await copied();
    const { file, seq } = copy.end as JournalEnd;
    const empty = segmentName(seq + 1);
    if (hasEmpty) disk.put(join(COPY, empty), Buffer.alloc(0));
    const twin = linked(disk, COPY, '/twin');
    const before = twin();
    const told: string[] = [];
    const again = new Copy(disk, COPY, verifyHash, (text) => told.push(text));
    await moves(house, 'more');
    await catchUp(again, sourceOf(url));
    again.close();
    expect(twin()).toEqual(before);
    expect(differencesOf(booksIn(disk).state, house.state)).toEqual([]);
    const names = told.flatMap((text) => /^(\S+) was a file of other books too/.exec(text)?.[1] ?? []);
    expect(names).toEqual(hasEmpty ? [empty, file] : [file]);
  });

  test('that was begun by a server whose first write never ended is one with nothing in it', async () => {
    const { house, url } = await copied();
    for (const left of [0, 20, 3000]) {
      const disk = new FakeDisk(1);
      disk.mkdir(COPY);
      disk.put(join(COPY, segmentName(1)), Buffer.alloc(left));
      const copy = await followOnce(disk, url);
      copy.close();
      expect(differencesOf(booksIn(disk).state, house.state), `${left} bytes`).toEqual([]);
    }
  });

  test('that goes on elsewhere while it is read is one, and goes on from there', async () => {
    for (let nth = 1; nth <= 6; nth++) {
      const { house, url, disk, copy } = await copied('one');
      const { file } = copy.end as JournalEnd;
      const [path, twin] = [join(COPY, file!), join('/twin', file!)];
      const before = disk.bytesOf(path);
      await moves(house, 'more');
      await followOnce(disk, url);
      const after = disk.bytesOf(path);
      expect(after.length).toBeGreaterThan(before.length);
      disk.put(path, before);
      linked(disk, COPY, '/twin');
      const goesOn = () => disk.open(twin, 'write').write(after, 0, after.length, 0);
      const again = new Copy(afterRead(disk, path, nth, goesOn), COPY, verifyHash, untold);
      expect(booksIn(disk).end.seq, `read ${nth}`).toBe(again.end!.seq);
      await moves(house, 'later');
      await catchUp(again, sourceOf(url));
      again.close();
      expect(differencesOf(booksIn(disk).state, house.state), `read ${nth}`).toEqual([]);
    }
  });

  test('that is cut while it waits for more gets no hole', async () => {
    const { house, url, disk } = await copied();
    const copy = new Copy(disk, COPY, verifyHash, untold);
    const { file, byte } = copy.end as JournalEnd;
    const source = sourceOf(url);
    const cuts = sourceOf(url);
    cuts.fetch = async (name, question) => {
      const fetched = await source.fetch(name, question);
      const held = disk.open(join(COPY, file!), 'write');
      held.truncate(byte - 200);
      held.close();
      return fetched;
    };
    await moves(house, 'more');
    await expect(copy.goOn(cuts, false)).rejects.toThrow('was replaced, cut or taken away');
    expect(disk.open(join(COPY, file!), 'read').size()).toBe(byte - 200);
    copy.close();
  });
});
