/**
 * Records, lists and other answers as JSON text. Members are written in canonical order, and content is the very bytes
 * that were hashed and journaled, so nothing is ever encoded twice and a list's hash is that of the text it sends.
 */
import { createHash } from 'node:crypto';
import { EntryType, type Outcome, type StoredProof, threadOf } from './core/entry.ts';
import { legsOf } from './core/intents.ts';
import { legHandle } from './core/legs.ts';
import { LONG_ENTRIES_MIN } from './core/long-versions.ts';
import { isoMoment, outcomeCustoms, sealCustom } from './core/proofs.ts';
import type { RecordView, Version, VersionEntry } from './core/records.ts';
import { proofDigestHex, sha256Hex } from './proof/digest.ts';
import { encodeBase64 } from './proof/keys.ts';
import { proofText, type Sealer, type Signed } from './proof/sealer.ts';

/** What a record's text is made of. Texts lists are JSON without the brackets. */
interface RecordText {
  data: string;
  hash: string;
  luid: string;
  /** Members of meta that sort before `moment`, each followed by a comma. */
  lead?: string;
  moment: string;
  owners: string;
  proofs: string;
  status: string;
  thread: string | null;
  /** Routes had a say in it. */
  isRouted?: boolean;
}

/** A record with its envelope, in canonical order. */
export function recordText({
  data,
  hash,
  luid,
  lead = '',
  moment,
  owners,
  proofs,
  status,
  thread,
  isRouted = false,
}: RecordText): string {
  const routed = isRouted ? ',"routed":true' : '';
  const tail = thread === null ? '' : `,"thread":"${thread}"`;
  return `{"data":${data},"hash":"${hash}","luid":"${luid}","meta":{${lead}"moment":"${moment}","owners":[${owners}],"proofs":[${proofs}]${routed},"status":"${status}"${tail}}}`;
}

export function hexOf(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('hex');
}

export function storedProofText(hash: string, { public: key, result, custom }: StoredProof): string {
  return proofText(encodeBase64(key), proofDigestHex(hash, custom), encodeBase64(result), custom);
}

/** Proofs of long versions, which are read again and again, and are the same objects each time. */
const proofsKnown = new WeakMap<StoredProof, string>();

function knownProofText(hash: string, proof: StoredProof): string {
  const known = proofsKnown.get(proof) ?? storedProofText(hash, proof);
  proofsKnown.set(proof, known);
  return known;
}

/** All proofs of a version in their order of arrival: the client's, the server's, those added, those of its outcome. */
function proofTexts(version: Version, hash: string, sealer: Sealer | null): string {
  if (sealer === null) return '';
  const { entry, added } = version;
  const textOf = added.length < LONG_ENTRIES_MIN ? storedProofText : knownProofText;
  const texts = entry.proofs.map((proof) => storedProofText(hash, proof));
  texts.push(sealer.sealed(hash, sealCustom(entry), entry.seal));
  const go = (outcome: Outcome) => {
    if (outcome.steps.length > 0) texts.push(outcomeText(outcome, version, hash, sealer));
  };
  if (entry.type === EntryType.intent) go(entry.outcome);
  for (const each of added) {
    if (each.type === EntryType.proof) texts.push(textOf(hash, each.proof));
    else go(each.outcome);
  }
  return texts.join(',');
}

/** The server's proofs of what became of an intent. */
export function outcomeText(outcome: Outcome, version: Version, hash: string, sealer: Sealer): string {
  return sealer.late(outcomeKey(version.entry.luid, outcome), hash, () => customsOf(outcome, version));
}

/** What the server's proofs of an outcome say. */
export function customsOf(outcome: Outcome, version: Version): string[] {
  const { luid } = version.entry;
  return outcomeCustoms(luid, outcome, (leg) => legHandle(luid, legsOf(version)[leg]!, leg));
}

/**
 * An intent passes each status once, so the first of an outcome's names it; errors are told apart by all they say,
 * which is less where an early build noted them.
 */
export function outcomeKey(luid: string, { steps, moment, links, isEarly, detail }: Outcome): string {
  if (steps[0] !== 'error') return `${luid} ${steps[0]}`;
  return `${luid} error ${moment} ${links?.leg} ${isEarly === true} ${detail}`;
}

/** The outcomes of a version that have proofs, in order. */
export function outcomesOf({ entry, added }: Version): Outcome[] {
  if (entry.type !== EntryType.intent) return [];
  const outcomes = [entry.outcome];
  for (const each of added) if (each.type === EntryType.step) outcomes.push(each.outcome);
  return outcomes.filter(({ steps }) => steps.length > 0);
}

/** Each key once, in the order of the proofs. */
export function ownersText(owners: readonly Uint8Array[]): string {
  if (owners.length === 1) return `"${encodeBase64(owners[0]!)}"`;
  return [...new Set(owners.map((key) => `"${encodeBase64(key)}"`))].join(',');
}

/** The member of meta that tells a record's labels, with the comma after it; nothing where it has none. */
export function labelsText(labels: readonly string[]): string {
  return labels.length === 0 ? '' : `"labels":${JSON.stringify(labels)},`;
}

/** A version of a record: as it is now, or with `lead` as one of its changes. Without a sealer it lacks its proofs. */
export function versionText(
  version: Version,
  status: string,
  owners: string,
  sealer: Sealer | null,
  lead: string,
): string {
  const { entry } = version;
  const hash = hexOf(entry.hash);
  return recordText({
    data: entry.data,
    hash,
    luid: entry.luid,
    lead,
    moment: isoMoment(entry.moment),
    owners,
    proofs: proofTexts(version, hash, sealer),
    status,
    thread: threadIn(entry),
    isRouted: isRouted(version),
  });
}

/** Whether routes had a say in it: they made it, or moved what its claims name, or pass it on. */
export function isRouted({ entry, added }: Version): boolean {
  if (entry.type !== EntryType.intent) return false;
  if (entry.thread !== threadOf(entry.luid)) return true;
  const isLed = ({ links }: Outcome) => links !== undefined && links.routed.length + links.forwards.length > 0;
  return isLed(entry.outcome) || added.some((each) => each.type === EntryType.step && isLed(each.outcome));
}

/** A record with all that belongs to it; without a sealer it lacks its proofs. */
export function viewText(record: RecordView, sealer: Sealer | null): string {
  return versionText(record, record.status, ownersText(record.owners), sealer, labelsText(record.labels));
}

/** The thread that a record's meta tells; null of what is no intent. */
export function threadIn(entry: VersionEntry): string | null {
  return entry.type === EntryType.intent ? entry.thread : null;
}

export interface Page {
  index: number;
  limit: number;
  total?: number | undefined;
}

/** A page of what has no index: the next one begins after `after`. */
export interface PageAfter {
  after: number | string;
  limit: number;
}

/** What the server says of its own accord, before its proof is made. */
export interface Unsealed {
  /** Of what it says, which is canonical JSON. */
  hash: string;
  moment: number;
  /** What the proof says beside the hash, canonical JSON. */
  custom: string;
  /** Members of the envelope behind meta, each with a comma before it. */
  tail: string;
}

interface UnsealedText extends Unsealed {
  data: string;
}

/** The envelope around `items`; `page` null leaves that out. */
export function unsealedList(items: string[], page: Page | PageAfter | null, moment: number): UnsealedText {
  return unsealed(`[${items.join(',')}]`, moment, momentCustom(moment), pageText(page));
}

/** The same where that is a long text: a few items at a time are made the bytes that are hashed and sent. */
export class LongList {
  readonly #sha = createHash('sha256');
  readonly #parts: Buffer[] = [];

  add(items: readonly string[]): void {
    this.#append(`${this.#parts.length === 0 ? '[' : ','}${items.join(',')}`);
  }

  /** No more are added. */
  unsealed(page: Page | PageAfter | null, moment: number): Unsealed {
    this.#append(this.#parts.length === 0 ? '[]' : ']');
    return { hash: this.#sha.digest('hex'), moment, custom: momentCustom(moment), tail: pageText(page) };
  }

  /** The answer, in parts. */
  sealed(text: Unsealed, signed: Signed): Buffer[] {
    const [head, tail] = envelopeOf(text, signed);
    return [Buffer.from(head), ...this.#parts, Buffer.from(tail)];
  }

  #append(text: string): void {
    const bytes = Buffer.from(text);
    this.#sha.update(bytes);
    this.#parts.push(bytes);
  }
}

function pageText(page: Page | PageAfter | null): string {
  if (page === null) return '';
  if ('after' in page) return `,"page":${JSON.stringify(page)}`;
  const { index, limit, total } = page;
  return `,"page":{"index":${index},"limit":${limit}${total === undefined ? '' : `,"total":${total}`}}`;
}

/** `data`, canonical JSON, signed by the server as of `moment`. */
export function signedText(data: string, moment: number, sealer: Sealer): string {
  return sealedNow(unsealed(data, moment, momentCustom(moment)), sealer);
}

/**
 * The same for others than clients: it names the ledger it speaks for, and the one bridge it speaks to. One key signs
 * for all ledgers of a server, and what one of them has a bridge do must not look like the word of another; and whoever
 * is told to do something could hand it on to another bridge, which would do it too.
 */
export function outwardText(
  data: string,
  moment: number,
  bearing: { bridge?: string; ledger: string },
  sealer: Sealer,
): string {
  const bridge = bearing.bridge === undefined ? '' : `"bridge":${JSON.stringify(bearing.bridge)},`;
  const custom = `{${bridge}"ledger":${JSON.stringify(bearing.ledger)},"moment":"${isoMoment(moment)}"}`;
  return sealedNow(unsealed(data, moment, custom), sealer);
}

function unsealed(data: string, moment: number, custom: string, tail = ''): UnsealedText {
  return { data, hash: sha256Hex(data), moment, custom, tail };
}

function momentCustom(moment: number): string {
  return `{"moment":"${isoMoment(moment)}"}`;
}

function sealedNow(text: UnsealedText, sealer: Sealer): string {
  return sealedText(text, { moment: text.moment, proof: sealer.proof(text.hash, text.custom) });
}

/** `proof` is the server's, of this hash and moment. */
export function sealedText(text: UnsealedText, signed: Signed): string {
  const [head, tail] = envelopeOf(text, signed);
  return head + text.data + tail;
}

/** What stands before the data, and behind it. */
function envelopeOf({ hash, tail }: Unsealed, { moment, proof }: Signed): readonly [head: string, tail: string] {
  return ['{"data":', `,"hash":"${hash}","meta":{"moment":"${isoMoment(moment)}","proofs":[${proof}]}${tail}}`];
}
