/**
 * Marks of positions among events: each entry has another one than what stands in its place in books that went another way,
 * however long the entry is, and however many tokens are behind it.
 */
import { createHash } from 'node:crypto';
import { expect, test } from 'vitest';
import { type Entry, EntryType, type Outcome } from '../../src/core/entry.ts';
import { Kind } from '../../src/core/kinds.ts';
import type { State } from '../../src/core/state.ts';
import { findMark } from '../../src/events.ts';
import { encode } from '../../src/storage/codec.ts';
import { FrameBuffer } from '../../src/storage/frame-buffer.ts';
import { Books } from '../core/books.ts';

const MOMENT = Date.UTC(2030, 0, 2);
const bytesOf = (size: number, seed: string) => {
  const hash = createHash('sha512').update(seed).digest();
  return new Uint8Array(hash.subarray(0, size));
};
const proofOf = (seed: string) => ({ public: bytesOf(32, `key ${seed}`), result: bytesOf(64, seed), custom: null });
const outcome: Outcome = { moment: MOMENT, steps: ['prepared'], reason: '', detail: '', postings: [], limits: [] };
/** As much as there may be before what tells two of them apart, and far more behind it. */
const base = {
  ledger: 2 ** 31,
  kind: Kind.wallet,
  luid: '$wlt.0-aaaaaaaaaaaaaaa',
  handle: 'h'.repeat(256),
  moment: MOMENT,
};
const signed = { hash: bytesOf(32, 'one'), data: `"${'x'.repeat(100_000)}"`, proofs: [proofOf('a')] };
const row = 2 ** 31;

function markOf(entry: Entry): { mark: string; passed: number } {
  const buffer = new FrameBuffer();
  encode(entry, buffer);
  const bytes = buffer.bytes.subarray(0, buffer.end);
  let passed = 0;
  const heap = {
    bytes: () => ({
      subarray(from: number, to: number) {
        passed += Math.min(to, bytes.length) - from;
        return bytes.subarray(from, to);
      },
    }),
  };
  const { value } = findMark({ log: { get: () => 1 }, heap } as unknown as State, 1).next();
  return { mark: value as string, passed };
}

const seal = bytesOf(64, 'seal');
const other = { luid: '$wlt.0-aaaaaaaaaaaaaab', moment: MOMENT + 1, hash: bytesOf(32, 'other') };
const create: Entry = { ...base, ...signed, type: EntryType.create, seal };
const update: Entry = { ...base, ...signed, type: EntryType.update, seal, row };
const drop: Entry = { ...base, ...signed, type: EntryType.drop, row };
const proof: Entry = { ...base, type: EntryType.proof, row, proof: proofOf('a'), status: null };
const intent: Entry = { ...base, ...signed, type: EntryType.intent, seal, thread: 't', outcome };
const step: Entry = { ...base, type: EntryType.step, row, outcome };
const delivery: Entry = {
  ...{ ...base, type: EntryType.delivery, row, seq: 2 ** 31, index: 10_000, attempts: 1 },
  ...{ isDelivered: true, detail: 'd'.repeat(10_000) },
};

test.each<[string, Entry[]]>([
  ['made', [create, { ...create, luid: other.luid }, { ...create, moment: other.moment }]],
  ['changed', [update, { ...update, moment: other.moment }, { ...update, hash: other.hash }]],
  ['dropped', [drop, { ...drop, moment: other.moment }, { ...drop, hash: other.hash }]],
  ['proven', [proof, { ...proof, moment: other.moment }, { ...proof, proof: proofOf('b') }]],
  ['an intent', [intent, { ...intent, luid: other.luid }, { ...intent, moment: other.moment }]],
  [
    'going on',
    [
      step,
      { ...step, outcome: { ...outcome, moment: other.moment } },
      { ...step, outcome: { ...outcome, steps: ['aborted'] } },
      { ...step, outcome: { ...outcome, postings: [1, 2, 3, 4] } },
    ],
  ],
  ['delivered', [delivery, { ...delivery, moment: other.moment }, { ...delivery, isDelivered: false }]],
])('what is %s has another mark where anything else is in its place, and little of it is read', (_, entries) => {
  const marks = entries.map(markOf);
  expect(new Set(marks.map(({ mark }) => mark)).size).toBe(entries.length);
  for (const { passed } of marks) expect(passed).toBeLessThan(1000);
});

test('behind very many tokens, which are kept nowhere, the mark is looked for in steps', () => {
  const { state } = Books.open().wallets('w');
  const { length } = state.log;
  const { value: mark } = findMark(state, length).next();
  for (let n = 0; n < 10_000; n++) state.log.push(0);
  const steps = findMark(state, state.log.length);
  let [count, found] = [0, steps.next()];
  for (; found.done !== true; found = steps.next()) count++;
  expect(found.value).toBe(mark);
  expect(count).toBeGreaterThanOrEqual(9);
});
