/**
 * What the server signs. Each entry implies the server's proofs of it: their `custom` follows from the entry alone,
 * and Ed25519 is deterministic, so a proof that is computed again after years is the same to the last byte.
 *
 * Customs are written here directly in canonical form: members in sorted order, no white space.
 */
import { type Entry, EntryType, type Outcome } from './entry.ts';

const DAY_MS = 86_400_000;
/** From here on years have five digits. */
const YEAR_10_000 = Date.UTC(10_000, 0);

/** 00, 01, … and 000, 001, …, each with what stands before it. */
const HOURS = Array.from({ length: 24 }, (_, n) => `T${String(n).padStart(2, '0')}`);
const SIXTIETHS = Array.from({ length: 60 }, (_, n) => `:${String(n).padStart(2, '0')}`);
const THOUSANDTHS = Array.from({ length: 1000 }, (_, n) => `.${String(n).padStart(3, '0')}Z`);

/** Of the day that was asked for last. */
let dayOf = Number.NaN;
let dayText = '';
/** Entries of a batch share theirs. */
let isoOf = Number.NaN;
let isoText = '';

/** ISO 8601 with milliseconds, as Date writes it. Put together here, because every answer holds several. */
export function isoMoment(moment: number): string {
  if (moment === isoOf) return isoText;
  isoText = moment >= 0 && moment < YEAR_10_000 ? isoOfDay(moment) : new Date(moment).toISOString();
  isoOf = moment;
  return isoText;
}

function isoOfDay(moment: number): string {
  const whole = Math.floor(moment);
  const day = Math.floor(whole / DAY_MS);
  if (day !== dayOf) {
    dayOf = day;
    dayText = new Date(day * DAY_MS).toISOString().slice(0, 10);
  }
  const ms = whole - day * DAY_MS;
  const seconds = Math.floor(ms / 1000);
  const minutes = Math.floor(seconds / 60);
  const hour = HOURS[Math.floor(minutes / 60)]!;
  return `${dayText}${hour}${SIXTIETHS[minutes % 60]!}${SIXTIETHS[seconds % 60]!}${THOUSANDTHS[ms % 1000]!}`;
}

/** What the server signs of a new record. Canonical JSON; `moment` in milliseconds since 1970. */
export function createdCustom(luid: string, moment: number, status: string): string {
  return `{"luid":"${luid}","moment":"${isoMoment(moment)}","status":"${status}"}`;
}

/** The same of a new version. */
export function updatedCustom(luid: string, moment: number): string {
  return `{"luid":"${luid}","moment":"${isoMoment(moment)}"}`;
}

/** The custom of the server's proof that is signed on the way in and kept in the entry as `seal`. */
export function sealCustom(entry: Entry): string {
  switch (entry.type) {
    case EntryType.create:
      return createdCustom(entry.luid, entry.moment, 'created');
    case EntryType.intent:
      return createdCustom(entry.luid, entry.moment, 'pending');
    case EntryType.update:
      return updatedCustom(entry.luid, entry.moment);
    default:
      return '';
  }
}

/**
 * The customs of the proofs that tell how the intent `luid` went on, in order. They name it, since whoever signed an
 * intent may send it to another ledger too, where other things become of the same hash. `handleOf` gives a leg's by its
 * number.
 */
export function outcomeCustoms(luid: string, outcome: Outcome, handleOf: (leg: number) => string): string[] {
  const { steps, reason, detail, links } = outcome;
  const at = isoMoment(outcome.moment);
  const whose = outcome.isEarly ? '' : `"luid":"${luid}",`;
  return steps.map((status) => {
    if (status !== 'failed' && status !== 'error') return `{${whose}"moment":"${at}","status":"${status}"}`;
    const failId = links === undefined || links.failId === '' ? '' : `"failId":${JSON.stringify(links.failId)},`;
    const handle = links === undefined || links.leg < 0 ? '' : `"handle":"${handleOf(links.leg)}",`;
    return `{"detail":${JSON.stringify(detail)},${failId}${handle}${whose}"moment":"${at}","reason":"${reason}","status":"${status}"}`;
  });
}
