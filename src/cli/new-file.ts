/**
 * What a tool writes for whoever called it (a key, a story): a new file, always, since nobody knows what is in another.
 */
import { randomBytes } from 'node:crypto';
import { basename, dirname, join } from 'node:path';
import { type Disk, type DiskFile, realDisk, TEMPORARY, writeAll } from '../storage/disk.ts';
import { NO_LINKS } from '../storage/lock.ts';
import { errorCode } from '../storage/system-error.ts';
import { gathered } from './past/form.ts';
import { readFilled } from './usage.ts';

/**
 * Makes the file once there is something to write, and returns when it is on the device. It has its name when all of it
 * is there: whatever ends the process before leaves a file of another name beside it at most. Throws where there is one
 * of this name; where the disk does, or whoever makes the pieces, nothing of it stays.
 */
export function writeNew(path: string, pieces: Iterable<string>, disk: Disk = realDisk): void {
  readFilled('--out', path);
  // The first piece may take long: all books are read for a story. A link that leads nowhere has the name, too.
  if (disk.readdir(dirname(path)).includes(basename(path))) throw existsError(path);
  // Not its own name and more: that may be as long as a name can be.
  const temporary = join(dirname(path), `ayni-${randomBytes(8).toString('hex')}${TEMPORARY}`);
  const made: string[] = [];
  const open = () => {
    const file = disk.open(temporary, 'create');
    made.push(temporary);
    return file;
  };
  try {
    writePieces(open, pieces);
    nameNew(disk, temporary, path, made);
    if (disk.exists(temporary)) disk.unlink(temporary);
    disk.syncDirectory(dirname(path));
  } catch (error) {
    takeBack(disk, made);
    throw error;
  }
}

/** Writes them to the file that is opened for the first one, and returns when they are on the device. */
function writePieces(open: () => DiskFile, pieces: Iterable<string>): void {
  let file: DiskFile | null = null;
  let end = 0;
  try {
    for (const text of gathered(pieces)) {
      file ??= open();
      const bytes = Buffer.from(text);
      writeAll(file, bytes, 0, bytes.length, end);
      end += bytes.length;
    }
    file?.sync();
  } finally {
    file?.close();
  }
}

/** What is told as failed shall not be there: a key that somebody makes again, say. */
function takeBack(disk: Disk, made: readonly string[]): void {
  for (const path of made) {
    try {
      if (disk.exists(path)) disk.unlink(path);
    } catch {
      // What went wrong first is the one to tell.
    }
  }
}

/**
 * Gives it a name that no other file has: a rename would take the name from another. Tells `made` of that once it is
 * ours.
 */
function nameNew(disk: Disk, temporary: string, path: string, made: string[]): void {
  try {
    disk.link(temporary, path);
    made.push(path);
  } catch (error) {
    if (errorCode(error) === 'EEXIST') throw existsError(path);
    if (!NO_LINKS.includes(errorCode(error))) throw error;
    // FAT, say: there it takes the place of an empty one that is surely ours.
    const empty = disk.open(path, 'create');
    made.push(path);
    empty.close();
    disk.rename(temporary, path);
  }
}

function existsError(path: string): Error {
  return new Error(`${path} exists already`);
}
