/**
 * Books are only as safe as all that a start read of them. Whoever put them there, a restored backup (`cp`, `tar`) or a
 * server that did not wait for the disk, may have left them in the page cache: what is acknowledged from now on would
 * be synced, and a power cut would take what it stands on.
 */
import { join } from 'node:path';
import type { Disk, DiskFile } from './disk.ts';
import { KEY_FILE } from './key-file.ts';
import { END_FILE } from './known-end.ts';
import { isBooksName, isPartName } from './snapshot-format.ts';
import { errorCode } from './system-error.ts';

/** What a process has no more of: that says nothing of the file. */
const STARVED = ['EMFILE', 'ENFILE', 'ENOMEM'];

/** Has the books in a directory on the device, and their names. Of files that are there already that writes nothing. */
export function settleBooks(disk: Disk, directory: string): void {
  for (const name of disk.readdir(directory)) {
    const file = isStoodOn(name) ? openOrNull(disk, join(directory, name)) : null;
    if (file === null) continue;
    try {
      file.sync();
    } catch (error) {
      // Windows syncs none that is only read.
      if (errorCode(error) !== 'EPERM') throw error;
    } finally {
      file.close();
    }
  }
  disk.syncDirectory(directory);
}

/**
 * The key, too: without it nothing goes on. And without the note of where they end, what is gone of that would go
 * unnoticed.
 */
function isStoodOn(name: string): boolean {
  return isBooksName(name) || isPartName(name) || name === KEY_FILE || name === END_FILE;
}

/** Null where it cannot be had: on such a one nothing stands, for what does was read a moment ago. */
function openOrNull(disk: Disk, path: string): DiskFile | null {
  try {
    return disk.open(path, 'read');
  } catch (error) {
    if (errorCode(error) === '' || STARVED.includes(errorCode(error))) throw error;
    return null;
  }
}
