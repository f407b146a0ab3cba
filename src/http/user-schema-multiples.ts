/**
 * Whether a number is a whole multiple of another, both as they are written: 4.35 is one of 0.01, though in binary
 * fractions it is not.
 */

/**
 * How many powers of ten may lie between the digits of two numbers before more of them change nothing. The digits are
 * at most 21, so below two to the 70. Where the value has more tens, those 70 hold every two and five that the unit's
 * digits can have; where the unit has more, it is above any value but nought. Numbers may be 632 tens apart, and to
 * multiply with all of them would be most of the work.
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
