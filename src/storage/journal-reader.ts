/**
 * The reading side of the journal: segment by segment, frame by frame, each checked before its entries
 * are handed on. What it meets is either whole, or a torn tail (the last frame of a crash, never
 * acknowledged), or damage, which stops it. format.ts says how they are told apart.
 *
 * What always holds: no entry is handed on before its frame's CRC, place in the sequence and chain were checked, and
 * the signature too where every one is asked for; nothing is returned before the last frame's signature was, and each
 * segment's, which prove all frames before them by the chain; memory is bounded by the longest frame; nothing on disk
 * is changed but by `cutTornTail`.
 */
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { equalBytes } from '../core/bytes.ts';
import type { Entry, Facts } from '../core/entry.ts';
import { decodeNext, decodeNextFacts } from './codec.ts';
import { type Disk, withFile } from './disk.ts';
import {
  FRAME_HEAD_BYTES,
  type FrameHead,
  frameChain,
  frameHash,
  frameSignature,
  frameVersion,
  HASH_BYTES,
  isKnownVersion,
  LENGTH_AT,
  readFrameHead,
  readSegmentHeader,
  SEGMENT_HEADER_BYTES,
  segmentName,
  type VerifyHash,
} from './format.ts';
import { type DecodeEntry, type FrameEntries, noEntries, takeEntries } from './frame-entries.ts';
import { type AheadOptions, FramesAhead } from './frames-ahead.ts';
import type { JournalEnd, JournalPosition } from './journal.ts';
import { CodecError } from './msgpack.ts';
import { DamageError, journalBytes, listSegments, neededSegments, type SegmentFile } from './segments.ts';
import { errorCode } from './system-error.ts';
import { endOfBytes, type Frame, findFrame, findLaterHead, Window, wholeFrame } from './window.ts';

/** What is said of a whole frame, or snapshot, that another key has signed, or none. */
export const NOT_SIGNED = 'not signed by this server';

/** What a crash left of the frame that was being written. */
export interface TornTail {
  /** Name of the segment, without its directory. */
  file: string;
  /** Where the tail begins; 0 where the segment's header itself is torn. */
  byte: number;
  /** How many bytes it has, up to the last that is not zero; none where the segment was made and nothing written. */
  bytes: number;
}

export interface ReadOptions<E = Entry> {
  /** Whether this is the server's signature of a frame's hash; who does not check it, or checks it later, says true. */
  verifyFrame: VerifyHash;
  /** Each entry in order. bytes[from, to) are its bytes, good during the call only; `entry` may be kept. */
  onEntry(entry: E, bytes: Uint8Array, from: number, to: number, seq: number): void;
  /** After a frame's last entry. */
  onFrame?(frame: FrameRead): void;
  /** Called before the entry at `from` of the frame's; returns before which it wants to be called again. */
  onAhead?(entries: readonly E[], from: number): number;
}

export interface ReplayOptions extends ReadOptions<Facts>, AheadOptions {}

export interface FrameRead extends JournalPosition {
  /** Path of the segment, and where in it the frame begins. */
  file: string;
  byte: number;
  bytes: number;
  /** Entries in it. */
  count: number;
  /** Its head without the CRC, and the digests of its entries in a row, good during the call only (format.ts). */
  head: Uint8Array;
  digests: Uint8Array;
}

export interface ReadResult {
  /** The journal's end; where to open it for append. */
  position: JournalEnd;
  torn: TornTail | null;
  /** Counts of what lay behind `after`. */
  frames: number;
  entries: number;
  bytes: number;
}

/**
 * Reads everything behind `after`, a point between two frames (a snapshot's, or JOURNAL_START). Throws
 * DamageError, or what the disk throws. A journal that ends before `after` is damaged: what a snapshot
 * holds was synced in the journal first.
 */
export function readJournal(disk: Disk, directory: string, after: JournalPosition, options: ReadOptions): ReadResult {
  return finish(stepJournal(disk, directory, after, options));
}

/**
 * `readJournal` for who applies the entries, and needs no more of them than that takes. Signatures are checked where
 * they prove all before them: the first, and the last of each segment. Long journals have another thread look through
 * the frames ahead; `aheadFromBytes` says which are.
 */
export function replayJournal(
  disk: Disk,
  directory: string,
  after: JournalPosition,
  options: ReplayOptions,
  aheadFromBytes = AHEAD_FROM_BYTES,
): ReadResult {
  const isLong = journalBytes(disk, directory, after) >= aheadFromBytes;
  const ahead = isLong && availableParallelism() > 1 ? new FramesAhead(options) : null;
  try {
    return finish(stepSegments(disk, directory, after, options, { decode: decodeNextFacts, ahead, provesEach: false }));
  } finally {
    ahead?.close();
  }
}

/** Another thread takes its time to come up. */
const AHEAD_FROM_BYTES = 32 * 1024 * 1024;

function finish(steps: Generator<undefined, ReadResult, undefined>): ReadResult {
  for (;;) {
    const step = steps.next();
    if (step.done === true) return step.value;
  }
}

/** `readJournal` a frame at a time, for readers who have something to wait for in between. */
export function stepJournal(
  disk: Disk,
  directory: string,
  after: JournalPosition,
  options: ReadOptions,
): Generator<undefined, ReadResult, undefined> {
  return stepSegments(disk, directory, after, options, WHOLE);
}

/** How a journal is read. */
interface Manner<E> {
  readonly decode: DecodeEntry<E>;
  readonly ahead: FramesAhead | null;
  /** Every signature is looked at, not only those that prove the ones before them. */
  readonly provesEach: boolean;
}

/** Who reads for an audit wants to hear which signature is wrong. */
const WHOLE: Manner<Entry> = { decode: decodeNext, ahead: null, provesEach: true };

function* stepSegments<E>(
  disk: Disk,
  directory: string,
  after: JournalPosition,
  options: ReadOptions<E>,
  manner: Manner<E>,
): Generator<undefined, ReadResult, undefined> {
  const run: Run<E> = {
    ...manner,
    disk,
    directory,
    after,
    options,
    isFirstProven: false,
    unproven: null,
    window: null,
    head: { firstSeq: 0, count: 0, moment: 0 },
    entries: noEntries(),
    result: {
      position: { seq: after.seq, chain: after.chain, moment: after.moment, file: null, byte: 0, written: 0 },
      torn: null,
      frames: 0,
      entries: 0,
      bytes: 0,
    },
  };
  const segments = neededSegments(disk, directory, after);
  const [first] = segments;
  if (first !== undefined) mustHideNothing(disk, directory, first, after.seq);
  for (const [index, segment] of segments.entries())
    yield* readSegment(run, segment, index === 0, index === segments.length - 1);
  if (run.result.position.seq < after.seq) throw new ShortJournalError(directory, run.result, after.seq);
  return run.result;
}

/**
 * Where the first segment that is needed begins right behind `seq`, the one before is not read: it may have changed, or
 * be gone. But a whole frame in it behind `seq` is damage: that was acknowledged, and the segment that is read, a
 * header alone perhaps, would hide it.
 */
function mustHideNothing(disk: Disk, directory: string, first: SegmentFile, seq: number): void {
  const before = listSegments(disk, directory).findLast(({ file }) => file < first.file);
  if (before === undefined || first.firstSeq !== seq + 1) return;
  try {
    const hidden = withFile(disk, join(directory, before.file), 'read', (file) =>
      findFrame(new Window(file, null, WINDOW_BYTES), SEGMENT_HEADER_BYTES, seq),
    );
    if (hidden === -1) return;
  } catch (error) {
    // What the disk does not give is not needed.
    if (errorCode(error) === '') throw error;
    return;
  }
  throw new DamageError(
    join(directory, first.file),
    0,
    `begins with entry ${first.firstSeq}, which ${before.file} has, too`,
  );
}

/** The journal ends before an entry that is known. */
export class ShortJournalError extends DamageError {
  /** What there is, and what stands behind it. */
  readonly read: ReadResult;

  constructor(directory: string, read: ReadResult, knownSeq: number) {
    const { seq, file, byte } = read.position;
    super(join(directory, file ?? ''), byte, `the journal ends at entry ${seq}, entry ${knownSeq} is known`);
    this.read = read;
  }
}

/** Cuts a torn tail off, durably. A segment with a torn header goes altogether. */
export function cutTornTail(disk: Disk, directory: string, torn: TornTail): void {
  const path = join(directory, torn.file);
  if (torn.byte < SEGMENT_HEADER_BYTES) {
    disk.unlink(path);
    disk.syncDirectory(directory);
    return;
  }
  withFile(disk, path, 'write', (file) => {
    file.truncate(torn.byte);
    file.sync();
  });
}

/** How much of a segment is read at once; and where it is read ahead, of what that leaves. */
const WINDOW_BYTES = 4 * 1024 * 1024;
const WINDOW_BEHIND_BYTES = 64 * 1024;

/** State of one reading, of entries as they are asked for. */
interface Run<E = unknown> extends Manner<E> {
  readonly disk: Disk;
  readonly directory: string;
  readonly after: JournalPosition;
  readonly options: ReadOptions<E>;
  readonly head: FrameHead;
  readonly result: ReadResult;
  /** Those of the frame that was read last. */
  readonly entries: FrameEntries<E>;
  /** A journal of another server is told at once, not at the end of its first segment. */
  isFirstProven: boolean;
  /** The frame read last, where its signature has not been looked at. */
  unproven: { byte: number; hash: Uint8Array; signature: Uint8Array } | null;
  window: Window | null;
}

function* readSegment<E>(
  run: Run<E>,
  segment: SegmentFile,
  isFirst: boolean,
  isLast: boolean,
): Generator<undefined, void, undefined> {
  const path = join(run.directory, segment.file);
  const file = run.disk.open(path, 'read');
  try {
    run.window = new Window(file, run.window, run.ahead === null ? WINDOW_BYTES : WINDOW_BEHIND_BYTES);
    if (!readHeader(run, segment, isFirst, isLast)) return;
    let at = SEGMENT_HEADER_BYTES;
    run.ahead?.begin(file, at, run.window.size);
    while (at < run.window.size) {
      const bytes = readFrame(run, path, at);
      if (bytes === 0) {
        prove(run, path);
        tear(run, segment, at, isLast);
        return;
      }
      run.result.position.written = at === SEGMENT_HEADER_BYTES ? 0 : at;
      at += bytes;
      run.result.position.byte = at;
      yield;
    }
    prove(run, path);
  } finally {
    file.close();
  }
}

/** Checks the header and goes to its place in the sequence; false where it is torn. */
function readHeader(run: Run, segment: SegmentFile, isFirst: boolean, isLast: boolean): boolean {
  const path = join(run.directory, segment.file);
  const window = run.window!;
  const { position } = run.result;
  const skips = isFirst && segment.firstSeq <= run.after.seq;
  if (!skips && segment.firstSeq !== position.seq + 1) {
    throw new DamageError(path, 0, outOfPlace(segment, position.seq + 1));
  }
  const at = window.load(0, SEGMENT_HEADER_BYTES);
  const header = at === -1 ? null : readSegmentHeader(window.bytes, at, at + SEGMENT_HEADER_BYTES);
  if (header === null) {
    // A header that a crash cut off has no frame behind it, so nothing that is known.
    if (skips) throw new DamageError(path, 0, `no whole header, but entry ${segment.firstSeq} is known`);
    tear(run, segment, 0, isLast);
    return false;
  }
  if (!isKnownVersion(header.version)) throw new DamageError(path, 0, `format version ${header.version}`, 'newer');
  if (header.firstSeq !== segment.firstSeq) {
    throw new DamageError(path, 0, `the header of the segment with entry ${header.firstSeq}`);
  }
  if (skips) {
    position.seq = header.firstSeq - 1;
    position.chain = header.chain;
    position.moment = 0;
  } else if (!equalBytes(header.chain, position.chain)) {
    throw new DamageError(path, 0, 'does not continue the frame before it');
  }
  position.file = segment.file;
  position.byte = SEGMENT_HEADER_BYTES;
  position.written = 0;
  return true;
}

/** This one is whole, as far as anybody knows: where there is a gap before it, something else is to be put back. */
function outOfPlace({ firstSeq }: SegmentFile, expected: number): string {
  const what = `begins with entry ${firstSeq} where ${expected} belongs`;
  if (firstSeq < expected) return what;
  return `${what}: entries up to ${firstSeq - 1} are missing, with ${segmentName(expected)}, or with the end of the segment before`;
}

/** Reads the frame at byte `at`; returns its length, or 0 where there is no whole frame. */
function readFrame<E>(run: Run<E>, path: string, at: number): number {
  const frame = run.ahead?.frameAt(at) ?? wholeFrame(run.window!, at);
  if (frame === null) return 0;
  const { bytes, from, to } = frame;
  const { head, result } = run;
  const { position } = result;
  const wrong = readFrameHead(bytes, from, to, head) || misplaced(head, position, bytes, from);
  if (wrong !== '')
    throw new DamageError(path, at, wrong, isKnownVersion(frameVersion(bytes, from)) ? 'other' : 'newer');
  const isKnown = head.firstSeq <= run.after.seq;
  const digests = readEntries(run, path, at, frame, isKnown);
  const hash = frameHash(bytes, from, digests);
  const signature = Uint8Array.prototype.slice.call(frameSignature(bytes, to));
  run.unproven = { byte: at, hash, signature };
  if (run.provesEach || !run.isFirstProven) prove(run, path);
  if (!isKnown) handOn(run, path, bytes, from);
  position.seq = head.firstSeq + head.count - 1;
  position.chain = hash;
  position.moment = head.moment;
  if (isKnown) {
    checkKnown(run, path, at);
    return to - from;
  }
  result.frames += 1;
  result.entries += head.count;
  result.bytes += to - from;
  const { seq, chain, moment } = position;
  const { count } = head;
  const headBytes = bytes.subarray(from + LENGTH_AT, from + FRAME_HEAD_BYTES);
  run.options.onFrame?.({
    seq,
    chain,
    moment,
    file: path,
    byte: at,
    bytes: to - from,
    count,
    head: headBytes,
    digests,
  });
  return to - from;
}

/** Whether the frame read last, and so all before it, are the server's. */
function prove(run: Run, path: string): void {
  const { unproven } = run;
  if (unproven === null) return;
  run.unproven = null;
  run.isFirstProven = true;
  if (run.options.verifyFrame(unproven.hash, unproven.signature)) return;
  throw new DamageError(path, unproven.byte, NOT_SIGNED, 'unsigned');
}

/** Why a frame cannot be the one behind `position`, or ''. */
export function misplaced(head: FrameHead, position: JournalPosition, bytes: Buffer, from: number): string {
  if (head.firstSeq !== position.seq + 1) return `entry ${head.firstSeq} where ${position.seq + 1} belongs`;
  if (!equalBytes(frameChain(bytes, from), position.chain)) return 'does not continue the frame before it';
  if (head.moment < position.moment) return 'time goes back';
  return '';
}

/** A frame that `after` already covers must lead exactly there. */
function checkKnown(run: Run, path: string, at: number): void {
  const { position } = run.result;
  const { after } = run;
  if (position.seq < after.seq) return;
  if (position.seq > after.seq) throw new DamageError(path, at, `entry ${after.seq} does not end a frame`);
  if (!equalBytes(position.chain, after.chain)) throw new DamageError(path, at, `another entry ${after.seq}`);
}

/**
 * Decodes the entries of a frame, and returns their digests in a row. Nothing of them counts before the frame's hash,
 * made of these, does.
 */
function readEntries<E>(run: Run<E>, path: string, at: number, frame: Frame, isKnown: boolean): Buffer {
  const { head, entries } = run;
  try {
    takeEntries(entries, frame, head.count, isKnown ? null : run.decode);
  } catch (error) {
    if (!(error instanceof CodecError)) throw error;
    const start = entries.ends.at(-1) ?? frame.from + FRAME_HEAD_BYTES;
    throw new DamageError(path, at + start - frame.from, error.message);
  }
  return frame.digests ?? entries.digests.subarray(0, head.count * HASH_BYTES);
}

function handOn<E>(run: Run<E>, path: string, bytes: Buffer, from: number): void {
  const { head, entries, options } = run;
  let start = from + FRAME_HEAD_BYTES;
  try {
    let seen = options.onAhead === undefined ? head.count : 0;
    for (let index = 0; index < head.count; index++) {
      const end = entries.ends[index]!;
      if (index === seen) seen = options.onAhead!(entries.list, index);
      options.onEntry(entries.list[index]!, bytes, start, end, head.firstSeq + index);
      start = end;
    }
  } catch (error) {
    // What nobody has proven may be anything.
    prove(run, path);
    throw error;
  }
}

/**
 * There is no whole frame at `at`. Zeros up to the end are room for frames to come, in any segment. Else it is a torn
 * tail where no whole frame comes after, and no later one was begun there; otherwise it is damage.
 */
function tear(run: Run, segment: SegmentFile, at: number, isLast: boolean): void {
  const path = join(run.directory, segment.file);
  const window = run.window!;
  const end = at === 0 ? window.size : endOfBytes(window, at);
  if (at > 0 && end === at) return;
  if (!isLast) throw new DamageError(path, at, 'no whole frame, and another segment follows');
  const next = findFrame(window, at + 1, run.result.position.seq);
  if (next !== -1) throw new DamageError(path, at, `no whole frame, but one follows at byte ${next}`);
  // None is begun before the one before it is synced: what is spoilt here was acknowledged, though the next was torn.
  const begun = findLaterHead(window, at + 1, run.result.position.seq);
  if (begun !== -1) throw new DamageError(path, at, `no whole frame, but a later one was begun at byte ${begun}`);
  run.result.torn = { file: segment.file, byte: at, bytes: end - at };
}
