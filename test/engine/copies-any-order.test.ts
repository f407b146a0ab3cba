/**
 * Writes, snapshots, segments that are begun, a disk that is slow or changes what it has, and copies that go and come back, in
 * any order: nobody hears of what too few copies have, everybody hears once, and what is left on the disk is all of it.
 */
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { Kind } from '../../src/core/kinds.ts';
import { SEGMENT_HEADER_BYTES } from '../../src/storage/format.ts';
import { differencesOf } from '../../src/storage/state-digest.ts';
import { FakeDisk, randomFrom } from '../storage/fake-disk.ts';
import { turns } from '../support/turns.ts';
import { DIRECTORY, House, isAcknowledged, recoverFrom } from './house.ts';

/** A house whose copies have all there is, but while they are away; what is told before they have it is put down. */
async function open(seed: number, roll: (sides: number) => number) {
  const disk = new FakeDisk(seed);
  const waiting: (() => void)[] = [];
  const early: string[] = [];
  // Nobody is there to hear before it is open.
  let [house, has] = [null as House | null, Number.POSITIVE_INFINITY];
  const copies = { isCutOff: false, isAway: false, whenThere };
  function whenThere(done: () => void): void {
    waiting.push(done);
    if (!copies.isAway) come();
  }
  function come(): void {
    has = house?.journal.position.seq ?? has;
    for (const done of waiting.splice(0)) done();
  }
  const heard = (what: string, seq: number) =>
    void (seq > has && early.push(`${what}: ${seq}, and copies have ${has}`));
  const snapshotEvery = 1 + roll(6);
  const segmentBytesMax = roll(2) === 0 ? 4000 : 1 << 20;
  const publish = (_: unknown, seq: number) => heard('published', seq);
  house = await House.open(disk, { copies, snapshotEvery, segmentBytesMax, publish });
  await house.quiet();
  has = house.journal.position.seq;
  return { disk, house, copies, come, early, heard };
}

test.each(['all goes well', 'calls of the disk fail'])(
  '%s: nothing is told too early, twice or not at all, or lost',
  async (how) => {
    const seen = { begun: 0, snapshots: 0, failures: 0 };
    for (let seed = 1; seed <= 80; seed++) {
      const random = randomFrom(seed);
      const roll = (sides: number) => Math.floor(random() * sides);
      const { disk, house, copies, come, early, heard } = await open(seed, roll);
      const { engine, journal, state } = house;
      const acts = [
        (step: number) => void house.create(Kind.wallet, { handle: `w${step}` }),
        () => engine.requestSnapshot(),
        () => engine.beginSegment((error) => void (error === null && seen.begun++)),
        () => {
          copies.isAway = roll(2) === 0;
        },
        () => copies.isAway || come(),
        () => disk.holdSyncs(),
        () => disk.releaseSyncs(),
        () => {
          const seq = state.log.length;
          engine.whenDurable((failure) => void (failure === null && heard('read', seq)));
          engine.whenSettled(() => heard('called', state.log.length));
        },
        () => {
          const { file, byte } = journal.end!;
          if (how !== 'all goes well')
            disk.inject({
              call: roll(2) === 0 ? 'write' : 'sync',
              skip: roll(3),
              code: roll(2) === 0 ? 'EIO' : 'ENOSPC',
            });
          else if (byte > SEGMENT_HEADER_BYTES) {
            disk.flip(join(DIRECTORY, file), SEGMENT_HEADER_BYTES + roll(byte - SEGMENT_HEADER_BYTES));
            void house.kept.scrub!.round();
          }
        },
      ];
      for (let step = 0; step < 40; step++) {
        // As many writes as all else.
        acts[Math.max(0, roll(14) - 5)]!(step);
        await turns(roll(6));
      }
      disk.releaseSyncs();
      copies.isAway = false;
      come();
      await engine.drained();
      if (how === 'all goes well') await house.kept.scrub!.round();
      await house.quiet();
      const unheard = house.sent.filter(({ answers }) => answers !== 1);
      expect([early, house.defects, unheard], `${seed}`).toEqual([[], [], []]);
      if (house.fatals.length === 0) expect(engine.isWriting, `${seed}`).toBe(false);
      seen.snapshots += house.snapshots;
      seen.failures += house.fatals.length;
      disk.heal();
      disk.crash();
      const left = recoverFrom(disk);
      if (house.fatals.length === 0) expect(differencesOf(left.state, state), `${seed}`).toEqual([]);
      else expect(left.end.seq, `${seed}`).toBeGreaterThanOrEqual(house.sent.filter(isAcknowledged).length);
    }
    expect([seen.begun > 0, seen.snapshots > 0, seen.failures > 0]).toEqual([true, true, how !== 'all goes well']);
  },
);
