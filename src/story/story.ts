/**
 * A story, as `ayni export` writes it, checked with nothing but the server's public key: the record's hashes, digests
 * and signatures, the journal's entries about it, that the record is what they tell, the place of each in its frame,
 * and every link from there to the head that the server signed. check-story.py is the same in Python.
 *
 * What always holds: where this says `proven`, check-story.py does. It may refuse what that one takes: a text that no
 * server writes.
 */
import { canon } from '../proof/canon.ts';
import { bytesOfHex, decodeBase64, encodeBase64, hexOf, isoOf, sha256 } from './bytes.ts';
import { entryHash, readEntry, type ToldEntry, type ToldProof, Type } from './entries.ts';
import { isObject, type Json } from './json.ts';
import { expect } from './not-proven.ts';
import { checkSigned, onlyMembers, type Signed, type SignedProof } from './signed.ts';
import { type ToldVersion, tell } from './tell.ts';

export interface Story {
  /** False where the frames of its first entries are gone: then what is signed is proven, and not its state. */
  isProven: boolean;
  luid: string;
  isDropped: boolean;
  /** Oldest first; the last is the record as it is. */
  versions: readonly Signed[];
  entries: number;
  proofs: number;
  /** Where the chain ends, and when the server signed that. */
  seq: number;
  moment: string;
  signedAt: string;
}

const FORMATS: readonly Json[] = ['ayni-story-1', 'ayni-story-2', 'ayni-story-3'];
const MEMBERS = ['format', 'server', 'record', 'versions', 'entries', 'chain', 'head'];

interface Line {
  seq: number;
  bytes: Uint8Array;
}

/** `server`: its public key, base64. Throws NotProven where anything is wrong. */
export function checkStory(value: Json, server: string): Story {
  const story = onlyMembers(value, MEMBERS);
  expect(FORMATS.includes(story.format ?? null), 'it is of another format');
  expect(encodeBase64(decodeBase64(story.server)) === server, 'it is of another server');
  const lines = linesIn(story.entries);
  const entries = lines.map(({ bytes }) => readEntry(bytes));
  const { luid } = entries[0]!;
  expect(isObject(story.record) && story.record.luid === luid, 'an entry of another record');
  expect(
    entries.every((entry) => entry.luid === luid),
    'an entry of another record',
  );
  const versions = checkVersions([...listOf(story.versions), story.record], entries, luid, server);
  const head = checkHead(story.head, server);
  const isProven = story.chain !== null;
  const end = isProven ? checkChain(story.chain, lines, head) : { seq: 0, moment: '' };
  return {
    isProven,
    luid,
    isDropped: entries.at(-1)!.type === Type.drop,
    versions,
    entries: entries.length,
    proofs: versions.reduce((sum, { proofs }) => sum + proofs.length, 0),
    ...end,
    signedAt: head.meta.moment as string,
  };
}

function listOf(value: Json | undefined): Json[] {
  expect(Array.isArray(value), 'it is no story as `ayni export` writes it');
  return value;
}

function linesIn(value: Json | undefined): Line[] {
  let before = 0;
  const lines = listOf(value).map((line) => {
    const { seq, bytes } = onlyMembers(line, ['bytes', 'seq']);
    expect(Number.isSafeInteger(seq) && (seq as number) > before, 'entries that are not in order');
    before = seq as number;
    return { seq: before, bytes: decodeBase64(bytes) };
  });
  expect(lines.length > 0, 'more or fewer versions than the journal has');
  return lines;
}

function checkVersions(shown: Json[], entries: readonly ToldEntry[], luid: string, server: string): Signed[] {
  const told = tell(entries, server);
  expect(shown.length === told.length, 'more or fewer versions than the journal has');
  return told.map((version, n) => checkVersion(shown[n], version, luid, server));
}

function checkVersion(shown: Json | undefined, told: ToldVersion, luid: string, server: string): Signed {
  const version = onlyMembers(shown, ['data', 'hash', 'luid', 'meta']);
  const signed = checkSigned(version, 'the record', server);
  expect(version.luid === luid && canon(signed.data) === told.data, 'a version that no entry holds');
  const isShown = canon({ ...signed.meta, proofs: [] }) === canon({ ...told.meta, proofs: [] });
  expect(isShown, 'the record is shown otherwise than the journal tells');
  const isSame =
    signed.proofs.length === told.proofs.length && signed.proofs.every((proof, n) => isThat(proof, told.proofs[n]!));
  expect(isSame, 'other proofs than the journal tells of');
  return signed;
}

function isThat(shown: SignedProof, told: ToldProof): boolean {
  const isSaid = shown.public === told.public && shown.customText === told.custom;
  return isSaid && (told.result === null || told.result === shown.result);
}

function checkHead(value: Json | undefined, server: string): Signed {
  const head = onlyMembers(value, ['data', 'hash', 'meta']);
  const signed = checkSigned(head, 'the head', server);
  const { moment } = onlyMembers(head.meta, ['moment', 'proofs']);
  const [proof, ...others] = signed.proofs;
  const isSigned = typeof moment === 'string' && others.length === 0 && proof!.customText === canon({ moment });
  expect(isSigned, 'a moment of the head that is not signed');
  return signed;
}

// ---------------------------------------------------------------- the chain of frames

/**
 * A link: 67 bytes of a frame's head, and the SHA-256 of its entries' hashes. The frame's own hash is the SHA-256 of
 * these (storage/format.ts).
 */
const HEAD_BYTES = 67;
const HASH_BYTES = 32;
const LINK_BYTES = HEAD_BYTES + HASH_BYTES;
/**
 * Where in a link these begin: the seq of the frame's first entry, how many there are, the moment, the hash of the
 * frame before.
 */
const FIRST_AT = 11;
const COUNT_AT = 20;
const MOMENT_AT = 25;
const BEFORE_AT = 35;

/** Checks that every link of the chain holds and that all the entries are in its frames; returns where it ends. */
function checkChain(value: Json | undefined, lines: readonly Line[], head: Signed): { seq: number; moment: string } {
  const chain = onlyMembers(value, ['before', 'frames']);
  let before = bytesOfHex(chain.before, HASH_BYTES);
  let seq: number | null = null;
  let moment = Number.NaN;
  const hashes = new Map<number, string>();
  const wanted = new Set(lines.map((line) => line.seq));
  for (const item of listOf(chain.frames)) {
    const { links, own } = linksIn(item);
    let first = 0;
    for (let at = 0; at < links.length; at += LINK_BYTES) {
      const link = links.subarray(at, at + LINK_BYTES);
      const view = new DataView(link.buffer, link.byteOffset, LINK_BYTES);
      first = Number(view.getBigUint64(FIRST_AT));
      const count = view.getUint32(COUNT_AT);
      const last = first + (count - 1);
      const isNext = sameBytes(link.subarray(BEFORE_AT, HEAD_BYTES), before) && (seq === null || seq === first - 1);
      // Beyond 2^53 a number and the next may be the same.
      expect(isNext && count > 0 && Number.isSafeInteger(last), 'a frame does not continue the one before it');
      before = sha256(link);
      seq = last;
      moment = Number(view.getBigUint64(MOMENT_AT));
    }
    own.forEach((hash, n) => {
      if (wanted.has(first + n)) hashes.set(first + n, encodeBase64(hash));
    });
  }
  const isThere = lines.every((line) => hashes.get(line.seq) === entryHash(line.bytes));
  expect(isThere && seq !== null, 'an entry is not in its frame');
  const end = { chain: hexOf(before), moment: isoOf(moment), seq };
  expect(canon(head.data) === canon(end), 'the chain does not end in the head');
  return { seq: end.seq, moment: end.moment };
}

/**
 * The links of an item: of many frames as base64, or of one with an entry of the record, and the hashes of its entries.
 */
function linksIn(item: Json): { links: Uint8Array; own: Uint8Array[] } {
  if (typeof item === 'string') {
    const links = decodeBase64(item);
    expect(links.length > 0 && links.length % LINK_BYTES === 0, 'a frame does not continue the one before it');
    return { links, own: [] };
  }
  const { head, entries } = onlyMembers(item, ['head', 'entries']);
  const own = listOf(entries).map((text) => bytesOfHex(text, HASH_BYTES));
  expect(own.length > 0, 'a frame does not continue the one before it');
  const all = new Uint8Array(own.length * HASH_BYTES);
  own.forEach((hash, n) => {
    all.set(hash, n * HASH_BYTES);
  });
  const links = new Uint8Array(LINK_BYTES);
  links.set(bytesOfHex(head, HEAD_BYTES));
  links.set(sha256(all), HEAD_BYTES);
  return { links, own };
}

function sameBytes(one: Uint8Array, other: Uint8Array): boolean {
  if (one.length !== other.length) return false;
  for (let at = 0; at < one.length; at++) if (one[at] !== other[at]) return false;
  return true;
}
