/**
 * The books a server works on: their directory locked, the server's key, and what was recovered. From the lock on no
 * other server writes there, and nothing is written by this one once the lock is lost.
 */
import { randomInt } from 'node:crypto';
import { resolve } from 'node:path';
import type { Log } from './log.ts';
import { type KeyPair, makeKeyPair } from './proof/keys.ts';
import { sign, verify } from './proof/verify.ts';
import { type Recovered, recover } from './recovery.ts';
import { type Disk, realDisk } from './storage/disk.ts';
import { whileHeld } from './storage/held-disk.ts';
import { loadKey, loadOrCreateKey } from './storage/key-file.ts';
import { acquireLock, type Lock } from './storage/lock.ts';

export interface HeldBooks extends Recovered {
  directory: string;
  lock: Lock;
  disk: Disk;
  server: KeyPair;
  /** The server's signature of a hash, and whether one is. */
  signHash: (hash: Uint8Array) => Uint8Array;
  verifyHash: (hash: Uint8Array, signature: Uint8Array) => boolean;
}

/** Makes the directory, and the key where there is none and no file of it is named (''). What damage there is, is thrown. */
export function openBooks(directory: string, keyFile: string, { tell, inform }: Log): HeldBooks {
  const began = performance.now();
  realDisk.mkdir(directory);
  const lock = acquireLock(realDisk, directory);
  const disk = whileHeld(realDisk, lock);
  const server =
    keyFile === '' ? loadOrCreateKey(disk, directory, makeKeyPair) : loadKey(disk, resolve(keyFile), makeKeyPair);
  const signHash = (hash: Uint8Array) => sign(hash, server);
  const verifyHash = (hash: Uint8Array, signature: Uint8Array) => verify(server.public, hash, signature);

  const recovered = recover({ disk, directory, verify: verifyHash, hashSeed: randomInt(2 ** 32) });
  const { end, entries, notes } = recovered;
  for (const note of notes) tell(note);
  const ms = Math.round(performance.now() - began);
  inform(`Recovered ${end.seq} entries, ${entries} of them from the journal, in ${ms} ms.`);
  return { ...recovered, directory, lock, disk, server, signHash, verifyHash };
}
