/** Entries as another reader of MessagePack sees them, in each version of the format. */
import {
  type Entry,
  EntryType,
  INTENT_STATUSES,
  type Links,
  type Outcome,
  type StoredProof,
} from '../../src/core/entry.ts';
import { secondOf } from '../../src/core/luid.ts';
import { encode } from '../../src/storage/codec.ts';
import { FrameBuffer } from '../../src/storage/frame-buffer.ts';
import type { EntryFormat } from '../../src/storage/journal.ts';
import { FIRST_FORMAT } from '../support/first-format.ts';
import { SECOND_FORMAT } from '../support/second-format.ts';

export function createdAt(moment: string): string {
  return `{"moment":"${moment}","status":"created"}`;
}

type Encode = EntryFormat['encode'];
export const FORMATS: [string, Encode, number][] = [
  ['version 3, as it is written', encode, 3],
  ['version 2, as it is read for ever', SECOND_FORMAT.encode, 2],
  ['version 1, as it is read for ever', FIRST_FORMAT.encode, 1],
];

/** Encoded behind some other bytes, as in a frame. */
export function encoded(value: Entry, encodes: Encode = encode): { buffer: FrameBuffer; from: number } {
  const buffer = new FrameBuffer(16);
  buffer.reserve(10);
  buffer.end = 10;
  encodes(value, buffer);
  return { buffer, from: 10 };
}

/** The same entry as msgpackr should see it. */
export function elementsOf(value: Entry, version: number): unknown[] {
  const { luid, handle, ledger, kind, moment } = value;
  const isFirst = version === 1;
  const type = value.type + 8 * (version - 1);
  const head = [luid, handle, type, ledger, kind, isFirst ? moment : moment - secondOf(luid)];
  const customOf = (custom: string | null) => (isFirst ? custom : shortCustom(custom, moment));
  const keyOf = (key: Uint8Array) => ('data' in value && !isFirst ? shortKey(key, value.data) : key);
  const proofOf = (one: StoredProof) => [keyOf(one.public), one.result, customOf(one.custom)];
  const outcomeOf = (one: Outcome) => (isFirst ? wholeOutcome(one, 0) : shortOutcome(one, moment));
  if (value.type === EntryType.proof) {
    const labels = value.labels === undefined ? [] : [value.labels];
    return [...head, value.row, proofOf(value.proof), value.status, ...labels];
  }
  if (value.type === EntryType.step) return [...head, value.row, outcomeOf(value.outcome)];
  if (value.type === EntryType.token) return [...head, value.exp];
  if (value.type === EntryType.delivery) {
    return [...head, value.row, value.seq, value.index, value.attempts, value.isDelivered ? 1 : 0, value.detail];
  }
  const content = [value.data, value.proofs.map(proofOf)];
  switch (value.type) {
    case EntryType.create:
      return [...head, value.hash, ...content, value.seal];
    case EntryType.update:
      return [...head, value.hash, ...content, value.seal, value.row];
    case EntryType.drop:
      return [...head, value.hash, ...content, value.row];
    case EntryType.intent: {
      if (isFirst) return [...head, value.hash, ...content, value.seal, value.thread, outcomeOf(value.outcome)];
      const thread = value.thread === luid.slice(5) ? null : value.thread;
      return [...head, ...content, value.seal, thread, outcomeOf(value.outcome)];
    }
  }
}

/** Its place in the data, worked out another way than storage/keys-in-data.ts does. */
function shortKey(key: Uint8Array, data: string): Uint8Array | number {
  const place = data.length > 4096 ? -1 : data.indexOf(Buffer.from(key).toString('base64'));
  const ends = [...data.slice(43, place + 43)].filter((character) => character === '=').length;
  return place >= 0 && ends < 8 ? place : key;
}

/** The number it is kept as, worked out another way than storage/customs.ts does. */
function shortCustom(custom: string | null, moment: number): string | null | number {
  const text = /^\{"moment":"(\d{4}-[^"]*)","status":"created"\}$/.exec(custom ?? '')?.[1];
  const date = new Date(text ?? Number.NaN);
  if (Number.isNaN(date.getTime()) || date.toISOString() !== text) return custom;
  const after = date.getTime() - moment;
  return Number.isSafeInteger(after) ? after : custom;
}

function shortOutcome(outcome: Outcome, base: number): unknown[] {
  const { moment, steps, reason, detail, postings, limits, links: some } = outcome;
  const isSilent = `${steps} ${reason} ${detail}` === 'prepared,committed,completed  ' && reason === '';
  if (!isSilent || limits.length > 0 || some !== undefined) return wholeOutcome(outcome, base);
  const [wallet, symbol, change = 0, , other] = postings;
  const size = Math.abs(change);
  const pair = [wallet, symbol, change, size, other, symbol, -change, size];
  const isPair = size > 0 && JSON.stringify(postings) === JSON.stringify(pair);
  return isPair ? [moment - base, wallet, symbol, change, other] : [moment - base, postings];
}

function wholeOutcome(outcome: Outcome, base: number): unknown[] {
  const { moment, steps, reason, detail, postings, limits, links: some } = outcome;
  const numbers = steps.map((status) => INTENT_STATUSES.indexOf(status));
  return [moment - base, numbers, reason, detail, postings, limits, ...(some === undefined ? [] : [linksOf(some)])];
}

function linksOf({ legs, marks, forwards, routed, through, failId, leg }: Links): unknown[] {
  return [
    legs.map(({ side, bridge, wallet, symbol, amount, claims }) => [side, bridge, wallet, symbol, amount, ...claims]),
    marks,
    forwards.flatMap(({ claim, wallet, symbol, amount }) => [claim, wallet, symbol, amount]),
    forwards.map(({ target }) => target),
    routed,
    through,
    failId,
    leg + 1,
  ];
}
