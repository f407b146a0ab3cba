/**
 * The last segment is written to in place. Where its file has another name too, as `cp -al` gives it, or the name leads
 * elsewhere, as `cp -as` has it, other books have the same file, and their lock is another: two servers would write
 * over each other's frames, and acknowledge both. So before these books are read, a file of their own is made. The
 * other books may be written to meanwhile: the new file has what theirs had at one moment, with no gap (pinned.ts).
 */
import { join } from 'node:path';
import { type Disk, readAll, withFile, writeAll } from './disk.ts';
import { pinnedFile } from './pinned.ts';
import { listSegments } from './segments.ts';

const TEMPORARY_NAME = 'own-segment.tmp';
const PIECE_BYTES = 1024 * 1024;

/**
 * Makes the last segment a file of these books alone, before it is read to go on from, or written to. What to tell;
 * null where it was.
 */
export function ownLastSegment(disk: Disk, directory: string): string | null {
  const temporary = join(directory, TEMPORARY_NAME);
  if (disk.exists(temporary)) disk.unlink(temporary);
  const last = listSegments(disk, directory).at(-1);
  if (last === undefined) return null;
  const path = join(directory, last.file);
  if (!disk.isShared(path)) return null;
  try {
    copySegment(disk, path, temporary);
    disk.rename(temporary, path);
  } catch (error) {
    // A full disk needs the room that it has.
    remove(disk, temporary);
    throw error;
  }
  disk.syncDirectory(directory);
  return `${last.file} was a file of other books too, by a link: these go on in a copy of it. Older files may still be shared.`;
}

/** On the device when it returns. */
function copySegment(disk: Disk, path: string, to: string): void {
  withFile(disk, path, 'read', (file) =>
    withFile(disk, to, 'create', (copy) => {
      const pinned = pinnedFile(path, file);
      const piece = Buffer.allocUnsafe(PIECE_BYTES);
      for (let at = 0, count = 0; ; at += count) {
        count = readAll(pinned, piece, at);
        if (count === 0) break;
        writeAll(copy, piece, 0, count, at);
      }
      copy.sync();
    }),
  );
}

/** Where that fails too, what went wrong first is the one to tell, and the next start takes it away. */
function remove(disk: Disk, path: string): void {
  try {
    disk.unlink(path);
  } catch {}
}
