/**
 * Whole lives of a journal on a disk that is torn again and again: acknowledged entries are there after
 * every crash, the one frame that was on its way is there whole or not at all, nothing else ever is.
 */
import { expect, test } from 'vitest';
import type { Entry } from '../../src/core/entry.ts';
import { Journal } from '../../src/storage/journal.ts';
import { often } from '../support/long.ts';
import { turn } from '../support/turns.ts';
import { type FakeDisk, randomFrom } from './fake-disk.ts';
import { DIRECTORY, entriesFrom, freshDisk, JOURNAL_OPTIONS, recover } from './kit.ts';

const SEEDS = often(50, 500);
const LIVES = 4;

const luids = (entries: readonly Entry[]) => entries.map((entry) => entry.luid);

/** Commits frames until chance lets the power go, during a sync or between two. */
async function live(disk: FakeDisk, random: () => number, next: () => Entry, acknowledged: Entry[]): Promise<Entry[]> {
  const { read, position } = recover(disk);
  acknowledged.splice(0, acknowledged.length, ...read);
  const journal = Journal.open(disk, DIRECTORY, position, { ...JOURNAL_OPTIONS, segmentBytesMax: 4000 });
  for (let moment = position.moment + 1; ; moment++) {
    const frame = Array.from({ length: 1 + Math.floor(random() * 12) }, next);
    for (const entry of frame) journal.add(entry);
    const dies = random() < 0.2;
    if (dies) disk.holdSyncs();
    let reported = false;
    const done = new Promise<void>((resolve, reject) =>
      journal.commit(moment, (error) => {
        reported = true;
        if (error === null) resolve();
        else reject(error);
      }),
    );
    if (dies) {
      // Mostly once all is written that is to be synced; else where a segment is just being closed, or made.
      if (random() < 0.7) await turn();
      if (random() < 0.3) disk.kill();
      else disk.crash();
      await turn();
      disk.releaseSyncs();
      expect(reported).toBe(false);
      return frame;
    }
    await done;
    acknowledged.push(...frame);
  }
}

test('power cuts at any moment, any subset of unsynced sectors kept, lost or noise', async () => {
  let kept = 0;
  let lost = 0;
  for (let seed = 1; seed <= SEEDS; seed++) {
    const disk = freshDisk(seed);
    const random = randomFrom(seed + 1000);
    const next = entriesFrom(seed);
    const acknowledged: Entry[] = [];
    for (let life = 0; life < LIVES; life++) {
      const unanswered = await live(disk, random, next, acknowledged);
      const { read } = recover(disk);
      const whole = read.length > acknowledged.length;
      expect(luids(read), `seed ${seed}`).toEqual(luids(whole ? [...acknowledged, ...unanswered] : acknowledged));
      if (whole) kept += 1;
      else lost += 1;
    }
  }
  // Both ends must have been tried, or the disk is not torn as it should be.
  expect(Math.min(kept, lost)).toBeGreaterThan(SEEDS / 10);
});

test('a crash while the torn tail is cut: cut again, or it was cut', async () => {
  for (let seed = 1; seed <= often(30, 300); seed++) {
    const disk = freshDisk(seed);
    const random = randomFrom(seed);
    const next = entriesFrom(seed);
    const acknowledged: Entry[] = [];
    const unanswered = await live(disk, random, next, acknowledged);
    disk.inject({ call: 'sync', code: 'EIO' });
    disk.inject({ call: 'syncDirectory', code: 'EIO' });
    try {
      recover(disk);
    } catch (error) {
      expect((error as Error).message).toContain('EIO');
    }
    disk.heal();
    disk.crash();
    const { read } = recover(disk);
    const whole = read.length > acknowledged.length;
    expect(luids(read), `seed ${seed}`).toEqual(luids(whole ? [...acknowledged, ...unanswered] : acknowledged));
  }
});
