/**
 * Taking snapshots: the state after one entry, written beside the running server and proven before
 * anything old goes. A snapshot saves recovery from reading the whole journal; format and names are told
 * in snapshot-format.ts, the way back in snapshot-reader.ts.
 *
 * What always holds: nothing blocks the event loop for longer than a piece takes to hash; parts that are not
 * final are read first, since until then their memory keeps what changes; a file gets its name only when its
 * bytes are on the device and have been read back; two snapshots are kept; segments and parts go only when
 * neither of those two needs them.
 */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { equalBytes } from '../core/bytes.ts';
import type { Part } from '../core/dump.ts';
import { Breaks } from './breaks.ts';
import {
  type Disk,
  type DiskFile,
  renameLater,
  syncDirectoryLater,
  TEMPORARY,
  unlinkLater,
  writeAllLater,
} from './disk.ts';
import { FileStream, gatheringBuffer } from './file-stream.ts';
import { keepPart, keptPart, writeTemporary } from './final-parts.ts';
import { SIGNATURE_BYTES, type VerifyHash } from './format.ts';
import type { JournalPosition } from './journal.ts';
import {
  FOOT_BYTES,
  type Foot,
  MANIFEST_BYTES_MAX,
  type Manifest,
  PART_BYTES_MAX,
  type PartRow,
  packFoot,
  packManifest,
  SnapshotError,
  snapshotHeader,
  snapshotName,
} from './snapshot-format.ts';
import { pruneSnapshots } from './snapshot-prune.ts';
import { hashUpTo, readFoot } from './snapshot-reader.ts';

export interface SnapshotContent extends JournalPosition {
  /** Small things that are no part, as MessagePack; kept, not looked at. */
  extra: Uint8Array;
  /** Their names have letters, digits, hyphens and periods; no two are the same. */
  parts: Part[];
}

export interface SnapshotOptions {
  /** The server's Ed25519 signature of a hash, 64 bytes. */
  sign(hash: Uint8Array): Uint8Array;
  verify: VerifyHash;
  /**
   * Whether a snapshot counts as kept: one that a start could not use, or could not any more, does not, whatever is
   * still whole of it. Asked when it matters, for writing one may take minutes.
   */
  counts?(name: string): boolean;
  /**
   * Throws where other books were put in the place of these: asked before the snapshot gets its name, and before
   * anything goes.
   */
  mustBeOurs?(): void;
  /** So many bytes are gathered before they are written, and others have a turn. */
  pieceBytes?: number;
}

export interface SnapshotTaken {
  /** Name of the file. */
  file: string;
  /** Bytes written for it, those of new final parts included. */
  bytes: number;
  /** Names of the files that went. */
  removed: string[];
  /** Milliseconds it took, the removing included. */
  ms: number;
}

/** Directories in which one is being taken. */
const busy = new WeakMap<Disk, Set<string>>();

/**
 * Takes a snapshot of `content`, whose position must be on the device in the journal. The promise settles
 * when the snapshot is proven and what it makes superfluous is gone. It rejects with what the disk threw,
 * or with SnapshotError where reading back gives other bytes; older snapshots are untouched then. One at a
 * time in a directory.
 */
export async function takeSnapshot(
  disk: Disk,
  directory: string,
  content: SnapshotContent,
  options: SnapshotOptions,
): Promise<SnapshotTaken> {
  const directories = busy.get(disk) ?? new Set();
  busy.set(disk, directories);
  assert(!directories.has(directory), 'one snapshot at a time');
  directories.add(directory);
  try {
    return await writeSnapshot(disk, directory, content, options);
  } finally {
    directories.delete(directory);
  }
}

async function writeSnapshot(
  disk: Disk,
  directory: string,
  content: SnapshotContent,
  options: SnapshotOptions,
): Promise<SnapshotTaken> {
  const began = performance.now();
  const file = snapshotName(content.seq);
  const temporary = join(directory, file + TEMPORARY);
  const written = await writeTemporary(disk, temporary, async (opened) => {
    const stream = new FileStream(opened, options.pieceBytes);
    const open = await writeOpenParts(stream, content.parts);
    const finals = await keepFinalParts(disk, directory, content.parts);
    // The parts' names must be on the device before the name of what refers to them; one that failed may have given
    // some.
    if (finals.rows.size > 0) await syncDirectoryLater(disk, directory);
    const { seq, chain, moment, extra } = content;
    const parts = content.parts.map((part) => (part.final ? finals.rows : open).get(part)!);
    const manifest = { seq, chain, moment, extra, parts };
    const end = await writeEnd(opened, stream, manifest, options);
    return { ...end, manifest, bytes: end.fileBytes + finals.bytes };
  });
  await proveFile(disk, temporary, written, options);
  try {
    options.mustBeOurs?.();
  } catch (error) {
    // What others have put there stays as it is, with nothing of this one in it.
    await unlinkLater(disk, temporary);
    throw error;
  }
  await renameLater(disk, temporary, join(directory, file));
  await syncDirectoryLater(disk, directory);
  const removed = await pruneSnapshots(disk, directory, written.manifest, options);
  return { file, bytes: written.bytes, removed, ms: performance.now() - began };
}

type Rows = Map<Part, PartRow>;

async function writeOpenParts(stream: FileStream, parts: readonly Part[]): Promise<Rows> {
  const rows: Rows = new Map();
  await stream.add([snapshotHeader()]);
  for (const part of parts) {
    if (part.final) continue;
    const { bytes, crc } = await stream.add(part.pieces);
    if (bytes > PART_BYTES_MAX) throw new SnapshotError(`part ${part.name} has ${bytes} bytes, more than can be read`);
    rows.set(part, { name: part.name, final: false, bytes, crc, hash: null });
  }
  return rows;
}

/** Makes sure that all final parts have their files. `bytes`: of those that were written now. */
async function keepFinalParts(
  disk: Disk,
  directory: string,
  parts: readonly Part[],
): Promise<{ rows: Rows; bytes: number }> {
  const breaks = new Breaks();
  const rows: Rows = new Map();
  const buffer = gatheringBuffer();
  let bytes = 0;
  for (const part of parts) {
    if (!part.final) continue;
    let row = keptPart(disk, directory, part);
    if (row === null) {
      row = await keepPart(disk, directory, part, buffer);
      bytes += row.bytes;
    }
    rows.set(part, row);
    if (breaks.isDue) await breaks.take();
  }
  return { rows, bytes };
}

/** Manifest and foot. */
async function writeEnd(
  file: DiskFile,
  stream: FileStream,
  manifest: Manifest,
  options: SnapshotOptions,
): Promise<{ foot: Foot; fileBytes: number }> {
  const { bytes: manifestBytes, crc: manifestCrc } = await stream.add(packManifest(manifest));
  if (manifestBytes > MANIFEST_BYTES_MAX) {
    throw new SnapshotError(`its manifest has ${manifestBytes} bytes, more than are read`);
  }
  const hash = await stream.hash();
  const signature = options.sign(hash);
  assert(signature.length === SIGNATURE_BYTES);
  const foot = { manifestBytes, manifestCrc, hash, signature };
  const bytes = packFoot(foot);
  await writeAllLater(file, bytes, stream.bytes);
  return { foot, fileBytes: stream.bytes + bytes.length };
}

/**
 * Reads a snapshot's own file back: it must have the bytes that were written, and a hash with the server's signature.
 */
async function proveFile(
  disk: Disk,
  path: string,
  { foot, fileBytes }: { foot: Foot; fileBytes: number },
  options: SnapshotOptions,
): Promise<void> {
  const file = disk.open(path, 'read');
  try {
    const { foot: read } = readFoot(file, options.verify);
    const hash = await hashUpTo(file, fileBytes - FOOT_BYTES);
    const isSame = file.size() === fileBytes && packFoot(read).equals(packFoot(foot));
    if (!isSame || !equalBytes(hash, foot.hash)) throw new SnapshotError(`${path}: reads back other bytes`);
  } finally {
    file.close();
  }
}
