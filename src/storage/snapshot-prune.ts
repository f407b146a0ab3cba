/**
 * What a proven snapshot makes superfluous: snapshots before the two newest, parts none of those names,
 * segments of the journal wholly before the older of the two. And what crashes left half-written.
 *
 * What always holds: nothing whole goes unless two snapshots stand with their parts; snapshots go durably before their
 * parts, so that no power cut leaves one that misses one; segments go from the oldest on, each durably before the next,
 * so that none leaves a gap between two. What another key has signed is not ours to remove: it may be all that is left
 * of other books, so such a snapshot stays, and while it is there so does every part.
 */
import { join } from 'node:path';
import { Breaks } from './breaks.ts';
import { type Disk, syncDirectoryLater, unlinkLater } from './disk.ts';
import { fileBytes } from './final-parts.ts';
import type { VerifyHash } from './format.ts';
import { listSegments } from './segments.ts';
import type { SnapshotOptions } from './snapshot.ts';
import {
  isPartName,
  isTemporaryName,
  type Manifest,
  type PartRow,
  partName,
  SnapshotError,
  snapshotName,
  snapshotSeq,
} from './snapshot-format.ts';
import { checkFoot, listSnapshots, NOT_OURS_TO_READ, readOutline, readOutlineAhead } from './snapshot-reader.ts';
import { errorCode } from './system-error.ts';

type PruneOptions = Pick<SnapshotOptions, 'verify' | 'counts' | 'mustBeOurs'>;

/** Removes what `newest`, just proven, makes superfluous; returns the names. */
export async function pruneSnapshots(
  disk: Disk,
  directory: string,
  newest: Manifest,
  options: PruneOptions,
): Promise<string[]> {
  const breaks = new Breaks();
  const needed = new Set<string>();
  await forEachFinal(newest, breaks, (name) => needed.add(name));
  let older: Manifest | null = null;
  const superfluous: string[] = [];
  let hasOthers = false;
  for (const name of listSnapshots(disk, directory)) {
    const seq = snapshotSeq(name);
    if (seq < newest.seq) older ??= await standing(disk, directory, name, options, breaks);
    if (seq === newest.seq || seq === older?.seq) continue;
    const isOthers = await mayBeOthers(disk, join(directory, name), options.verify);
    hasOthers ||= isOthers;
    // Snapshots after this one are not ours to judge here: a start will say what is wrong with them.
    if (seq < newest.seq && !isOthers) superfluous.push(name);
  }
  if (older === null) return [];

  await forEachFinal(older, breaks, (name) => needed.add(name));
  const stays = snapshotName(older.seq);
  const removed: string[] = [];
  /** Resolves when these names are gone from the device, or are to stay. */
  const remove = async (names: readonly string[]) => {
    options.mustBeOurs?.();
    // It may have been found to have changed since.
    if (options.counts?.(stays) === false) return;
    for (const name of names) if (await isRemoved(disk, join(directory, name))) removed.push(name);
    if (names.length > 0) await syncDirectoryLater(disk, directory);
  };
  await remove(superfluous);
  const unnamed = disk.readdir(directory).filter((name) => {
    return (isPartName(name) && !needed.has(name) && !hasOthers) || isTemporaryName(name);
  });
  await remove(unnamed);

  const segments = listSegments(disk, directory);
  for (const [index, { file }] of segments.entries()) {
    const next = segments[index + 1];
    if (next === undefined || next.firstSeq > older.seq + 1) break;
    await remove([file]);
  }
  return removed;
}

/**
 * Takes a file away; false where it is a directory: that is nothing of these books, though it has the name of what is.
 */
async function isRemoved(disk: Disk, path: string): Promise<boolean> {
  try {
    await unlinkLater(disk, path);
    return true;
  } catch (error) {
    if (errorCode(error) === 'EISDIR') return false;
    throw error;
  }
}

/**
 * Removes what snapshots that a crash cut short have left; returns the names. To be called by a start: each may be as
 * large as all that is open, and a server that ends in every snapshot would fill its disk with them.
 */
export function removeHalfWritten(disk: Disk, directory: string): string[] {
  const names = disk.readdir(directory).filter(isTemporaryName);
  for (const name of names) disk.unlink(join(directory, name));
  return names;
}

/** Its manifest, where the snapshot's frame is whole, its parts are there, and it counts; else null. */
async function standing(
  disk: Disk,
  directory: string,
  name: string,
  options: PruneOptions,
  breaks: Breaks,
): Promise<Manifest | null> {
  if (options.counts?.(name) === false) return null;
  try {
    const manifest = await manifestOf(disk, join(directory, name), options.verify);
    let isWhole = manifest.seq === snapshotSeq(name);
    await forEachFinal(manifest, breaks, (file, { bytes }) => {
      isWhole &&= fileBytes(disk, join(directory, file)) === bytes;
    });
    return isWhole ? manifest : null;
  } catch (error) {
    if (error instanceof SnapshotError || errorCode(error) !== '') return null;
    throw error;
  }
}

/** Whether another key has signed it, also where nobody can tell: this user may not read it, say. */
async function mayBeOthers(disk: Disk, path: string, verify: VerifyHash): Promise<boolean> {
  try {
    await checkFoot(disk, path, verify);
    return false;
  } catch (error) {
    if (error instanceof SnapshotError) return error.kind === 'unsigned';
    if (errorCode(error) === '') throw error;
    return NOT_OURS_TO_READ.includes(errorCode(error));
  }
}

/**
 * As a running server may read it: it may have been written long ago, and everybody would wait for a disk that hangs.
 */
async function manifestOf(disk: Disk, path: string, verify: VerifyHash): Promise<Manifest> {
  const file = disk.open(path, 'read');
  try {
    await readOutlineAhead(file);
    return readOutline(file, verify).manifest;
  } finally {
    file.close();
  }
}

/** Goes through the files of a snapshot's final parts; they may be many. */
async function forEachFinal(
  { parts }: Manifest,
  breaks: Breaks,
  visit: (file: string, part: PartRow) => void,
): Promise<void> {
  for (const part of parts) {
    if (part.final) visit(partName(part.name, part.hash!), part);
    if (breaks.isDue) await breaks.take();
  }
}
