/**
 * The road back: newest whole snapshot, then every journal frame after it, through the same `apply` as live traffic.
 * Nothing is decided again. A torn tail was never acknowledged: it is cut, and told. Anything else that does not fit
 * is damage: the error names file and byte, and nothing is changed.
 */
import { apply } from './core/apply.ts';
import { emptyState, loadState, type State, type StateExtra } from './core/state.ts';
import { entryCodec, unpackValue } from './storage/codec.ts';
import type { Disk } from './storage/disk.ts';
import { cutTornTail, JOURNAL_START, type JournalEnd, readJournal } from './storage/journal.ts';
import { readSnapshots } from './storage/snapshot.ts';

export interface Recovered {
  state: State;
  end: JournalEnd;
  /** Entries replayed from the journal. */
  entries: number;
  /** What the operator should know, in sentences. */
  notes: string[];
}

export interface RecoveryOptions {
  disk: Disk;
  directory: string;
  /** Whether this is the server's signature of a hash. */
  verify: (hash: Uint8Array, signature: Uint8Array) => boolean;
  /** For the hashes of a state that begins empty. */
  hashSeed: number;
}

export function recover({ disk, directory, verify, hashSeed }: RecoveryOptions): Recovered {
  const notes: string[] = [];
  const { snapshot, refused } = readSnapshots(disk, directory, { verify });
  for (const { file, reason } of refused) notes.push(`Snapshot ${file} is not used: ${reason}.`);
  const state =
    snapshot === null
      ? emptyState(entryCodec, hashSeed)
      : loadState(
          entryCodec,
          unpackValue(snapshot.extra) as StateExtra,
          new Map(snapshot.parts.map(({ name, bytes }) => [name, bytes])),
        );
  if (snapshot !== null) notes.push(`Read the snapshot after entry ${snapshot.seq}.`);
  const result = readJournal(disk, directory, snapshot ?? JOURNAL_START, {
    verifyFrame: verify,
    onEntry: (entry, bytes, from, to) => apply(state, entry, bytes, from, to),
  });
  if (result.torn !== null) {
    const { file, byte, bytes } = result.torn;
    cutTornTail(disk, directory, result.torn);
    notes.push(`Cut a torn tail of ${bytes} bytes off ${file} at byte ${byte}: a write that was never acknowledged.`);
  }
  return { state, end: result.position, entries: result.entries, notes };
}
