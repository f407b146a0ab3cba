/**
 * Taking snapshots: the state after one entry, written beside the running server and proven before
 * anything old goes. A snapshot saves recovery from reading the whole journal; format and names are told
 * in snapshot-format.ts, the way back in snapshot-reader.ts.
 *
 * What always holds: nothing is copied, the content handed in stays as it is until the promise settles;
 * nothing blocks the event loop for longer than a piece takes to hash; a file gets its name only when its
 * bytes are on the device and have been read back; two snapshots are kept; segments and parts go only when
 * neither of those two needs them.
 */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { type Disk, type DiskFile, readAllLater, syncDirectoryLater, writeAllLater } from './disk.ts';
import { keepFinalPart, stream, writeTemporary } from './final-parts.ts';
import { bytesEqual, crc, SIGNATURE_BYTES } from './format.ts';
import type { JournalPosition } from './journal.ts';
import {
  FOOT_BYTES,
  type PartRow,
  PIECE_BYTES,
  packFoot,
  packManifest,
  SnapshotError,
  snapshotHeader,
  snapshotName,
  TEMPORARY,
} from './snapshot-format.ts';
import { pruneSnapshots } from './snapshot-prune.ts';
import { readOutline } from './snapshot-reader.ts';

export { SnapshotError } from './snapshot-format.ts';
export { type ReadSnapshotsResult, type RefusedSnapshot, readSnapshots, type SnapshotRead } from './snapshot-reader.ts';

/** A piece of the state, as src/memory hands it out and takes it back. */
export interface Part {
  /** Letters, digits, hyphens and periods; no two of one name in a snapshot. */
  name: string;
  /** Whether every later snapshot will hold the same bytes under this name. */
  final: boolean;
  /** Must not change until the snapshot is taken; a dump of src/memory never does. */
  bytes: Uint8Array;
}

export interface SnapshotContent extends JournalPosition {
  /** Small things that are no part, as MessagePack; kept, not looked at. */
  extra: Uint8Array;
  parts: Part[];
}

export interface SnapshotOptions {
  /** The server's Ed25519 signature of a hash, 64 bytes. */
  sign(hash: Uint8Array): Uint8Array;
  verify(hash: Uint8Array, signature: Uint8Array): boolean;
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
  const finals = new Map<Part, PartRow>();
  let bytes = 0;
  for (const part of content.parts) {
    if (!part.final) continue;
    const { row, written } = await keepFinalPart(disk, directory, part);
    finals.set(part, row);
    bytes += written;
  }
  // The parts' names must be on the device before the name of what refers to them.
  if (bytes > 0) await syncDirectoryLater(disk, directory);
  const file = snapshotName(content.seq);
  const temporary = join(directory, file + TEMPORARY);
  bytes += await writeTemporary(disk, temporary, (opened) => writeOwnFile(opened, content, finals, options));
  await proveFile(disk, temporary, options);
  disk.rename(temporary, join(directory, file));
  await syncDirectoryLater(disk, directory);
  const removed = await pruneSnapshots(disk, directory, content.seq, options);
  return { file, bytes, removed, ms: performance.now() - began };
}

/** Returns how many bytes it took. */
async function writeOwnFile(
  file: DiskFile,
  content: SnapshotContent,
  finals: ReadonlyMap<Part, PartRow>,
  options: SnapshotOptions,
): Promise<number> {
  const { seq, chain, moment, extra } = content;
  const inline = content.parts.filter((part) => !part.final);
  const sha = createHash('sha256');
  const head = await stream(file, 0, [snapshotHeader(), ...inline.map((part) => part.bytes)], sha);
  const inlineCrc = new Map(inline.map((part, index) => [part, head.crcs[index + 1]!]));
  const parts = content.parts.map((part): PartRow => {
    const { name, bytes } = part;
    return finals.get(part) ?? { name, final: false, bytes: bytes.length, crc: inlineCrc.get(part)!, hash: null };
  });
  const manifest = packManifest({ seq, chain, moment, extra, parts });
  const { hash, end } = await stream(file, head.end, [manifest], sha);
  const signature = options.sign(hash);
  assert(signature.length === SIGNATURE_BYTES);
  const manifestCrc = crc(manifest, 0, manifest.length);
  const foot = packFoot({ manifestBytes: manifest.length, manifestCrc, hash, signature });
  await writeAllLater(file, foot, 0, foot.length, end);
  return end + foot.length;
}

/** Reads a snapshot's own file back and checks it against its hash and signature. */
async function proveFile(disk: Disk, path: string, options: SnapshotOptions): Promise<void> {
  const file = disk.open(path, 'read');
  try {
    const { foot } = readOutline(file, options);
    const sha = createHash('sha256');
    const piece = Buffer.allocUnsafeSlow(PIECE_BYTES);
    const end = file.size() - FOOT_BYTES;
    for (let at = 0; at < end; ) {
      const count = await readAllLater(file, piece, 0, Math.min(PIECE_BYTES, end - at), at);
      if (count === 0) break;
      sha.update(piece.subarray(0, count));
      at += count;
    }
    if (!bytesEqual(sha.digest(), foot.hash)) throw new SnapshotError(`${path}: reads back other bytes`);
  } finally {
    file.close();
  }
}
