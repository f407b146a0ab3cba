/**
 * Verifying by tables of a key's multiples: the arithmetic at its bounds, tables against the libraries, and who gets one.
 */
import { Point } from '@noble/ed25519';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { Combs, finish, PAIRED, SHARED, type Shapes } from '../../src/proof/comb/combs.ts';
import { LIMBS, P, PAIR_BYTES, wordOf } from '../../src/proof/comb/field.ts';
import { KeyedVerifier } from '../../src/proof/comb/index.ts';
import { KeyPlaces } from '../../src/proof/comb/key-places.ts';
import { compileCurve, ENTRY_BYTES } from '../../src/proof/comb/points.ts';
import { createKeyPair, type KeyPair } from '../../src/proof/keys.ts';
import { LIBRARIES, type SignatureLibrary, sign } from '../../src/proof/verify.ts';
import { isAcceptedByTable, rowOf, SIGHTS } from './tables.ts';

const library = LIBRARIES[0]!;

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
      { numRuns: 400 },
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
      { numRuns: 400 },
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
      { numRuns: 400 },
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
      { numRuns: 400 },
    );
  });
});

const SHAPES: [name: string, shapes: Shapes][] = [
  ['paired', PAIRED],
  ['shared', SHARED],
];

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

describe('verifier', () => {
  const pairs = Array.from({ length: 5 }, createKeyPair);

  /** A verifier that counts what it asks the library. */
  function startVerifier(keysMax = 64, shapes = PAIRED) {
    const asked: string[] = [];
    const counting = {
      ...library,
      verify(publicKey: Uint8Array, message: Uint8Array, signature: Uint8Array) {
        const holds = library.verify(publicKey, message, signature);
        asked.push(`${Buffer.from(publicKey).toString('hex').slice(0, 8)} ${holds}`);
        return holds;
      },
    };
    return { asked, verifier: new KeyedVerifier({ library: counting, keysMax, salt: 99, shapes }) };
  }

  function messageOf(number: number): Uint8Array {
    return Uint8Array.from({ length: 32 }, (_, i) => (number * 31 + i * 7 + (number >> 8)) & 255);
  }

  function rowsOf(count: number, pairOf: (row: number) => KeyPair, isBad: (row: number) => boolean): Uint8Array {
    const rows = new Uint8Array(count * 128);
    for (let row = 0; row < count; row++) {
      const pair = pairOf(row);
      const message = messageOf(row);
      rows.set(rowOf(pair.public, message, sign(message, pair)), row * 128);
      // Each part of a row in its turn, but not its key, with which it would be another's.
      if (isBad(row)) rows[row * 128 + 32 + ((row * 13) % 96)]! ^= 1 << (row & 7);
    }
    return rows;
  }

  function verdictsOf(verifier: KeyedVerifier, rows: Uint8Array): boolean[] {
    const verdicts: boolean[] = [];
    verifier.verify(rows, rows.length / 128, (row, holds) => {
      expect(verdicts[row], 'a verdict is given once').toBeUndefined();
      verdicts[row] = holds;
    });
    return verdicts;
  }

  describe.each(SHAPES)('tables of shape %s', (_, shapes) => {
    test.each([1, 2, 3, 7, 64, 65, 500])('%i rows of keys with and without a table, good and bad', (count) => {
      const { verifier } = startVerifier(64, shapes);
      const isBad = (row: number) => row % 5 === 3;
      const rows = rowsOf(count, (row) => pairs[row % pairs.length]!, isBad);
      const expected = Array.from({ length: count }, (_, row) => !isBad(row));
      for (let round = 0; round < 3; round++) expect(verdictsOf(verifier, rows)).toEqual(expected);
    });

    test('rows that come one at a time, of keys that share a set of places', () => {
      const { verifier, asked } = startVerifier(8, shapes);
      const isBad = (row: number) => row % 7 === 3;
      const rows = rowsOf(300, (row) => pairs[row % pairs.length]!, isBad);
      const verdicts = Array.from(
        { length: 300 },
        (_, row) => verdictsOf(verifier, rows.subarray(row * 128).subarray(0, 128))[0],
      );
      expect(verdicts).toEqual(Array.from({ length: 300 }, (_, row) => !isBad(row)));
      // Until each has its table, and what is bad.
      expect(asked.length).toBeLessThan(pairs.length * SIGHTS + 43);
    });
  });

  test('made in steps it is ready after the last, and rows that come between them are answered', () => {
    const { verifier, asked } = startVerifier(64, SHARED);
    const rows = rowsOf(
      2 * SIGHTS,
      () => pairs[0]!,
      () => false,
    );
    let steps = 0;
    for (const _ of verifier.prepareInSteps()) {
      steps++;
      expect(verdictsOf(verifier, rows)).not.toContain(false);
    }
    expect(steps).toBeGreaterThan(2);
    asked.length = 0;
    expect(verdictsOf(verifier, rows)).not.toContain(false);
    expect(asked).toEqual([]);
  });

  test('more rows at once than the tables take in one go', () => {
    const { verifier, asked } = startVerifier();
    const rows = rowsOf(
      2500,
      () => pairs[0]!,
      (row) => row === 2047 || row === 2300,
    );
    const verdicts = verdictsOf(verifier, rows);
    expect(verdicts.flatMap((holds, row) => (holds ? [] : [row]))).toEqual([2047, 2300]);
    expect(asked.length).toBeLessThan(SIGHTS + 2);
  });

  test('once a key has its table, the library is asked about nothing but what the table does not accept', () => {
    const { verifier, asked } = startVerifier();
    const good = rowsOf(
      40,
      () => pairs[1]!,
      () => false,
    );
    verdictsOf(verifier, good);
    asked.length = 0;
    expect(verdictsOf(verifier, good)).not.toContain(false);
    expect(asked).toEqual([]);
    const bad = rowsOf(
      40,
      () => pairs[1]!,
      () => true,
    );
    expect(verdictsOf(verifier, bad)).not.toContain(true);
    expect(asked).toHaveLength(40);
  });

  test('what a wrong table would refuse, the library still accepts', () => {
    const { verifier } = startVerifier();
    const rows = rowsOf(
      32,
      () => pairs[2]!,
      () => false,
    );
    const build = Combs.prototype.buildKey;
    Combs.prototype.buildKey = () => true;
    try {
      expect(verdictsOf(verifier, rows)).not.toContain(false);
      expect(verdictsOf(verifier, rows)).not.toContain(false);
    } finally {
      Combs.prototype.buildKey = build;
    }
  });

  test('a table made in the middle of a task takes nothing from the rows on their way', () => {
    const { verifier, asked } = startVerifier();
    const rowsBy = (numbers: number[]) =>
      rowsOf(
        numbers.length,
        (row) => pairs[numbers[row]!]!,
        () => false,
      );
    verdictsOf(verifier, rowsBy(Array(SIGHTS).fill(0)));
    asked.length = 0;
    for (let task = 0; task < SIGHTS; task++) verdictsOf(verifier, rowsBy([0, 0, 0, 1, 0]));
    const newcomer = Buffer.from(pairs[1]!.public).toString('hex').slice(0, 8);
    expect(new Set(asked)).toEqual(new Set([`${newcomer} true`]));
    expect(asked.length).toBeLessThan(SIGHTS);
  });

  test('a key is tried only after a good signature, and one that can have no table once', () => {
    const { verifier } = startVerifier();
    const build = Combs.prototype.buildKey;
    let tried = 0;
    Combs.prototype.buildKey = () => {
      tried++;
      return false;
    };
    try {
      const bad = rowsOf(
        50,
        () => pairs[2]!,
        () => true,
      );
      expect(verdictsOf(verifier, bad)).not.toContain(true);
      expect(tried).toBe(0);
      const rows = rowsOf(
        200,
        (row) => pairs[row % 2]!,
        () => false,
      );
      for (let task = 0; task < 4; task++) expect(verdictsOf(verifier, rows)).not.toContain(false);
      expect(tried).toBe(2);
    } finally {
      Combs.prototype.buildKey = build;
    }
  });

  test('a task that ends in the middle leaves no verdict to the next', () => {
    let isBroken = false;
    const breaking: SignatureLibrary = {
      ...library,
      verify(...parts) {
        if (isBroken) throw new Error('no memory');
        return library.verify(...parts);
      },
    };
    const verifier = new KeyedVerifier({ library: breaking, keysMax: 64, salt: 99 });
    const good = rowsOf(
      SIGHTS,
      () => pairs[0]!,
      () => false,
    );
    verdictsOf(verifier, good);
    const rows = rowsOf(
      2,
      (row) => pairs[row]!,
      () => false,
    );
    isBroken = true;
    expect(() => verdictsOf(verifier, rows)).toThrow('no memory');
    isBroken = false;
    // The same R as in the row that was on its way, under a key without a table.
    rows.set(pairs[1]!.public, 0);
    expect(verdictsOf(verifier, rows)).toEqual([false, true]);
  });

  test('R is compared in every bit, S = L is none, and neither is R of small order', () => {
    // With a k that is chosen, not hashed, R can be changed alone.
    let isWarming = true;
    const chosen: SignatureLibrary = {
      ...library,
      verify: () => isWarming,
      challenge: (input, scalar) => scalar.set(input.subarray(64)),
    };
    const choosing = new KeyedVerifier({ library: chosen, keysMax: 64, salt: 99 });
    const { n: L } = Point.CURVE();
    const [a, s, k] = [0x1234567890abcdefn, 0xfedcba0987654321n << 100n, 0xabcdef1234567890n << 150n];
    const numberOf = (value: bigint) =>
      Uint8Array.from({ length: 32 }, (_, i) => Number((value >> BigInt(8 * i)) & 255n));
    const key = Point.BASE.multiply(a);
    const rowWith = (r: Uint8Array, scalar: bigint) =>
      rowOf(key.toBytes(), numberOf(k), Uint8Array.from([...r, ...numberOf(scalar)]));
    const r = Point.BASE.multiply(s).subtract(key.multiply(k)).toBytes();
    for (let i = 0; i < SIGHTS; i++) verdictsOf(choosing, rowWith(r, L));
    isWarming = false;
    expect(verdictsOf(choosing, rowWith(r, s))).toEqual([true]);
    for (let bit = 0; bit < 256; bit++) {
      const turned = r.slice();
      turned[bit >> 3]! ^= 1 << (bit & 7);
      expect(verdictsOf(choosing, rowWith(turned, s))).toEqual([false]);
    }
    expect(verdictsOf(choosing, rowWith(key.multiply(L - k).toBytes(), L))).toEqual([false]);
    expect(verdictsOf(choosing, rowWith(key.multiply(L - k).toBytes(), 0n))).toEqual([true]);
    expect(verdictsOf(choosing, rowWith(numberOf(1n), (a * k) % L))).toEqual([false]);
  });

  test('a signature by one key is not taken for another whose table is at hand', () => {
    const { verifier } = startVerifier();
    verdictsOf(
      verifier,
      rowsOf(
        80,
        (row) => pairs[row % 2]!,
        () => false,
      ),
    );
    const rows = rowsOf(
      20,
      (row) => pairs[row % 2]!,
      () => false,
    );
    for (let row = 0; row < 20; row++) rows.set(pairs[(row + 1) % 2]!.public, row * 128);
    expect(verdictsOf(verifier, rows)).not.toContain(true);
  });

  test('more keys than places: those that sign most have tables, and everybody gets the right answer', () => {
    const { verifier, asked } = startVerifier(8);
    const many = Array.from({ length: 40 }, createKeyPair);
    const rows = rowsOf(
      1600,
      (row) => (row % 2 === 0 ? many[(row >> 1) % 4]! : many[4 + ((row >> 1) % 36)]!),
      (row) => row % 50 === 9,
    );
    const inTasks = () => {
      const tasks = Array.from({ length: 25 }, (_, task) => rows.subarray(task * 64 * 128, (task + 1) * 64 * 128));
      return tasks.flatMap((task) => verdictsOf(verifier, task));
    };
    for (let round = 0; round < 3; round++) expect(inTasks().filter((holds) => !holds)).toHaveLength(32);
    asked.length = 0;
    inTasks();
    for (const pair of many.slice(0, 4)) {
      const name = Buffer.from(pair.public).toString('hex').slice(0, 8);
      expect(asked.filter((line) => line === `${name} true`)).toEqual([]);
    }
  });

  test('many keys that are due at once get their tables one a task, so that no task waits for all of them', () => {
    const { verifier, asked } = startVerifier();
    const many = Array.from({ length: 20 }, createKeyPair);
    const rows = rowsOf(
      400,
      (row) => many[row % 20]!,
      () => false,
    );
    const counts: number[] = [];
    for (let task = 0; task < 24; task++) {
      asked.length = 0;
      verdictsOf(verifier, rows);
      counts.push(asked.length);
    }
    // In the first task a key gets its table on the way; in each of the next nineteen one key less is asked about.
    for (let task = 1; task < 20; task++) expect(counts[task]! - counts[task + 1]!).toBeLessThanOrEqual(21);
    expect(counts.slice(20)).toEqual([0, 0, 0, 0]);
  });

  test('where there is no memory for tables the library does all', () => {
    const { verifier, asked } = startVerifier(1 << 20);
    const rows = rowsOf(
      30,
      () => pairs[3]!,
      (row) => row === 7,
    );
    for (let round = 0; round < 2; round++) expect(verdictsOf(verifier, rows).indexOf(false)).toBe(7);
    expect(asked).toHaveLength(60);
  });

  test('0 keys: the library does all', () => {
    const { verifier, asked } = startVerifier(0);
    expect(
      verdictsOf(
        verifier,
        rowsOf(
          30,
          () => pairs[3]!,
          () => false,
        ),
      ),
    ).not.toContain(false);
    expect(asked).toHaveLength(30);
  });

  test('with either library what was signed is accepted by the table, and not with any one bit turned', () => {
    fc.assert(
      fc.property(fc.uint8Array({ minLength: 32, maxLength: 32 }), fc.nat(767), (message, bit) => {
        const pair = pairs[bit % pairs.length]!;
        const row = rowOf(pair.public, message, sign(message, pair));
        const isAccepted = () => isAcceptedByTable(row.subarray(0, 32), row.subarray(32, 64), row.subarray(64));
        expect(isAccepted()).toBe(true);
        row[32 + (bit >> 3)]! ^= 1 << (bit & 7);
        expect(isAccepted()).toBe(false);
      }),
      { numRuns: 200 },
    );
    const scalars = LIBRARIES.map(({ challenge }) => {
      const scalar = new Uint8Array(32);
      challenge(messageOf(5), scalar);
      return Buffer.from(scalar).toString('hex');
    });
    expect(new Set(scalars).size).toBe(1);
  });
});

describe('places', () => {
  const keyOf = (number: number, word = 0) => Uint32Array.from({ length: 8 }, (_, i) => (i === word ? number : 5));

  function see(places: KeyPlaces, key: Uint32Array, times: number): number {
    for (let i = 0; i < times; i++) {
      if (places.find(key, 0) >= 0) continue;
      const place = places.claim(key, 0);
      if (place >= 0) places.take(place, key, 0, true);
    }
    return places.find(key, 0);
  }

  test('keys that differ in one word only are kept apart', () => {
    const places = new KeyPlaces(64, 3);
    for (let word = 0; word < 8; word++) expect(see(places, keyOf(9, word), SIGHTS)).toBeGreaterThanOrEqual(0);
    const found = Array.from({ length: 8 }, (_, word) => places.find(keyOf(9, word), 0));
    expect(new Set(found.filter((place) => place >= 0)).size).toBe(found.filter((place) => place >= 0).length);
    expect(places.find(keyOf(8, 7), 0)).toBe(-1);
  });

  test('a few signatures are worth no table, though there is room', () => {
    const places = new KeyPlaces(64, 3);
    expect(see(places, keyOf(1), 4)).toBe(-1);
    expect(see(places, keyOf(1), SIGHTS)).toBeGreaterThanOrEqual(0);
  });

  test('keys seen once do not push out those that are seen all the time', () => {
    const places = new KeyPlaces(64, 3);
    const regulars = Array.from({ length: 16 }, (_, i) => keyOf(i + 1));
    for (const key of regulars) see(places, key, 100);
    for (let i = 0; i < 10_000; i++) {
      see(places, keyOf(1000 + i), 1);
      places.find(regulars[i % 16]!, 0);
    }
    for (const key of regulars) expect(places.find(key, 0)).toBeGreaterThanOrEqual(0);
  });

  test('who has stopped signing makes room for who signs now', () => {
    const places = new KeyPlaces(8, 3);
    for (let i = 0; i < 8; i++) see(places, keyOf(i + 1), 100);
    const newcomer = keyOf(77);
    expect(see(places, newcomer, 20)).toBe(-1);
    expect(see(places, newcomer, 200)).toBeGreaterThanOrEqual(0);
  });

  test('however much was signed once is forgotten in time', () => {
    const places = new KeyPlaces(8, 3);
    for (let i = 0; i < 8; i++) see(places, keyOf(i + 1), 1000);
    expect(see(places, keyOf(77), 6000)).toBeGreaterThanOrEqual(0);
  });

  test('from when it is claimed a place is nobody’s, so that a table half made is found by none', () => {
    const places = new KeyPlaces(8, 3);
    const keys = Array.from({ length: 8 }, (_, i) => keyOf(i + 1));
    for (const key of keys) expect(see(places, key, SIGHTS)).toBeGreaterThanOrEqual(0);
    const newcomer = keyOf(77);
    for (let i = 0; i < 100; i++) places.find(newcomer, 0);
    const claimed = places.claim(newcomer, 0);
    expect(claimed).toBeGreaterThanOrEqual(0);
    const found = [newcomer, ...keys].map((key) => places.find(key, 0)).filter((place) => place >= 0);
    expect(found).toHaveLength(7);
    expect(found).not.toContain(claimed);
  });
});
