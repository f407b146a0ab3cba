/** What a ring gives for a number is the text that was set for it last, or nothing: another would be another's record. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { TextRing } from '../../src/text-ring.ts';

test('a text comes back whole with its note, whatever characters it has', () => {
  const ring = new TextRing(100_000);
  const texts = ['{"a":1}', 'ä', '\u{1f600} €', 'x'.repeat(300), '', '\0'];
  for (const [n, text] of texts.entries()) ring.set(n, text, n * 2 ** 29);
  expect(texts.map((_, n) => ring.get(n))).toEqual(texts.map((text, n) => ({ text, note: n * 2 ** 29 })));
  expect(ring.get(texts.length)).toBeUndefined();
});

/** Texts of up to half of the ring, of few numbers, so that they are set anew, and some that are as far apart as addresses are. */
const KEYS = [1, 2, 3, 8, 2 ** 32 + 1, 2 ** 32 + 2, 2 ** 45, 2 ** 53 - 1];
const SETS = fc.array(fc.record({ key: fc.constantFrom(...KEYS), bytes: fc.nat(60), wide: fc.boolean() }), {
  maxLength: 60,
});

test.each([10, 100, 101, 5000])(
  'in a ring of %i bytes each look gives the last text of a number, or none',
  (bytesMax) => {
    const check = (sets: { key: number; bytes: number; wide: boolean }[]) => {
      const ring = new TextRing(bytesMax);
      const last = new Map<number, { text: string; note: number }>();
      sets.forEach(({ key, bytes, wide }, note) => {
        const text = `${String.fromCharCode(97 + (note % 26)).repeat(bytes)}${wide ? 'é' : ''}`;
        ring.set(key, text, note);
        last.set(key, { text, note });
        const isKept = Buffer.byteLength(text) <= bytesMax;
        expect(ring.get(key)).toEqual(isKept ? { text, note } : undefined);
        for (const [known, value] of last) {
          const got = ring.get(known);
          if (got !== undefined) expect(got).toEqual(value);
        }
      });
    };
    fc.assert(fc.property(SETS, check), { numRuns: 300 });
  },
);

test('texts that fill it are all there, and with one more the oldest goes', () => {
  const ring = new TextRing(64 * 3072);
  const text = (n: number) => String(n).padEnd(3072, '.');
  const there = () => Array.from({ length: 70 }, (_, n) => n).filter((n) => ring.get(n * 8)?.text === text(n));
  const set = (from: number, to: number) => {
    for (let n = from; n < to; n++) ring.set(n * 8, text(n), 0);
  };
  set(0, 63);
  expect(there()).toEqual(Array.from({ length: 63 }, (_, n) => n));
  set(63, 64);
  expect(there()).toEqual(Array.from({ length: 63 }, (_, n) => n + 1));
  set(64, 70);
  expect(there()).toEqual(Array.from({ length: 63 }, (_, n) => n + 7));
});

test('one that does not fit before the end takes nothing of what lies at the start but its own room', () => {
  const ring = new TextRing(100);
  ring.set(1, 'a'.repeat(30), 0);
  ring.set(2, 'b'.repeat(30), 0);
  ring.set(3, 'c'.repeat(30), 0);
  ring.set(4, 'd'.repeat(25), 0);
  expect([1, 2, 3, 4].map((key) => ring.get(key)?.text[0])).toEqual([undefined, 'b', 'c', 'd']);
});

test('one that is longer than the ring is not kept, nor what its number had before', () => {
  const ring = new TextRing(10);
  ring.set(1, 'short', 0);
  ring.set(2, 'x'.repeat(11), 0);
  expect([ring.get(1)?.text, ring.get(2)]).toEqual(['short', undefined]);
  ring.set(1, 'x'.repeat(11), 0);
  expect(ring.get(1)).toBeUndefined();
});
