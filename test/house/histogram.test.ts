/** A value in the wrong bucket makes every percentile that is read from it wrong. */
import { expect, test } from 'vitest';
import { Histogram } from '../../src/histogram.ts';

/** The bound of the bucket that a value falls into. */
function bucketOf(value: number): number {
  const histogram = new Histogram(0.25, 18);
  histogram.add(value);
  expect(histogram.sum).toBe(value);
  const buckets = [...histogram.cumulative()];
  expect(buckets).toHaveLength(19);
  return buckets.find(([, count]) => count === 1)![0];
}

test('a value counts for the least bound that it is not above', () => {
  for (let bucket = 0; bucket < 18; bucket++) {
    const bound = 0.25 * 2 ** bucket;
    expect(bucketOf(bound)).toBe(bound);
    expect(bucketOf(bound * (1 - Number.EPSILON))).toBe(bound);
    const next = bucket === 17 ? Number.POSITIVE_INFINITY : 2 * bound;
    expect(bucketOf(bound * (1 + Number.EPSILON))).toBe(next);
  }
});

test('nothing is too small or too large to be counted', () => {
  for (const value of [0, Number.MIN_VALUE, 1e-9]) expect(bucketOf(value)).toBe(0.25);
  for (const value of [32_768.1, 2 ** 30, 2 ** 32, 2 ** 40, 1e300])
    expect(bucketOf(value)).toBe(Number.POSITIVE_INFINITY);
});

test('counts add up from bucket to bucket', () => {
  const histogram = new Histogram(1, 3);
  for (const value of [1, 1, 2, 3, 4, 5]) histogram.add(value);
  expect([...histogram.cumulative()]).toEqual([
    [1, 2],
    [2, 3],
    [4, 5],
    [Number.POSITIVE_INFINITY, 6],
  ]);
  expect(histogram.sum).toBe(16);
});
