/** Marks along a kind's changes: what lies between two of them is passed by where nobody there has had a status. */
import { expect, test } from 'vitest';
import { Kind } from '../../src/core/kinds.ts';
import { Ranks } from '../../src/core/ranks.ts';

const CHANGES = 700;
const placeOf = (change: number) => 5 + 3 * change;

test.each([0, 1, 255, 256, 257, 511, 512, 699])(
  'the status of change %i is in its block, and in no other',
  (change) => {
    for (const isLater of [false, true]) {
      const ranks = new Ranks();
      const push = (n: number) => ranks.push(1, Kind.intent, placeOf(n), n === change && !isLater ? 9 : 0);
      for (let n = 0; n < CHANGES; n++) push(n);
      if (isLater) ranks.addStatus(1, Kind.intent, placeOf(change), 9);
      for (const [after, by] of [
        [-1, 1],
        [Number.POSITIVE_INFINITY, -1],
      ] as const) {
        const found = ranks.nextBlock(1, Kind.intent, 9, after, by)!;
        expect(found.from).toBeLessThanOrEqual(placeOf(change));
        expect(found.to).toBeGreaterThan(placeOf(change));
        expect(ranks.nextBlock(1, Kind.intent, 9, found.block, by)).toBeNull();
      }
      expect(ranks.nextBlock(2, Kind.intent, 9, -1, 1)).toBeNull();
    }
  },
);
