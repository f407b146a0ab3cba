/**
 * Whose signatures the books must carry: a key the auditor brings, else that in server.key, else the one the books
 * themselves give in the record `system`. The last proves only that the books agree with themselves, and says so.
 */
import { join } from 'node:path';
import { SYSTEM_SIGNER } from '../../core/decide.ts';
import { type Entry, EntryType } from '../../core/entry.ts';
import { Kind } from '../../core/kinds.ts';
import { findHandle, readRow } from '../../core/state.ts';
import { decodePublic } from '../../proof/keys.ts';
import type { Disk } from '../../storage/disk.ts';
import { JOURNAL_START } from '../../storage/journal.ts';
import { listSegments, stepJournal } from '../../storage/journal-reader.ts';
import { KEY_FILE, readKeyFile } from '../../storage/key-file.ts';
import { snapshotSeq } from '../../storage/snapshot-format.ts';
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

/** Throws where there is no key to be had. `pinned` shows the books, `disk` the key file. */
export function findKey({ disk, directory, key }: KeyPlaces, pinned: Disk): FoundKey {
  if (key !== null) return { public: key, source: 'given' };
  const kept = readable(disk, directory);
  if (kept !== null) return { public: kept, source: KEY_FILE };
  const stated = systemKey(pinned, directory);
  if (stated === null) throw new Error(`${directory}: no key to verify with; give the server's with --key`);
  return { public: stated, source: 'the books themselves (give the key you know with --key)' };
}

/** The public key in server.key, or null where there is none or it may not be read. */
function readable(disk: Disk, directory: string): Uint8Array | null {
  try {
    return readKeyFile(disk, directory)?.public ?? null;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EACCES') return null;
    throw error;
  }
}

/** The key that the first record `system` in the books gives, unverified; null where none is found. */
function systemKey(pinned: Disk, directory: string): Uint8Array | null {
  if (listSegments(pinned, directory)[0]?.firstSeq === 1) return keyInJournal(pinned, directory);
  const oldest = pinned.readdir(directory).find((name) => snapshotSeq(name) >= 0);
  if (oldest === undefined) return null;
  const { state } = loadSnapshot(pinned, directory, oldest, () => true);
  for (let ledger = 1; ledger < state.ledgers.length; ledger++) {
    const row = findHandle(state, ledger, Kind.signer, SYSTEM_SIGNER);
    if (row >= 0) return keyOf(readRow(state, row).entry.data);
  }
  return null;
}

function keyInJournal(pinned: Disk, directory: string): Uint8Array | null {
  const found: Entry[] = [];
  const steps = stepJournal(pinned, join(directory), JOURNAL_START, {
    verifyFrame: () => null,
    onEntry(entry) {
      if (entry.type === EntryType.create && entry.kind === Kind.signer && entry.handle === SYSTEM_SIGNER) {
        found.push(entry);
      }
    },
  });
  while (found.length === 0 && steps.next().done !== true);
  steps.return({} as never);
  const entry = found[0];
  return entry?.type === EntryType.create ? keyOf(entry.data) : null;
}

function keyOf(data: string): Uint8Array | null {
  const { public: text } = JSON.parse(data) as { public?: unknown };
  return typeof text === 'string' ? decodePublic(text) : null;
}
