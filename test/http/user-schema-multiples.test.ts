/** Multiples are told as the numbers written out in full tell them, without writing them out. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { multiplesOf } from '../../src/http/user-schema-multiples.ts';

/** By all digits of both, some 650 at most. */
function isMultiple(value: number, unit: number): boolean {
  const [one, other] = [decimalOf(value), decimalOf(unit)];
  const exponent = Math.min(one.exponent, other.exponent);
  const scaled = ({ digits, exponent: own }: typeof one) => digits * 10n ** BigInt(own - exponent);
  return scaled(one) % scaled(other) === 0n;
}

function decimalOf(number: number) {
  const [mantissa, exponent = '0'] = String(number).split('e') as [string, string | undefined];
  const [whole, fraction = ''] = mantissa.split('.') as [string, string | undefined];
  return { digits: BigInt(whole + fraction), exponent: Number(exponent) - fraction.length };
}

const any = fc.double({ noNaN: true, noDefaultInfinity: true });
const units = [5e-324, 2.2250738585072014e-308, 2 ** -1022, 1e-300, 0.01, 0.7, 1, 3, 2 ** 53, 5 ** 22, 1e20, 1e21];
const powers = fc.tuple(fc.constantFrom(2, 5, 10), fc.integer({ min: -1074, max: 1023 })).map(([base, n]) => base ** n);
const decimal = fc
  .tuple(fc.integer({ min: -99_999, max: 99_999 }), fc.integer({ min: -323, max: 303 }))
  .map(([digits, exponent]) => Number(`${digits}e${exponent}`));
const number = fc.oneof(any, powers, decimal, fc.maxSafeInteger(), fc.constantFrom(0, -0, Number.MAX_VALUE, ...units));
const unit = number.map(Math.abs).filter((each) => each > 0 && each < Number.POSITIVE_INFINITY);
/** With units of which they are multiples, more often than by chance. */
const pair = fc.oneof(
  fc.tuple(number, unit),
  fc.tuple(fc.integer({ min: -9999, max: 9999 }), unit).map(([times, of]) => [times * of, of] as const),
  fc
    .tuple(decimal, fc.integer({ min: 1, max: 99 }), fc.integer({ min: -30, max: 30 }))
    .map(([value, by, tens]) => [value, (Math.abs(value) / by) * 10 ** tens] as const),
);

test('as all digits of both tell them', () => {
  const told = { true: 0, false: 0 };
  fc.assert(
    fc.property(
      pair.filter(([value, of]) => Number.isFinite(value) && of > 0 && Number.isFinite(of)),
      ([value, of]) => {
        const is = isMultiple(value, of);
        told[`${is}`]++;
        expect(multiplesOf(of)(value)).toBe(is);
      },
    ),
    { numRuns: 20_000 },
  );
  expect(Math.min(told.true, told.false)).toBeGreaterThan(2000);
});

test.each(units)('of %d, whatever lies between the two', (of) => {
  const is = multiplesOf(of);
  for (let exponent = -323; exponent <= 308; exponent++) {
    for (const digits of [1, 1.5, 1.2345678901234567, 1.7]) {
      const value = Number(`${digits}e${exponent}`);
      if (!Number.isFinite(value)) continue;
      expect(is(value), `${value} of ${of}`).toBe(isMultiple(value, of));
      if (value > 0) expect(multiplesOf(value)(of), `${of} of ${value}`).toBe(isMultiple(of, value));
    }
  }
});
