/** One snapshot, read whole and loaded as a state, or a finding. */
import { join } from 'node:path';
import type { MemorySizes, State } from '../../core/state.ts';
import { stateOf } from '../../recovery.ts';
import type { Disk } from '../../storage/disk.ts';
import { segmentName, type VerifyHash } from '../../storage/format.ts';
import type { JournalPosition } from '../../storage/journal.ts';
import { snapshotSeq } from '../../storage/snapshot-format.ts';
import { damagedByte, readSnapshot, type SnapshotRead } from '../../storage/snapshot-reader.ts';
import { isOutOfMemory } from '../../trouble.ts';
import { FoundError } from './finding.ts';

export interface LoadedSnapshot extends JournalPosition {
  file: string;
  state: State;
}

/** Throws FoundError where the snapshot is damaged, unsigned, or no state. */
export function loadSnapshot(
  disk: Disk,
  directory: string,
  name: string,
  verify: VerifyHash,
  sizes?: MemorySizes,
): LoadedSnapshot {
  const place = { file: join(directory, name), seq: snapshotSeq(name) };
  const load = (snapshot: SnapshotRead) => {
    try {
      return stateOf(snapshot, sizes);
    } catch (error) {
      if (isOutOfMemory(error) || error === snapshot.parts.failure) throw error;
      throw new FoundError('lie', place, `it is no state: ${(error as Error).message}`);
    }
  };
  const read = readSnapshot(disk, directory, name, verify, load);
  if ('reason' in read) {
    const { reason } = read;
    throw new FoundError(read.kind === 'unsigned' ? 'lie' : 'damage', { ...place, byte: damagedByte(reason) }, reason);
  }
  const { seq, chain, moment, loaded: state } = read;
  return { file: name, seq, chain, moment, state };
}

/**
 * Throws FoundError where the journal begins only after entry `seq`, and the oldest snapshot there is does not reach
 * it.
 */
export function refuseGap(directory: string, seq: number, oldest: string | undefined): asserts oldest is string {
  if (oldest !== undefined && snapshotSeq(oldest) >= seq) return;
  // A newer one, from which a start begins, may hold them.
  const why =
    oldest === undefined
      ? 'neither a segment nor a snapshot holds them'
      : `no segment goes on where ${oldest}, the oldest snapshot, ends`;
  const what = `entries up to ${seq} are missing: ${why}`;
  throw new FoundError('damage', { file: join(directory, segmentName(seq + 1)), byte: 0 }, what);
}
