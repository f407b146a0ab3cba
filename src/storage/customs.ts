/**
 * What nearly every client says beside its signature, `{"moment":"2026-11-20T19:37:28.431Z","status":"created"}`, as
 * one number and back: an entry keeps the moment, and gives back the identical text.
 *
 * What always holds: `createdText(momentIn(text))` is `text`, to the last character, wherever `momentIn` finds a
 * moment. What is written otherwise (other members or another order, a day no calendar has, a leap second, a year of
 * more than four digits) has none, and is kept as text. Neither reads the time zone or the clock: the year 9999 is as
 * good as now.
 */
const HEAD = '{"moment":"';
const TAIL = 'Z","status":"created"}';
/** Where the parts of `2026-11-20T19:37:28.431` lie, and how long the whole is. */
const SECOND_AT = HEAD.length + 17;
const MILLI_AT = SECOND_AT + 3;
const TAIL_AT = MILLI_AT + 3;
const CHARS = TAIL_AT + TAIL.length;

const ZERO = 0x30;
const PERIOD = 0x2e;

const MINUTE_MS = 60_000;
/** What has a year of four digits. */
const MOMENT_MIN = Date.parse('0000-01-01T00:00:00.000Z');
const MOMENT_MAX = Date.parse('9999-12-31T23:59:59.999Z');

/** The text up to its seconds. */
const MINUTE = /^\{"moment":"(\d{4}-\d\d-\d\dT\d\d:\d\d):$/;
const SECONDS = Array.from({ length: 60 }, (_, second) => String(second).padStart(2, '0'));
const TAILS = Array.from({ length: 1000 }, (_, milli) => `.${String(milli).padStart(3, '0')}${TAIL}`);

// The customs of one minute come together: one is remembered, in each direction.
let readHead = 'no minute';
let readMinute = Number.NaN;

/** The moment, milliseconds since 1970, that this is all of; NaN where it is not. */
export function momentIn(custom: string): number {
  if (custom.length !== CHARS || !custom.endsWith(TAIL)) return Number.NaN;
  if (!(custom.startsWith(readHead) || isMinute(custom.slice(0, SECOND_AT)))) return Number.NaN;
  if (custom.charCodeAt(MILLI_AT - 1) !== PERIOD) return Number.NaN;
  const tens = digitAt(custom, SECOND_AT);
  const ones = digitAt(custom, SECOND_AT + 1);
  const first = digitAt(custom, MILLI_AT);
  const second = digitAt(custom, MILLI_AT + 1);
  const third = digitAt(custom, MILLI_AT + 2);
  if (tens > 5 || ones > 9 || first > 9 || second > 9 || third > 9) return Number.NaN;
  return readMinute + (tens * 10 + ones) * 1000 + (first * 10 + second) * 10 + third;
}

/** Whether a text begins so; then it is the minute that is remembered. */
function isMinute(head: string): boolean {
  const text = MINUTE.exec(head)?.[1];
  if (text === undefined) return false;
  const moment = Date.parse(`${text}:00.000Z`);
  // Date.parse takes the 30th of February for the 2nd of March.
  if (!(moment >= MOMENT_MIN) || !new Date(moment).toISOString().startsWith(text)) return false;
  readHead = head;
  readMinute = moment;
  return true;
}

/** Above 9 for what is no digit. */
function digitAt(text: string, at: number): number {
  return (text.charCodeAt(at) - ZERO) >>> 0;
}

let writtenHead = '';
let writtenMinute = Number.NaN;

/** The text that is all of this moment, or null for what is none, or has no year of four digits. */
export function createdText(moment: number): string | null {
  if (!(Number.isInteger(moment) && moment >= MOMENT_MIN && moment <= MOMENT_MAX)) return null;
  const at = Math.floor(moment / MINUTE_MS);
  if (at !== writtenMinute) {
    writtenMinute = at;
    writtenHead = HEAD + new Date(at * MINUTE_MS).toISOString().slice(0, SECOND_AT - HEAD.length);
  }
  const millis = moment - at * MINUTE_MS;
  return writtenHead + SECONDS[Math.floor(millis / 1000)]! + TAILS[millis % 1000]!;
}
