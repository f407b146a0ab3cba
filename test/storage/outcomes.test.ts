/**
 * What is told short is only what the short form says. An intent may have ten thousand of everything: reading one takes time
 * for each of them once.
 */
import { afterEach, expect, test, vi } from 'vitest';
import { EntryType, links, type Outcome, type StepEntry } from '../../src/core/entry.ts';
import { Kind } from '../../src/core/kinds.ts';
import { encode, entryCodec } from '../../src/storage/codec.ts';
import { FrameBuffer } from '../../src/storage/frame-buffer.ts';

afterEach(() => void vi.restoreAllMocks());

/** Of a step with this outcome. */
function bytesOf(outcome: Outcome): Uint8Array {
  const step: StepEntry = {
    ...{ type: EntryType.step, ledger: 1, kind: Kind.intent, luid: '$int.00000000000000000', handle: 'i' },
    ...{ moment: 1000, row: 1, outcome },
  };
  const buffer = new FrameBuffer();
  const from = buffer.end;
  encode(step, buffer);
  return buffer.bytes.slice(from, buffer.end);
}

/** The outcome of the step that has these bytes. */
function outcomeIn(bytes: Uint8Array): Outcome {
  return (entryCodec.decode(bytes, 0, bytes.length) as StepEntry).outcome;
}

const TRANSFER = [1, 2, -5, 5, 3, 2, 5, 5];

test.each<[string, Partial<Outcome>]>([
  ['a transfer', {}],
  ['that failed', { steps: ['prepared', 'committed', 'failed'] }],
  ['that began otherwise', { steps: ['pending', 'committed', 'completed'] }],
  ['that was not committed', { steps: ['prepared', 'pending', 'completed'] }],
  ['that is not over', { steps: ['prepared', 'committed'] }],
  ['with a reason', { reason: 'r' }],
  ['with a detail', { detail: 'd' }],
  ['with limits', { limits: [1, 2, 3] }],
  ['the other way', { postings: [1, 2, 5, 5, 3, 2, -5, 5] }],
  ['of nothing', { postings: [1, 2, 0, 0, 3, 2, 0, 0] }],
  ['that comes to something else', { postings: [1, 2, -5, 5, 3, 2, 4, 5] }],
  ['into another symbol', { postings: [1, 2, -5, 5, 3, 4, 5, 5] }],
  ['of more than its change at the first', { postings: [1, 2, -5, 9, 3, 2, 5, 5] }],
  ['of more than its change at the second', { postings: [1, 2, -5, 5, 3, 2, 5, 9] }],
  ['and another', { postings: [...TRANSFER, 1, 2, -5, 5] }],
  ['of one alone', { postings: TRANSFER.slice(0, 4) }],
])('an outcome comes back as it was: %s', (_, parts) => {
  const steps = ['prepared', 'committed', 'completed'] as const;
  const outcome: Outcome = {
    ...{ moment: 1007, steps: [...steps], reason: '', detail: '', postings: TRANSFER, limits: [] },
    ...parts,
  };
  expect(outcomeIn(bytesOf(outcome))).toEqual(outcome);
});

test('forwards are read one by one, not all that are left for each', () => {
  const count = 1000;
  const forwards = Array.from({ length: count }, (_, n) => ({
    claim: n,
    wallet: n + 1,
    symbol: 2,
    amount: n + 3,
    target: `w${n}`,
  }));
  const outcome = {
    ...{ moment: 1000, steps: ['prepared' as const], reason: '', detail: '', postings: [], limits: [] },
    links: links({ forwards }),
  };
  const bytes = bytesOf(outcome);
  const { slice } = Array.prototype;
  let copied = 0;
  vi.spyOn(Array.prototype, 'slice').mockImplementation(function (this: unknown[], ...range: unknown[]) {
    const part = slice.apply(this, range as [number, number]);
    copied += part.length;
    return part;
  });
  const read = outcomeIn(bytes);
  vi.restoreAllMocks();
  expect(read.links?.forwards).toEqual(forwards);
  expect(copied).toBeLessThan(10 * count);
});
