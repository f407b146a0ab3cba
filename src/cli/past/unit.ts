/** A symbol as the unit that amounts are in. The books count in its smallest part; people read decimals. */
import { dataOf, versionAt } from '../../core/records.ts';
import type { State } from '../../core/state.ts';

export interface Unit {
  handle: string;
  luid: string;
  /** How many of the smallest part make one: a power of ten. */
  factor: number;
}

/** As its record was when this moment began: later versions may have another handle or factor. */
export function unitAt(state: State, symbol: number, moment: number): Unit {
  let version = versionAt(state, state.rows.at.get(symbol));
  while (version.before !== 0 && version.entry.moment >= moment) version = versionAt(state, version.before);
  const { entry } = version;
  const { factor } = dataOf(entry) as { factor: number };
  return { handle: entry.handle, luid: entry.luid, factor };
}

/** As wide as most amounts are; longer ones push what follows aside. */
export const AMOUNT_WIDTH = 18;

/** Exactly: no number is divided. */
export function decimalText(amount: bigint, { factor }: Unit): string {
  const digits = String(factor).length - 1;
  if (digits === 0) return `${amount}`;
  const sign = amount < 0n ? '-' : '';
  const text = `${amount < 0n ? -amount : amount}`.padStart(digits + 1, '0');
  return `${sign}${text.slice(0, -digits)}.${text.slice(-digits)}`;
}
