/**
 * Finds the newest snapshot that is whole, and has it loaded. One that is not is passed over with the reason:
 * the one before it and the journal lead to the same state.
 *
 * Parts that are not final are read twice: all of them for the hash, a piece at a time, and then each when it is asked
 * for, into memory that they share. Kept from the first time they would be there twice, as they were read and where
 * they go to: a start would take much more memory than the server that took the snapshot.
 *
 * What always holds: a snapshot is handed on only when every byte of it and of its parts was read and fits
 * its hashes, and the hash carries the server's signature; what it says of other files is believed when its own file
 * fits. What a part is loaded from is what was hashed.
 */
import { createHash, type Hash } from 'node:crypto';
import { join } from 'node:path';
import { equalBytes } from '../core/bytes.ts';
import type { Parts } from '../core/dump.ts';
import { type Disk, type DiskFile, readAll, readAllLater, withFile } from './disk.ts';
import { rememberPart } from './final-parts.ts';
import { crc, type VerifyHash } from './format.ts';
import type { JournalPosition } from './journal.ts';
import { NOT_SIGNED } from './journal-reader.ts';
import { PartHashes } from './part-hashes.ts';
import type { DamageKind } from './segments.ts';
import {
  checkSnapshotHeader,
  FOOT_BYTES,
  type Foot,
  MANIFEST_BYTES_MAX,
  type Manifest,
  type PartRow,
  PIECE_BYTES,
  partName,
  SNAPSHOT_HEADER_BYTES,
  SnapshotError,
  snapshotSeq,
  unpackFoot,
  unpackManifest,
} from './snapshot-format.ts';
import { errorCode } from './system-error.ts';

export interface RefusedSnapshot {
  /** Name of the file. */
  file: string;
  reason: string;
  kind: DamageKind;
  /** What it was refused with: a SnapshotError, or what the system said. */
  error: Error;
}

/** What was taken, as it was. */
export interface SnapshotRead extends JournalPosition {
  extra: Uint8Array;
  parts: SnapshotParts;
}

/** What became of a snapshot that is whole. */
interface SnapshotLoaded<T> extends JournalPosition {
  loaded: T;
}

/** Makes of a snapshot what its parts are read for; when it returns they can be read no more. */
export type LoadSnapshot<T> = (snapshot: SnapshotRead) => T;

interface ReadSnapshotsResult<T> {
  /** The newest whole one, or null. */
  snapshot: SnapshotLoaded<T> | null;
  /** Those passed over on the way, newest first. */
  refused: RefusedSnapshot[];
}

/** Names of the snapshots in a directory, newest first. */
export function listSnapshots(disk: Disk, directory: string): string[] {
  return disk
    .readdir(directory)
    .filter((name) => snapshotSeq(name) >= 0)
    .reverse();
}

/**
 * What says nothing against a snapshot: this user may not read it, or this process lacks what that takes. If it were
 * passed over, a journal that begins after it would look damaged, and the next snapshot would remove it.
 */
export const NOT_OURS_TO_READ = ['EACCES', 'EPERM', 'EMFILE', 'ENFILE', 'ENOMEM'];

/**
 * The newest snapshot that is whole, null where none is, and why newer ones were refused. Throws what the disk throws
 * where the fault is not the snapshot's, as where this user may not read it, and what `load` throws.
 */
export function readSnapshots<T>(
  disk: Disk,
  directory: string,
  verify: VerifyHash,
  load: LoadSnapshot<T>,
): ReadSnapshotsResult<T> {
  const refused: RefusedSnapshot[] = [];
  for (const name of disk.exists(directory) ? listSnapshots(disk, directory) : []) {
    const read = readSnapshot(disk, directory, name, verify, load);
    if (!('reason' in read)) return { snapshot: read, refused };
    refused.push(read);
  }
  return { snapshot: null, refused };
}

/** The one of this name, or why it is refused. Throws as `readSnapshots` does. */
export function readSnapshot<T>(
  disk: Disk,
  directory: string,
  name: string,
  verify: VerifyHash,
  load: LoadSnapshot<T>,
): SnapshotLoaded<T> | RefusedSnapshot {
  // What goes wrong in `load` itself says nothing against the files.
  let isOfFiles = (_error: unknown) => true;
  try {
    return withFile(disk, join(directory, name), 'read', (file) => {
      const outline = readOutline(file, verify);
      const { seq, chain, moment, extra } = outline.manifest;
      if (seq !== snapshotSeq(name)) throw new SnapshotError(`it is of entry ${seq}`);
      const parts = readParts(disk, directory, file, outline);
      isOfFiles = (error) => error === parts.failure;
      return { seq, chain, moment, loaded: load({ seq, chain, moment, extra, parts }) };
    });
  } catch (error) {
    const code = errorCode(error);
    if (!isOfFiles(error) || (!(error instanceof SnapshotError) && code === '') || NOT_OURS_TO_READ.includes(code))
      throw error;
    const kind = error instanceof SnapshotError ? error.kind : 'other';
    return { file: name, reason: (error as Error).message, kind, error: error as Error };
  }
}

/** Where in its own file it is damaged, as far as the reason says. */
export function damagedByte(reason: string): number {
  return Number(/bytes? (\d+)/.exec(reason)?.[1] ?? 0);
}

interface Outline {
  header: Buffer;
  manifest: Manifest;
  manifestBytes: Buffer;
  foot: Foot;
}

/** A snapshot's header and foot, and the signature checked against the hash as stated. */
export function readFoot(file: DiskFile, verify: VerifyHash): Pick<Outline, 'header' | 'foot'> {
  const size = file.size();
  if (size < SNAPSHOT_HEADER_BYTES + FOOT_BYTES) throw new SnapshotError('it is half-written: too short');
  const header = readPiece(file, SNAPSHOT_HEADER_BYTES, 0);
  checkSnapshotHeader(header);
  const foot = unpackFoot(readPiece(file, FOOT_BYTES, size - FOOT_BYTES));
  if (!verify(foot.hash, foot.signature)) throw new SnapshotError(`it is ${NOT_SIGNED}`, 'unsigned');
  return { header, foot };
}

/** Header, foot and manifest: all but the parts. */
export function readOutline(file: DiskFile, verify: VerifyHash): Outline {
  const { header, foot } = readFoot(file, verify);
  const at = file.size() - FOOT_BYTES - foot.manifestBytes;
  if (at < SNAPSHOT_HEADER_BYTES || foot.manifestBytes > MANIFEST_BYTES_MAX) {
    throw new SnapshotError('it is damaged: no room for its manifest');
  }
  const manifestBytes = readPiece(file, foot.manifestBytes, at);
  if (crc(manifestBytes, 0, manifestBytes.length) !== foot.manifestCrc) {
    throw new SnapshotError(`it is damaged at byte ${at}: its manifest`);
  }
  const manifest = unpackManifest(manifestBytes);
  const inline = manifest.parts.reduce((sum, part) => sum + (part.final ? 0 : part.bytes), SNAPSHOT_HEADER_BYTES);
  if (inline !== at) throw new SnapshotError('it is damaged: its parts do not fill it');
  return { header, manifest, manifestBytes, foot };
}

/** Has the system read what `readFoot` reads: that waits for no device then. The foot; null where there is none. */
export async function readFootAhead(file: DiskFile): Promise<Buffer | null> {
  const size = file.size();
  const foot = Buffer.alloc(FOOT_BYTES);
  await readAllLater(file, Buffer.alloc(SNAPSHOT_HEADER_BYTES), 0);
  if (size < FOOT_BYTES || (await readAllLater(file, foot, size - FOOT_BYTES)) < FOOT_BYTES) return null;
  return foot;
}

/**
 * Throws SnapshotError where the foot of a snapshot is not one that this server has signed, and what the disk throws.
 */
export async function checkFoot(disk: Disk, path: string, verify: VerifyHash): Promise<void> {
  const file = disk.open(path, 'read');
  try {
    await readFootAhead(file);
    readFoot(file, verify);
  } finally {
    file.close();
  }
}

/** Has the system read what `readOutline` reads. */
export async function readOutlineAhead(file: DiskFile): Promise<void> {
  const foot = await readFootAhead(file);
  if (foot === null) return;
  const size = file.size();
  const { manifestBytes } = unpackFoot(foot);
  const at = size - FOOT_BYTES - manifestBytes;
  if (at >= 0 && manifestBytes <= MANIFEST_BYTES_MAX) await readAllLater(file, Buffer.allocUnsafe(manifestBytes), at);
}

/** SHA-256 of what a file has up to a byte, read while others have their turns; of a shorter one, of all it has. */
export async function hashUpTo(file: DiskFile, end: number): Promise<Uint8Array> {
  const sha = createHash('sha256');
  const piece = Buffer.allocUnsafeSlow(PIECE_BYTES);
  for (let at = 0; at < end; ) {
    const wanted = piece.subarray(0, end - at);
    const count = await readAllLater(file, wanted, at);
    if (count === 0) break;
    sha.update(wanted.subarray(0, count));
    at += count;
  }
  return sha.digest();
}

/** Its own file first: what it says of other files is the server's only where its hash fits. */
function readParts(disk: Disk, directory: string, file: DiskFile, outline: Outline): SnapshotParts {
  const { parts: rows } = outline.manifest;
  const opens = hashOpenParts(file, outline);
  const finals = readFinalParts(disk, directory, rows);
  return new SnapshotParts(file, rows, opens, finals);
}

/** A part that lies in the snapshot's file. */
interface OpenPart {
  row: PartRow;
  /** Its first byte in the file. */
  at: number;
  /** The hash of the file up to there, and up to its end; both may go on. */
  before: Hash;
  after: Hash;
}

/** The parts that lie in the file itself, all of which fits its hash. */
function hashOpenParts(file: DiskFile, { header, manifest, manifestBytes, foot }: Outline): OpenPart[] {
  const rows = manifest.parts.filter(({ final }) => !final);
  const piece = Buffer.allocUnsafeSlow(Math.min(PIECE_BYTES, longest(rows)));
  const parts: OpenPart[] = [];
  let sha = createHash('sha256').update(header);
  let at = SNAPSHOT_HEADER_BYTES;
  for (const row of rows) {
    const before = sha;
    sha = before.copy();
    for (const read of piecesIn(file, at, row.bytes, piece)) sha.update(read);
    parts.push({ row, at, before, after: sha });
    at += row.bytes;
  }
  if (!equalBytes(sha.copy().update(manifestBytes).digest(), foot.hash)) throw damagedPart(file, parts, piece);
  return parts;
}

/** Which part it is that the hash over all does not fit for: their CRCs tell, and are asked only then. */
function damagedPart(file: DiskFile, parts: readonly OpenPart[], piece: Buffer): SnapshotError {
  for (const { row, at } of parts) {
    let sum = 0;
    for (const read of piecesIn(file, at, row.bytes, piece)) sum = crc(read, 0, read.length, sum);
    if (sum !== row.crc) {
      return new SnapshotError(`it is damaged between bytes ${at} and ${at + row.bytes}: its part ${row.name}`);
    }
  }
  return new SnapshotError('it is damaged: its hash does not fit');
}

/** So many bytes of a file from `at` on, read into `piece` as often as it takes. */
function* piecesIn(file: DiskFile, at: number, count: number, piece: Buffer): Generator<Buffer> {
  for (let done = 0; done < count; done += piece.length) {
    const wanted = piece.subarray(0, count - done);
    fillFrom(file, wanted, at + done);
    yield wanted;
  }
}

function longest(rows: readonly PartRow[]): number {
  return rows.reduce((most, { bytes }) => Math.max(most, bytes), 0);
}

/** The parts of a snapshot that is whole, by name. */
class SnapshotParts implements Parts {
  /** Why one could not be read again; null as long as that did not happen. */
  failure: unknown = null;
  readonly rows: readonly PartRow[];
  readonly #file: DiskFile;
  readonly #opens: Map<string, OpenPart>;
  readonly #finals: ReadonlyMap<string, Uint8Array>;
  /** Where those that are not final are read to, one after the other. */
  #shared: Buffer | null = null;

  constructor(
    file: DiskFile,
    rows: readonly PartRow[],
    opens: readonly OpenPart[],
    finals: ReadonlyMap<PartRow, Uint8Array>,
  ) {
    this.#file = file;
    this.rows = rows;
    this.#opens = new Map(opens.map((part) => [part.row.name, part]));
    this.#finals = new Map(Array.from(finals, ([{ name }, bytes]) => [name, bytes]));
  }

  has(name: string): boolean {
    return this.#opens.has(name) || this.#finals.has(name);
  }

  /** A final part in shared memory of its own; another one, until the next is asked for. */
  get(name: string): Uint8Array | undefined {
    const part = this.#opens.get(name);
    if (part === undefined) return this.#finals.get(name);
    try {
      return this.#read(part);
    } catch (error) {
      this.failure = error;
      throw error;
    }
  }

  #read({ row, at, before, after }: OpenPart): Uint8Array {
    this.#shared ??= Buffer.allocUnsafeSlow(longest(Array.from(this.#opens.values(), (part) => part.row)));
    // Not as a Buffer, whose slices are no copies.
    const bytes = new Uint8Array(this.#shared.buffer, 0, row.bytes);
    const sha = before.copy();
    for (let from = 0; from < bytes.length; from += PIECE_BYTES) {
      const piece = bytes.subarray(from, from + PIECE_BYTES);
      fillFrom(this.#file, piece, at + from);
      sha.update(piece);
    }
    if (equalBytes(sha.digest(), after.copy().digest())) return bytes;
    throw new SnapshotError(
      `it changed between bytes ${at} and ${at + row.bytes} while it was read: its part ${row.name}`,
    );
  }
}

/** The final parts, each in shared memory of its own, read by this thread and hashed by others meanwhile. */
function readFinalParts(disk: Disk, directory: string, rows: readonly PartRow[]): Map<PartRow, Uint8Array> {
  const finals = rows.filter(({ final }) => final);
  // Shared memory is what src/memory keeps its pages in: it takes these over as they are, and the next
  // snapshot knows them again.
  const pieces = finals.map(({ bytes }) => new Uint8Array(new SharedArrayBuffer(bytes)));
  const hashes = new PartHashes(pieces);
  try {
    for (const [index, row] of finals.entries()) {
      readFinalPart(disk, directory, row, pieces[index]!);
      hashes.filled(index);
    }
    for (const [index, hash] of hashes.results().entries()) {
      const row = finals[index]!;
      const name = partName(row.name, row.hash!);
      if (!equalBytes(hash, row.hash!)) throw new SnapshotError(`its part ${name} is damaged`, 'other', name);
      rememberPart(join(directory, name), row, pieces[index]!);
    }
    return new Map(finals.map((row, index) => [row, pieces[index]!]));
  } finally {
    hashes.close();
  }
}

function readFinalPart(disk: Disk, directory: string, row: PartRow, bytes: Uint8Array): void {
  const name = partName(row.name, row.hash!);
  const path = join(directory, name);
  if (!disk.exists(path)) throw new SnapshotError(`its part ${name} is missing`, 'other', name);
  withFile(disk, path, 'read', (file) => {
    if (file.size() !== row.bytes) throw new SnapshotError(`its part ${name} has another length`, 'other', name);
    fillFrom(file, bytes, 0);
  });
}

function readPiece(file: DiskFile, count: number, position: number): Buffer {
  const bytes = Buffer.allocUnsafeSlow(count);
  fillFrom(file, bytes, position);
  return bytes;
}

function fillFrom(file: DiskFile, bytes: Uint8Array, position: number): void {
  if (readAll(file, bytes, position) === bytes.length) return;
  throw new SnapshotError('it ends while being read');
}
