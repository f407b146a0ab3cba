/**
 * Two servers on one directory that cannot see each other, the second coming at every moment of the first's life: while
 * it clears, writes, syncs, takes a snapshot, removes what is superfluous. Each keeps what it promised, and the books are
 * whole. Only asynchronous moments: that a process stands still between its look at the lock and the write after it, or
 * the device with that write, while another starts and writes, nothing on the disk could keep apart.
 */
import { expect, test } from 'vitest';
import { readJournal } from '../../src/storage/journal-reader.ts';
import { LockLostError } from '../../src/storage/lock.ts';
import { journalStart } from '../../src/storage/segments.ts';
import { FakeDisk } from '../storage/fake-disk.ts';
import { atPlaces } from '../support/long.ts';
import { turns } from '../support/turns.ts';
import { DIRECTORY, House, recoverFrom } from './house.ts';
import { chance, freshWorld, Ledger, live, SCRIPT } from './life.ts';

const MOMENTS = 160;
const PIDS = [10, 11] as const;
const OPTIONS = { segmentBytesMax: 1500, reserveBytes: 700, snapshotEvery: 6 };

/** Each call that takes a while ends in a turn of its own. */
function slowDisk(seed: number): FakeDisk {
  const disk = new FakeDisk(seed, (run) => setImmediate(run));
  disk.put('/proc/sys/kernel/random/boot_id', Buffer.from('boot\n'));
  for (const pid of PIDS) see(disk, pid);
  return disk;
}

function see(disk: FakeDisk, pid: number): void {
  disk.put(`/proc/${pid}/stat`, Buffer.from(`${pid} (node) S 1 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 5 1000 10\n`));
}

test('a second server takes the directory unseen, at any moment: both keep what they promised, and the books are whole', async () => {
  let ends = 0;
  await atPlaces(1, MOMENTS, 12, async (moment) => {
    const disk = slowDisk(moment);
    const world = freshWorld();
    const ledger = new Ledger();
    const first = await House.open(disk, { ...OPTIONS, world, pid: PIDS[0] });
    const steps = [...SCRIPT, ...Array.from({ length: 30 }, (_, n) => chance(moment * 100 + n))];
    // Some have nothing to do just then.
    const lived = live(first, steps.slice(0, moment % 5 === 0 ? moment / 10 : 46), moment % 2 === 0);
    await turns(moment);
    disk.put(`/proc/${PIDS[0]}/stat`, null);
    const second = await House.open(disk, { ...OPTIONS, world, pid: PIDS[1] });
    await Promise.all([lived, live(second, [...SCRIPT.slice(0, 8), chance(moment)])]);
    if (moment % 10 !== 0) await live(first, [chance(moment), chance(-moment)]);
    expect(second.fatals).toEqual([]);
    // One that has nothing to write any more may give room back as it stops.
    const isOver = first.fatals.length > 0;
    const ended = isOver ? first.fatals : [await first.stop().catch((error: Error) => error)];
    for (const error of ended) if (isOver || error !== undefined) expect(error).toBeInstanceOf(LockLostError);
    ends += first.fatals.length;
    ledger.remember(first);
    ledger.remember(second);
    await second.stop();
    const { state, end } = recoverFrom(disk);
    ledger.check(state);
    const whole = { verifyFrame: () => true, onEntry() {} };
    expect(readJournal(disk, DIRECTORY, journalStart(disk, DIRECTORY), whole).position.seq).toBe(end.seq);
  });
  expect(ends).toBeGreaterThan(0);
});
