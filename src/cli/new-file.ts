/** What a tool writes for whoever called it (a key, a story): a new file, always, since nobody knows what is in another. */
import { type DiskFile, realDisk, writeAll } from '../storage/disk.ts';
import { errorCode } from '../storage/system-error.ts';
import { gathered } from './past/form.ts';
import { readFilled } from './usage.ts';

/**
 * Makes the file once there is something to write, and returns when its bytes are on the device. Throws where there is one
 * of this name; where the disk does, or whoever makes the pieces, nothing of it stays.
 */
export function writeNew(path: string, pieces: Iterable<string>): void {
  readFilled('--out', path);
  let file: DiskFile | null = null;
  let end = 0;
  try {
    for (const text of gathered(pieces)) {
      file ??= openNew(path);
      const bytes = Buffer.from(text);
      writeAll(file, bytes, 0, bytes.length, end);
      end += bytes.length;
    }
    file?.sync();
  } catch (error) {
    // With room again, the half that is there would be in the way.
    if (file !== null) realDisk.unlink(path);
    throw error;
  } finally {
    file?.close();
  }
}

function openNew(path: string): DiskFile {
  try {
    return realDisk.open(path, 'create');
  } catch (error) {
    if (errorCode(error) === 'EEXIST') throw new Error(`${path} exists already`);
    throw error;
  }
}
