/**
 * A disk that takes a write and says no more: nobody was told, and who came waited with all the others. After some seconds
 * it is told once, who comes is told so, and who came before is answered when the disk is back.
 */
import { describe, expect, test } from 'vitest';
import { Kind } from '../../src/core/kinds.ts';
import { CUT_OFF } from '../../src/engine.ts';
import { FakeDisk } from '../storage/fake-disk.ts';
import { turns } from '../support/turns.ts';
import { House, isAcknowledged, reasonOf } from './house.ts';

/** A house whose disk does not answer while a wallet is on its way, and a stopwatch that goes on by hand. */
async function open(seed: number) {
  // A stopwatch begins anywhere.
  const watch = { ms: 77_000 };
  const house = await House.open(new FakeDisk(seed), { stopwatch: () => watch.ms });
  house.disk.holdSyncs();
  const sent = house.create(Kind.wallet, { handle: 'a' });
  await turns(5);
  const { diskWait } = house.engine;
  const pass = (seconds: number) => {
    for (let n = 0; n < seconds; n++) {
      watch.ms += 1000;
      diskWait.look();
    }
  };
  const back = async () => {
    house.disk.releaseSyncs();
    await turns(9);
  };
  return { house, sent, watch, pass, back, diskWait };
}

/** By way of the page cache, and past it. */
describe.each([1, 2])('a disk that does not answer, %d', (seed) => {
  test('is told once, and again when it is back, with how long it took: nothing was said at all', async () => {
    const { house, pass, back } = await open(seed);
    pass(3);
    expect(house.told).toEqual([]);
    pass(44);
    expect(house.told).toEqual([
      'The disk has not answered for 4 s: answers wait. Until it does nothing else is taken in.',
    ]);
    await back();
    expect(house.told.slice(1)).toEqual(['The disk answers again, after 47 s: answers go on.']);
    pass(10);
    expect(house.told).toHaveLength(2);
  });

  test('turns away who comes, and answers who came before once it is back: all of them waited', async () => {
    const { house, sent, pass, back } = await open(seed);
    const [early, late, after]: [unknown[], unknown[], unknown[]] = [[], [], []];
    house.engine.whenDurable((failure) => early.push(failure));
    const second = house.create(Kind.wallet, { handle: 'b' });
    pass(3);
    expect([house.engine.overload(), house.engine.isCutOff]).toEqual([null, false]);
    pass(1);
    house.engine.whenDurable((failure) => late.push(failure));
    expect([house.engine.overload(), house.engine.isCutOff, early, late]).toEqual([CUT_OFF, true, [], [CUT_OFF]]);
    expect([sent.answers, second.answers]).toEqual([0, 0]);
    const syncs = house.disk.calls.get('sync');
    await back();
    expect([house.engine.overload(), house.engine.isCutOff, early]).toEqual([null, false, [null]]);
    expect([isAcknowledged(sent), isAcknowledged(second), sent.answers, second.answers]).toEqual([true, true, 1, 1]);
    // One of each frame.
    expect(house.disk.calls.get('sync')! - (syncs ?? 0)).toBe(2);
    house.engine.whenDurable((failure) => after.push(failure));
    expect(after).toEqual([null]);
  });

  test('and fails in the end is told as one that failed, not as one that is back', async () => {
    const { house, sent, pass, back } = await open(seed);
    pass(5);
    house.disk.inject({ call: 'sync', code: 'EIO' });
    await back();
    expect([reasonOf(sent), sent.answers, house.fatals.length]).toEqual(['api.unexpected-error', 1, 1]);
    expect(house.told).toHaveLength(1);
    expect(house.engine.isCutOff).toBe(false);
  });

  test('is counted as long as it is waited for', async () => {
    const { pass, back, diskWait } = await open(seed);
    pass(2);
    expect(diskWait.seconds).toBe(2);
    await back();
    expect(diskWait.seconds).toBe(0);
  });
});

describe('what is no disk that does not answer', () => {
  test('one that is slow, frame after frame', async () => {
    const { house, pass } = await open(1);
    for (let n = 0; n < 5; n++) {
      pass(2);
      house.disk.releaseSyncs();
      house.disk.holdSyncs();
      house.create(Kind.wallet, { handle: `w${n}` });
      await turns(9);
    }
    expect([house.told, house.engine.isCutOff]).toEqual([[], false]);
  });

  test('a process that stood still, whose disk has answered long since', async () => {
    const { house, sent, watch, pass, back } = await open(1);
    pass(1);
    // Timers come first when it goes on.
    watch.ms += 600_000;
    pass(1);
    await back();
    expect([isAcknowledged(sent), house.told]).toEqual([true, []]);
  });
});
