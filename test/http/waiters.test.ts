/** Who waits is told once: by what concerns it, by time, or by the end; and is forgotten then, or when it goes away. */
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { type Entry, EntryType } from '../../src/core/entry.ts';
import { Kind } from '../../src/core/kinds.ts';
import { Waiters } from '../../src/http/waiters.ts';

const LUID = '$int.00000000000000000';

function step(luid: string, status: 'prepared' | 'completed'): Entry {
  const outcome = { moment: 1, steps: [status], reason: '', detail: '', postings: [], limits: [] };
  return { type: EntryType.step, ledger: 1, kind: Kind.intent, luid, handle: 'i', moment: 1, row: 1, outcome };
}

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** One of each sort, and how often they were told. */
function two(waiters: Waiters) {
  const told = { intent: 0, log: 0 };
  const giveUp = [
    waiters.watch(LUID, 1000, () => told.intent++),
    waiters.watchLog(
      1000,
      (entries) => entries.length > 1,
      () => told.log++,
    ),
  ];
  return { told, giveUp };
}

describe('who waits', () => {
  test('is told once by what concerns it', () => {
    const waiters = new Waiters();
    const { told } = two(waiters);
    waiters.publish([step(LUID, 'prepared')], 1);
    waiters.publish([step('$int.11111111111111111', 'completed')], 2);
    expect(told).toEqual({ intent: 0, log: 0 });
    waiters.publish([step(LUID, 'completed'), step(LUID, 'completed')], 4);
    waiters.publish([step(LUID, 'completed'), step(LUID, 'completed')], 6);
    vi.advanceTimersByTime(2000);
    expect([told, waiters.size]).toEqual([{ intent: 1, log: 1 }, 0]);
  });

  test('in vain is told in time', () => {
    const waiters = new Waiters();
    const { told } = two(waiters);
    vi.advanceTimersByTime(999);
    expect([told, waiters.size]).toEqual([{ intent: 0, log: 0 }, 2]);
    vi.advanceTimersByTime(1);
    expect([told, waiters.size]).toEqual([{ intent: 1, log: 1 }, 0]);
  });

  test('and goes away is forgotten, with its timer', () => {
    const waiters = new Waiters();
    const { told, giveUp } = two(waiters);
    for (const leave of giveUp) leave();
    expect([waiters.size, vi.getTimerCount()]).toEqual([0, 0]);
    waiters.publish([step(LUID, 'completed'), step(LUID, 'completed')], 2);
    expect(told).toEqual({ intent: 0, log: 0 });
  });

  test('is told at the end, and whoever comes later at once', () => {
    const waiters = new Waiters();
    const { told } = two(waiters);
    waiters.end();
    expect([told, waiters.size, vi.getTimerCount()]).toEqual([{ intent: 1, log: 1 }, 0, 0]);
    expect(two(waiters).told).toEqual({ intent: 1, log: 1 });
  });

  test('for the log is asked about every batch, also while others leave', () => {
    const waiters = new Waiters();
    const seen: number[] = [];
    for (const own of [2, 3]) {
      waiters.watchLog(
        1000,
        (_, seq) => seq >= own,
        () => seen.push(own),
      );
    }
    for (const seq of [1, 2, 3]) waiters.publish([step(LUID, 'prepared')], seq);
    expect([seen, waiters.size]).toEqual([[2, 3], 0]);
  });
});
