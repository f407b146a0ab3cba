/**
 * Finds the newest snapshot that is whole, and reads it. One that is not is passed over with the reason:
 * the one before it and the journal lead to the same state.
 *
 * What always holds: a snapshot is handed on only when every byte of it and of its parts was read and fits
 * its hashes, and the hash carries the server's signature; what it says of other files is believed when its own file fits.
 */
import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { equalBytes } from '../core/bytes.ts';
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
}

export interface ReadPart {
  name: string;
  final: boolean;
  bytes: Uint8Array;
}

/** What was taken, as it was. */
export interface SnapshotRead extends JournalPosition {
  extra: Uint8Array;
  parts: ReadPart[];
}

interface ReadSnapshotsResult {
  /** The newest whole one, or null. Each final part has shared memory of its own. */
  snapshot: SnapshotRead | null;
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
 * This user may not, or this process has no more of what it takes: that says nothing against the snapshot. Where it were
 * passed over, a journal that begins after it would look damaged, and the next snapshot would remove it.
 */
const NOT_OURS_TO_READ = ['EACCES', 'EPERM', 'EMFILE', 'ENFILE', 'ENOMEM'];

/**
 * The newest snapshot that is whole, null where none is, and why newer ones were refused. Throws what the disk throws
 * where the fault is not the snapshot's, as where this user may not read it.
 */
export function readSnapshots(disk: Disk, directory: string, verify: VerifyHash): ReadSnapshotsResult {
  const refused: RefusedSnapshot[] = [];
  for (const name of disk.exists(directory) ? listSnapshots(disk, directory) : []) {
    const read = readSnapshot(disk, directory, name, verify);
    if (!('reason' in read)) return { snapshot: read, refused };
    refused.push(read);
  }
  return { snapshot: null, refused };
}

/** The one of this name, or why it is refused. Throws as `readSnapshots` does. */
export function readSnapshot(
  disk: Disk,
  directory: string,
  name: string,
  verify: VerifyHash,
): SnapshotRead | RefusedSnapshot {
  try {
    return withFile(disk, join(directory, name), 'read', (file) => {
      const outline = readOutline(file, verify);
      if (outline.manifest.seq !== snapshotSeq(name)) throw new SnapshotError(`it is of entry ${outline.manifest.seq}`);
      return readContent(disk, directory, file, outline);
    });
  } catch (error) {
    const code = errorCode(error);
    if ((!(error instanceof SnapshotError) && code === '') || NOT_OURS_TO_READ.includes(code)) throw error;
    const kind = error instanceof SnapshotError ? error.kind : 'other';
    return { file: name, reason: (error as Error).message, kind };
  }
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

/** Node hashes less than 2 GiB in one call. */
const HASHED_BYTES_MAX = 1024 * 1024 * 1024;

/** Its own file first: what it says of other files is the server's only where its hash fits. */
function readContent(disk: Disk, directory: string, file: DiskFile, outline: Outline): SnapshotRead {
  const { seq, chain, moment, extra, parts: rows } = outline.manifest;
  const opens = readOpenParts(file, outline);
  const finals = readFinalParts(disk, directory, rows);
  const parts = rows.map((row) => {
    const bytes = (row.final ? finals : opens).get(row)!;
    return { name: row.name, final: row.final, bytes };
  });
  return { seq, chain, moment, extra, parts };
}

/** The parts that lie in the file itself, all of which fits its hash. */
function readOpenParts(file: DiskFile, { header, manifest, manifestBytes, foot }: Outline): Map<PartRow, Uint8Array> {
  const parts = new Map<PartRow, Uint8Array>();
  const sha = createHash('sha256').update(header);
  let at = SNAPSHOT_HEADER_BYTES;
  for (const row of manifest.parts) {
    if (row.final) continue;
    const bytes = readPiece(file, row.bytes, at);
    for (let from = 0; from < bytes.length; from += HASHED_BYTES_MAX)
      sha.update(bytes.subarray(from, from + HASHED_BYTES_MAX));
    at += row.bytes;
    parts.set(row, bytes);
  }
  if (!equalBytes(sha.update(manifestBytes).digest(), foot.hash)) throw damagedPart(parts);
  return parts;
}

/** Which part it is that the hash over all does not fit for: their CRCs tell, and are asked only then. */
function damagedPart(parts: ReadonlyMap<PartRow, Uint8Array>): SnapshotError {
  let at = SNAPSHOT_HEADER_BYTES;
  for (const [row, bytes] of parts) {
    if (crc(bytes, 0, bytes.length) !== row.crc) {
      return new SnapshotError(`it is damaged between bytes ${at} and ${at + row.bytes}: its part ${row.name}`);
    }
    at += row.bytes;
  }
  return new SnapshotError('it is damaged: its hash does not fit');
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
      if (!equalBytes(hash, row.hash!)) throw new SnapshotError(`its part ${name} is damaged`);
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
  if (!disk.exists(path)) throw new SnapshotError(`its part ${name} is missing`);
  withFile(disk, path, 'read', (file) => {
    if (file.size() !== row.bytes) throw new SnapshotError(`its part ${name} has another length`);
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
