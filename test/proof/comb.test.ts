/**
 * Verifying by tables of keys: what they accept and refuse, what the library is still asked, and who gets a table when.
 */
import { Point } from '@noble/ed25519';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { Combs, PAIRED, SHARED } from '../../src/proof/comb/combs.ts';
import { KeyedVerifier } from '../../src/proof/comb/index.ts';
import { createKeyPair, type KeyPair } from '../../src/proof/keys.ts';
import { LIBRARIES, type SignatureLibrary, sign } from '../../src/proof/verify.ts';
import { rowOf, SHAPES, SIGHTS, startTables } from './tables.ts';

const library = LIBRARIES[0]!;

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

  function rowsOf(count: number, pairOf: (row: number) => KeyPair, isBad = (_row: number) => false): Uint8Array {
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

  test.each(SHAPES)('texts of any length beside digests, with and without a table of shape %s', (_, shapes) => {
    const { verifier, asked } = startVerifier(64, shapes);
    const lengths = [1, 31, 32, 33, 63, 64, 65, 111, 112, 500, 1023, 1024, 0];
    const count = 8 * lengths.length;
    const rows = rowsOf(count, (row) => pairs[row % 2]!);
    const texts = { texts: new Uint8Array(count * 1024), textBytes: new Uint16Array(count) };
    const expected: boolean[] = [];
    for (let row = 0; row < count; row++) {
      const text = Uint8Array.from({ length: lengths[row % lengths.length]! }, (_, i) => row + 5 * i);
      const isBad = row % 3 === 1;
      if (text.length > 0) rows.set(sign(text, pairs[row % 2]!), row * 128 + 64);
      if (isBad && text.length > 0) text[row % text.length]! ^= 1 << (row & 7);
      texts.texts.set(text, row * 1024);
      texts.textBytes[row] = text.length;
      expected.push(!isBad || text.length === 0);
    }
    for (let round = 0; round < 3; round++) {
      asked.length = 0;
      const verdicts: boolean[] = [];
      verifier.verify(rows, count, (row, holds) => (verdicts[row] = holds), texts);
      expect(verdicts).toEqual(expected);
    }
    expect(asked.filter((each) => each.endsWith('true'))).toEqual([]);
    // The next rows have none: what these had is not theirs.
    const digests = rowsOf(count, (row) => pairs[row % 2]!);
    expect(verdictsOf(verifier, digests)).not.toContain(false);
  });

  test('made in steps it is ready after the last, and rows that come between them are answered', () => {
    const { verifier, asked } = startVerifier(64, SHARED);
    const rows = rowsOf(2 * SIGHTS, () => pairs[0]!);
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
    const good = rowsOf(40, () => pairs[1]!);
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
    const rows = rowsOf(32, () => pairs[2]!);
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
    const rowsBy = (numbers: number[]) => rowsOf(numbers.length, (row) => pairs[numbers[row]!]!);
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
      const rows = rowsOf(200, (row) => pairs[row % 2]!);
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
    const good = rowsOf(SIGHTS, () => pairs[0]!);
    verdictsOf(verifier, good);
    const rows = rowsOf(2, (row) => pairs[row]!);
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
      rowsOf(80, (row) => pairs[row % 2]!),
    );
    const rows = rowsOf(20, (row) => pairs[row % 2]!);
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
    // Of fewer places now and then, once in some three hundred runs, nine of the keys shared a set of eight.
    const { verifier, asked } = startVerifier(512);
    const many = Array.from({ length: 20 }, createKeyPair);
    const rows = rowsOf(400, (row) => many[row % 20]!);
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
        rowsOf(30, () => pairs[3]!),
      ),
    ).not.toContain(false);
    expect(asked).toHaveLength(30);
  });

  test('with either library what was signed is accepted by the table, and not with any one bit turned', () => {
    const isAcceptedByTable = startTables();
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
