/**
 * What a snapshot looks like on disk: the format in prose, its constants, and the functions that put a
 * manifest and a foot into bytes and take them out again.
 *
 * The state comes as parts. A final part never changes again (a full chunk): it is written once, to a file
 * of its own, `part-<name>-<first 16 digits of its SHA-256>.ayp`, which holds its bytes and nothing else,
 * and later snapshots only name it. The other parts lie in the snapshot's own file,
 * `snapshot-<seq, 20 digits>.ays`, numbers big-endian:
 *
 *      8  magic 'AYNISNAP'
 *      4  format version, 5 (in 4 the index of balances has no seed, core/balances.ts; in an earlier one, n, there are
 *         only entries of format n and those before, entry-bytes.ts, and `extra` has what has parts of its own now,
 *         core/dump.ts)
 *      …  the bytes of the parts that are not final, one after the other, without gaps
 *      n  manifest, one MessagePack map: seq, chain, moment, extra, parts (rows of name, final, bytes, CRC-32,
 *         SHA-256 | nil), the parts in the order they were given
 *    108  foot:
 *           4  length of the manifest
 *           4  CRC-32 of the manifest
 *          32  SHA-256 of everything before the foot
 *          64  the server's Ed25519 signature of that hash
 *           4  CRC-32 of the foot's 104 bytes before
 *
 * The signature covers the other files too: the manifest holds their SHA-256. While being written files
 * end in `.tmp`.
 */

import { isObject } from '../core/objects.ts';
import { crc, HASH_BYTES, SIGNATURE_BYTES, segmentSeq, seqDigits } from './format.ts';
import type { JournalPosition } from './journal.ts';
import type { DamageKind } from './segments.ts';
import { packValue, unpackValue } from './values.ts';

/** What is written, and the oldest that is read. */
const SNAPSHOT_VERSION = 5;
const SNAPSHOT_VERSION_MIN = 1;
export const SNAPSHOT_HEADER_BYTES = 12;
export const FOOT_BYTES = 8 + HASH_BYTES + SIGNATURE_BYTES + 4;
/** A manifest has a row for each part, and with `extra` what the state keeps outside its parts. */
export const MANIFEST_BYTES_MAX = 1024 * 1024 * 1024;
/**
 * What Node gives as one buffer: a part is read into one. The slots of a table with some 300 million entries are as
 * long.
 */
export const PART_BYTES_MAX = 4 * 1024 * 1024 * 1024;
/** Read, written and hashed in pieces of this size, so that the event loop comes round in between. */
export const PIECE_BYTES = 256 * 1024;

const MAGIC = Buffer.from('AYNISNAP', 'latin1');
const SNAPSHOT_NAME = /^snapshot-(\d{20})\.ays$/;
const PART_NAME = /^[A-Za-z0-9-][A-Za-z0-9.-]{0,99}$/;
const PART_FILE = /^part-[A-Za-z0-9-][A-Za-z0-9.-]*-[0-9a-f]{16}\.ayp$/;
const TEMPORARY_FILE = /^(snapshot|part)-.*\.tmp$/;

export interface PartRow {
  name: string;
  final: boolean;
  /** Length. */
  bytes: number;
  crc: number;
  /** SHA-256 of a final part, 32 bytes. */
  hash: Uint8Array | null;
}

export interface Manifest extends JournalPosition {
  extra: Uint8Array;
  parts: PartRow[];
}

export interface Foot {
  manifestBytes: number;
  manifestCrc: number;
  hash: Uint8Array;
  signature: Uint8Array;
}

/** Why a snapshot cannot be used. */
export class SnapshotError extends Error {
  override name = 'SnapshotError';
  readonly kind: DamageKind;
  /** Name of the part that is wrong, '' where it is the snapshot's own file. */
  readonly part: string;

  constructor(why: string, kind: DamageKind = 'other', part = '') {
    super(why);
    this.kind = kind;
    this.part = part;
  }
}

export function snapshotName(seq: number): string {
  return `snapshot-${seqDigits(seq)}.ays`;
}

/** The seq a snapshot's name gives, or -1 where it is no snapshot's name. */
export function snapshotSeq(name: string): number {
  const match = SNAPSHOT_NAME.exec(name);
  return match === null ? -1 : Number(match[1]);
}

export function partName(name: string, hash: Uint8Array): string {
  return `part-${name}${partEnd(hash)}`;
}

/** How the name of a part with this hash ends. */
export function partEnd(hash: Uint8Array): string {
  return `-${Buffer.from(hash).toString('hex', 0, 8)}.ayp`;
}

export function isPartName(name: string): boolean {
  return PART_FILE.test(name);
}

/** Whether it is the name of a segment or a snapshot, of which books consist; a part alone is nothing. */
export function isBooksName(name: string): boolean {
  return segmentSeq(name) > 0 || snapshotSeq(name) >= 0;
}

export function isTemporaryName(name: string): boolean {
  return TEMPORARY_FILE.test(name);
}

export function snapshotHeader(): Buffer {
  const bytes = Buffer.alloc(SNAPSHOT_HEADER_BYTES);
  bytes.set(MAGIC);
  bytes.writeUInt32BE(SNAPSHOT_VERSION, MAGIC.length);
  return bytes;
}

/** Throws SnapshotError where `bytes` do not begin a snapshot of a version that is known. */
export function checkSnapshotHeader(bytes: Buffer): void {
  if (!bytes.subarray(0, MAGIC.length).equals(MAGIC)) throw new SnapshotError('it is not a snapshot');
  const version = bytes.readUInt32BE(MAGIC.length);
  if (version < SNAPSHOT_VERSION_MIN || version > SNAPSHOT_VERSION)
    throw new SnapshotError(`its format version is ${version}`, 'newer');
}

export function packFoot(foot: Foot): Buffer {
  const bytes = Buffer.alloc(FOOT_BYTES);
  bytes.writeUInt32BE(foot.manifestBytes, 0);
  bytes.writeUInt32BE(foot.manifestCrc, 4);
  bytes.set(foot.hash, 8);
  bytes.set(foot.signature, 8 + HASH_BYTES);
  bytes.writeUInt32BE(crc(bytes, 0, FOOT_BYTES - 4), FOOT_BYTES - 4);
  return bytes;
}

/** The foot that fills `bytes`. Throws SnapshotError where they are not whole. */
export function unpackFoot(bytes: Buffer): Foot {
  if (bytes.length !== FOOT_BYTES || bytes.readUInt32BE(FOOT_BYTES - 4) !== crc(bytes, 0, FOOT_BYTES - 4)) {
    throw new SnapshotError('it is half-written or damaged: its foot is not whole');
  }
  return {
    manifestBytes: bytes.readUInt32BE(0),
    manifestCrc: bytes.readUInt32BE(4),
    hash: bytes.subarray(8, 8 + HASH_BYTES),
    signature: bytes.subarray(8 + HASH_BYTES, FOOT_BYTES - 4),
  };
}

/** A manifest's bytes in pieces, so that the event loop comes round between them: parts may be many. */
export function* packManifest({ seq, chain, moment, extra, parts }: Manifest): Generator<Uint8Array> {
  const head = Object.entries({ seq, chain, moment, extra }).flatMap((member) => member.map(packValue));
  yield Buffer.concat([Uint8Array.of(MAP_OF_FIVE), ...head, packValue('parts'), arrayHead(parts.length)]);
  const names = new Set<string>();
  for (let from = 0; from < parts.length; from += ROWS_AT_ONCE) {
    const rows = parts.slice(from, from + ROWS_AT_ONCE).map((part) => {
      if (!PART_NAME.test(part.name) || names.has(part.name)) throw new Error(`a part named '${part.name}'`);
      names.add(part.name);
      return packValue([part.name, part.final, part.bytes, part.crc, part.hash]);
    });
    yield Buffer.concat(rows);
  }
}

const ROWS_AT_ONCE = 64;

/** MessagePack's first byte of a map with five members. */
const MAP_OF_FIVE = 0x85;

/** MessagePack's head of an array, in its longest form. */
function arrayHead(count: number): Uint8Array {
  const head = Buffer.alloc(5, 0xdd);
  head.writeUInt32BE(count, 1);
  return head;
}

/** Throws SnapshotError where the bytes are no manifest. */
export function unpackManifest(bytes: Uint8Array): Manifest {
  let value: unknown;
  try {
    value = unpackValue(bytes);
  } catch (error) {
    throw new SnapshotError(`its manifest is damaged: ${(error as Error).message}`);
  }
  if (!isObject(value) || !Array.isArray(value.parts)) throw new SnapshotError('its manifest has another shape');
  const { seq, chain, moment, extra } = value;
  const parts = (value.parts as unknown[]).map(partRow);
  if (!isCount(seq) || !isCount(moment) || !isHash(chain) || !(extra instanceof Uint8Array)) {
    throw new SnapshotError('its manifest has another shape');
  }
  return { seq, chain, moment, extra, parts };
}

function partRow(row: unknown): PartRow {
  if (Array.isArray(row) && row.length === 5) {
    const [name, final, bytes, sum, hash] = row as unknown[];
    const named = typeof name === 'string' && PART_NAME.test(name);
    const hashed = final === true ? isHash(hash) : final === false && hash === null;
    if (named && hashed && isCount(bytes) && isCount(sum)) {
      return { name, final: final === true, bytes, crc: sum, hash: hash as Uint8Array | null };
    }
  }
  throw new SnapshotError('its manifest has another shape');
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

function isHash(value: unknown): value is Uint8Array {
  return value instanceof Uint8Array && value.length === HASH_BYTES;
}
