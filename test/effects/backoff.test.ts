/** The waits between attempts: their start, growth and cap, and what Retry-After may do to them. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { backoffMs } from '../../src/effects/backoff.ts';

const HOUR = 3_600_000;

test.each([
  [1, 1_000],
  [2, 1_200],
  [3, 1_440],
  [10, 5_160],
  [45, 3_047_718],
  [46, HOUR],
  [100, HOUR],
  [1e6, HOUR],
])('after attempt %d: %d ms', (attempts, ms) => {
  expect(backoffMs(attempts)).toBe(ms);
});

test.each([
  ['lengthens', 1, 60_000, 60_000],
  ['does not shorten', 10, 1_000, 5_160],
  ['stays under the cap', 1, 365 * 24 * HOUR, HOUR],
])('Retry-After %s', (_, attempts, asked, ms) => {
  expect(backoffMs(attempts, asked)).toBe(ms);
});

test('never shrinks, never leaves its bounds', () => {
  const attempts = fc.integer({ min: 1, max: 10_000 });
  fc.assert(
    fc.property(attempts, fc.nat(), (n, asked) => {
      const ms = backoffMs(n, asked);
      expect(ms).toBeGreaterThanOrEqual(1_000);
      expect(ms).toBeLessThanOrEqual(HOUR);
      expect(backoffMs(n + 1, asked)).toBeGreaterThanOrEqual(ms);
      expect(Number.isInteger(ms)).toBe(true);
    }),
  );
});
