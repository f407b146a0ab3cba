/**
 * A moment as whoever types a command names it: exactly. A day alone begins at another moment in each zone, so it is
 * none.
 */
import { UsageError } from '../usage.ts';

/** All moments come before it, and nothing began it. */
export const NEVER = Number.POSITIVE_INFINITY;

const ISO = /^(\d{4})-(\d\d)-(\d\d)T\d\d:\d\d(?::\d\d(?:\.\d{1,3})?)?(?:Z|[+-]\d\d:\d\d)$/;
/** The beginning, and from 2001 on: fewer digits are a year, or seconds. */
const MILLISECONDS = /^(?:0|\d{13})$/;

/** Milliseconds since 1970; `none` where the flag was not given. */
export function readMoment(flag: string, text: string | undefined, none: number): number {
  if (text === undefined) return none;
  if (MILLISECONDS.test(text)) return Number(text);
  const [, year, month, day] = ISO.exec(text) ?? [];
  const moment = Date.parse(text);
  // Date.parse takes the 30th of February for the 2nd of March.
  const isDay = Number(day) <= new Date(Date.UTC(Number(year), Number(month), 0)).getUTCDate();
  if (isDay && !Number.isNaN(moment)) return moment;
  throw new UsageError(
    `${flag}: must be a moment with its zone, 2026-11-01T00:00Z say, or milliseconds since 1970, of 13 digits`,
  );
}
