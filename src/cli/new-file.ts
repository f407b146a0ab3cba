/** What a tool writes for whoever called it (a key, a story): a new file, always, since nobody knows what is in another. */
import { type DiskFile, realDisk, writeAll } from '../storage/disk.ts';
import { errorCode } from '../storage/system-error.ts';
import { readFilled } from './usage.ts';

/** Makes the file, and returns when its bytes are on the device. Throws where there is one of this name; where the disk does, nothing of it stays. */
export function writeNew(path: string, text: string): void {
  const file = openNew(readFilled('--out', path));
  try {
    const bytes = Buffer.from(text);
    writeAll(file, bytes, 0, bytes.length, 0);
    file.sync();
  } catch (error) {
    // With room again, the half that is there would be in the way.
    realDisk.unlink(path);
    throw error;
  } finally {
    file.close();
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
