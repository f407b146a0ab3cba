/**
 * Whether a number is a whole multiple of another, both as they are written: 4.35 is one of 0.01, though in binary
 * fractions it is not.
 */

/**
 * The tens that the digits of two numbers can be apart before more of them change nothing. Digits are at most 21, so below
 * two to the 70: what more tens put to a value does not bring into the unit's digits is no two and no five, and a unit
 * with so many behind its digits is above any value's but nought. A number has 632 tens in it, all of them would be most
 * of the work.
 */
const TENS_MAX = 70;
const TENS = Array.from({ length: TENS_MAX + 1 }, (_, i) => 10n ** BigInt(i));

/** Tells the whole multiples of `unit`, which is above nought. */
export function multiplesOf(unit: number): (value: number) => boolean {
  const of = decimalOf(unit);
  const isWhole = Number.isSafeInteger(unit);
  return (value) => {
    if (isWhole && Number.isSafeInteger(value)) return value % unit === 0;
    const { digits, exponent } = decimalOf(value);
    const apart = exponent - of.exponent;
    const tens = TENS[Math.min(Math.abs(apart), TENS_MAX)]!;
    return (apart < 0 ? digits % (of.digits * tens) : (digits * tens) % of.digits) === 0n;
  };
}

/** `digits` times ten to the `exponent`. */
interface Decimal {
  readonly digits: bigint;
  readonly exponent: number;
}

/** A finite number by the digits that JSON writes of it. */
function decimalOf(number: number): Decimal {
  const text = String(number);
  const [e, dot] = [text.indexOf('e'), text.indexOf('.')];
  const mantissa = e < 0 ? text : text.slice(0, e);
  const exponent = e < 0 ? 0 : Number(text.slice(e + 1));
  if (dot < 0) return { digits: BigInt(mantissa), exponent };
  const fraction = mantissa.slice(dot + 1);
  return { digits: BigInt(mantissa.slice(0, dot) + fraction), exponent: exponent - fraction.length };
}
