/**
 * The writing side of the journal: entries are added to the frame under construction, `commit` seals it
 * and has it written and synced with one call. The format is told in format.ts, how a segment is written in
 * log-file.ts, the reading side in journal-reader.ts.
 *
 * What always holds: one frame is on its way at a time; a frame's `done` runs once, after `commit`
 * returned, and with null only when the frame, and the name of a segment made for it, are on the device.
 * The next segment is begun by calls that report later: on a disk that hangs the frame waits, and nobody else does.
 * A failed write, sync or open is final: what reached the disk is unknown until it is read again, so
 * every later commit is refused with the same error and no sync is ever tried twice. So it is where others have
 * removed, replaced, cut or lengthened the segment, as who puts back a copy beside a running server does: what is
 * written to the file that is open would lie where no start finds it.
 */
import assert from 'node:assert/strict';
import { basename, join } from 'node:path';
import { equalBytes } from '../core/bytes.ts';
import type { Entry } from '../core/entry.ts';
import { encode } from './codec.ts';
import {
  closeLater,
  createLater,
  type Disk,
  type DiskFile,
  type Done,
  finished,
  readAll,
  syncDirectoryLater,
  syncLater,
  truncateLater,
  unlinkLater,
  writeAll,
} from './disk.ts';
import {
  digestEntry,
  FORMAT_VERSION,
  FRAME_BYTES_MAX,
  FRAME_FOOT_BYTES,
  FRAME_HEAD_BYTES,
  type FrameHead,
  fillFrame,
  HASH_BYTES,
  SEGMENT_HEADER_BYTES,
  sealFrame,
  segmentName,
  writeSegmentHeader,
} from './format.ts';
import { FrameBuffer } from './frame-buffer.ts';
import { LockLostError } from './lock.ts';
import { cachedLog, type LogFile, openLog } from './log-file.ts';
import { headerOf, listSegments } from './segments.ts';
import { errorCode } from './system-error.ts';

/** Between being read and being opened the journal has grown. */
export class JournalChangedError extends Error {
  override name = 'JournalChangedError';

  constructor(path: string) {
    super(
      `${path}: not as long as it was read. Another server still wrote to it, one that cannot see this process. See that one server runs on the directory, and start again`,
    );
  }
}

/** A point between two frames. */
export interface JournalPosition {
  /** The last entry, 0 before the first. */
  seq: number;
  /** Hash of the last frame, 32 bytes; zeros before the first. */
  chain: Uint8Array;
  /** Moment of the last frame, milliseconds since 1970. */
  moment: number;
}

/** A position and where on disk it lies, as `readJournal` found it. */
export interface JournalEnd extends JournalPosition {
  /** Name of the last segment, or null where there is none. */
  file: string | null;
  /** Where its last frame ends; behind it there are zeros at most, once a torn tail has been cut. */
  byte: number;
  /** Where the last write to it began: its last frame, or 0 where that came with the header. */
  written: number;
}

/** Where in a segment its last frame ends. */
interface SegmentEnd {
  /** Its name, without the directory. */
  readonly file: string;
  readonly byte: number;
}

export const JOURNAL_START: JournalPosition = { seq: 0, chain: new Uint8Array(HASH_BYTES), moment: 0 };

export interface JournalOptions {
  /** A segment that has grown past this many bytes is followed by a new one. */
  segmentBytesMax: number;
  /** The server's Ed25519 signature of a frame's hash, 64 bytes. */
  sign(hash: Uint8Array): Uint8Array;
  /**
   * A segment is kept so many bytes of zeros longer than what is in it. What overwrites them costs the device and the
   * machine half of what growing the file does (measured: 0.19 against 0.40 ms for 25 KB), since nothing but the
   * bytes themselves must be written. Absent or 0: the file grows with each frame.
   */
  reserveBytes?: number;
  /** How entries are written; tests begin books in an older version, as an older server left them. */
  format?: EntryFormat;
  /** 'none' acknowledges what is only in the page cache: for tests, a power cut loses it. */
  durability?: 'sync' | 'none';
}

/** A format version, and the entries of its frames. */
export interface EntryFormat {
  readonly version: number;
  /** Appends the entry to the buffer. */
  encode(entry: Entry, buffer: FrameBuffer): void;
}

export const CURRENT_FORMAT: EntryFormat = { version: FORMAT_VERSION, encode };

/**
 * What a server reserves: room for some thousand intents; writing so much at once takes the device two milliseconds.
 */
export const RESERVE_BYTES = 1024 * 1024;

/** The frame begins here in the buffer, so that a new segment's header fits before it into the same write. */
const FRAME_AT = SEGMENT_HEADER_BYTES;
const FIRST_ENTRY_AT = FRAME_AT + FRAME_HEAD_BYTES;

export class Journal {
  readonly #disk: Disk;
  readonly #directory: string;
  readonly #options: JournalOptions;
  readonly #format: EntryFormat;
  #buffer = emptyFrame();
  readonly #head: FrameHead = { firstSeq: 0, count: 0, moment: 0 };
  #position: JournalPosition;
  #file: LogFile | null = null;
  /**
   * Of the file in use: up to here there are frames, and zeros from there to where it ends, if there is room for them.
   */
  #fileBytes = 0;
  #reservedTo = 0;
  /** How long it was left. */
  #fileSize = 0;
  #end: SegmentEnd | null = null;
  #entries = 0;
  /** Of the entries in the frame under construction, in a row. */
  #digests = Buffer.allocUnsafeSlow(64 * HASH_BYTES);
  #committing = false;
  #failure: Error | null = null;
  #closed = false;
  #idle: (() => void) | null = null;

  private constructor(disk: Disk, directory: string, position: JournalPosition, options: JournalOptions) {
    this.#disk = disk;
    this.#directory = directory;
    this.#options = options;
    this.#format = options.format ?? CURRENT_FORMAT;
    this.#position = { seq: position.seq, chain: position.chain.slice(), moment: position.moment };
  }

  /**
   * Opens the journal for append behind `position`, which `readJournal` returned and whose torn tail, if
   * there was one, has been cut. Asserts that the last segment on disk fits it, and syncs that segment.
   */
  static open(disk: Disk, directory: string, position: JournalPosition | JournalEnd, options: JournalOptions): Journal {
    const journal = new Journal(disk, directory, position, options);
    const last = listSegments(disk, directory).at(-1);
    if (last === undefined) assert(position.seq === 0, 'the journal is gone');
    else journal.#openLast(last.file, last.firstSeq, 'byte' in position ? position : null);
    return journal;
  }

  /** One that takes nothing: it stands where the books end, for who only shows them. */
  static atRest(disk: Disk, directory: string, position: JournalPosition, options: JournalOptions): Journal {
    const journal = new Journal(disk, directory, position, options);
    journal.#closed = true;
    return journal;
  }

  #openLast(name: string, firstSeq: number, end: JournalEnd | null): void {
    const path = join(this.#directory, name);
    const file = this.#disk.open(path, 'write');
    const header = headerOf(file);
    this.#reservedTo = file.size();
    this.#fileBytes = end?.byte ?? this.#reservedTo;
    assert(header !== null && header.firstSeq === firstSeq, `${file.path}: not a segment`);
    assert(firstSeq <= this.#position.seq + 1, `${file.path}: begins after the journal's end`);
    if (this.#fileBytes === SEGMENT_HEADER_BYTES) {
      assert(firstSeq === this.#position.seq + 1, `${file.path}: begins before the journal's end`);
      assert(equalBytes(header.chain, this.#position.chain), `${file.path}: continues another journal`);
    }
    if (end !== null) {
      const { file: read, byte } = end;
      if (read !== name || !isZeros(file, byte, this.#reservedTo)) throw new JournalChangedError(file.path);
    }
    // The process before may have left its last frame in the page cache only. It was read, so it counts, and
    // answers will rest on it: it must not go with the next power cut. Where the sync of it failed, syncing
    // again would write nothing, since the pages count as written: so the same bytes are written once more.
    writeAgain(file, end?.written ?? 0, this.#fileBytes);
    file.sync();
    file.close();
    this.#disk.syncDirectory(this.#directory);
    this.#file = this.#openLog(path);
    this.#fileSize = this.#reservedTo;
    this.#end = { file: name, byte: this.#fileBytes };
  }

  /** The last entry that is on the device, and its frame. */
  get position(): Readonly<JournalPosition> {
    return this.#position;
  }

  /** Where the frames end that are on the device; null before the first, and where none is to come. */
  get end(): SegmentEnd | null {
    return this.#end;
  }

  /** What the frame under construction would take on disk now. */
  get frameBytes(): number {
    return this.#buffer.end - FRAME_AT + FRAME_FOOT_BYTES;
  }

  get frameEntries(): number {
    return this.#entries;
  }

  /**
   * Appends the entry to the frame under construction. Returns its bytes, a view that is good until the next `commit`.
   */
  add(entry: Entry): Uint8Array {
    assert(!this.#closed, 'the journal is closed');
    const from = this.#buffer.end;
    this.#format.encode(entry, this.#buffer);
    assert(this.frameBytes <= FRAME_BYTES_MAX, 'the batch outgrew a frame');
    const { bytes, end } = this.#buffer;
    // One view for all who read them: making one costs more than most of what is done with it.
    const added = new Uint8Array(bytes.buffer, bytes.byteOffset + from, end - from);
    this.#digest(added);
    this.#entries += 1;
    return added;
  }

  #digest(added: Uint8Array): void {
    const at = this.#entries * HASH_BYTES;
    if (at === this.#digests.length) this.#digests = Buffer.concat([this.#digests], 2 * at);
    digestEntry(added, 0, added.length, this.#digests, at);
  }

  /**
   * Seals the frame (chain, signature, CRC), writes and syncs it. `done` gets null when it is on the
   * device, or what went wrong. One commit at a time, never an empty one, moments never go back.
   */
  commit(moment: number, done: Done): void {
    assert(!this.#committing, 'one commit at a time');
    assert(!this.#closed, 'the journal is closed');
    assert(this.#entries > 0, 'an empty frame');
    assert(moment >= this.#position.moment, 'time goes back');
    this.#committing = true;
    const settle = (error: Error | null, next = this.#position) => this.#settle(error, next, done);
    if (this.#failure !== null) {
      queueMicrotask(() => settle(this.#failure));
      return;
    }
    try {
      const next = this.#seal(moment);
      const end: Done = (error) => settle(error ?? this.#leave(), next);
      const file = this.#file;
      if (file !== null) this.#expectAsLeft(file);
      if (file !== null && this.#hasRoom) {
        this.#write(file, this.#buffer, FRAME_AT);
        this.#buffer.end = FIRST_ENTRY_AT;
        this.#entries = 0;
        this.#sync(false, end);
      } else this.#writeFirst(end);
    } catch (error) {
      queueMicrotask(() => settle(error as Error));
    }
  }

  /**
   * Throws LockLostError where others have removed or replaced the segment in use, or, while it is not being written
   * to, cut or lengthened it. To be called by who does in the directory what rests on all that was committed.
   */
  mustBeAsLeft(): void {
    const file = this.#file;
    if (file === null) return;
    if (!this.#committing) this.#expectAsLeft(file);
    this.#expectInPlace(file);
  }

  /**
   * Begins the next segment before the one in use is full, and without a frame: what comes next goes there. One that
   * has no frame yet is written again instead, for the next would have its name. `done` gets null when that is on the
   * device, or what went wrong: then all goes on in the one that there is, if anything does. In turns with `commit`,
   * between two frames.
   */
  beginSegment(done: Done): void {
    assert(!this.#committing, 'one commit at a time');
    assert(!this.#closed, 'the journal is closed');
    assert(this.#entries === 0 && this.#file !== null, 'between two frames, of which there was one');
    this.#committing = true;
    const settle = (error: Error | null) => {
      this.#committing = false;
      this.#idle?.();
      done(error);
    };
    this.#begin(this.#file)
      .catch((error: Error) => {
        this.#failure ??= error;
        return error;
      })
      .then((error) => queueMicrotask(() => settle(error)));
  }

  /** Resolves with what kept it from that where nothing is changed by it; rejects where the journal cannot go on. */
  async #begin(before: LogFile): Promise<Error | null> {
    if (this.#failure !== null) return this.#failure;
    try {
      this.#expectAsLeft(before);
      this.#expectInPlace(before);
    } catch (error) {
      // A disk that does not tell has taken nothing away, and the memory that is to be saved would go with the next
      // write.
      unlessDisks(error as Error);
      return error as Error;
    }
    const { seq, chain } = this.#position;
    const header = Buffer.alloc(SEGMENT_HEADER_BYTES);
    writeSegmentHeader(header, seq + 1, chain, this.#format.version);
    if (this.#fileBytes === SEGMENT_HEADER_BYTES) {
      before.write(header, 0, header.length, 0);
      await finished((done) => this.#sync(false, done));
      // Of one that ended with its header, as a stop leaves it, blocks have made the file longer.
      const lost = this.#leave();
      if (lost !== null) throw lost;
      return null;
    }
    const name = segmentName(seq + 1);
    const next = await this.#createBeside(join(this.#directory, name), header);
    if (next instanceof Error) return next;
    // All of the one before is on the device, and zeros behind it say nothing: a disk that fails now has failed in
    // nothing.
    await this.#dropReserve(before).catch(unlessDisks);
    await closeLater(before).catch(unlessDisks);
    this.#file = next;
    this.#fileBytes = header.length;
    this.#fileSize = next.size();
    this.#reservedTo = 0;
    this.#end = { file: name, byte: header.length };
    return null;
  }

  /**
   * A file with these bytes, durably; or why there is none, for then the one in use goes on. Rejects where it stays.
   */
  async #createBeside(path: string, bytes: Uint8Array): Promise<LogFile | Error> {
    let file: LogFile | null = null;
    try {
      await createLater(this.#disk, path);
      file = this.#openLog(path);
      file.write(bytes, 0, bytes.length, 0);
      await syncLater(file);
      await syncDirectoryLater(this.#disk, this.#directory);
      return file;
    } catch (error) {
      // Somebody else has made it.
      if (errorCode(error) === 'EEXIST') throw error;
      if (file !== null) await closeLater(file).catch(() => {});
      if (this.#disk.exists(path)) await unlinkLater(this.#disk, path);
      await syncDirectoryLater(this.#disk, this.#directory);
      return error as Error;
    }
  }

  /**
   * Whether the next frame goes into the file in use; into one without a frame in any case, for the next would have its
   * name.
   */
  get #hasRoom(): boolean {
    return this.#fileBytes === SEGMENT_HEADER_BYTES || this.#fileBytes < this.#options.segmentBytesMax;
  }

  #sync(created: boolean, done: Done): void {
    if (this.#options.durability === 'none') {
      queueMicrotask(() => done(null));
      return;
    }
    this.#file!.syncLater((error) => {
      if (error === null && created) this.#disk.syncDirectoryLater(this.#directory, done);
      else done(error);
    });
  }

  /**
   * Why what was written does not count, or null: it counts where whoever looks for the file by its name finds this
   * one, and nobody cut it meanwhile.
   */
  #leave(): Error | null {
    const file = this.#file!;
    try {
      // Longer it may be where nothing told the journal: blocks are written whole.
      if (this.#fileBytes > this.#fileSize || !file.endsAt(this.#fileSize)) {
        const size = file.size();
        if (size < Math.max(this.#fileSize, this.#fileBytes)) return this.#lost(file);
        this.#fileSize = size;
      }
      return file.isInPlace() ? null : this.#lost(file);
    } catch (error) {
      return error as Error;
    }
  }

  #lost(file: LogFile): Error {
    return new LockLostError(this.#directory, `${basename(file.path)} is gone, or not as it was left`);
  }

  #seal(moment: number): JournalPosition {
    const buffer = this.#buffer;
    buffer.reserve(FRAME_FOOT_BYTES);
    const to = buffer.end + FRAME_FOOT_BYTES;
    const head = this.#head;
    head.firstSeq = this.#position.seq + 1;
    head.count = this.#entries;
    head.moment = moment;
    const digests = this.#digests.subarray(0, this.#entries * HASH_BYTES);
    const { version } = this.#format;
    const hash = fillFrame(buffer.bytes, FRAME_AT, to, head, this.#position.chain, digests, version);
    sealFrame(buffer.bytes, FRAME_AT, to, this.#options.sign(hash));
    return { seq: this.#position.seq + this.#entries, chain: hash, moment };
  }

  /** Hands the file what is sealed in the buffer, from there on. */
  #write(file: LogFile, { bytes, end }: FrameBuffer, from: number): void {
    const to = end + FRAME_FOOT_BYTES;
    const fileBytes = this.#fileBytes + (to - from);
    // Blocks are whole: the room may be larger than was asked for.
    if (fileBytes > Math.max(this.#reservedTo, this.#fileSize)) this.#reserve(file, fileBytes);
    file.write(bytes, from, to, this.#fileBytes);
    this.#fileBytes = fileBytes;
  }

  /** Has what is sealed written and synced as the first frame of a new segment. */
  #writeFirst(done: Done): void {
    const frame = this.#buffer;
    const { firstSeq } = this.#head;
    writeSegmentHeader(frame.bytes, firstSeq, this.#position.chain, this.#format.version);
    // The next frame is made meanwhile.
    this.#buffer = emptyFrame();
    this.#entries = 0;
    this.#startSegment(segmentName(firstSeq), frame)
      .then(() => this.#sync(true, done))
      // Nothing calls `done` before these return: whatever they throw, it is told once.
      .catch((error: Error) => queueMicrotask(() => done(error)));
  }

  async #startSegment(name: string, frame: FrameBuffer): Promise<void> {
    const before = this.#file;
    this.#file = null;
    if (before !== null) {
      await this.#dropReserve(before);
      await closeLater(before);
    }
    const path = join(this.#directory, name);
    await createLater(this.#disk, path);
    this.#file = this.#openLog(path);
    this.#fileBytes = 0;
    this.#fileSize = 0;
    this.#write(this.#file, frame, 0);
  }

  /**
   * Has the file made longer by zeros, for the frame that ends at `end` and the ones to come; they are synced with it.
   */
  #reserve(file: LogFile, end: number): void {
    const { reserveBytes = 0, segmentBytesMax } = this.#options;
    const bytes = Math.min(reserveBytes, segmentBytesMax - end);
    if (bytes <= 0) return;
    this.#reservedTo = end + bytes;
    file.reserve(this.#reservedTo);
  }

  /** Should the zeros come back with a power cut, they say nothing. */
  async #dropReserve(file: LogFile): Promise<void> {
    this.#expectAsLeft(file);
    if (file.size() > this.#fileBytes) await truncateLater(file, this.#fileBytes);
    this.#reservedTo = 0;
  }

  /** Others' bytes would come between ours, or be cut with the room behind them. */
  #expectAsLeft(file: LogFile): void {
    if (!file.endsAt(this.#fileSize)) throw this.#lost(file);
  }

  #expectInPlace(file: LogFile): void {
    if (!file.isInPlace()) throw this.#lost(file);
  }

  #openLog(path: string): LogFile {
    // What is never synced is for the page cache to keep.
    if (this.#options.durability === 'none') return cachedLog(this.#disk.open(path, 'write'));
    return openLog(this.#disk, path);
  }

  #settle(error: Error | null, next: JournalPosition, done: Done): void {
    this.#failure ??= error;
    if (error === null) {
      this.#position = next;
      this.#end = { file: basename(this.#file!.path), byte: this.#fileBytes };
    }
    this.#committing = false;
    this.#idle?.();
    done(error);
  }

  /**
   * Waits for the commit on its way, then closes; entries not committed are forgotten. Rejects where the
   * close fails.
   */
  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    if (this.#committing)
      await new Promise<void>((resolve) => {
        this.#idle = resolve;
      });
    const file = this.#file;
    this.#file = null;
    if (file === null) return;
    // What a failed write or sync left is for the next start to read.
    try {
      if (this.#failure === null) await this.#dropReserve(file);
    } finally {
      await closeLater(file);
    }
  }
}

/** Throws what is no failure of the disk. */
function unlessDisks(error: Error): void {
  if (errorCode(error) === '') throw error;
}

function emptyFrame(): FrameBuffer {
  const frame = new FrameBuffer();
  frame.end = FIRST_ENTRY_AT;
  return frame;
}

const PIECE_BYTES = 1024 * 1024;

/** Writes a part of a file over itself. */
export function writeAgain(file: DiskFile, from: number, to: number): void {
  const bytes = Buffer.allocUnsafe(Math.min(to - from, PIECE_BYTES));
  for (let at = from; at < to; at += PIECE_BYTES) {
    const count = readAll(file, bytes.subarray(0, to - at), at);
    writeAll(file, bytes, 0, count, at);
  }
}

/** Whether the file has nothing but zeros in [from, to), which it must reach. */
function isZeros(file: DiskFile, from: number, to: number): boolean {
  if (from > to) return false;
  const bytes = Buffer.alloc(Math.min(to - from, PIECE_BYTES));
  const zeros = Buffer.alloc(bytes.length);
  for (let at = from; at < to; at += PIECE_BYTES) {
    const piece = bytes.subarray(0, to - at);
    if (readAll(file, piece, at) < piece.length || !piece.equals(zeros.subarray(0, to - at))) return false;
  }
  return true;
}
