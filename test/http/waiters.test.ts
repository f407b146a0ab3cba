/** Who waits is told once: by what concerns it, by time, or by the end; and is forgotten then, or when it goes away. */
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { type Entry, EntryType } from '../../src/core/entry.ts';
import { Kind } from '../../src/core/kinds.ts';
import { type Concern, Waiters } from '../../src/http/waiters.ts';
import { heldBytes } from '../support/collect.ts';

const LUID = '$int.00000000000000000';
const LEDGER = '$ldg.00000000000000000';

function step(luid: string, status: 'prepared' | 'completed'): Entry {
  const outcome = { moment: 1, steps: [status], reason: '', detail: '', postings: [], limits: [] };
  return { type: EntryType.step, ledger: 1, kind: Kind.intent, luid, handle: 'i', moment: 1, row: 1, outcome };
}

function made(kind: Kind, luid: string): Entry {
  const signed = { hash: new Uint8Array(32), data: '{}', proofs: [], seal: new Uint8Array(64) };
  const ledger = kind === Kind.ledger ? 0 : 1;
  return { type: EntryType.create, ledger, kind, luid, handle: 'w', moment: 1, ...signed };
}

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** One of each sort, and how often they were told. */
function two(waiters: Waiters) {
  const told = { intent: 0, log: 0 };
  const giveUp = [
    waiters.watch(LUID, 1000, () => told.intent++),
    waiters.watchLog(1000, { ledger: 1, luid: LEDGER, signal: 'intent-updated', seq: 2 }, () => told.log++),
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

  test('and goes away once it was told takes no other along', () => {
    const waiters = new Waiters();
    const { giveUp } = two(waiters);
    waiters.publish([step(LUID, 'completed')], 3);
    // The answer is on its way to nobody: it had to be signed first.
    for (const leave of giveUp) leave();
    expect(waiters.size).toBe(0);
    const { told } = two(waiters);
    for (const leave of giveUp) leave();
    waiters.publish([step(LUID, 'completed')], 4);
    expect([told, waiters.size]).toEqual([{ intent: 1, log: 1 }, 0]);
  });

  test('leaves nothing behind', () => {
    vi.useRealTimers();
    const waiters = new Waiters();
    const begin = (n: number) => {
      const concern = { ledger: n, luid: `$ldg.${n}`, signal: '', seq: 0 };
      return [waiters.watch(`$int.${n}`, 1000, () => {}), waiters.watchLog(1000, concern, () => {})];
    };
    const takenBy = (count: number): number => {
      const before = heldBytes();
      for (let n = 0; n < count; n++) for (const leave of begin(n)) leave();
      return heldBytes() - before;
    };
    takenBy(100);
    expect(takenBy(30_000)).toBeLessThan(2_000_000);
  });

  test('for the same is told, whoever else does, and whoever of them goes away', () => {
    const waiters = new Waiters();
    const all = [two(waiters), two(waiters), two(waiters)];
    expect(waiters.size).toBe(6);
    for (const leave of all[1]!.giveUp) leave();
    waiters.publish([step(LUID, 'completed')], 3);
    expect(all.map(({ told }) => told)).toEqual([1, 0, 1].map((times) => ({ intent: times, log: times })));
    expect([waiters.size, vi.getTimerCount()]).toEqual([0, 0]);
  });

  test('is told at the end, and whoever comes later at once', () => {
    const waiters = new Waiters();
    const { told } = two(waiters);
    waiters.end();
    expect([told, waiters.size, vi.getTimerCount()]).toEqual([{ intent: 1, log: 1 }, 0, 0]);
    expect(two(waiters).told).toEqual({ intent: 1, log: 1 });
  });

  test('for the log is told where the first entry is that concerns it, also while others leave', () => {
    const waiters = new Waiters();
    const seen: [string, number][] = [];
    const wait = (name: string, concern: Partial<Concern>) => {
      const whole = { ledger: 1, luid: LEDGER, signal: 'wallet-created', seq: 0, ...concern };
      waiters.watchLog(1000, whole, (passed) => seen.push([name, passed]));
    };
    wait('all', { signal: '' });
    wait('later', { seq: 3 });
    wait('elsewhere', { ledger: 2 });
    // What stands there is in the books, and not on the disk yet.
    wait('ahead', { ledger: 2, seq: 9 });
    wait('own', { luid: '$ldg.11111111111111111', signal: 'ledger-created' });
    for (const name of ['one', 'other']) wait(name, {});
    waiters.publish([step(LUID, 'prepared'), made(Kind.wallet, '$wlt.0'), made(Kind.wallet, '$wlt.1')], 3);
    expect(seen).toEqual([
      ['all', 0],
      ['one', 1],
      ['other', 1],
    ]);
    waiters.publish([made(Kind.wallet, '$wlt.2')], 4);
    waiters.publish([made(Kind.ledger, LEDGER), made(Kind.ledger, '$ldg.11111111111111111')], 6);
    expect(seen.slice(3)).toEqual([
      ['later', 3],
      ['own', 5],
    ]);
    vi.advanceTimersByTime(1000);
    expect([seen.slice(5), waiters.size]).toEqual([
      [
        ['elsewhere', 6],
        ['ahead', 9],
      ],
      0,
    ]);
  });

  test('for something else is not looked at, however many they are', () => {
    const waiters = new Waiters();
    let looks = 0;
    for (let n = 0; n < 1000; n++) {
      const seq = 0;
      const concern = { ledger: 1, luid: LEDGER, signal: 'wallet-limited', seq };
      waiters.watchLog(1000, concern, () => {});
    }
    const entry = made(Kind.wallet, '$wlt.0');
    const watched = new Proxy(entry, {
      get(target, name, receiver) {
        looks++;
        return Reflect.get(target, name, receiver);
      },
    });
    waiters.publish([watched], 1);
    expect(looks).toBeLessThan(10);
  });
});
