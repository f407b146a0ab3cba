/**
 * The road back: newest whole snapshot, then every journal frame after it, through the same `apply` as live traffic.
 * Nothing is decided again. A torn tail was never acknowledged: it is cut, and told. Where only one byte of the last
 * frame has changed, its CRC tells which and the server's signature what it was: it is put back, and told, as is one
 * among the zeros behind it. Anything else that does not fit is damage, a torn tail too where a server has stopped
 * there and left the end whole: the error names file and byte, and nothing is changed, but that a last segment which
 * other books have too is a copy of it by then.
 */
import { basename, join } from 'node:path';
import { lookAheadOfApply } from './core/ahead.ts';
import { apply } from './core/apply.ts';
import { loadState, type StateExtra } from './core/dump.ts';
import { assert } from './core/refusal.ts';
import { emptyState, type MemorySizes, type State } from './core/state.ts';
import { changeIn, changeText } from './storage/changed-byte.ts';
import { entryCodec } from './storage/codec.ts';
import type { Disk } from './storage/disk.ts';
import { segmentSeq, type VerifyHash } from './storage/format.ts';
import { JOURNAL_START, type JournalEnd } from './storage/journal.ts';
import {
  NOT_SIGNED,
  type ReadResult,
  replayJournal,
  ShortJournalError,
  type TornTail,
} from './storage/journal-reader.ts';
import { endDamage } from './storage/known-end.ts';
import { mendEnd, NOT_PUT_BACK } from './storage/mend.ts';
import { ownLastSegment } from './storage/own-segment.ts';
import { DamageError } from './storage/segments.ts';
import { settleBooks } from './storage/settle.ts';
import { SnapshotError, snapshotName, snapshotSeq } from './storage/snapshot-format.ts';
import { removeHalfWritten } from './storage/snapshot-prune.ts';
import { damagedByte, type RefusedSnapshot, readSnapshots, type SnapshotRead } from './storage/snapshot-reader.ts';
import { errorCode } from './storage/system-error.ts';
import { unpackValue } from './storage/values.ts';

export interface Recovered {
  state: State;
  end: JournalEnd;
  /** Entries replayed from the journal. */
  entries: number;
  /** Name of the snapshot that was loaded; null where none was. */
  snapshot: string | null;
  /** Snapshots that could not be used. */
  refused: RefusedSnapshot[];
  /** What the operator should know, in sentences. */
  notes: string[];
}

export interface RecoveryOptions {
  disk: Disk;
  directory: string;
  verify: VerifyHash;
  /** For the hashes of a state that begins empty. */
  hashSeed: number;
  /** In what pieces memory grows; by default as it suits millions of records. */
  sizes?: MemorySizes;
}

/** What lies in a directory, and what a start would do about its end. */
interface Books extends Recovered {
  torn: TornTail | null;
}

/** Brings the books up to what a server can go on with; see above. */
export function recover(options: RecoveryOptions): Recovered {
  const recovered = mend(options);
  settleBooks(options.disk, options.directory);
  // Not before the books are known to be sound: of damaged ones nothing goes.
  const left = removeHalfWritten(options.disk, options.directory);
  if (left.length === 0) return recovered;
  const note = `Removed ${left.length} files of snapshots that did not come to their end.`;
  return { ...recovered, notes: [...recovered.notes, note] };
}

/** Reads them for who only shows them: what a start would cut is passed by, and what it would put back is damage. */
export function show(options: RecoveryOptions): Recovered {
  const { disk, directory, verify } = options;
  const { torn, ...shown } = readBooks(options);
  if (torn === null) return shown;
  const { file, byte, bytes } = torn;
  const changed = changeIn(disk, directory, { torn, position: shown.end }, verify);
  if (changed?.where === 'frame') {
    throw new DamageError(
      join(directory, file),
      changed.byte,
      `${changeText(changed)}; a start that may write puts it back`,
      'one-byte',
    );
  }
  const what =
    changed === null
      ? 'a write that has not ended, and is not acknowledged'
      : `${changeText(changed)}. Look after the disk`;
  const note =
    bytes === 0
      ? `Passed by ${file}, a segment with nothing in it: a write to it never began.`
      : `Passed by ${bytes} bytes at the end of ${file}, from byte ${byte} on: ${what}.`;
  return { ...shown, notes: [...shown.notes, note] };
}

/** Reads them, and cuts or puts back what may be. */
function mend(options: RecoveryOptions): Recovered {
  const notes: string[] = [];
  // Behind a frame that is whole again there may be what is left of the next. Each lies further on, so there is an end
  // to it.
  for (let before: PutBack | null = null; ; ) {
    const read = readMended(options, before);
    notes.push(...read.notes);
    if ('state' in read) return { ...read, notes };
    before = read;
  }
}

/** Where a byte was put back, and what is to be said of it. */
interface PutBack {
  file: string;
  byte: number;
  notes: string[];
}

/**
 * The books; or, where a byte was put back, only which one: they have to be read again then, and would be in memory
 * twice.
 */
function readMended(options: RecoveryOptions, before: PutBack | null): Recovered | PutBack {
  const { disk, directory, verify } = options;
  // A server that has the same file may go on writing to it: what is read here is to be what is gone on with.
  const own = ownLastSegment(disk, directory);
  const notes = own === null ? [] : [own];
  const { books, torn, position } = readOrShort(options);
  if (torn !== null) {
    if (before !== null && torn.byte <= before.byte)
      throw new DamageError(join(directory, before.file), before.byte, NOT_PUT_BACK);
    const { notes: told, byte } = mendEnd(disk, directory, { torn, position }, verify);
    notes.push(...told);
    if (byte !== null) return { file: torn.file, byte, notes };
  }
  assert(books !== null, 'what keeps the journal from its snapshot is a byte that is put back');
  return { ...books, notes: [...books.notes, ...notes] };
}

/**
 * How far the journal goes; the books are null where only a byte that can be put back keeps it from its newest
 * snapshot.
 */
function readOrShort(options: RecoveryOptions): Pick<ReadResult, 'position' | 'torn'> & { books: Recovered | null } {
  const { disk, directory, verify } = options;
  try {
    const { torn, ...books } = readBooks(options);
    return { books, torn, position: books.end };
  } catch (error) {
    if (!(error instanceof ShortJournalError)) throw error;
    const { torn, position } = error.read;
    if (torn === null || changeIn(disk, directory, { torn, position }, verify)?.where !== 'frame') throw error;
    return { books: null, torn, position };
  }
}

/** Reads what is there and changes nothing. */
export function readBooks({ disk, directory, verify, hashSeed, sizes }: RecoveryOptions): Books {
  const notes: string[] = [];
  const { snapshot, refused } = readSnapshots(disk, directory, verify, (read) => stateOf(read, sizes));
  notes.push(...refused.map(refusedText));
  const state = snapshot?.loaded ?? emptyState(entryCodec, hashSeed, sizes);
  if (snapshot !== null) notes.push(`Read the snapshot after entry ${snapshot.seq}.`);
  const replay = () =>
    replayJournal(disk, directory, snapshot ?? JOURNAL_START, {
      verifyFrame: verify,
      hashSeed: state.hashSeed,
      room: () => state.heap.room(),
      onAhead: (entries, from) => lookAheadOfApply(state, entries, from),
      onEntry: (entry, bytes, from, to) => apply(state, entry, bytes, from, to),
    });
  const { position, entries, torn } = withRefused(directory, refused, () => {
    const read = orSystemError(refused, state, replay);
    reachesRefused(directory, read, refused);
    const damage = endDamage(disk, directory, read, verify);
    if (damage !== null) throw damage;
    return read;
  });
  refuseOthers(directory, position.seq, refused);
  const name = snapshot === null ? null : snapshotName(snapshot.seq);
  return { state, end: position, entries, snapshot: name, refused, notes, torn };
}

/** That a snapshot was passed over, and why. */
export function refusedText(snapshot: RefusedSnapshot): string {
  return `Snapshot ${snapshot.file} is not used${isOurs(snapshot) ? '' : ', nor removed'}: ${snapshot.reason}.`;
}

/** The state that a snapshot holds. Throws where it holds none. */
export function stateOf({ extra, parts }: SnapshotRead, sizes?: MemorySizes): State {
  return loadState(entryCodec, unpackValue(extra) as StateExtra, parts, sizes);
}

/**
 * A snapshot gets its name when the journal up to its entry is on the device. So one of ours that cannot be used still
 * tells how far the journal led once: where it ends before, that is no torn tail, nor the end.
 */
function reachesRefused(directory: string, { position, torn }: ReadResult, refused: readonly RefusedSnapshot[]): void {
  const named = Math.max(0, ...refused.filter(isOurs).map(({ file }) => snapshotSeq(file)));
  if (position.seq >= named) return;
  const { file, byte } = torn ?? position;
  const what = `the journal ends at entry ${position.seq}, entry ${named} is known`;
  throw new DamageError(join(directory, file ?? ''), byte, what);
}

/** What somebody else has signed says nothing of our journal. */
function isOurs({ kind }: RefusedSnapshot): boolean {
  return kind !== 'unsigned';
}

/**
 * Where nothing here is ours, what somebody else has signed is all that is left of their books, or ours under another
 * key: new ones beside it would hide that from whoever copied half of them.
 */
function refuseOthers(directory: string, seq: number, refused: readonly RefusedSnapshot[]): void {
  const other = refused.find((snapshot) => !isOurs(snapshot));
  if (seq > 0 || other === undefined) return;
  throw new DamageError(join(directory, other.file), 0, `${NOT_SIGNED}, nor is anything else here`, 'unsigned');
}

/**
 * Where the system did not give a snapshot that leads past the damage, its error is told in place of the damage:
 * perhaps nothing is lost.
 */
function orSystemError<T>(refused: readonly RefusedSnapshot[], { log }: State, replay: () => T): T {
  try {
    return replay();
  } catch (error) {
    if (!(error instanceof DamageError)) throw error;
    const past = pastMissing(error) ?? log.length + 1;
    const failed = refused.find(({ file, error }) => errorCode(error) !== '' && snapshotSeq(file) >= past);
    throw failed?.error ?? error;
  }
}

/** Where the beginning of the journal is missing, the entry up to which. */
function pastMissing({ kind, file }: DamageError): number | null {
  return kind === 'no-beginning' ? segmentSeq(basename(file)) - 1 : null;
}

/** Where the journal does not do without them, the snapshots that could not be used are the damage to tell of. */
function withRefused<T>(directory: string, refused: readonly RefusedSnapshot[], read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof DamageError) || refused.length === 0) throw error;
    const why = refused.map(({ file, reason }) => `${file} cannot be used: ${reason}`).join('; ');
    // Whose books they are, and of which server, matters more than what is missing of them.
    const kind = refused.find(({ kind }) => kind !== 'other')?.kind;
    const past = pastMissing(error);
    const newest = refused.find(({ file }) => past !== null && snapshotSeq(file) >= past);
    if (newest === undefined) {
      throw new DamageError(error.file, error.byte, `${error.what}; ${why}`, kind ?? error.kind);
    }
    // The journal is as it should be: its beginning went when these stood for it.
    const part = newest.error instanceof SnapshotError ? newest.error.part : '';
    const byte = part === '' ? damagedByte(newest.reason) : 0;
    throw new DamageError(join(directory, part || newest.file), byte, `${why}; ${error.what}`, kind);
  }
}
