/** The key of whoever calls a tool, from a file as `ayni keygen --out` writes one. */
import { resolve } from 'node:path';
import { type KeyPair, makeKeyPair } from '../proof/keys.ts';
import { realDisk } from '../storage/disk.ts';
import { loadKey } from '../storage/key-file.ts';
import { readFilled, UsageError } from './usage.ts';

/** The pair in the file that `--key` names. */
export function readOwnKey(file: string | undefined): KeyPair {
  if (file === undefined)
    throw new UsageError('--key: the file of the key is needed; `ayni keygen --out <file>` makes one');
  return loadKey(realDisk, resolve(readFilled('--key', file)), makeKeyPair);
}
