/**
 * A file that grows from front to back, as the journal wants it, in two ways.
 *
 * Past the page cache, where the system lets us (O_DIRECT with O_DSYNC, open(2)): what is written waits in a stage of
 * whole blocks until it is synced, and then one call hands the blocks to the device and comes back when it has them.
 * That is one trip to another thread in place of a copy into the page cache and a sync, the kernel finds no pages for
 * what nobody reads again, nor makes the main thread wait where it has too many to write, and an error of the device
 * is told by the very write that met it. Elsewhere by way of the page cache.
 *
 * What always holds: behind the last byte written there are zeros at most; a block that is written again is the same up
 * to what is new; nothing is written by way of the page cache as long as the device takes blocks past it.
 */
import assert from 'node:assert/strict';
import {
  BLOCK_BYTES,
  type Disk,
  type DiskFile,
  type Done,
  noMoreBytes,
  pageAligned,
  readAll,
  type SyncedFile,
  writeAll,
} from './disk.ts';
import { errorCode } from './system-error.ts';

export interface LogFile {
  readonly path: string;
  /**
   * Length in bytes. To ask makes the next write dear, since the file's times are told with its length: Linux gives a
   * file whose times were told a new time with the next write (multigrain timestamps, 6.13), and ext4 writes that down.
   * Measured: 0.26 ms for a block, not 0.19. The two below cost nothing of that.
   */
  size(): number;
  /** Whether it is so long, more than 0. */
  endsAt(size: number): boolean;
  /** Whether its name leads to it still: nobody moved, replaced or removed it. */
  isInPlace(): boolean;
  /**
   * Appends bytes[from, to). `position` is where the write before ended, or, for the first, where the log is to go on.
   */
  write(bytes: Uint8Array, from: number, to: number, position: number): void;
  /**
   * Room in the file for what comes after the write that is next: zeros up to `length`, or somewhat further, synced
   * with it. Where the disk has no room for them the file goes on without.
   */
  reserve(length: number): void;
  truncateLater(size: number, done: Done): void;
  /** Reports when all that was written is on the device; nothing is written meanwhile. */
  syncLater(done: Done): void;
  closeLater(done: Done): void;
}

/** The disk is full, the user's share of it is, or a file may not be so long. */
const NO_ROOM = ['ENOSPC', 'EDQUOT', 'EFBIG'];

/** A log past the page cache where the disk has a way to do that, else by way of it. The file is there. */
export function openLog(disk: Disk, path: string): LogFile {
  const file = disk.open(path, 'write');
  const synced = disk.openSynced(path);
  return synced === null ? cachedLog(file) : new StagedLog(file, synced);
}

/** A log by way of the page cache. */
export function cachedLog(file: DiskFile): LogFile {
  return {
    ...file,
    endsAt: (size) => endsAt(file, size),
    write: (bytes, from, to, position) => writeAll(file, bytes, from, to, position),
    reserve(length) {
      const size = file.size();
      // Somebody else may have made it longer, who has taken the directory: the write that is next tells.
      if (length <= size) return;
      try {
        writeAll(file, new Uint8Array(length - size), 0, length - size, size);
      } catch (error) {
        if (!NO_ROOM.includes(errorCode(error))) throw error;
        // What room is left is for what is to be written.
        file.truncate(size);
      }
    },
  };
}

const END = new Uint8Array(2);
/** Nobody looks into it. */
const LAST = new Uint8Array(1);

/** There is one byte from the last one on, not none and not two. */
function endsAt(file: DiskFile, size: number): boolean {
  assert(size > 0, `${file.path}: empty`);
  return file.read(END, 0, END.length, size - 1) === 1;
}

/** The stage of what comes mostly, and the longest there may be: a frame of the largest size, and room behind it. */
const STAGE_BYTES = 2 * 1024 * 1024;
const STAGE_BYTES_MAX = 128 * 1024 * 1024;

/** A log past the page cache. */
class StagedLog implements LogFile {
  readonly path: string;
  readonly #file: DiskFile;
  readonly #synced: SyncedFile;
  readonly #memory = pageAligned(STAGE_BYTES, STAGE_BYTES_MAX);
  readonly #stage = new Uint8Array(this.#memory);
  /** What is staged, in the file; `from` begins a block, and all of that is there. */
  #from = 0;
  #to = 0;
  /** Where the zeros are to end that are written with it. */
  #reserved = 0;
  #isStaged = false;
  #isUnderway = false;
  #takesBlocks = true;
  /** Of the file, as it was opened and as blocks have made it. */
  #length: number;

  constructor(file: DiskFile, synced: SyncedFile) {
    this.path = file.path;
    this.#file = file;
    this.#synced = synced;
    this.#length = file.size();
  }

  size(): number {
    return this.#file.size();
  }

  endsAt(size: number): boolean {
    return endsAt(this.#file, size);
  }

  isInPlace(): boolean {
    return this.#file.isInPlace();
  }

  truncateLater(size: number, done: Done): void {
    this.#file.truncateLater(size, done);
  }

  write(bytes: Uint8Array, from: number, to: number, position: number): void {
    assert(!this.#isUnderway, `${this.path}: written while it is synced`);
    if (position !== this.#to) this.#begin(position);
    const staged = this.#to - this.#from;
    this.#hold(staged + to - from);
    this.#stage.set(bytes.subarray(from, to), staged);
    this.#to += to - from;
    this.#isStaged = true;
  }

  reserve(length: number): void {
    this.#reserved = length;
  }

  syncLater(done: Done): void {
    this.#isUnderway = true;
    const end: Done = (error) => {
      this.#isUnderway = false;
      if (error === null) this.#settle();
      done(error);
    };
    if (this.#takesBlocks) this.#syncBlocks(end);
    else this.#syncCached(end);
    this.#reserved = 0;
  }

  closeLater(done: Done): void {
    this.#synced.closeLater((error) => this.#file.closeLater((other) => done(error ?? other)));
  }

  /** Goes on in the midst of the block that is in the file. */
  #begin(position: number): void {
    assert(!this.#isStaged, `${this.path}: written in two places`);
    this.#from = blockAt(position);
    this.#to = position;
    const held = position - this.#from;
    assert(readAll(this.#file, this.#stage.subarray(0, held), this.#from) === held, `${this.path}: not so long`);
  }

  /** Makes room for so many bytes in the stage. */
  #hold(bytes: number): void {
    if (bytes > this.#memory.byteLength) this.#memory.resize(blockAfter(bytes));
  }

  /** What is staged is on the device; its last block stays, for what comes into it. */
  #settle(): void {
    const kept = blockAt(this.#to);
    this.#stage.copyWithin(0, kept - this.#from, this.#to - this.#from);
    this.#from = kept;
    this.#isStaged = false;
    if (this.#memory.byteLength > STAGE_BYTES) this.#memory.resize(STAGE_BYTES);
  }

  #syncBlocks(end: Done): void {
    const needed = blockAfter(this.#to) - this.#from;
    const wanted = Math.max(needed, blockAfter(this.#reserved) - this.#from);
    this.#hold(wanted);
    this.#stage.fill(0, this.#to - this.#from, wanted);
    this.#writeBlocks(0, wanted, needed, end);
  }

  /** Writes what is staged in [at, wanted); where the disk has no room for that, what is needed of it. */
  #writeBlocks(at: number, wanted: number, needed: number, end: Done): void {
    this.#synced.writeLater(this.#stage, at, wanted, this.#from + at, (told, count) => {
      const isWhole = at + count >= wanted;
      // Where a limit lies in the midst of a block, what is before it is all that is taken.
      const error = told ?? (isWhole || count >= BLOCK_BYTES ? null : noMoreBytes(this.path));
      const code = errorCode(error);
      if (code === 'EINVAL') {
        this.#takesBlocks = false;
        this.#syncCached(end);
      } else if (NO_ROOM.includes(code) && wanted > needed) {
        if (at < needed) this.#writeBlocks(at, needed, needed, end);
        // The last room of a disk is given back: others need it too.
        else this.#file.truncateLater(this.#from + needed, end);
      } else if (error !== null) end(error);
      else if (isWhole) this.#readEnd(this.#from + wanted, end);
      else this.#writeBlocks(at + blockAt(count), wanted, needed, end);
    });
  }

  /**
   * Where blocks came to the file's end, has the system read that again: `endsAt`, which is asked by the main thread,
   * would wait for the device, and everybody with it where that hangs.
   */
  #readEnd(to: number, end: Done): void {
    if (to < this.#length) return end(null);
    this.#length = to;
    this.#file.readLater(LAST, 0, 1, to - 1, end);
  }

  /** There are file systems that open files for blocks and then take none. */
  #syncCached(end: Done): void {
    try {
      writeAll(this.#file, this.#stage, 0, this.#to - this.#from, this.#from);
    } catch (error) {
      queueMicrotask(() => end(error as Error));
      return;
    }
    this.#file.syncLater(end);
  }
}

function blockAt(position: number): number {
  return position - (position % BLOCK_BYTES);
}

function blockAfter(position: number): number {
  return blockAt(position + BLOCK_BYTES - 1);
}
