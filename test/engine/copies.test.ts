/**
 * What is spoken of is in as many copies as it has to be: nobody hears of it before, by an answer, a read, an event or a
 * call outward; whoever waits is told once, whatever comes to an end first.
 */
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { Kind } from '../../src/core/kinds.ts';
import { CUT_OFF } from '../../src/engine.ts';
import { SEGMENT_HEADER_BYTES, segmentName } from '../../src/storage/format.ts';
import { snapshotName } from '../../src/storage/snapshot-format.ts';
import { differencesOf } from '../../src/storage/state-digest.ts';
import { issue } from '../core/books.ts';
import { FakeDisk } from '../storage/fake-disk.ts';
import { turns } from '../support/turns.ts';
import { DIRECTORY, House, isAcknowledged, reasonOf, recoverFrom } from './house.ts';

/** A house whose copies have what it wrote when they are told to. */
async function open() {
  const copies = { isCutOff: false, isAway: false, whenThere };
  const waiting: (() => void)[] = [];
  function whenThere(done: () => void): void {
    if (copies.isAway) waiting.push(done);
    else done();
  }
  const published: number[] = [];
  const house = await House.open(new FakeDisk(), { copies, publish: (_, seq) => published.push(seq) });
  house.create(Kind.symbol, { handle: 'usd', factor: 100 });
  house.create(Kind.wallet, { handle: 'a' });
  await house.quiet();
  copies.isAway = true;
  const before = published.length;
  const sent = house.intent('funds', issue('a', 1000));
  await turns(9);
  const come = () => {
    for (const done of waiting.splice(0)) done();
  };
  return { house, copies, come, sent, heard: () => published.length - before, waiting };
}

describe('while copies do not have what the disk has', () => {
  test('nothing is answered, read, told, or called; then all of it is, in the order it came', async () => {
    const { house, copies, come, sent, heard, waiting } = await open();
    expect([waiting.length, sent.answers, heard()]).toEqual([1, 0, 0]);
    const told: unknown[] = [];
    house.engine.whenDurable((failure) => told.push(failure));
    house.engine.whenSettled(() => told.push('called'));
    const second = house.create(Kind.wallet, { handle: 'b' });
    await turns(9);
    expect([waiting.length, told, second.answers, house.engine.owesAnswers]).toEqual([1, [], 0, true]);
    come();
    expect([isAcknowledged(sent), told, heard()]).toEqual([true, [null, 'called'], 1]);
    await turns(9);
    expect([waiting.length, second.answers]).toEqual([1, 0]);
    copies.isAway = false;
    come();
    await house.quiet();
    expect([isAcknowledged(second), sent.answers, second.answers, heard()]).toEqual([true, 1, 1, 2]);
    expect(house.engine.owesAnswers).toBe(false);
  });

  test('who comes once that shows is told so, who read before waits on', async () => {
    const { house, copies, come, sent } = await open();
    const early: unknown[] = [];
    const late: unknown[] = [];
    house.engine.whenDurable((failure) => early.push(failure));
    copies.isCutOff = true;
    house.engine.whenDurable((failure) => late.push(failure));
    expect([house.engine.overload(), early, late]).toEqual([CUT_OFF, [], [CUT_OFF]]);
    copies.isCutOff = false;
    come();
    expect([isAcknowledged(sent), early, house.engine.overload()]).toEqual([true, [null], null]);
  });

  test('an end of the engine tells whoever waits, and copies that come then make nothing of it', async () => {
    const { house, come, sent, heard } = await open();
    const told: unknown[] = [];
    house.engine.whenDurable((failure) => told.push(failure));
    house.engine.whenSettled(() => told.push('called'));
    house.engine.fail(new Error('stopped'));
    expect([reasonOf(sent), told.length]).toEqual(['api.unexpected-error', 1]);
    come();
    await turns(9);
    expect([sent.answers, told.length, heard(), house.fatals.length]).toEqual([1, 1, 0, 1]);
  });

  test('what nobody waits for is owed to nobody', async () => {
    const { house, come } = await open();
    come();
    house.engine.tick();
    await turns(3);
    expect(house.engine.owesAnswers).toBe(false);
  });

  // No copy can be begun of a journal that has changed on the disk: where both waited for a copy, nothing led out of it.
  test('a journal that the disk has changed is left, and the snapshot behind it taken, while answers wait on', async () => {
    const { house, copies, come, sent } = await open();
    const { file } = house.journal.end!;
    house.disk.flip(join(DIRECTORY, file), 100);
    await house.kept.scrub!.round();
    await turns(99);
    const { seq } = house.journal.position;
    expect([house.kept.newest, house.journal.end]).toEqual([
      snapshotName(seq),
      { file: segmentName(seq + 1), byte: SEGMENT_HEADER_BYTES },
    ]);
    expect([sent.answers, house.engine.isWriting]).toEqual([0, false]);
    copies.isAway = false;
    come();
    const next = house.create(Kind.wallet, { handle: 'b' });
    await house.quiet();
    expect([isAcknowledged(sent), isAcknowledged(next)]).toEqual([true, true]);
    house.disk.crash();
    expect(differencesOf(recoverFrom(house.disk).state, house.state)).toEqual([]);
  });

  test('nothing is written while the next segment is begun, though copies have come meanwhile', async () => {
    const { house, copies, come, sent } = await open();
    house.disk.holdSyncs();
    house.engine.beginSegment(() => {});
    await turns(9);
    const next = house.create(Kind.wallet, { handle: 'b' });
    copies.isAway = false;
    come();
    await turns(9);
    expect([isAcknowledged(sent), next.answers, house.engine.isWriting]).toEqual([true, 0, true]);
    house.disk.releaseSyncs();
    await house.quiet();
    expect([isAcknowledged(next), house.fatals]).toEqual([true, []]);
    house.disk.crash();
    expect(differencesOf(recoverFrom(house.disk).state, house.state)).toEqual([]);
  });

  test('a snapshot that is asked for is taken at once, or once the frame is written that is on its way', async () => {
    const { house, come, sent } = await open();
    house.engine.requestSnapshot();
    await turns(99);
    expect([house.kept.newest, sent.answers]).toEqual([snapshotName(house.journal.position.seq), 0]);
    const next = house.create(Kind.wallet, { handle: 'b' });
    house.disk.holdSyncs();
    come();
    await turns(9);
    house.engine.requestSnapshot();
    house.disk.releaseSyncs();
    await turns(99);
    expect([house.kept.newest, next.answers]).toEqual([snapshotName(house.journal.position.seq), 0]);
    come();
    await house.quiet();
    expect([isAcknowledged(sent), isAcknowledged(next), house.snapshots]).toEqual([true, true, 2]);
  });

  test('a snapshot that is being written shows, so that nobody lets the directory go meanwhile', async () => {
    const { house, copies, come } = await open();
    copies.isAway = false;
    come();
    await house.quiet();
    house.engine.requestSnapshot();
    expect([house.engine.isWriting, house.engine.owesAnswers]).toEqual([true, false]);
    await house.quiet();
    expect(house.engine.isWriting).toBe(false);
  });
});
