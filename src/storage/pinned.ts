/**
 * A directory as it was at one moment, to be read while a server goes on writing to it. Every file is opened before
 * anything is read, so nothing that is removed meanwhile goes missing, and each keeps the length it had.
 *
 * What always holds: nothing can be written through it: every call that would change a byte throws. Snapshots, and the
 * note of the end, are opened before segments are looked for, so the journal reaches at least as far as any of them; no
 * segment is missing between two others. What comes to lie in the zeros behind the journal's end is not seen: whoever
 * reads them, and then the frames behind them that were written meanwhile, would take the gap for damage.
 */
import { basename, join } from 'node:path';
import { type Disk, type DiskFile, readAll } from './disk.ts';
import { SIGNATURE_BYTES, segmentSeq } from './format.ts';
import { END_FILE } from './known-end.ts';
import { isBooksName, isPartName, snapshotSeq } from './snapshot-format.ts';
import { errorCode } from './system-error.ts';

export interface Pinned extends Disk {
  /** Bytes of a file. */
  size(name: string): number;
  /** Closes every file. */
  release(): void;
}

/** A server may remove what it no longer needs while we look; more often than this it is not chance. */
const ATTEMPTS_MAX = 10;

/**
 * Opens snapshots, parts and segments of the directory, and what is noted of their end. Throws where there are no
 * books, and what the disk throws.
 */
export function pin(disk: Disk, directory: string): Pinned {
  for (let attempt = 1; ; attempt++) {
    const files = tryPin(disk, directory);
    if (files !== null) return withBooks(directory, pinnedDisk(directory, files));
    if (attempt === ATTEMPTS_MAX) throw new Error(`${directory}: files come and go too quickly to be read`);
  }
}

function withBooks(directory: string, pinned: Pinned): Pinned {
  if (pinned.readdir(directory).some(isBooksName)) return pinned;
  pinned.release();
  throw new Error(`${directory} holds no books: neither journal nor snapshot`);
}

/** One attempt; null where a file went in between, or came where it was not looked for any more. */
function tryPin(disk: Disk, directory: string): Map<string, DiskFile> | null {
  const files = new Map<string, DiskFile>();
  const openAll = (names: string[]) => {
    for (const name of names) {
      const path = join(directory, name);
      const file = disk.open(path, 'read');
      files.set(name, pinnedFile(path, file));
    }
  };
  try {
    const names = disk.readdir(directory);
    openAll(names.filter((name) => name === END_FILE));
    openAll(names.filter((name) => snapshotSeq(name) >= 0));
    openAll(names.filter(isPartName));
    openAll(disk.readdir(directory).filter((name) => segmentSeq(name) > 0));
    const now = disk.readdir(directory);
    const last = Math.max(0, ...[...files.keys()].map(segmentSeq));
    const isThere = new Set(now);
    const isMissed = (name: string) => segmentSeq(name) > 0 && segmentSeq(name) < last && !files.has(name);
    if ([...files.keys()].every((name) => isThere.has(name)) && !now.some(isMissed)) return files;
  } catch (error) {
    for (const file of files.values()) file.close();
    if (errorCode(error) !== 'ENOENT') throw error;
    if (!disk.exists(directory)) throw new Error(`there is no directory ${directory}`);
    const { path = '' } = error as NodeJS.ErrnoException;
    if (disk.readdir(directory).includes(basename(path))) throw new Error(`${path} is a link that leads nowhere`);
    return null;
  }
  for (const file of files.values()) file.close();
  return null;
}

/** What a pinned file lets anybody do. */
const READ_ONLY = 0o400;

function refuse(): never {
  throw new Error('whoever has pinned a directory changes nothing in it');
}

/** The file as it is now, of a segment without the room behind its frames. */
export function pinnedFile(path: string, file: DiskFile): DiskFile {
  const full = file.size();
  const written = segmentSeq(basename(path)) > 0 ? endOfWritten(file, full) : full;
  // A signature may end with zeros, which then are of the frame.
  const size = Math.min(full, written + SIGNATURE_BYTES);
  return {
    path,
    size: () => size,
    isInPlace: () => file.isInPlace(),
    read(bytes, from, to, position) {
      const end = Math.max(from, Math.min(to, from + size - position));
      const zeros = Math.max(from, Math.min(end, from + written - position));
      if (zeros > from) return file.read(bytes, from, zeros, position);
      // Whatever is there by now, and though the file may have ended there since.
      bytes.fill(0, from, end);
      return end - from;
    },
    // Without the zeros: it only has the system read ahead of `read`.
    readLater(bytes, from, to, position, done) {
      const end = Math.max(from, Math.min(to, from + written - position));
      file.readLater(bytes, from, end, position, done);
    },
    write: refuse,
    writeLater: refuse,
    truncate: refuse,
    truncateLater: refuse,
    sync: refuse,
    syncLater: refuse,
    close: () => file.close(),
    closeLater: (done) => file.closeLater(done),
  };
}

const PIECE_BYTES = 64 * 1024;

/**
 * Behind a segment's last byte that is not zero. Looked for from the end on, so that what is written meanwhile lies
 * behind it or is in as a whole: frames come one after the other, and the bytes of each in order.
 */
function endOfWritten(file: DiskFile, size: number): number {
  const piece = Buffer.allocUnsafe(Math.min(PIECE_BYTES, size));
  for (let to = size; to > 0; to -= PIECE_BYTES) {
    const from = Math.max(0, to - PIECE_BYTES);
    for (let index = readAll(file, piece.subarray(0, to - from), from); index > 0; index--) {
      if (piece[index - 1] !== 0) return from + index;
    }
  }
  return 0;
}

function pinnedDisk(directory: string, files: Map<string, DiskFile>): Pinned {
  const names = [...files.keys()].sort();
  return {
    open(path, mode) {
      const file = files.get(basename(path));
      if (mode !== 'read' || file === undefined) return refuse();
      return { ...file, close() {} };
    },
    createLater: refuse,
    openSynced: refuse,
    exists: (path) => path === directory || files.has(basename(path)),
    rights: () => ({ mode: READ_ONLY, isRoots: false }),
    identity: (path) => path,
    isShared: () => false,
    readdir: () => names,
    size: (name) => files.get(name)!.size(),
    release() {
      for (const file of files.values()) file.close();
    },
    mkdir: refuse,
    link: refuse,
    rename: refuse,
    renameLater: refuse,
    unlink: refuse,
    unlinkLater: refuse,
    rmdir: refuse,
    syncDirectory: refuse,
    syncDirectoryLater: refuse,
  };
}
