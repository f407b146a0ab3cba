/** Keys are found whichever of them there are, and with no more looks where somebody chose them to be alike. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { KeyMap } from '../../src/core/access/key-map.ts';
import { often } from '../support/long.ts';

/** Keys of few bytes that differ, so that many begin alike, or end so. */
const key = fc
  .array(fc.tuple(fc.constantFrom(0, 1, 6, 7, 30, 31), fc.constantFrom(1, 2, 128, 255)), { maxLength: 4 })
  .map((bytes) => {
    const all = new Uint8Array(32);
    for (const [at, byte] of bytes) all[at] = byte;
    return all;
  });

test('a map of keys has what was added, and nothing else', () => {
  fc.assert(
    fc.property(fc.array(key, { maxLength: 60, size: 'max' }), fc.array(key, { maxLength: 20 }), (keys, others) => {
      const map = new KeyMap<number>();
      const plain = new Map<string, number>();
      for (const [n, each] of keys.entries()) {
        expect(map.get(each)).toBe(plain.get(each.join()));
        if (!plain.has(each.join())) map.add(each, n);
        plain.set(each.join(), plain.get(each.join()) ?? n);
      }
      for (const each of [...keys, ...others]) expect(map.get(each.slice())).toBe(plain.get(each.join()));
      expect(map.size).toBe(plain.size);
      map.clear();
      expect([map.size, ...keys.map((each) => map.get(each))]).toEqual([0, ...keys.map(() => undefined)]);
    }),
    { numRuns: often(300, 10_000) },
  );
});

/** How many bytes of a key are looked at until it is found, or not. */
function looksFor(map: KeyMap<number>, sought: Uint8Array): number {
  let looks = 0;
  const watched = new Proxy(sought, {
    get(bytes, name) {
      if (typeof name === 'string' && /^\d+$/.test(name)) looks++;
      return Reflect.get(bytes, name, bytes);
    },
  });
  map.get(watched);
  return looks;
}

const withBytes = (length: number, change: (bytes: Uint8Array) => void) => {
  const bytes = new Uint8Array(length);
  change(bytes);
  return bytes;
};

test.each<[string, (n: number) => Uint8Array]>([
  ['begin alike', (n) => withBytes(32, (bytes) => new DataView(bytes.buffer).setUint32(28, n))],
  ['end alike', (n) => withBytes(32, (bytes) => new DataView(bytes.buffer).setUint32(0, n))],
  // The deepest there is: of each bit a fork of its own.
  [
    'part from each other a bit later each',
    (n) => withBytes(32, (bytes) => bytes.fill(1 << (7 - (n % 8)), (n / 8) % 32)),
  ],
])('of a thousand keys that %s few bytes are looked at', (_what, make) => {
  const map = new KeyMap<number>();
  for (let n = 0; n < 1000; n++) if (map.get(make(n)) === undefined) map.add(make(n), n);
  const sought = [make(0), make(999), new Uint8Array(32), new Uint8Array(32).fill(255)];
  for (const each of sought) expect(looksFor(map, each)).toBeLessThanOrEqual(256 + 32);
});
