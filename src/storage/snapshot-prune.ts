/**
 * What a proven snapshot makes superfluous: snapshots before the two newest, parts none of those names,
 * segments of the journal wholly before the older of the two, and what crashes left half-written.
 *
 * What always holds: nothing goes unless two snapshots stand with their parts; a snapshot goes before its
 * parts, so none is left that misses one; segments go from the oldest on, each durably before the next, so that no
 * power cut leaves a gap between two.
 */
import { join } from 'node:path';
import { type Disk, errorCode, syncDirectoryLater, unlinkLater } from './disk.ts';
import { fileBytes } from './final-parts.ts';
import { listSegments } from './journal-reader.ts';
import { isPartName, isTemporaryName, type Manifest, partName, SnapshotError, snapshotSeq } from './snapshot-format.ts';
import { listSnapshots, type ReadSnapshotsOptions, readOutline } from './snapshot-reader.ts';

/** Removes what the snapshot of entry `seq`, just proven, makes superfluous; returns the names. */
export async function pruneSnapshots(
  disk: Disk,
  directory: string,
  seq: number,
  options: Pick<ReadSnapshotsOptions, 'verify'>,
): Promise<string[]> {
  // Snapshots after this one are not ours to judge here: a start will say what is wrong with them.
  const names = listSnapshots(disk, directory).filter((name) => snapshotSeq(name) <= seq);
  const kept: Manifest[] = [];
  const superfluous: string[] = [];
  for (const name of names) {
    const manifest = kept.length < 2 ? standing(disk, directory, name, options) : null;
    if (manifest !== null) kept.push(manifest);
    else superfluous.push(name);
  }
  const older = kept[1];
  if (older === undefined) return [];

  const needed = new Set(kept.flatMap(partsOf));
  for (const name of disk.readdir(directory)) {
    if ((isPartName(name) && !needed.has(name)) || isTemporaryName(name)) superfluous.push(name);
  }
  for (const name of superfluous) await unlinkLater(disk, join(directory, name));
  if (superfluous.length > 0) await syncDirectoryLater(disk, directory);

  const segments = listSegments(disk, directory);
  for (const [index, { file }] of segments.entries()) {
    const next = segments[index + 1];
    if (next === undefined || next.firstSeq > older.seq + 1) break;
    await unlinkLater(disk, join(directory, file));
    await syncDirectoryLater(disk, directory);
    superfluous.push(file);
  }
  return superfluous;
}

/** Its manifest, where the snapshot's frame is whole and its parts are there; else null. */
function standing(
  disk: Disk,
  directory: string,
  name: string,
  options: Pick<ReadSnapshotsOptions, 'verify'>,
): Manifest | null {
  try {
    const file = disk.open(join(directory, name), 'read');
    try {
      const { manifest } = readOutline(file, options);
      const whole = manifest.parts.every(
        (part) => !part.final || fileBytes(disk, join(directory, partName(part.name, part.hash!))) === part.bytes,
      );
      return whole && manifest.seq === snapshotSeq(name) ? manifest : null;
    } finally {
      file.close();
    }
  } catch (error) {
    if (error instanceof SnapshotError || errorCode(error) !== '') return null;
    throw error;
  }
}

function partsOf(manifest: Manifest): string[] {
  return manifest.parts.filter((part) => part.final).map((part) => partName(part.name, part.hash!));
}
