/**
 * Outcomes in entries (entry-bytes.ts), written and read. One that says all there is to say is
 *
 *     [moment, steps as rows of INTENT_STATUSES, reason, detail, postings, limits, and where it has them, links]
 *     links = [legs, marks, numbers of forwards, their targets, routed, through, failId, leg + 1]
 *     leg = [side, bridge, wallet, symbol, amount, claims …]
 *
 * with postings and limits flat as in core/entry.ts. Most intents come to their end alone and at once; of those with
 * the steps prepared, committed, completed and nothing else to tell there is from version 2 on only
 *
 *     [moment, postings]
 *
 * and where the postings are one amount from one wallet to another, five numbers:
 *
 *     [moment, wallet, symbol, change, other wallet]
 *
 * From version 2 on moments are told as the milliseconds after that of the entry. Outcomes of versions 1 and 2 are
 * early ones (core/entry.ts).
 */
import { INTENT_STATUSES, type IntentStatus, type Leg, type Links, type Outcome, Side } from '../core/entry.ts';
import * as msgpack from './msgpack.ts';

/** The last version whose outcomes are early ones. */
const EARLY_VERSION_MAX = 2;
const ELEMENTS = 6;
const PLAIN_ELEMENTS = 2;
const TRANSFER_ELEMENTS = 5;
const LINKS_ELEMENTS = 8;
/** Numbers of a leg before its claims, and of a forward beside its target. */
const LEG_NUMBERS = 5;
const FORWARD_NUMBERS = 4;
/** More than the headers and numbers of the fixed elements take together. */
const FIXED_BYTES_MAX = 256;

/** `base` is the moment of the entry. */
export function writeOutcome(bytes: Buffer, start: number, outcome: Outcome, base: number): number {
  if (!isPlain(outcome)) return writeWhole(bytes, start, outcome, base);
  const { postings } = outcome;
  let at = start;
  if (isTransfer(postings)) {
    at = msgpack.writeArrayHead(bytes, at, TRANSFER_ELEMENTS);
    at = writeMoment(bytes, at, outcome.moment, base);
    at = msgpack.writeNumber(bytes, at, postings[0]!);
    at = msgpack.writeNumber(bytes, at, postings[1]!);
    at = msgpack.writeNumber(bytes, at, postings[2]!);
    return msgpack.writeNumber(bytes, at, postings[4]!);
  }
  at = msgpack.writeArrayHead(bytes, at, PLAIN_ELEMENTS);
  at = writeMoment(bytes, at, outcome.moment, base);
  return msgpack.writeNumbers(bytes, at, postings);
}

/** An outcome with all its elements, told from `base`. */
export function writeWhole(bytes: Buffer, start: number, outcome: Outcome, base: number): number {
  let at = msgpack.writeArrayHead(bytes, start, ELEMENTS + (outcome.links === undefined ? 0 : 1));
  at = writeMoment(bytes, at, outcome.moment, base);
  at = msgpack.writeArrayHead(bytes, at, outcome.steps.length);
  for (const status of outcome.steps) at = msgpack.writeCount(bytes, at, INTENT_STATUSES.indexOf(status));
  at = msgpack.writeText(bytes, at, outcome.reason);
  at = msgpack.writeText(bytes, at, outcome.detail);
  at = msgpack.writeNumbers(bytes, at, outcome.postings);
  at = msgpack.writeNumbers(bytes, at, outcome.limits);
  return outcome.links === undefined ? at : writeLinks(bytes, at, outcome.links);
}

function isPlain({ steps, reason, detail, limits, links }: Outcome): boolean {
  if (links !== undefined || limits.length > 0 || reason !== '' || detail !== '' || steps.length !== 3) return false;
  return steps[0] === 'prepared' && steps[1] === 'committed' && steps[2] === 'completed';
}

/** Whether the postings say no more than wallet, symbol and change of the first, and wallet of the second. */
function isTransfer(postings: readonly number[]): boolean {
  if (postings.length !== 8) return false;
  const change = postings[2]!;
  // Of 0 there are two, and either could be meant.
  if (change === 0 || postings[6] !== -change || postings[5] !== postings[1]) return false;
  const moved = Math.abs(change);
  return postings[3] === moved && postings[7] === moved;
}

function writeLinks(bytes: Buffer, start: number, links: Links): number {
  let at = msgpack.writeArrayHead(bytes, start, LINKS_ELEMENTS);
  at = msgpack.writeArrayHead(bytes, at, links.legs.length);
  for (const { side, bridge, wallet, symbol, amount, claims } of links.legs) {
    at = msgpack.writeNumbers(bytes, at, [side, bridge, wallet, symbol, amount, ...claims]);
  }
  at = msgpack.writeNumbers(bytes, at, links.marks);
  const forwards = links.forwards.flatMap(({ claim, wallet, symbol, amount }) => [claim, wallet, symbol, amount]);
  at = msgpack.writeNumbers(bytes, at, forwards);
  const targets = links.forwards.map(({ target }) => target);
  at = msgpack.writeTexts(bytes, at, targets);
  at = msgpack.writeNumbers(bytes, at, links.routed);
  at = msgpack.writeNumbers(bytes, at, links.through);
  at = msgpack.writeText(bytes, at, links.failId);
  return msgpack.writeCount(bytes, at, links.leg + 1);
}

/** An upper bound of what the writers above take: three bytes a character, nine a number. */
export function outcomeBytesMax({ steps, reason, detail, postings, limits, links }: Outcome): number {
  const rest = links === undefined ? 0 : linksBytesMax(links);
  const numbers = postings.length + limits.length;
  return FIXED_BYTES_MAX + steps.length + 3 * (reason.length + detail.length) + 9 * numbers + rest;
}

function linksBytesMax({ legs, marks, forwards, routed, through, failId }: Links): number {
  let numbers = marks.length + routed.length + through.length;
  let chars = failId.length;
  // One number more has room for a list's own header, two characters for a text's.
  for (const { claims } of legs) numbers += LEG_NUMBERS + claims.length + 1;
  for (const { target } of forwards) {
    numbers += FORWARD_NUMBERS;
    chars += target.length + 2;
  }
  return FIXED_BYTES_MAX + 9 * numbers + 3 * chars;
}

/** `base` as it was for the writer; in entries of version 1 all outcomes are whole, and told from 0. */
export function readOutcome(reader: msgpack.Reader, version: number, base: number): Outcome {
  const outcome = version === 1 ? readWhole(reader, msgpack.readArrayHead(reader), 0) : readAny(reader, base);
  if (version <= EARLY_VERSION_MAX) outcome.isEarly = true;
  return outcome;
}

function readAny(reader: msgpack.Reader, base: number): Outcome {
  const elements = msgpack.readArrayHead(reader);
  if (elements === TRANSFER_ELEMENTS) return readTransfer(reader, base);
  if (elements !== PLAIN_ELEMENTS) return readWhole(reader, elements, base);
  return plainOutcome(readMoment(reader, base), msgpack.readNumbers(reader));
}

function readWhole(reader: msgpack.Reader, elements: number, base: number): Outcome {
  const isLinked = elements === ELEMENTS + 1;
  if (elements !== ELEMENTS && !isLinked) throw msgpack.misfit(reader, 'an outcome of another length');
  const outcome: Outcome = {
    moment: readMoment(reader, base),
    steps: readSteps(reader),
    reason: msgpack.readText(reader),
    detail: msgpack.readText(reader),
    postings: msgpack.readNumbers(reader),
    limits: msgpack.readNumbers(reader),
  };
  if (isLinked) outcome.links = readLinks(reader);
  return outcome;
}

function readTransfer(reader: msgpack.Reader, base: number): Outcome {
  const moment = readMoment(reader, base);
  const wallet = msgpack.readNumber(reader);
  const symbol = msgpack.readNumber(reader);
  const change = msgpack.readNumber(reader);
  if (change === 0) throw msgpack.misfit(reader, 'a transfer of nothing');
  const other = msgpack.readNumber(reader);
  const moved = Math.abs(change);
  return plainOutcome(moment, [wallet, symbol, change, moved, other, symbol, -change, moved]);
}

function plainOutcome(moment: number, postings: number[]): Outcome {
  return { moment, steps: ['prepared', 'committed', 'completed'], reason: '', detail: '', postings, limits: [] };
}

function readLinks(reader: msgpack.Reader): Links {
  if (msgpack.readArrayHead(reader) !== LINKS_ELEMENTS) throw msgpack.misfit(reader, 'links of another length');
  const legs: Leg[] = [];
  for (let left = msgpack.readArrayHead(reader); left > 0; left--) {
    const [side, bridge, wallet, symbol, amount, ...claims] = msgpack.readNumbers(reader);
    if (amount === undefined || (side !== Side.debit && side !== Side.credit)) throw msgpack.misfit(reader, 'no leg');
    legs.push({ side, bridge: bridge!, wallet: wallet!, symbol: symbol!, amount, claims });
  }
  const marks = msgpack.readNumbers(reader);
  const numbers = msgpack.readNumbers(reader);
  const targets = msgpack.readTexts(reader);
  if (numbers.length !== targets.length * FORWARD_NUMBERS) throw msgpack.misfit(reader, 'forwards without a target');
  const forwards = targets.map((target, index) => {
    const at = index * FORWARD_NUMBERS;
    const [claim, wallet, symbol, amount] = numbers.slice(at, at + FORWARD_NUMBERS);
    return { claim: claim!, wallet: wallet!, symbol: symbol!, amount: amount!, target };
  });
  const routed = msgpack.readNumbers(reader);
  const through = msgpack.readNumbers(reader);
  const failId = msgpack.readText(reader);
  return { legs, marks, forwards, routed, through, failId, leg: msgpack.readCount(reader) - 1 };
}

function readSteps(reader: msgpack.Reader): IntentStatus[] {
  const count = msgpack.readArrayHead(reader);
  const steps: IntentStatus[] = [];
  for (let index = 0; index < count; index++) {
    const status = INTENT_STATUSES[msgpack.readCount(reader)];
    if (status === undefined) throw msgpack.misfit(reader, 'no status of an intent');
    steps.push(status);
  }
  return steps;
}

/** A moment as what it is after `base`, which may be less than nothing. */
export function writeMoment(bytes: Buffer, at: number, moment: number, base: number): number {
  if (!Number.isSafeInteger(moment) || moment < 0) throw new msgpack.CodecError(`${moment} is no moment`);
  return msgpack.writeNumber(bytes, at, moment - base);
}

export function readMoment(reader: msgpack.Reader, base: number): number {
  const moment = base + msgpack.readNumber(reader);
  if (!Number.isSafeInteger(moment) || moment < 0) throw msgpack.misfit(reader, `${moment} is no moment`);
  return moment;
}
