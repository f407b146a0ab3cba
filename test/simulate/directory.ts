/**
 * Where the servers of a life keep their books, and the key with which they sign and read them.
 */
import type { MemorySizes } from '../../src/core/state.ts';
import { sign, verifyBy } from '../../src/proof/verify.ts';
import { type Recovered, recover } from '../../src/recovery.ts';
import type { Disk } from '../../src/storage/disk.ts';
import { rememberSignatures } from './signatures.ts';
import { SERVER } from './wish.ts';

export const DIRECTORY = '/books';

// Frames are read again and again in a life.
rememberSignatures();
export const verifyHash = verifyBy(SERVER.pair.public);
export const signHash = (hash: Uint8Array): Uint8Array => sign(hash, SERVER.pair);

export function readBooks(disk: Disk, hashSeed: number, sizes: MemorySizes): Recovered {
  return recover({ disk, directory: DIRECTORY, verify: verifyHash, hashSeed, sizes });
}
