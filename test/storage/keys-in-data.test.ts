import { randomBytes } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { keyAt, placeOf } from '../../src/storage/keys-in-data.ts';
import { often } from '../support/long.ts';

const key = fc.uint8Array({ minLength: 32, maxLength: 32 });
const text = fc.oneof(fc.string({ unit: 'binary' }), fc.string({ unit: fc.constantFrom(...'AZaz09+/="é😀') }));
const named = (one: Uint8Array) => Buffer.from(one).toString('base64');

test('a key that stands in data is found, and read there again, whatever stands around it', () => {
  fc.assert(
    fc.property(key, text, text, (one, before, after) => {
      const data = before + named(one) + after;
      const place = placeOf(data, one);
      if (before.split('=').length <= 8) expect(place).toBeGreaterThanOrEqual(0);
      if (place >= 0) expect(keyAt(data, place)).toEqual(one);
    }),
    { numRuns: often(700, 20_000) },
  );
});

test('where one is found, that is the key: any character changed, it is no longer there', () => {
  fc.assert(
    fc.property(key, fc.nat(43), fc.string({ unit: 'binary', minLength: 1, maxLength: 1 }), (one, at, other) => {
      const name = named(one);
      const changed = name.slice(0, at) + other + name.slice(at + 1);
      const place = placeOf(changed, one);
      // The last character but one says four bits only: others of it are the same key, written as nobody writes it.
      if (changed !== name && at !== 42) expect(place).toBe(-1);
      if (place >= 0) expect(keyAt(changed, place)).toEqual(one);
    }),
    { numRuns: often(700, 20_000) },
  );
});

describe('no key', () => {
  const one = new Uint8Array(randomBytes(32));
  const name = named(one);
  test.each([
    ['in nothing', ''],
    ['in base64 of something else', named(randomBytes(32))],
    ['without its padding', name.slice(0, -1)],
    ['without its first character', name.slice(1)],
    ['in the alphabet of URLs', Buffer.alloc(32, 0xff).toString('base64url')],
    ['behind eight other paddings', `${'x'.repeat(50)}========${name}`],
    ['in long data', name + ' '.repeat(4096)],
  ])('is found %s', (_name, data) => {
    expect(placeOf(data, one)).toBe(-1);
  });

  test.each([-1, 0.5, 1, 2 ** 53, Number.NaN, 44])('is read at %s', (place) => {
    expect(keyAt(name, place)).toBeNull();
  });

  test('is read where there are characters that are none of base64', () => {
    for (let at = 0; at < 44; at++) {
      for (const other of ['-', '_', '"', 'é', 'Ł', '=']) {
        const data = name.slice(0, at) + other + name.slice(at + 1);
        if (data !== name) expect(keyAt(data, 0)).toBeNull();
      }
    }
  });
});
