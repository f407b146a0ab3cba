/**
 * The arithmetic of tables: the field at the bounds of its limbs, and sB − kA against another library, in both shapes.
 */
import { Point } from '@noble/ed25519';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { Combs, finish } from '../../src/proof/comb/combs.ts';
import { LIMBS, P, PAIR_BYTES, wordOf } from '../../src/proof/comb/field.ts';
import { compileCurve, ENTRY_BYTES } from '../../src/proof/comb/points.ts';
import { often } from '../support/long.ts';
import { SHAPES } from './tables.ts';

describe('field: limbs of every size that may come are reckoned exactly', () => {
  const curve = compileCurve(1 << 16);
  const words = new Uint32Array(curve.memory);
  const [a, b, result] = [1024, 1024 + PAIR_BYTES, 1024 + 2 * PAIR_BYTES];
  const [point, entries] = [2048, 4096];
  const unit = (limb: number) => (limb % 2 === 0 ? 2 ** 26 : 2 ** 25);

  const sumOf = (limbs: readonly number[]) =>
    limbs.reduce((value, limb, i) => value + (BigInt(limb) << BigInt(Math.ceil(25.5 * i))), 0n);

  function put(at: number, limbs: readonly number[], lane: number): bigint {
    limbs.forEach((limb, i) => {
      words[at / 4 + wordOf(i, lane)] = limb;
    });
    return sumOf(limbs);
  }

  function take(at: number, lane: number): bigint {
    let value = 0n;
    for (let i = 0; i < LIMBS; i++) {
      const limb = words[at / 4 + wordOf(i, lane)]!;
      expect(limb).toBeLessThanOrEqual(unit(i) * (1 + 2 ** -8));
      value += BigInt(limb) << BigInt(Math.ceil(25.5 * i));
    }
    return value % P;
  }

  /** Limbs up to `size` times their unit; mostly the bounds themselves. */
  const limbs = (size: number) =>
    fc.tuple(
      ...Array.from({ length: LIMBS }, (_, i) => {
        const max = Math.floor(unit(i) * size);
        return fc.oneof(fc.constant(max), fc.constant(0), fc.constant(unit(i) - 1), fc.nat(max));
      }),
    );

  const mod = (value: bigint) => ((value % P) + P) % P;
  const TIGHT = 1 + 2 ** -8;
  const LOOSE = 3 + 2 ** -6;
  const operations: [
    name: string,
    sizes: [number, number],
    run: () => void,
    expected: (x: bigint, y: bigint) => bigint,
  ][] = [
    ['multiply', [3 + LOOSE, LOOSE], () => curve.multiply(result, a, b), (x, y) => x * y],
    ['square', [LOOSE, 1], () => curve.squareTimes(result, a, 1), (x) => x * x],
    ['square three times', [LOOSE, 1], () => curve.squareTimes(result, a, 3), (x) => x ** 8n],
    ['add', [3, 3], () => curve.add(result, a, b), (x, y) => x + y],
    ['subtract', [3, TIGHT], () => curve.subtract(result, a, b), (x, y) => x - y],
  ];
  test.each(operations)('%s', (_, [first, second], run, expected) => {
    fc.assert(
      fc.property(limbs(first), limbs(second), limbs(first), limbs(second), (x0, y0, x1, y1) => {
        const lanes = [
          [put(a, x0, 0), put(b, y0, 0)],
          [put(a, x1, 1), put(b, y1, 1)],
        ] as const;
        run();
        lanes.forEach(([x, y], lane) => {
          expect(take(result, lane)).toBe(mod(expected(x, y)));
        });
      }),
      { numRuns: often(150, 2_000) },
    );
  });

  /** Two lanes of so many tight elements. */
  const lanesOf = (count: number) => {
    const elements = fc.array(limbs(TIGHT), { minLength: count, maxLength: count });
    return fc.tuple(elements, elements);
  };
  const putPoints = (lanes: readonly number[][][]) =>
    lanes.map((elements, lane) => elements.slice(0, 4).map((each, i) => put(point + i * PAIR_BYTES, each, lane)));
  const takePoint = (lane: number) => Array.from({ length: 4 }, (_, i) => take(point + i * PAIR_BYTES, lane));

  test('doubling', () => {
    fc.assert(
      fc.property(lanesOf(4), (lanes) => {
        const points = putPoints(lanes);
        curve.double(point);
        points.forEach(([x, y, z], lane) => {
          const [g, h] = [y! * y! - x! * x!, x! * x! + y! * y!];
          const [e, f] = [2n * x! * y!, 2n * z! * z! - g];
          expect(takePoint(lane)).toEqual([e * f, g * h, f * g, e * h].map(mod));
        });
      }),
      { numRuns: often(150, 2_000) },
    );
  });

  test('adding entries and their negatives', () => {
    fc.assert(
      fc.property(lanesOf(7), fc.nat(1), fc.nat(1), (lanes, ...signs) => {
        const points = putPoints(lanes);
        const added = lanes.map((elements, lane) => {
          words.set(elements.slice(4).flat(), (entries + lane * ENTRY_BYTES) / 4);
          return elements.slice(4).map(sumOf);
        });
        curve.addEntries(point, entries + signs[0]!, entries + ENTRY_BYTES + signs[1]!);
        points.forEach(([x, y, z, t], lane) => {
          const [first, second, third] = added[lane]!;
          const [plus, minus, product] = signs[lane] === 1 ? [second!, first!, -third!] : [first!, second!, third!];
          const [left, right, c] = [(y! - x!) * minus, (y! + x!) * plus, t! * product];
          const [e, f, g, h] = [right - left, 2n * z! - c, 2n * z! + c, right + left];
          expect(takePoint(lane)).toEqual([e * f, g * h, f * g, e * h].map(mod));
        });
      }),
      { numRuns: often(150, 2_000) },
    );
  });

  test('writing entries', () => {
    const elementAt = (at: number) => Array.from({ length: LIMBS }, (_, i) => words[at / 4 + i]!);
    fc.assert(
      fc.property(lanesOf(2), limbs(TIGHT), (lanes, factor) => {
        const points = putPoints(lanes);
        for (let lane = 0; lane < 2; lane++) put(a, factor, lane);
        curve.writeEntries(point, entries, entries + ENTRY_BYTES, a);
        points.forEach(([x, y], lane) => {
          const elements = [0, 1, 2].map((i) => elementAt(entries + lane * ENTRY_BYTES + i * LIMBS * 4));
          expect(elements.map((each) => sumOf(each) % P)).toEqual([y! + x!, y! - x!, x! * y! * sumOf(factor)].map(mod));
          for (const each of elements)
            for (const [i, limb] of each.entries()) expect(limb).toBeLessThanOrEqual(unit(i) * TIGHT);
        });
      }),
      { numRuns: often(150, 2_000) },
    );
  });
});

describe.each(SHAPES)('multiples, tables of shape %s', (_, shapes) => {
  const combs = new Combs(1, shapes);
  finish(combs.buildBase());
  const { n: L } = Point.CURVE();
  const wordsOf = (value: bigint) =>
    Uint32Array.from({ length: 8 }, (_, i) => Number(BigInt.asUintN(32, value >> BigInt(32 * i))));
  const encodingOf = (point: Point) => new Uint32Array(Uint8Array.from(point.toBytes()).buffer);
  const point = Point.BASE.multiply(0x1234567890abcdefn);
  const times = (of: Point, n: bigint) => (n === 0n ? Point.ZERO : of.multiply(n));

  test('sB - kA for scalars at every bound, both lanes', () => {
    expect(combs.buildKey(encodingOf(point), 0)).toBe(true);
    const bounds = [
      0n,
      1n,
      2n,
      3n,
      L - 1n,
      L - 2n,
      L >> 1n,
      1n << 252n,
      (1n << 252n) - 1n,
      1n << 128n,
      1n << 31n,
      1n << 32n,
      // With L added, words of ones stay as they are and hand on nothing.
      (1n << 224n) - (1n << 128n),
    ];
    const scalar = fc.oneof(fc.constantFrom(...bounds), fc.bigInt(0n, L - 1n));
    fc.assert(
      fc.property(scalar, scalar, scalar, scalar, (s0, k0, s1, k1) => {
        const lanes = [
          [s0, k0],
          [s1, k1],
        ] as const;
        for (const [lane, [s, k]] of lanes.entries()) combs.schedule(lane, wordsOf(s), wordsOf(k), combs.tableAt(0));
        combs.run(0);
        combs.normalise(1);
        lanes.forEach(([s, k], lane) => {
          const encoding = new Uint32Array(8);
          combs.encode(0, lane, encoding);
          expect([...encoding]).toEqual([...encodingOf(times(Point.BASE, s).subtract(times(point, k)))]);
        });
        expectAlone(s0, k0, point);
      }),
      { numRuns: 60 },
    );
  });

  /** That sB - kA is made by both lanes together, and both have it. */
  function expectAlone(s: bigint, k: bigint, a: Point): void {
    const expected = [...encodingOf(times(Point.BASE, s).subtract(times(a, k)))];
    combs.schedule(0, wordsOf(s), wordsOf(k), combs.tableAt(0));
    combs.schedule(1, wordsOf(5n), wordsOf(7n), combs.tableAt(0));
    combs.runAlone(0);
    combs.normalise(1);
    for (let lane = 0; lane < 2; lane++) {
      const encoding = new Uint32Array(8);
      combs.encode(0, lane, encoding);
      expect([...encoding]).toEqual(expected);
    }
  }

  /** What each lane's share of s and of k comes to: blocks of the base point's bits first, then of the key's, in turn. */
  function sharesOf(s: bigint, k: bigint): { s: bigint; k: bigint }[] {
    const shares = [
      { s: 0n, k: 0n },
      { s: 0n, k: 0n },
    ];
    let entry = 0;
    for (const [name, scalar] of [
      ['s', s],
      ['k', k],
    ] as const) {
      const { teeth, blocks, spacing } = name === 's' ? shapes.base : shapes.key;
      const [odd, bits] = [scalar % 2n === 1n ? scalar : scalar + L, teeth * spacing];
      const signs = (odd >> 1n) + (1n << BigInt(bits * blocks - 1));
      for (let block = 0; block < blocks; block++, entry++) {
        for (let bit = bits * block; bit < bits * (block + 1); bit++) {
          shares[entry % 2]![name] += ((signs >> BigInt(bit)) & 1n) === 1n ? 1n << BigInt(bit) : -(1n << BigInt(bit));
        }
      }
    }
    return shares;
  }

  const modL = (value: bigint) => ((value % L) + L) % L;
  const inverse = (value: bigint) => {
    let [result, base] = [1n, modL(value)];
    for (let rest = L - 2n; rest > 0n; rest >>= 1n, base = (base * base) % L) {
      if (rest % 2n === 1n) result = (result * base) % L;
    }
    return result;
  };

  test('lanes whose points are equal, each other’s negative, or nothing, are added right', () => {
    const [s, k] = [0xfedcba9876543210n << 130n, 0x123456789abcdef1n << 150n];
    const [first, second] = sharesOf(s, k) as [{ s: bigint; k: bigint }, { s: bigint; k: bigint }];
    expect([modL(first.s + second.s), modL(first.k + second.k)]).toEqual([s % L, k % L]);
    const secrets = {
      equal: (first.s - second.s) * inverse(first.k - second.k),
      negative: (first.s + second.s) * inverse(first.k + second.k),
      'first nothing': first.s * inverse(first.k),
      'second nothing': second.s * inverse(second.k),
    };
    for (const [name, secret] of Object.entries(secrets)) {
      const a = modL(secret);
      // Where the second lane has nothing of s, it comes to nothing with no key.
      if (a === 0n) continue;
      const [p, q] = [modL(first.s - a * first.k), modL(second.s - a * second.k)];
      expect({ equal: p === q, negative: p + q === L, 'first nothing': p === 0n, 'second nothing': q === 0n }).toEqual({
        ...{ equal: false, negative: false, 'first nothing': false, 'second nothing': false },
        [name]: true,
      });
      const key = Point.BASE.multiply(a);
      expect(combs.buildKey(encodingOf(key), 0)).toBe(true);
      expectAlone(s, k, key);
    }
  });

  test('no table for what is no point, and for points that are not of order L', () => {
    const offCurve = Array.from({ length: 40 }, (_, y) => wordsOf(BigInt(y + 2))).filter((encoding) => {
      try {
        Point.fromBytes(new Uint8Array(encoding.buffer));
        return false;
      } catch {
        return true;
      }
    });
    expect(offCurve.length).toBeGreaterThan(10);
    for (const encoding of offCurve) expect(combs.buildKey(encoding, 0)).toBe(false);
    // y = -1 has order 2, y = 0 order 4, and 1 is nothing.
    const small = [P - 1n, 0n, 1n];
    for (const y of small) {
      const torsion = Point.fromBytes(new Uint8Array(wordsOf(y).buffer));
      expect(combs.buildKey(wordsOf(y), 0)).toBe(false);
      if (y !== 1n) expect(combs.buildKey(encodingOf(point.add(torsion)), 0)).toBe(false);
    }
  });
});
