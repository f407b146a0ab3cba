/**
 * Multiples of numbers as they are written: 4.35 is one of 0.01, though in binary fractions it is not. Two numbers have
 * at most some 650 digits between them, so an answer takes no longer than a few additions of those.
 */

/** Whether `value` is a whole multiple of `unit`, which is above zero. */
export function isMultiple(value: number, unit: number): boolean {
  if (Number.isSafeInteger(value) && Number.isSafeInteger(unit)) return value % unit === 0;
  const [one, other] = [decimalOf(value), decimalOf(unit)];
  const exponent = Math.min(one.exponent, other.exponent);
  const scaled = ({ digits, exponent: own }: Decimal) => digits * 10n ** BigInt(own - exponent);
  return scaled(one) % scaled(other) === 0n;
}

/** `digits` times ten to the `exponent`. */
interface Decimal {
  readonly digits: bigint;
  readonly exponent: number;
}

/** A finite number by the digits that JSON writes of it. */
function decimalOf(number: number): Decimal {
  const [mantissa, exponent = '0'] = String(number).split('e') as [string, string | undefined];
  const [whole, fraction = ''] = mantissa.split('.') as [string, string | undefined];
  return { digits: BigInt(whole + fraction), exponent: Number(exponent) - fraction.length };
}
