/**
 * Pairs of a wallet and a symbol chosen so that they fall together in every index that looks for them by a hash which
 * anybody can work out: who makes thousands of records knows in which rows they come to lie.
 */
import { describe, expect, test } from 'vitest';
import { Nets } from '../../src/core/nets.ts';
import { hashMix } from '../../src/memory/index.ts';

const SEED = 0x1234_5678;

/** So many pairs of a few thousand records whose mixed rows, shifted so far, are below `end`. */
function meeting(count: number, mask: number, end: number): [wallet: number, symbol: number][] {
  const pairs: [number, number][] = [];
  for (let wallet = 1; pairs.length < count; wallet++) {
    for (let symbol = 5000; symbol < 9000; symbol++) {
      if ((hashMix(wallet, symbol) & mask) >>> 0 < end) pairs.push([wallet, symbol]);
    }
  }
  return pairs.slice(0, count);
}

describe('pairs chosen to fall together do not', () => {
  test('where the claims of one intent are netted', () => {
    const nets = new Nets(SEED);
    let looks = 0;
    const watched = new Proxy(nets.postings, {
      get(postings, member) {
        looks++;
        return Reflect.get(postings, member);
      },
    });
    Object.assign(nets, { postings: watched });
    const pairs = meeting(2000, 0xffff, 64);
    for (const [wallet, symbol] of pairs) nets.add(wallet, symbol, 1, 3, false);
    expect(nets.sum()).toHaveLength(4 * pairs.length);
    // Each row is looked at a few times, and entered anew a few times as the table grows; all that fall together, a million.
    expect(looks).toBeLessThan(100 * pairs.length);
  });
});
