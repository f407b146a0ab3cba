/** Hashes: the same for ever, different where they must be, and spread evenly enough for the table. */
import { expect, test } from 'vitest';
import { hashAscii, hashMix, hashRows, hashText } from '../../src/memory/index.ts';

test('hashes never change: they lie in snapshots', () => {
  const golden: [number, string, number][] = [
    [0, '', 2570717956],
    [1, 'a', 1288210360],
    [1, 'abcd', 1231309171],
    [2, 'abcde', 927732650],
    [0xffffffff, 'wallet-1', 1126612755],
    [7, 'ñandú', 3565710584],
    [7, '→ wide', 3085260227],
    [7, 'x'.repeat(300), 1902383660],
  ];
  expect(golden.map(([seed, text]) => hashText(seed, text))).toEqual(golden.map(([, , hash]) => hash));
  expect([hashMix(0, 0), hashMix(1, 2), hashMix(2, 1), hashMix(0xffffffff, 0xffffffff)]).toEqual([
    2856213345, 1606317162, 399339924, 1300299365,
  ]);
  expect([hashRows(0, 1, 2), hashRows(7, 1, 2), hashRows(0xffffffff, 1, 2)]).toEqual([
    1606317162, 1799464869, 4162753143,
  ]);
});

test('texts that look alike as bytes do not meet', () => {
  const texts = [
    '',
    '\0',
    '\0\0',
    '\0\0\0',
    '\0\0\0\0',
    '\0\0\0\0\0',
    'a',
    'a\0',
    '\0a',
    '\0\u0001',
    'abc\0',
    'abc\u0100',
    'ab',
    '\u6261',
    'abcd',
    '\u6261\u6463',
    '\u6261\u6463\0\0',
    'ab\0\0cd',
    'ñ',
    'Ā',
    '\u0100\u0000',
    '\u0001',
  ];
  for (const seed of [0, 1, 0xffffffff]) {
    expect(new Set(texts.map((text) => hashText(seed, text))).size, `seed ${seed}`).toBe(texts.length);
  }
});

test('the bytes of an ASCII text give what the text gives, wherever they lie', () => {
  const text = Array.from({ length: 128 }, (_, code) => String.fromCharCode(code)).join('');
  const bytes = new TextEncoder().encode(text);
  for (const seed of [0, 1, 7, 0xffffffff]) {
    for (let length = 0; length <= 40; length++) {
      for (const from of [0, 1, 50, 128 - length]) {
        const hash = hashText(seed, text.slice(from, from + length));
        expect(hashAscii(seed, bytes, from, from + length), `${length} from ${from}`).toBe(hash);
      }
    }
  }
});

test('another seed gives another hash', () => {
  const hashes = Array.from({ length: 1000 }, (_, seed) => hashText(seed, 'wallet'));
  expect(new Set(hashes).size).toBe(1000);
  expect(hashText(-1, 'wallet')).toBe(hashText(0xffffffff, 'wallet'));
});

test('either number changes the mix, and their order too', () => {
  const seen = new Set<number>();
  for (let i = 0; i < 20_000; i++) seen.add(hashMix(7, i)).add(hashMix(i + 10, 7));
  expect(seen.size).toBeGreaterThan(39_990);
});

const spreads: [string, (i: number) => number][] = [
  ['texts with running numbers', (i) => hashText(3, `wallet-${i}`)],
  ['long texts that differ at the start', (i) => hashText(3, `${i}${'x'.repeat(290)}`)],
  ['wide texts', (i) => hashText(3, `→${String.fromCharCode(0x4e00 + (i % 1000))}${i}`)],
  ['mixes of rows', (i) => hashMix(i >>> 8, i & 255)],
];

for (const [what, hashOf] of spreads) {
  test(`every bit is set for half of all: ${what}`, () => {
    const count = 20_000;
    const bits = new Array<number>(32).fill(0);
    const buckets = new Array<number>(256).fill(0);
    for (let i = 0; i < count; i++) {
      const hash = hashOf(i);
      expect(hash >>> 0).toBe(hash);
      for (let bit = 0; bit < 32; bit++) bits[bit]! += (hash >>> bit) & 1;
      buckets[hash >>> 24]!++;
    }
    // Five standard deviations: sqrt(20 000) / 2 = 71 for a bit, sqrt(20 000 / 256) = 9 for a bucket.
    for (const [bit, ones] of bits.entries()) expect(Math.abs(ones - count / 2), `bit ${bit}`).toBeLessThan(360);
    for (const [bucket, hits] of buckets.entries())
      expect(Math.abs(hits - count / 256), `bucket ${bucket}`).toBeLessThan(48);
  });
}
