/**
 * One process per directory. Two would both append to the journal and each tear what the other wrote.
 *
 * A lock is a file `lock-<number>` that names a process: pid, its start time and the boot it belongs to.
 * The highest number counts. It is held while that process runs; a process that is gone, is a zombie, or
 * whose pid has been given to another (other start time, other boot) holds nothing. To take the lock is to
 * make the next number with `link`, which fails where the name exists: of two that saw the same dead lock
 * one wins. Who lets it go empties the file and leaves it there: that can be done on a full disk too, and numbers do
 * not go back. Whoever looked long ago, and makes a number that is free again since, finds a higher one when it
 * looks once more, and has not won. Only one that cannot take the earlier locks away gives its own number back.
 *
 * A copy of the directory has the lock file too, under another path and of another identity: that holds nothing. Nor
 * does one that was put in the directory's place: what is written to files that are open would not be in it.
 *
 * Processes in another pid namespace (another container on the same volume) cannot be seen: they look dead, and whoever
 * comes later takes the lock from them. They see that their file is gone, and write no more (held-disk.ts).
 */
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { type Disk, present, readWhole, writeAll } from './disk.ts';
import { errorCode } from './system-error.ts';

const LOCK_NAME = /^lock-(\d{10})$/;
const OFFER_NAME = /^lock\.[0-9a-f]{16}\.tmp$/;
/** It names the directory: a path of 4095 bytes at most, of which JSON writes some as six. */
const LOCK_BYTES_MAX = 32 * 1024;
const STAT_BYTES_MAX = 4096;
/** Someone else took the lock in between: look again. More often than this it is not chance. */
const ATTEMPTS_MAX = 100;
/** Its name has ten digits. */
const NUMBER_MAX = 9_999_999_999;

/** Why no lock can be taken, though nobody holds one. */
export class LockError extends Error {
  override name = 'LockError';
}

export class LockedError extends Error {
  override name = 'LockedError';

  /** `unsure`: the lock file, where nobody can tell whether the process is the one that took it. */
  constructor(directory: string, pid: number, unsure: string | null) {
    const hint =
      unsure === null ? '' : `. Without /proc it may be another that has its number now: then remove ${unsure}`;
    super(`${directory} is in use by process ${pid}; stop that one first, or use another directory${hint}`);
  }
}

/** The lock went while this process ran, or the file that it writes to. */
export class LockLostError extends Error {
  override name = 'LockLostError';

  constructor(directory: string, what: string) {
    super(
      `${directory} is not this server's any more: its ${what}. Another server has taken the directory, one that cannot see this process (in another container, say), or it was moved, removed, or put back from a copy. What was acknowledged is in the files as they were then; nothing was acknowledged since. See that one server runs on the directory, and start again`,
    );
  }
}

/** What systems answer where two names cannot lead to one file. */
export const NO_LINKS = ['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS'];

export interface Lock {
  /** Throws LockLostError where the lock is this process's no more. */
  check(): void;
  /** Lets others in. Does nothing the second time. */
  release(): void;
}

/** Of who holds none, since it writes nothing. */
export const NO_LOCK: Lock = { check() {}, release() {} };

interface LockOptions {
  /** The process that takes the lock; this one by default. */
  pid?: number;
  /** Whether a process runs, asked where there is no /proc. */
  isRunning?(pid: number): boolean;
}

/**
 * What a lock file says. `boot` is '' where there is no /proc, and `start` then a word that each process makes for
 * itself.
 */
interface Holder {
  pid: number;
  start: string;
  boot: string;
}

/** Where there is no /proc: this process, and no other that has its number, as the next of a container has. */
const OWN_START = randomBytes(8).toString('hex');

/** Of which directory it is, and which file. */
interface Place {
  of: string;
  file: string;
}

/** Takes the lock, or throws LockedError or LockError. The directory must exist. */
export function acquireLock(disk: Disk, directory: string, options: LockOptions = {}): Lock {
  const pid = options.pid ?? process.pid;
  const isRunning = ({ pid: other, start }: Holder) =>
    other === pid ? start === OWN_START : (options.isRunning ?? signalReaches)(other);
  const boot = bootOf(disk);
  const holder: Holder = { pid, start: boot === '' ? OWN_START : (processState(disk, pid)?.start ?? ''), boot };
  for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt++) {
    const number = offerOnce(disk, directory, holder, isRunning);
    if (number === 0) continue;
    const lock = held(disk, directory, number);
    removeLeft(disk, directory, isRunning);
    return lock;
  }
  throw new LockError(`${directory}: the lock changes hands too often; start again when fewer servers try to`);
}

function offerOnce(disk: Disk, directory: string, holder: Holder, isRunning: (holder: Holder) => boolean): number {
  const offer = writeOffer(disk, directory, holder);
  try {
    return tryLock(disk, directory, offer, isRunning);
  } finally {
    // Who does not see this process may have taken it away.
    remove(disk, offer);
  }
}

/**
 * Takes away offers that were left there: their process was ended, or the device failed, before they could go. Of one
 * that says nothing (yet) nobody can tell whether its start is under way: it stays.
 */
function removeLeft(disk: Disk, directory: string, isRunning: (holder: Holder) => boolean): void {
  for (const name of disk.readdir(directory).filter((name) => OFFER_NAME.test(name))) {
    try {
      const holder = readHolder(disk, directory, name);
      if (holder !== null && !holds(disk, holder, isRunning)) remove(disk, join(directory, name));
    } catch (error) {
      // It is in nobody's way.
      if (errorCode(error) === '') throw error;
    }
  }
}

/** One attempt; returns the lock's number, or 0 where another process was faster. */
function tryLock(disk: Disk, directory: string, offer: string, isRunning: (holder: Holder) => boolean): number {
  const highest = lockNumbers(disk, directory).at(-1) ?? 0;
  if (highest > 0) {
    const name = lockName(highest);
    const holder = readHolder(disk, directory, name);
    if (holder !== null && holds(disk, holder, isRunning))
      throw new LockedError(directory, holder.pid, holder.boot === '' ? join(directory, name) : null);
  }
  if (highest === NUMBER_MAX) {
    const last = join(directory, lockName(highest));
    throw new LockError(`${last} has the last number a lock can have; take it away, if no server runs on ${directory}`);
  }
  const number = highest + 1;
  const path = join(directory, lockName(number));
  try {
    disk.link(offer, path);
  } catch (error) {
    const code = errorCode(error);
    // Of a directory that is gone the next offer tells.
    if (code === 'EEXIST' || code === 'ENOENT') return 0;
    if (!NO_LINKS.includes(code)) throw error;
    // The offer was written, so it is no matter of rights.
    throw new LockError(
      `${directory} lies on a file system without hard links (${code}), as FAT and some network shares are; the lock of the directory is made by one. Use a directory on another; that of the server is named by --data`,
    );
  }
  const numbers = lockNumbers(disk, directory);
  if (numbers.at(-1) !== number) {
    remove(disk, path);
    return 0;
  }
  try {
    for (const old of numbers) if (old < number) remove(disk, join(directory, lockName(old)));
  } catch (error) {
    // Who had it may not see this process, goes on, and is to be found by those who see it.
    remove(disk, path);
    throw error;
  }
  return number;
}

function held(disk: Disk, directory: string, number: number): Lock {
  const name = lockName(number);
  const path = join(directory, name);
  const lost = () => new LockLostError(directory, `${name} is gone`);
  // As long as it is open no other file can have its identity.
  const file = present(() => disk.open(path, 'write'));
  if (file === null) throw lost();
  const identity = present(() => disk.identity(path));
  if (identity === null) {
    // Taken since it was opened: nothing would ever differ from what is not there.
    file.close();
    throw lost();
  }
  let released = false;
  const check = () => {
    if (!released && present(() => disk.identity(path)) !== identity) throw lost();
  };
  return {
    check,
    release() {
      if (released) return;
      check();
      released = true;
      try {
        file.truncate(0);
      } finally {
        file.close();
      }
    },
  };
}

function lockName(number: number): string {
  return `lock-${String(number).padStart(10, '0')}`;
}

function lockNumbers(disk: Disk, directory: string): number[] {
  return disk.readdir(directory).flatMap((name) => {
    const match = LOCK_NAME.exec(name);
    return match === null ? [] : [Number(match[1])];
  });
}

/** A file under a name of its own, to be linked to a lock's. */
function writeOffer(disk: Disk, directory: string, holder: Holder): string {
  const path = join(directory, `lock.${randomBytes(8).toString('hex')}.tmp`);
  const file = disk.open(path, 'create');
  try {
    const place: Place = { of: directory, file: disk.identity(path) };
    const bytes = Buffer.from(`${JSON.stringify({ ...holder, ...place })}\n`);
    writeAll(file, bytes, 0, bytes.length, 0);
  } catch (error) {
    // Where the disk is full, each start would leave another one.
    disk.unlink(path);
    throw error;
  } finally {
    file.close();
  }
  return path;
}

/**
 * Who a lock file names; null where it was let go or taken, where its text was lost in a power cut that ended its
 * holder too, or where it was copied with its directory. Of two names of one directory, a mount say, the file is one.
 */
function readHolder(disk: Disk, directory: string, name: string): Holder | null {
  const path = join(directory, name);
  try {
    const value: unknown = JSON.parse(readWhole(disk, path, LOCK_BYTES_MAX).toString());
    if (typeof value !== 'object' || value === null) return null;
    const { pid, start, boot, of, file } = value as Partial<Holder & Place>;
    if (!Number.isSafeInteger(pid) || typeof start !== 'string' || typeof boot !== 'string') return null;
    // Locks of earlier versions do not tell their place.
    if (of !== undefined && of !== directory && file !== disk.identity(path)) return null;
    return { pid: pid!, start, boot };
  } catch (error) {
    if (error instanceof SyntaxError || errorCode(error) === 'ENOENT') return null;
    throw error;
  }
}

function holds(disk: Disk, holder: Holder, isRunning: (holder: Holder) => boolean): boolean {
  const boot = bootOf(disk);
  if (boot !== holder.boot) return false;
  if (boot === '') return isRunning(holder);
  const state = processState(disk, holder.pid);
  return state !== null && state.state !== 'Z' && state.state !== 'X' && state.start === holder.start;
}

/** Which start of the machine this is, or '' where there is no /proc. */
function bootOf(disk: Disk): string {
  return readText(disk, '/proc/sys/kernel/random/boot_id') ?? '';
}

/** State letter and start time of a process (proc(5), fields 3 and 22), or null where it is gone. */
function processState(disk: Disk, pid: number): { state: string; start: string } | null {
  const stat = readText(disk, `/proc/${pid}/stat`);
  if (stat === null) return null;
  // Field 2 is the program's name in parentheses, which may itself hold spaces and parentheses.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return { state: fields[0] ?? '', start: fields[19] ?? '' };
}

function readText(disk: Disk, path: string): string | null {
  try {
    return readWhole(disk, path, STAT_BYTES_MAX).toString().trim();
  } catch (error) {
    if (errorCode(error) === 'ENOENT' || errorCode(error) === 'ESRCH') return null;
    throw error;
  }
}

function signalReaches(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return errorCode(error) === 'EPERM';
  }
}

function remove(disk: Disk, path: string): void {
  try {
    disk.unlink(path);
  } catch (error) {
    if (errorCode(error) !== 'ENOENT') throw error;
  }
}
