/** Which ledgers are due, against a look at each of them. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { DueLedgers, Queue } from '../../src/core/due-ledgers.ts';
import { often } from '../support/long.ts';

const LEDGERS = 6;

/** Intents that wait in a ledger, the first first, and for how long they may. */
interface Waits {
  minutes: number;
  readonly intents: { row: number; moment: number }[];
}

test('they are those in which the first that waits is over, and none of these came before the row that is told', () => {
  const what = fc.constantFrom('come', 'come', 'come', 'go', 'setting', 'pass', 'pass', 'look', 'look', 'half a look');
  const steps = fc.array(fc.tuple(what, fc.nat(LEDGERS - 1), fc.nat(5)), { maxLength: 80, size: 'max' });
  fc.assert(
    fc.property(steps, (all) => {
      const due = new DueLedgers();
      const ledgers: Waits[] = Array.from({ length: LEDGERS }, () => ({ minutes: 3, intents: [] }));
      let now = 0;
      const firstOf = (ledger: number) => {
        const { minutes, intents } = ledgers[ledger]!;
        const [first] = intents;
        return first === undefined || minutes === 5 ? null : { row: first.row, end: first.moment + minutes };
      };
      const isDue = (ledger: number) => (firstOf(ledger)?.end ?? now) < now;
      for (const [row, [step, ledger, number]] of [...all, ['look', 0, 0] as const].entries()) {
        const { intents } = ledgers[ledger]!;
        if (step === 'come') {
          if (intents.length === 0) due.ask(ledger);
          intents.push({ row, moment: now });
        } else if (step === 'go') intents.splice(number, 1);
        else if (step === 'setting') {
          ledgers[ledger]!.minutes = number;
          due.ask(ledger);
        } else if (step === 'pass') now += number;
        else {
          due.look(now, firstOf);
          const found: number[] = [];
          // Whoever has no room for all takes only some: the others are there the next time.
          while (due.leastRow < Number.POSITIVE_INFINITY && (step === 'look' || found.length < 2)) {
            const { leastRow } = due;
            const taken = due.take();
            if (!isDue(taken)) continue;
            expect(firstOf(taken)!.row).toBeGreaterThanOrEqual(leastRow);
            found.push(taken);
          }
          const there = ledgers.flatMap((_, n) => (isDue(n) ? [n] : []));
          if (step === 'look') expect(found.sort()).toEqual(there);
          else expect(found.length).toBe(Math.min(2, there.length));
        }
      }
    }),
    { numRuns: often(200, 5000) },
  );
});

test('a queue gives the least first, whatever was put in', () => {
  fc.assert(
    fc.property(fc.array(fc.option(fc.nat(50)), { maxLength: 200, size: 'max' }), (all) => {
      const queue = new Queue();
      let there: number[] = [];
      for (const number of all) {
        if (number !== null) {
          queue.push(number, -number);
          there = [...there, number].sort((one, other) => one - other);
        } else if (there.length > 0) {
          expect([queue.least, queue.first, queue.take()]).toEqual([there[0], -there[0]!, -there[0]!]);
          there.shift();
        }
        expect([queue.size, queue.least]).toEqual([there.length, there[0] ?? Number.POSITIVE_INFINITY]);
      }
    }),
    { numRuns: often(50, 1000) },
  );
});

test('a ledger is looked at when it is asked about, and again once the first that waits there is over: not with every look', () => {
  const due = new DueLedgers();
  const looks: number[] = [];
  const firstOf = (ledger: number) => {
    looks.push(ledger);
    return ledger === 0 ? null : { row: ledger, end: 10 };
  };
  for (const ledger of [0, 1]) due.ask(ledger);
  for (const now of [1, 5, 10]) due.look(now, firstOf);
  expect([looks, due.leastRow]).toEqual([[0, 1], Number.POSITIVE_INFINITY]);
  due.look(11, firstOf);
  expect([looks, due.leastRow]).toEqual([[0, 1, 1], 1]);
});
