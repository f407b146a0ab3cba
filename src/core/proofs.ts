/**
 * What the server signs. Each entry implies the server's proofs of it: their `custom` follows from the entry alone,
 * and Ed25519 is deterministic, so a proof that is computed again after years is the same to the last byte.
 *
 * Customs are written here directly in canonical form: members in sorted order, no white space.
 */
import { type Entry, EntryType, type Outcome } from './entry.ts';

/** ISO 8601 with milliseconds, remembered for one value: entries of a batch share theirs. */
let isoOf = Number.NaN;
let isoText = '';
export function isoMoment(moment: number): string {
  if (moment !== isoOf) {
    isoOf = moment;
    isoText = new Date(moment).toISOString();
  }
  return isoText;
}

export function createdCustom(luid: string, moment: number, status: string): string {
  return `{"luid":"${luid}","moment":"${isoMoment(moment)}","status":"${status}"}`;
}

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

/** The customs of the proofs that tell how an intent went on, in order. */
export function outcomeCustoms({ moment, steps, reason, detail, links }: Outcome, handleOf: LegHandles): string[] {
  const at = isoMoment(moment);
  return steps.map((status) => {
    if (status !== 'failed' && status !== 'error') return `{"moment":"${at}","status":"${status}"}`;
    const failId = links === undefined || links.failId === '' ? '' : `"failId":${JSON.stringify(links.failId)},`;
    const handle = links === undefined || links.leg < 0 ? '' : `"handle":"${handleOf(links.leg)}",`;
    return `{"detail":${JSON.stringify(detail)},${failId}${handle}"moment":"${at}","reason":"${reason}","status":"${status}"}`;
  });
}

/** The handle of an intent's leg by its number. */
export type LegHandles = (leg: number) => string;
