/**
 * The books a server works on: their directory locked, the server's key, and what was recovered. From the lock on no
 * other server writes there, and nothing is written by this one once the lock is lost.
 *
 * Or the books a server only shows: read from a directory that it neither locks nor changes, as they were at one
 * moment, a copy's say, or those that another server goes on with meanwhile.
 */
import { randomInt } from 'node:crypto';
import { join, resolve } from 'node:path';
import type { Log } from './log.ts';
import { type KeyPair, makeKeyPair } from './proof/keys.ts';
import { sign, verifyBy } from './proof/verify.ts';
import { type Recovered, type RecoveryOptions, recover, show } from './recovery.ts';
import { type Disk, realDisk, withFile } from './storage/disk.ts';
import type { VerifyHash } from './storage/format.ts';
import { whileHeld } from './storage/held-disk.ts';
import type { JournalPosition } from './storage/journal.ts';
import { KEY_FILE, loadKey, loadOrCreateKey, refuseOtherKey } from './storage/key-file.ts';
import { noteEnd } from './storage/known-end.ts';
import { acquireLock, type Lock, NO_LOCK } from './storage/lock.ts';
import { pin } from './storage/pinned.ts';
import { isBooksName } from './storage/snapshot-format.ts';
import { errorCode } from './storage/system-error.ts';
import { cacheShare } from './v8-heap.ts';

export interface HeldBooks extends Recovered {
  directory: string;
  lock: Lock;
  disk: Disk;
  server: KeyPair;
  /** Whether the key lay in the directory, or was named, before this start. */
  knewKey: boolean;
  /** The server's signature of a hash, and whether one is. */
  signHash: (hash: Uint8Array) => Uint8Array;
  verifyHash: VerifyHash;
}

/** Whether any file of books lies there that has something in it. Of a directory that is not there, no. */
export function hasBooks(directory: string): boolean {
  const names = realDisk.exists(directory) ? realDisk.readdir(directory).filter(isBooksName) : [];
  return names.some((name) => hasBytes(join(directory, name)));
}

/**
 * What is no file any more, leads nowhere, or is not given, is nothing new either: whether a start needs it is found
 * where it is read.
 */
const NOT_NOTHING = ['EISDIR', 'EFTYPE', 'EIO', 'ENOENT', 'ELOOP'];

function hasBytes(path: string): boolean {
  try {
    return withFile(realDisk, path, 'read', (file) => file.size()) > 0;
  } catch (error) {
    if (NOT_NOTHING.includes(errorCode(error))) return true;
    throw error;
  }
}

/**
 * Makes the directory, and the key where there is none and no file of it is named (''). What damage there is, is
 * thrown.
 */
export function openBooks(directory: string, keyFile: string, log: Log): HeldBooks {
  const began = performance.now();
  // Before anything is made: without it there is no start.
  const named = keyFile === '' ? null : loadKey(realDisk, resolve(keyFile), makeKeyPair);
  realDisk.mkdir(directory);
  const lock = acquireLock(realDisk, directory);
  const disk = whileHeld(realDisk, lock);
  const knewKey = named !== null || disk.exists(join(directory, KEY_FILE));
  const server = named ?? loadOrCreateKey(disk, directory, makeKeyPair);
  const signatures = signaturesOf(server);
  const recovered = recover(recoveryOf(disk, directory, signatures));
  tellRecovered(recovered, began, log);
  return { ...recovered, ...signatures, directory, lock, disk, server, knewKey };
}

/** Reads them, with the same key, and changes nothing: nothing can be written by way of what it returns. */
export function showBooks(directory: string, keyFile: string, log: Log): HeldBooks {
  const began = performance.now();
  const disk = pin(realDisk, directory);
  try {
    if (keyFile === '') refuseOtherKey(realDisk, directory);
    const server = loadKey(realDisk, keyFile === '' ? join(directory, KEY_FILE) : resolve(keyFile), makeKeyPair);
    const signatures = signaturesOf(server);
    const shown = show(recoveryOf(disk, directory, signatures));
    tellRecovered(shown, began, log);
    return { ...shown, ...signatures, directory, lock: NO_LOCK, disk, server, knewKey: true };
  } finally {
    disk.release();
  }
}

/** Lets others have them. `end`, null where that is not on the disk for good, is where the books are left, whole. */
export function leaveBooks({ disk, directory, signHash, lock }: HeldBooks, end: JournalPosition | null): void {
  if (end !== null) noteEnd(disk, directory, end, signHash);
  lock.release();
}

function recoveryOf(disk: Disk, directory: string, { verifyHash }: Pick<HeldBooks, 'verifyHash'>): RecoveryOptions {
  const sizes = { cacheShare: cacheShare() };
  return { disk, directory, verify: verifyHash, hashSeed: randomInt(2 ** 32), sizes };
}

function signaturesOf(server: KeyPair): Pick<HeldBooks, 'signHash' | 'verifyHash'> {
  return {
    signHash: (hash) => sign(hash, server),
    verifyHash: verifyBy(server.public),
  };
}

function tellRecovered({ end, entries, notes }: Recovered, began: number, { tell, inform }: Log): void {
  for (const note of notes) tell(note);
  const ms = Math.round(performance.now() - began);
  inform(`Recovered ${end.seq} entries, ${entries} of them from the journal, in ${ms} ms.`);
}
