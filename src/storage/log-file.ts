/**
 * A file that grows from front to back, as the journal wants it, in two ways.
 *
 * Past the page cache, where the system lets us (O_DIRECT with O_DSYNC, open(2)): what is written waits in a stage of
 * whole blocks until it is synced, and then one call hands the blocks to the device and comes back when it has them.
 * That is one trip to another thread in place of a copy into the page cache and a sync, the kernel finds no pages for
 * what nobody reads again, nor makes the first thread wait where it has too many to write, and an error of the device is
 * told by the very write that met it. Elsewhere by way of the page cache.
 *
 * What always holds: behind the last byte written there are zeros at most; a block that is written again is the same up
 * to what is new; nothing is written by way of the page cache as long as the device takes blocks past it.
 */
import assert from 'node:assert/strict';
import { type Disk, type DiskFile, type Done, errorCode, readAll, type SyncedFile, writeAll } from './disk.ts';

export interface LogFile {
  readonly path: string;
  /** Length in bytes. */
  size(): number;
  /** Appends bytes[from, to). `position` is where the write before ended, or, for the first, where the log is to go on. */
  write(bytes: Uint8Array, from: number, to: number, position: number): void;
  /**
   * Room in the file for what comes after the write that is next: zeros up to `length`, or somewhat further, synced with
   * it. Where the disk has no room for them the file goes on without.
   */
  reserve(length: number): void;
  truncate(size: number): void;
  /** Reports when all that was written is on the device; nothing is written meanwhile. */
  syncLater(done: Done): void;
  close(): void;
}

/** The disk is full, the user's share of it is, or a file may not be so long. */
const NO_ROOM = ['ENOSPC', 'EDQUOT', 'EFBIG'];

export function openLog(disk: Disk, path: string, mode: 'write' | 'create'): LogFile {
  const file = disk.open(path, mode);
  const synced = disk.openSynced(path);
  return synced === null ? cachedLog(file) : stagedLog(file, synced);
}

/** A log by way of the page cache. */
export function cachedLog(file: DiskFile): LogFile {
  return {
    ...file,
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

/** Where blocks begin, in the file and in memory: what devices ask for is this or a part of it. */
const BLOCK_BYTES = 4096;
/** The stage of what comes mostly, and the longest there may be: a frame of the largest size, and room behind it. */
const STAGE_BYTES = 2 * 1024 * 1024;
const STAGE_BYTES_MAX = 128 * 1024 * 1024;

function stagedLog(file: DiskFile, synced: SyncedFile): LogFile {
  const memory = pageAligned(STAGE_BYTES, STAGE_BYTES_MAX);
  const stage = new Uint8Array(memory);
  /** What is staged, in the file; `from` begins a block, and all of that is there. */
  let from = 0;
  let to = 0;
  /** Where the zeros are to end that are written with it. */
  let reserved = 0;
  let isStaged = false;
  let isUnderway = false;
  let takesBlocks = true;

  function hold(bytes: number): void {
    if (bytes > memory.byteLength) memory.resize(blockAfter(bytes));
  }

  /** Goes on in the midst of the block that is in the file. */
  function begin(position: number): void {
    assert(!isStaged, `${file.path}: written in two places`);
    from = blockAt(position);
    to = position;
    assert(readAll(file, stage, 0, to - from, from) === to - from, `${file.path}: not so long`);
  }

  /** What is staged is on the device; its last block stays, for what comes into it. */
  function settle(): void {
    const kept = blockAt(to);
    stage.copyWithin(0, kept - from, to - from);
    from = kept;
    isStaged = false;
    if (memory.byteLength > STAGE_BYTES) memory.resize(STAGE_BYTES);
  }

  /** Gives back the last room of a disk, which others need too. */
  function shorten(size: number): Error | null {
    try {
      file.truncate(size);
      return null;
    } catch (error) {
      return error as Error;
    }
  }

  function syncBlocks(end: Done): void {
    const needed = blockAfter(to) - from;
    let wanted = Math.max(needed, blockAfter(reserved) - from);
    hold(wanted);
    stage.fill(0, to - from, wanted);
    const write = (at: number) =>
      synced.writeLater(stage, at, wanted, from + at, (error, count) => {
        const code = errorCode(error);
        if (code === 'EINVAL') {
          takesBlocks = false;
          syncCached(end);
        } else if (NO_ROOM.includes(code) && wanted > needed) {
          wanted = needed;
          if (at < needed) write(at);
          else end(shorten(from + needed));
        } else if (error !== null) end(error);
        else if (at + count >= wanted) end(null);
        else if (count < BLOCK_BYTES) end(new Error(`${file.path}: the disk takes no more bytes`));
        else write(at + blockAt(count));
      });
    write(0);
  }

  /** There are file systems that open files for blocks and then take none. */
  function syncCached(end: Done): void {
    try {
      writeAll(file, stage, 0, to - from, from);
    } catch (error) {
      queueMicrotask(() => end(error as Error));
      return;
    }
    file.syncLater(end);
  }

  return {
    path: file.path,
    size: () => file.size(),
    truncate: (size) => file.truncate(size),
    write(bytes, first, last, position) {
      assert(!isUnderway, `${file.path}: written while it is synced`);
      if (position !== to) begin(position);
      const staged = to - from;
      hold(staged + last - first);
      stage.set(bytes.subarray(first, last), staged);
      to += last - first;
      isStaged = true;
    },
    reserve(length) {
      reserved = length;
    },
    syncLater(done) {
      isUnderway = true;
      const end: Done = (error) => {
        isUnderway = false;
        if (error === null) settle();
        done(error);
      };
      if (takesBlocks) syncBlocks(end);
      else syncCached(end);
      reserved = 0;
    },
    close() {
      synced.close();
      file.close();
    },
  };
}

function blockAt(position: number): number {
  return position - (position % BLOCK_BYTES);
}

function blockAfter(position: number): number {
  return blockAt(position + BLOCK_BYTES - 1);
}

/**
 * Memory that can be resized lies on pages of the system's of its own, which others need not. (The library of types
 * that tsconfig.json names is older than it.)
 */
function pageAligned(bytes: number, maxByteLength: number): ResizableBuffer {
  const Resizable = ArrayBuffer as unknown as new (bytes: number, limits: { maxByteLength: number }) => ResizableBuffer;
  return new Resizable(bytes, { maxByteLength });
}

type ResizableBuffer = ArrayBuffer & { resize(bytes: number): void };
