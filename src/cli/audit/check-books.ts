/**
 * Whether a server would start on a directory, and on all of it: every snapshot read, every frame of the journal from
 * its first segment on in its place, chained and signed, and the entries after the newest snapshot applied to it. No
 * signature of a client is verified and nothing is decided again: that is what `audit` does.
 *
 * What always holds: not a byte changes.
 */
import { apply } from '../../core/apply.ts';
import { emptyState, type State } from '../../core/state.ts';
import { verifyBy } from '../../proof/verify.ts';
import { entryCodec } from '../../storage/codec.ts';
import type { Disk } from '../../storage/disk.ts';
import type { JournalPosition } from '../../storage/journal.ts';
import { readJournal } from '../../storage/journal-reader.ts';
import { pin } from '../../storage/pinned.ts';
import { journalStart } from '../../storage/segments.ts';
import { listSnapshots } from '../../storage/snapshot-reader.ts';
import { checkEnd } from './end.ts';
import { FoundError } from './finding.ts';
import { type LoadedSnapshot, loadSnapshot, refuseGap } from './snapshots.ts';

export interface Checked extends JournalPosition {
  /** Bytes behind the last whole frame. */
  torn: number;
  checkSeconds: number;
}

/** Throws FoundError or DamageError at the first thing that is wrong. */
export function checkBooks(disk: Disk, directory: string, key: Uint8Array): Checked {
  const pinned = pin(disk, directory);
  try {
    return check(pinned, directory, key);
  } finally {
    pinned.release();
  }
}

function check(disk: Disk, directory: string, key: Uint8Array): Checked {
  const began = performance.now();
  const verifyFrame = verifyBy(key);
  const start = journalStart(disk, directory);
  const known = new Map<number, Uint8Array>();
  let newest: LoadedSnapshot | null = null;
  const snapshots = listSnapshots(disk, directory).reverse();
  // Newest last, so that of the states only that one stays.
  for (const name of snapshots) {
    newest = loadSnapshot(disk, directory, name, verifyFrame);
    known.set(newest.seq, newest.chain);
  }
  // Where one of them is somebody else's, or not whole, that matters more, and says nothing of what the others reach.
  if (start.seq > 0) refuseGap(directory, start.seq, snapshots[0]);
  const meet = ({ seq, chain }: JournalPosition) => {
    const stated = known.get(seq);
    known.delete(seq);
    if (stated === undefined || Buffer.compare(stated, chain) === 0) return;
    throw new FoundError('lie', { file: directory, seq }, 'a snapshot is of another journal: its chain differs');
  };
  meet(start);
  const state: State = newest?.state ?? emptyState(entryCodec, 1);
  const from = newest?.seq ?? 0;
  const read = readJournal(disk, directory, start, {
    verifyFrame,
    onEntry(entry, bytes, at, to, seq) {
      if (seq > from) apply(state, entry, bytes, at, to);
    },
    onFrame: meet,
  });
  const { position, torn } = read;
  for (const seq of known.keys()) {
    throw new FoundError('damage', { file: directory, seq }, `the journal leads to entry ${position.seq}, not there`);
  }
  checkEnd(disk, directory, read, verifyFrame);
  const { seq, chain } = position;
  // Of a segment that has no frame yet the header is all there is, which tells no moment.
  const moment = Math.max(position.moment, newest?.moment ?? 0);
  return { seq, chain, moment, torn: torn?.bytes ?? 0, checkSeconds: (performance.now() - began) / 1000 };
}
