/** Luids are of random bytes that are asked for many at a time. */
import { expect, test } from 'vitest';
import { Kind } from '../../src/core/kinds.ts';
import { LUID_RANDOM_BYTES } from '../../src/core/luid.ts';
import { Luids } from '../../src/luids.ts';

test('each luid is of random bytes of its own, from the first on, also where the next of them are asked for', () => {
  const all = [new Luids(), new Luids()];
  const made = all.map((luids) =>
    Array.from({ length: 1_100 }, () => luids.next(Kind.wallet, 0).slice(-LUID_RANDOM_BYTES)),
  );
  expect(new Set(made.flat()).size).toBe(2_200);
  // By chance one in 64 begins as the one before it ends.
  const alike = made[0]!.filter((luid, n) => made[0]![n - 1]?.at(-1) === luid[0]);
  expect(alike.length).toBeLessThan(200);
});
