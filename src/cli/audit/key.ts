/**
 * Whose signatures the books must carry: a key the auditor brings, else that in server.key, else the one the books
 * themselves give in the record `system`. The last proves only that the books agree with themselves, and says so.
 */
import { join } from 'node:path';
import { parseObject } from '../../client/json.ts';
import { SYSTEM_SIGNER } from '../../core/decide.ts';
import { type CreateEntry, EntryType } from '../../core/entry.ts';
import { findHandle } from '../../core/finding.ts';
import { Kind } from '../../core/kinds.ts';
import { readRow } from '../../core/records.ts';
import type { State } from '../../core/state.ts';
import { decodePublic, keyPairFromSecret } from '../../proof/keys.ts';
import { type Disk, readWhole } from '../../storage/disk.ts';
import { JOURNAL_START } from '../../storage/journal.ts';
import { stepJournal } from '../../storage/journal-reader.ts';
import { KEY_FILE, KEY_FILE_BYTES_MAX, KeyFileError, keyText, readKeyFile } from '../../storage/key-file.ts';
import { listSegments } from '../../storage/segments.ts';
import { snapshotSeq } from '../../storage/snapshot-format.ts';
import { errorCode } from '../../storage/system-error.ts';
import { UsageError } from '../usage.ts';
import { FoundError } from './finding.ts';
import { loadSnapshot } from './snapshots.ts';

export interface FoundKey {
  public: Uint8Array;
  /** Where it was found, in words. */
  source: string;
}

interface KeyPlaces {
  disk: Disk;
  directory: string;
  key: Uint8Array | null;
}

/** The key that `--against` gives, null where nobody gave one. */
export function givenKey(text: string | undefined): Uint8Array | null {
  if (text === undefined) return null;
  const key = decodePublic(text);
  if (key === null) throw new UsageError('--against: must be the base64 of 32 bytes');
  return key;
}

/** Throws where there is no key to be had. `pinned` shows the books, `disk` the key file. */
export function findKey({ disk, directory, key }: KeyPlaces, pinned: Disk): FoundKey {
  if (key !== null) return { public: key, source: 'given' };
  const kept = readable(disk, directory);
  if (kept !== null) return { public: kept, source: KEY_FILE };
  const stated = systemKey(pinned, directory);
  if (stated === null) throw new Error(`${directory}: no key to verify with; give the server's with --against`);
  return { public: stated, source: 'the books themselves (give the key you know with --against)' };
}

/** The public key in server.key, or null where there is none or it may not be read. Throws FoundError. */
function readable(disk: Disk, directory: string): Uint8Array | null {
  const place = { file: join(directory, KEY_FILE), byte: 0 };
  try {
    const pair = readKeyFile(disk, directory);
    if (pair === null) return null;
    if (Buffer.compare(keyPairFromSecret(pair.secret).public, pair.public) === 0) return pair.public;
    throw new FoundError('damage', place, 'its two keys do not belong together');
  } catch (error) {
    if (errorCode(error) === 'EACCES') return null;
    if (error instanceof KeyFileError) throw new FoundError('damage', place, 'it does not hold a key any more');
    throw error;
  }
}

/**
 * What is to be said of server.key where the books are signed with `key`, or null. Throws FoundError where it is
 * another.
 */
export function checkKeyFile(disk: Disk, directory: string, key: Uint8Array): string | null {
  const path = join(directory, KEY_FILE);
  if (!disk.exists(path)) return null;
  const kept = readable(disk, directory);
  if (kept === null) return `${KEY_FILE} may not be read by this user, and was not checked.`;
  if (Buffer.compare(kept, key) !== 0) {
    throw new FoundError('damage', { file: path, byte: 0 }, 'it is not the key these books are signed with');
  }
  const text = readWhole(disk, path, KEY_FILE_BYTES_MAX);
  if (text.equals(Buffer.from(keyText(readKeyFile(disk, directory)!)))) return null;
  return `${KEY_FILE} is not written as the server writes it, though its keys are whole.`;
}

/** The key that the first record `system` in the books gives, unverified; null where none is found. */
function systemKey(pinned: Disk, directory: string): Uint8Array | null {
  if (listSegments(pinned, directory)[0]?.firstSeq === 1) return keyInJournal(pinned, directory);
  const state = oldestState(pinned, directory);
  if (state === null) return null;
  for (let ledger = 1; ledger < state.ledgers.length; ledger++) {
    const row = findHandle(state, ledger, Kind.signer, SYSTEM_SIGNER);
    if (row >= 0) return keyOf(readRow(state, row).entry.data);
  }
  return null;
}

/** Of the oldest snapshot that is whole; null where there is none at all. Throws FoundError where none is whole. */
function oldestState(pinned: Disk, directory: string): State | null {
  let finding: unknown = null;
  for (const name of pinned.readdir(directory).filter((name) => snapshotSeq(name) >= 0)) {
    try {
      return loadSnapshot(pinned, directory, name, () => true).state;
    } catch (error) {
      if (!(error instanceof FoundError)) throw error;
      finding ??= error;
    }
  }
  if (finding !== null) throw finding;
  return null;
}

function keyInJournal(pinned: Disk, directory: string): Uint8Array | null {
  const found: CreateEntry[] = [];
  const steps = stepJournal(pinned, directory, JOURNAL_START, {
    verifyFrame: () => true,
    onEntry(entry) {
      if (entry.type === EntryType.create && entry.kind === Kind.signer && entry.handle === SYSTEM_SIGNER) {
        found.push(entry);
      }
    },
  });
  for (const _ of steps) if (found.length > 0) break;
  return found[0] === undefined ? null : keyOf(found[0].data);
}

/** Nobody has looked at the data yet. */
function keyOf(data: string): Uint8Array | null {
  const text = parseObject(Buffer.from(data))?.public;
  return typeof text === 'string' ? decodePublic(text) : null;
}
