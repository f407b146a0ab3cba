/** An intent may have ten thousand of everything: reading one takes time for each of them once. */
import { afterEach, expect, test, vi } from 'vitest';
import { EntryType, links, type StepEntry } from '../../src/core/entry.ts';
import { Kind } from '../../src/core/kinds.ts';
import { encode, entryCodec } from '../../src/storage/codec.ts';
import { FrameBuffer } from '../../src/storage/frame-buffer.ts';

afterEach(() => void vi.restoreAllMocks());

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
  const step: StepEntry = {
    ...{ type: EntryType.step, ledger: 1, kind: Kind.intent, luid: '$int.00000000000000000', handle: 'i' },
    ...{ moment: 1000, row: 1, outcome },
  };
  const buffer = new FrameBuffer();
  const from = buffer.end;
  encode(step, buffer);
  const bytes = buffer.bytes.slice(from, buffer.end);
  const { slice } = Array.prototype;
  let copied = 0;
  vi.spyOn(Array.prototype, 'slice').mockImplementation(function (this: unknown[], ...range: unknown[]) {
    const part = slice.apply(this, range as [number, number]);
    copied += part.length;
    return part;
  });
  const read = entryCodec.decode(bytes, 0, bytes.length) as StepEntry;
  vi.restoreAllMocks();
  expect(read.outcome.links?.forwards).toEqual(forwards);
  expect(copied).toBeLessThan(10 * count);
});
