/**
 * The one door to files. Everything ayni keeps goes through `Disk`, so that a test can lose, tear and
 * spoil what was written (test/storage/fake-disk.ts) and the rest of the code cannot tell.
 *
 * Calls are synchronous where they only touch the page cache and asynchronous (`…Later`) where they wait
 * for the device: one synchronous write followed by one asynchronous sync was measured to be cheaper than
 * two asynchronous calls, and a write while no sync is in flight is a copy. To make a name, and to cut or close what
 * was written to, may wait for a device that hangs: while a server serves, that is asynchronous too. What always holds:
 * a `…Later` call reports exactly once and never before it returned; files are made with mode 0600, directories
 * with 0700; `read` and `write` may do less than asked, as the system calls may, so callers use `readAll`
 * and `writeAll`.
 */
import * as fs from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { errorCode } from './system-error.ts';

export type Done = (error: Error | null) => void;
export type Counted = (error: Error | null, count: number) => void;

/** `read` and `write` want a file that exists, `create` one that does not (EEXIST). */
export type OpenMode = 'read' | 'write' | 'create';

export interface DiskFile {
  readonly path: string;
  /** Length in bytes. */
  size(): number;
  /**
   * Whether its name leads to it still: nobody moved, replaced or removed it. Leaves the file's times alone where it
   * can.
   */
  isInPlace(): boolean;
  /** Reads into bytes[from, to) what lies at `position`; returns how many bytes, 0 at the end of the file. */
  read(bytes: Uint8Array, from: number, to: number, position: number): number;
  readLater(bytes: Uint8Array, from: number, to: number, position: number, done: Counted): void;
  /** Writes bytes[from, to) at `position`; returns how many bytes it took. */
  write(bytes: Uint8Array, from: number, to: number, position: number): number;
  writeLater(bytes: Uint8Array, from: number, to: number, position: number, done: Counted): void;
  truncate(size: number): void;
  truncateLater(size: number, done: Done): void;
  /** Returns when content and length are on the device (fdatasync). */
  sync(): void;
  syncLater(done: Done): void;
  close(): void;
  closeLater(done: Done): void;
}

/** Where blocks begin, in the file and in memory: what devices ask for is this or a part of it. */
export const BLOCK_BYTES = 4096;

/**
 * Another hold on a file, past the page cache. `bytes` are `pageAligned`; `from`, `to` and `position` are multiples of
 * `BLOCK_BYTES`.
 */
export interface SyncedFile {
  /** What it reports as written is on the device, with the length that it gave the file. */
  writeLater(bytes: Uint8Array, from: number, to: number, position: number, done: Counted): void;
  /** What the device has. Where it gives no whole block the file ends. */
  readLater(bytes: Uint8Array, from: number, to: number, position: number, done: Counted): void;
  closeLater(done: Done): void;
}

/** Who may do what with a file. */
export interface Rights {
  /** As chmod counts them; those of its owner alone where there are no others. */
  mode: number;
  /** Root owns it, and this process is somebody else's. */
  isRoots: boolean;
}

export interface Disk {
  open(path: string, mode: OpenMode): DiskFile;
  /** Makes an empty file where there is none (EEXIST), for who opens it then. */
  createLater(path: string, done: Done): void;
  /** A file that is there, past the page cache; null where the system has none for it, or none to rely on. */
  openSynced(path: string): SyncedFile | null;
  /** Whether the name is there, and leads somewhere; throws where the system does not tell. */
  exists(path: string): boolean;
  rights(path: string): Rights;
  /** What tells a file, whatever its name, from a copy of it. */
  identity(path: string): string;
  /** Whether the file has another name too, or this one leads elsewhere. */
  isShared(path: string): boolean;
  /** Names in the directory, sorted. */
  readdir(path: string): string[];
  /** Makes the directory and the ones above it, durably; nothing where it exists. */
  mkdir(path: string): void;
  /** Takes away an empty directory. */
  rmdir(path: string): void;
  /** A second name for a file; fails with EEXIST where the name is taken, which makes it a lock. */
  link(from: string, to: string): void;
  rename(from: string, to: string): void;
  /** While names are on their way to the device, as with every sync, another may have to wait for that. */
  renameLater(from: string, to: string, done: Done): void;
  unlink(path: string): void;
  /** Freeing a long file takes the device a while. */
  unlinkLater(path: string, done: Done): void;
  /** Returns when the names in the directory are on the device. */
  syncDirectory(path: string): void;
  syncDirectoryLater(path: string, done: Done): void;
}

/** Reads until `bytes` are full or the file ends; returns how many bytes were read. */
export function readAll(file: DiskFile, bytes: Uint8Array, position: number): number {
  let at = 0;
  while (at < bytes.length) {
    const count = file.read(bytes, at, bytes.length, position + at);
    if (count === 0) break;
    at += count;
  }
  return at;
}

/** A write takes less than it was given, and the system names no reason: it has none but room. */
export function noMoreBytes(path: string): Error {
  return Object.assign(new Error(`ENOSPC: ${path}: the disk takes no more bytes`), { code: 'ENOSPC' });
}

/** Writes all of bytes[from, to), however little one call takes. */
export function writeAll(file: DiskFile, bytes: Uint8Array, from: number, to: number, position: number): void {
  let at = from;
  while (at < to) {
    const count = file.write(bytes, at, to, position + (at - from));
    if (count === 0) throw noMoreBytes(file.path);
    at += count;
  }
}

/** The same without blocking. */
export async function readAllLater(file: DiskFile, bytes: Uint8Array, position: number): Promise<number> {
  let at = 0;
  while (at < bytes.length) {
    const count = await counted((done) => file.readLater(bytes, at, bytes.length, position + at, done));
    if (count === 0) break;
    at += count;
  }
  return at;
}

/** Writes all of `bytes` without blocking; they must not change before it is done. */
export async function writeAllLater(file: DiskFile, bytes: Uint8Array, position: number): Promise<void> {
  let at = 0;
  while (at < bytes.length) {
    const count = await counted((done) => file.writeLater(bytes, at, bytes.length, position + at, done));
    if (count === 0) throw noMoreBytes(file.path);
    at += count;
  }
}

export function syncLater(file: Pick<DiskFile, 'syncLater'>): Promise<void> {
  return finished((done) => file.syncLater(done));
}

export function truncateLater(file: Pick<DiskFile, 'truncateLater'>, size: number): Promise<void> {
  return finished((done) => file.truncateLater(size, done));
}

export function closeLater(file: Pick<DiskFile, 'closeLater'>): Promise<void> {
  return finished((done) => file.closeLater(done));
}

export function createLater(disk: Disk, path: string): Promise<void> {
  return finished((done) => disk.createLater(path, done));
}

export function syncDirectoryLater(disk: Disk, path: string): Promise<void> {
  return finished((done) => disk.syncDirectoryLater(path, done));
}

export function renameLater(disk: Disk, from: string, to: string): Promise<void> {
  return finished((done) => disk.renameLater(from, to, done));
}

export function unlinkLater(disk: Disk, path: string): Promise<void> {
  return finished((done) => disk.unlinkLater(path, done));
}

/** What is asked of a file; null where it is not there. */
export function present<T>(ask: () => T): T | null {
  try {
    return ask();
  } catch (error) {
    if (['ENOENT', 'ENOTDIR'].includes(errorCode(error))) return null;
    throw error;
  }
}

/** Opens a file, and closes it again when `use` returns or throws. */
export function withFile<T>(disk: Disk, path: string, mode: OpenMode, use: (file: DiskFile) => T): T {
  const file = disk.open(path, mode);
  try {
    return use(file);
  } finally {
    file.close();
  }
}

/** The whole of a small file, of at most `bytesMax` bytes; also of files under /proc, which claim to be empty. */
export function readWhole(disk: Disk, path: string, bytesMax: number): Buffer {
  const bytes = Buffer.alloc(bytesMax + 1);
  const count = withFile(disk, path, 'read', (file) => readAll(file, bytes, 0));
  // Whatever it is, it is not the file that belongs there.
  if (count > bytesMax) throw Object.assign(new Error(`${path}: longer than ${bytesMax} bytes`), { code: 'EFTYPE' });
  return bytes.subarray(0, count);
}

/** How the name of a file ends until all of it is there. */
export const TEMPORARY = '.tmp';

/** Makes a file whole or not at all: temporary name, sync, rename, sync of the directory. */
export function writeWhole(disk: Disk, path: string, bytes: Uint8Array): void {
  const temporary = path + TEMPORARY;
  if (disk.exists(temporary)) disk.unlink(temporary);
  withFile(disk, temporary, 'create', (file) => {
    writeAll(file, bytes, 0, bytes.length, 0);
    file.sync();
  });
  disk.rename(temporary, path);
  disk.syncDirectory(dirname(path));
}

/** Resolves when what `start` begins is done, rejects with what went wrong. */
export function finished(start: (done: Done) => void): Promise<void> {
  return new Promise((resolve, reject) => start((error) => (error === null ? resolve() : reject(error))));
}

export function counted(start: (done: Counted) => void): Promise<number> {
  return new Promise((resolve, reject) => start((error, count) => (error === null ? resolve(count) : reject(error))));
}

const FILE_MODE = 0o600;
const DIRECTORY_MODE = 0o700;
const ROOT = 0;
/** On Windows what is told of group and others means nothing. */
const RIGHTS = process.platform === 'win32' ? 0o700 : 0o777;
/** One system call moves less than 2 GiB. */
const CALL_BYTES_MAX = 1024 * 1024 * 1024;
/** Opening a pipe waits for somebody at its other end, unless it is told not to; Windows has neither. */
const AT_ONCE = fs.constants.O_NONBLOCK ?? 0;
/**
 * To read a file that is being written to gives it a new time of access each time, which Linux writes down; whoever
 * owns the file may leave that out.
 */
const NO_READ_TIME = fs.constants.O_NOATIME ?? 0;
const FLAGS = {
  read: fs.constants.O_RDONLY | AT_ONCE,
  write: fs.constants.O_RDWR | AT_ONCE,
  create: 'wx+',
} as const satisfies Record<OpenMode, string | number>;

/**
 * Tells whether the name of an open file still leads to it. To ask what the name leads to also tells the file's times,
 * which makes the next write dear (log-file.ts): so that is asked once, and again only where the system has come to
 * call the open file by another name. Where a link or a mount puts another directory in the place of its own, this does
 * not show: there the lock is looked for.
 */
function watchPlace(fd: number, path: string): () => boolean {
  let own: string | null = null;
  let isLocal: boolean | null = null;
  let told: string | null = null;
  return () => {
    const name = nameOf(fd);
    if (name !== null && name === told) return true;
    told = null;
    own ??= identityIn(fs.fstatSync(fd, { bigint: true }));
    if (present(() => identity(path)) !== own) return false;
    // Elsewhere it may be another machine that moves files, and this one hears of it when it asks for them.
    isLocal ??= present(() => LOCAL.includes(fs.statfsSync(path).type));
    // What is called otherwise is found by a link, a hard one too, and keeps what it is called when the link goes.
    if (isLocal && name === realName(path)) told = name;
    return true;
  };
}

/** The name by way of no link but the last part of it; null where it leads nowhere. */
function realName(path: string): string | null {
  return present(() => join(fs.realpathSync(dirname(path)), basename(path)));
}

/** What Linux calls an open file, and that it was removed; null where /proc is not there, or hidden from us. */
function nameOf(fd: number): string | null {
  try {
    return fs.readlinkSync(`/proc/self/fd/${fd}`);
  } catch {
    return null;
  }
}

function callBytes(from: number, to: number): number {
  return Math.min(to - from, CALL_BYTES_MAX);
}

function openFile(path: string, mode: OpenMode): DiskFile {
  const fd = openKnown(path, mode);
  const isInPlace = watchPlace(fd, path);
  // Node names no file where the system was given none but its number: a bad sector would be anywhere.
  const named = <E>(error: E): E => nameFile(error, path);
  const call = <T>(work: () => T): T => {
    try {
      return work();
    } catch (error) {
      throw named(error);
    }
  };
  const counts =
    (done: Counted): Counted =>
    (error, count) =>
      done(named(error), count);
  const tells =
    (done: Done): fs.NoParamCallback =>
    (error) =>
      done(named(error ?? null));
  return {
    path,
    size: () => call(() => fs.fstatSync(fd).size),
    isInPlace: () => call(isInPlace),
    read: (bytes, from, to, position) => call(() => fs.readSync(fd, bytes, from, callBytes(from, to), position)),
    readLater: (bytes, from, to, position, done) =>
      fs.read(fd, bytes, from, callBytes(from, to), position, counts(done)),
    write: (bytes, from, to, position) => call(() => fs.writeSync(fd, bytes, from, callBytes(from, to), position)),
    writeLater: (bytes, from, to, position, done) =>
      fs.write(fd, bytes, from, callBytes(from, to), position, counts(done)),
    truncate: (size) => call(() => fs.ftruncateSync(fd, size)),
    truncateLater: (size, done) => fs.ftruncate(fd, size, tells(done)),
    sync: () => call(() => fs.fdatasyncSync(fd)),
    syncLater: (done) => fs.fdatasync(fd, tells(done)),
    close: () => call(() => fs.closeSync(fd)),
    closeLater: (done) => fs.close(fd, tells(done)),
  };
}

/** Room that whoever is not root has on the file system there. */
export function freeBytes(path: string): number {
  const { bavail, bsize } = fs.statfsSync(path);
  return bavail * bsize;
}

/**
 * Blocks go to the device as they are, and the call ends when it has them; of what is not Linux only some know both.
 */
const SYNCED = fs.constants.O_RDWR | (fs.constants.O_DIRECT ?? 0) | (fs.constants.O_DSYNC ?? 0);
const KNOWS_SYNCED = fs.constants.O_DIRECT !== undefined && fs.constants.O_DSYNC !== undefined;

/**
 * File systems of which it was tried that such a write ends when the device has it, as statfs(2) tells them, and that
 * this machine alone changes. Others may take it and leave the sync out, and nobody says so: those that are the work of
 * another program (FUSE) do.
 */
const LOCAL: readonly number[] = [
  0xef53, // ext2, ext3, ext4
  0x58465342, // xfs
  0x9123683e, // btrfs
  0x794c7630, // overlayfs
  0x01021994, // tmpfs
];

function openSynced(path: string): SyncedFile | null {
  if (!KNOWS_SYNCED || !LOCAL.includes(fs.statfsSync(path).type)) return null;
  let fd: number;
  try {
    fd = fs.openSync(path, SYNCED);
  } catch (error) {
    // One in memory may not know it, nor overlayfs above one that does not.
    if (errorCode(error) === 'EINVAL') return null;
    throw error;
  }
  return {
    writeLater: (bytes, from, to, position, done) =>
      fs.write(fd, bytes, from, callBytes(from, to), position, (error, count) => done(nameFile(error, path), count)),
    readLater: (bytes, from, to, position, done) =>
      fs.read(fd, bytes, from, callBytes(from, to), position, (error, count) => done(nameFile(error, path), count)),
    closeLater: (done) => fs.close(fd, (error) => done(nameFile(error ?? null, path))),
  };
}

/**
 * Memory that can be resized lies on pages of the system's of its own, which others need not. (The library of types
 * that tsconfig.json names is older than it.)
 */
export function pageAligned(bytes: number, maxByteLength: number): ResizableBuffer {
  const Resizable = ArrayBuffer as unknown as new (bytes: number, limits: { maxByteLength: number }) => ResizableBuffer;
  return new Resizable(bytes, { maxByteLength });
}

type ResizableBuffer = ArrayBuffer & { resize(bytes: number): void };

/** Makes an error of the system tell which file it was, as those of calls by name do. */
function nameFile<E>(error: E, path: string): E {
  if (errorCode(error) !== '')
    Object.assign(error as Error, { message: `${(error as Error).message} '${path}'`, path });
  return error;
}

/** Node's own answers no to whatever goes wrong: books that may not be looked at were taken for no books. */
function exists(path: string): boolean {
  return present(() => fs.statSync(path)) !== null;
}

/** Opens a file; what else may have its name is told by it, as the system's calls on it would not. */
function openKnown(path: string, mode: OpenMode): number {
  const fd = openAny(path, mode);
  const stat = fs.fstatSync(fd);
  if (stat.isFile()) return fd;
  fs.closeSync(fd);
  throw notAFile(path, stat.isDirectory());
}

function openAny(path: string, mode: OpenMode): number {
  try {
    if (mode === 'write') return openUntimed(path) ?? fs.openSync(path, FLAGS.write);
    const fd = fs.openSync(path, FLAGS[mode], FILE_MODE);
    const untimed = mode === 'create' ? openUntimed(path) : null;
    if (untimed === null) return fd;
    fs.closeSync(fd);
    return untimed;
  } catch (error) {
    // A socket cannot be opened at all.
    if (errorCode(error) === 'ENXIO') throw notAFile(path, false);
    throw error;
  }
}

/** To read and write, without times of reading; null where that is not ours to ask, or it cannot be opened at all. */
function openUntimed(path: string): number | null {
  try {
    return fs.openSync(path, FLAGS.write | NO_READ_TIME);
  } catch {
    return null;
  }
}

function notAFile(path: string, isDirectory: boolean): Error {
  const what = isDirectory ? 'a directory' : 'no file';
  return Object.assign(new Error(`${path} is ${what}`), { code: isDirectory ? 'EISDIR' : 'EFTYPE' });
}

function identity(path: string): string {
  return identityIn(fs.statSync(path, { bigint: true }));
}

function identityIn({ dev, ino }: fs.BigIntStats): string {
  return `${dev}:${ino}`;
}

function syncDirectory(path: string): void {
  const fd = fs.openSync(path, 'r');
  try {
    fs.fsyncSync(fd);
  } catch (error) {
    throw nameFile(error, path);
  } finally {
    fs.closeSync(fd);
  }
}

export const realDisk: Disk = {
  open: openFile,
  createLater(path, done) {
    fs.open(path, FLAGS.create, FILE_MODE, (openError, fd) => {
      if (openError !== null) return done(openError);
      fs.close(fd, (closeError) => done(nameFile(closeError ?? null, path)));
    });
  },
  openSynced,
  exists,
  rights(path) {
    const { mode, uid } = fs.statSync(path);
    return { mode: mode & RIGHTS, isRoots: uid === ROOT && process.geteuid?.() !== ROOT };
  },
  identity,
  isShared(path) {
    const stat = fs.lstatSync(path);
    return stat.isSymbolicLink() || stat.nlink > 1;
  },
  readdir: (path) => fs.readdirSync(path).sort(),
  mkdir(path) {
    const missing: string[] = [];
    let there = resolve(path);
    for (; !fs.existsSync(there); there = dirname(there)) missing.unshift(there);
    if (missing.some(isMisread)) throw notUtf8(path);
    syncName(there);
    // One after the other: Node's own way down tells ENOENT of a disk that is mounted read-only, and in /proc never
    // ends.
    for (const made of missing.length > 0 ? missing : [path]) {
      makeDirectory(made);
      // Each new name must outlive a power cut: it lies in the directory above it.
      if (missing.length > 0) syncDirectory(dirname(made));
    }
  },
  rmdir: (path) => fs.rmdirSync(path),
  link: (from, to) => fs.linkSync(from, to),
  rename: (from, to) => fs.renameSync(from, to),
  renameLater: (from, to, done) => fs.rename(from, to, done),
  unlink: (path) => fs.unlinkSync(path),
  unlinkLater: (path, done) => fs.unlink(path, done),
  syncDirectory,
  syncDirectoryLater(path, done) {
    fs.open(path, 'r', (openError, fd) => {
      if (openError !== null) return done(openError);
      fs.fsync(fd, (syncError) => fs.close(fd, (closeError) => done(nameFile(syncError ?? closeError ?? null, path))));
    });
  },
};

/**
 * Whether the name may be what Node made of another: it reads bytes that are not UTF-8 as this character, and would
 * make a directory of its own beside the one that was named, on whatever disk that is.
 */
function isMisread(path: string): boolean {
  return basename(path).includes('\uFFFD');
}

function notUtf8(path: string): Error {
  return Object.assign(new Error(`EILSEQ: a name that is not UTF-8, mkdir '${path}'`), { code: 'EILSEQ', path });
}

/**
 * Has the name of an empty directory on the device: it may have been made a moment ago, by a process that ended before
 * that was so, or was told that it is not. Who may not see to that has not made it.
 */
function syncName(path: string): void {
  try {
    if (fs.readdirSync(path).length === 0) syncDirectory(dirname(path));
  } catch (error) {
    if (errorCode(error) === 'EIO') throw error;
  }
}

/** Makes one directory, or leaves the one that is there, which another process may just have made. */
function makeDirectory(path: string): void {
  try {
    fs.mkdirSync(path, DIRECTORY_MODE);
  } catch (error) {
    if (errorCode(error) !== 'EEXIST' || !fs.statSync(path).isDirectory()) throw error;
  }
}
