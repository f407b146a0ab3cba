/**
 * Pairs of a wallet and a symbol chosen so that they fall together in every index that looks for them by a hash which
 * anybody can work out: who makes thousands of records knows in which rows they come to lie.
 */
import { describe, expect, test } from 'vitest';
import { Balances } from '../../src/core/balances.ts';
import { Nets } from '../../src/core/nets.ts';
import { bytesOf, hashMix, type Part, Table } from '../../src/memory/index.ts';

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

  test('in the index of balances', () => {
    const balances = new Balances(SEED, { segments: 2, pageRows: 16 });
    for (const [wallet, symbol] of meeting(2000, -1, 1 << 20)) balances.create(wallet, symbol, 0);
    const slots = new Uint32Array(filesOf(balances.dump()).get('balance-slots.slots')!.buffer);
    let [run, longest] = [0, 0];
    for (let at = 1; at < slots.length; at += 2) {
      run = slots[at] === 0 ? 0 : run + 1;
      longest = Math.max(longest, run);
    }
    // The slots are four fifths full at most. All that fall together are one run of 2000.
    expect(longest).toBeLessThan(200);
  });
});

test('an index that a snapshot has without a seed is made anew, and is the one there would have been', () => {
  const sizes = { segments: 2, pageRows: 16 };
  const balances = new Balances(SEED, sizes);
  const earlier = new Table('balances', { segments: 2 });
  for (let pair = 0; pair < 300; pair++) earlier.insert(hashMix(pair % 7, pair), balances.create(pair % 7, pair, 0));
  const parts = filesOf(balances.dump());
  const older = new Map([...parts].filter(([name]) => !name.startsWith('balance-slots.')));
  for (const [name, bytes] of filesOf(earlier.dump())) older.set(name, bytes);
  for (const files of [parts, older]) {
    const loaded = new Balances(SEED, sizes);
    loaded.load(files);
    for (let pair = 0; pair < 300; pair++) expect(loaded.find(pair % 7, pair)).toBe(pair);
    expect(loaded.find(1, 300)).toBe(-1);
    expect(filesOf(loaded.dump())).toEqual(parts);
  }
});

function filesOf(parts: Part[]): Map<string, Uint8Array> {
  return new Map(parts.map((part) => [part.name, bytesOf(part)]));
}

test('what earlier intents moved leaves no room taken where the claims of the next are netted: the search for a free one had no end', () => {
  let looks = 0;
  const get = (postings: number[], member: string | symbol): unknown => {
    if (++looks > 1_000_000) throw new Error('The search has no end');
    return Reflect.get(postings, member);
  };
  for (let wallet = 1, intents = 0; intents < 200; intents++) {
    const nets = new Nets(SEED);
    Object.assign(nets, { postings: new Proxy(nets.postings, { get }) });
    for (let claim = 0; claim < 12; claim++) nets.add(wallet++, 7, 1, 3, false);
    expect(nets.sum()).toHaveLength(4 * 12);
  }
});
