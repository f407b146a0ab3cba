/** The key of whoever calls a tool, from a file as `ayni keygen --out` writes one, or through a pipe. */
import { closeSync, openSync, readSync, statSync } from 'node:fs';
import { resolve } from 'node:path';
import { type KeyPair, makeKeyPair } from '../proof/keys.ts';
import { present, realDisk } from '../storage/disk.ts';
import { KEY_FILE_BYTES_MAX, KeyFileError, keyIn, loadKey } from '../storage/key-file.ts';
import { readFilled, UsageError } from './usage.ts';

/**
 * The pair that `--key` names. A pipe has it from another program, as `--key <(age -d owner.age)`: then no disk has the
 * secret, and there are no rights to look at.
 */
export function readOwnKey(file: string | undefined): KeyPair {
  if (file === undefined)
    throw new UsageError('--key: the file of the key is needed; `ayni keygen --out <file>` makes one');
  const path = resolve(readFilled('--key', file));
  const isPipe = present(() => statSync(path))?.isFIFO() === true;
  return isPipe ? keyIn(readPipe(path), path, makeKeyPair) : loadKey(realDisk, path, makeKeyPair);
}

/** All that comes, until whoever writes it closes it: an end, or more than a key can be. */
function readPipe(path: string): string {
  const bytes = Buffer.alloc(KEY_FILE_BYTES_MAX + 1);
  const fd = openSync(path, 'r');
  try {
    let length = 0;
    let more = 1;
    while (more > 0 && length < bytes.length) {
      more = readSync(fd, bytes, length, bytes.length - length, null);
      length += more;
    }
    if (length === bytes.length) throw new KeyFileError(`${path} gives more than a key`);
    if (length === 0) throw new KeyFileError(`${path} gives no key: whatever was to write it wrote nothing`);
    return bytes.toString('utf8', 0, length);
  } finally {
    closeSync(fd);
  }
}
