/** The journal's files in a directory: which there are, where they begin, and which of them a reader needs. */
import { join } from 'node:path';
import { type Disk, type DiskFile, readAll, TEMPORARY, withFile } from './disk.ts';
import { HASH_BYTES, readSegmentHeader, SEGMENT_HEADER_BYTES, type SegmentHeader, segmentSeq } from './format.ts';
import type { JournalPosition } from './journal.ts';
import { isBooksName } from './snapshot-format.ts';
import { errorCode } from './system-error.ts';

/**
 * What an operator has to know to do something about damage: signed with another key; one byte that a start puts back;
 * of a format that only a newer server knows; the end, or the beginning, is not there, or what was noted of the end.
 * Most is none of these.
 */
export type DamageKind = 'unsigned' | 'one-byte' | 'newer' | 'no-end' | 'no-beginning' | 'no-note' | 'other';

/** Bytes on disk that were once whole and are not any more, or are missing. */
export class DamageError extends Error {
  override name = 'DamageError';
  /** Path of the file. */
  readonly file: string;
  /** Where in it the damage begins. */
  readonly byte: number;
  readonly what: string;
  readonly kind: DamageKind;

  constructor(file: string, byte: number, what: string, kind: DamageKind = 'other') {
    super(`${file}: damaged at byte ${byte}: ${what}`);
    this.file = file;
    this.byte = byte;
    this.what = what;
    this.kind = kind;
  }
}

export interface SegmentFile {
  file: string;
  firstSeq: number;
}

/** The segments in a directory, in order; none where there is no directory. */
export function listSegments(disk: Disk, directory: string): SegmentFile[] {
  const all = namesIn(disk, directory).map((file) => ({ file, firstSeq: segmentSeq(file) }));
  return all.filter(({ firstSeq }) => firstSeq > 0);
}

/**
 * Where the segment with this entry begins, or the first one there is, where that is later: after which entry, and with
 * which chain, as its header says and its first frame will have to confirm. The moment is not known. JOURNAL_START
 * where there is no segment.
 */
export function journalStart(disk: Disk, directory: string, seq = 1): JournalPosition {
  const segments = listSegments(disk, directory);
  const segment = segments.findLast(({ firstSeq }) => firstSeq <= seq) ?? segments[0];
  if (segment === undefined || segment.firstSeq === 1) return { seq: 0, chain: new Uint8Array(HASH_BYTES), moment: 0 };
  const path = join(directory, segment.file);
  const header = withFile(disk, path, 'read', headerOf);
  if (header !== null) return { seq: segment.firstSeq - 1, chain: header.chain, moment: 0 };
  // One that a crash cut off has no entry behind it: the journal ends in the segment before.
  if (segments.length > 1 && segment === segments.at(-1)) return journalStart(disk, directory, segment.firstSeq - 1);
  throw new DamageError(path, 0, 'its header is not whole');
}

/** The header that a segment begins with, or null where there is no whole one. */
export function headerOf(file: DiskFile): SegmentHeader | null {
  const bytes = Buffer.alloc(SEGMENT_HEADER_BYTES);
  return readSegmentHeader(bytes, 0, readAll(file, bytes, 0));
}

function namesIn(disk: Disk, directory: string): string[] {
  try {
    return disk.readdir(directory);
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return [];
    throw error;
  }
}

/**
 * The segments from the one on that holds entry `after.seq`, so that the chain can be followed up to it. Where the next
 * one begins right behind that entry, from that one on: its header says the chain too, and it may be all there is.
 */
export function neededSegments(disk: Disk, directory: string, after: JournalPosition): SegmentFile[] {
  const segments = listSegments(disk, directory);
  const first = segments[0];
  if (first === undefined) {
    if (after.seq === 0) {
      refuseHalfCopy(disk, directory);
      return [];
    }
    throw new DamageError(directory, 0, `no journal, but entry ${after.seq} is known`);
  }
  if (first.firstSeq > after.seq + 1) {
    const what = `the segment with entry ${after.seq + 1} is missing, and no snapshot holds it`;
    throw new DamageError(join(directory, first.file), 0, what, 'no-beginning');
  }
  const from = segments.findLastIndex(({ firstSeq }) => firstSeq <= after.seq);
  const next = segments[from + 1];
  const isNextEnough = next?.firstSeq === after.seq + 1 && after.seq > 0 && isBegun(disk, join(directory, next.file));
  return segments.slice(isNextEnough ? from + 1 : Math.max(from, 0));
}

/**
 * A crash may have left a name, and no header: then the journal ends in the segment before. So it may where the disk
 * does not tell.
 */
function isBegun(disk: Disk, path: string): boolean {
  try {
    return withFile(disk, path, 'read', headerOf) !== null;
  } catch (error) {
    if (errorCode(error) === '') throw error;
    return false;
  }
}

/**
 * Throws where a copy of books was cut off in its first file, a segment or a snapshot: that is no place for new ones.
 */
export function refuseHalfCopy(disk: Disk, directory: string): void {
  const isHalf = (name: string) => name.endsWith(TEMPORARY) && isBooksName(name.slice(0, -TEMPORARY.length));
  const half = namesIn(disk, directory).find(isHalf);
  if (half === undefined) return;
  throw new DamageError(join(directory, half), 0, 'half of a copy, which was cut off, and no books beside it');
}

/** How long the segments are that a reader needs. */
export function journalBytes(disk: Disk, directory: string, after: JournalPosition): number {
  let bytes = 0;
  for (const { file } of neededSegments(disk, directory, after)) {
    bytes += withFile(disk, join(directory, file), 'read', (opened) => opened.size());
  }
  return bytes;
}
