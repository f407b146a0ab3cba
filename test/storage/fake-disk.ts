/**
 * A disk in memory that can be torn, from one seed: what was written and what was synced are kept apart,
 * and `crash` decides by chance what of the difference survives.
 *
 * What it takes from real disks: a sector of 512 bytes is written whole or not at all, or noise is found
 * where it should have changed; bytes next to the ones written are safe; unsynced sectors survive in any subset; a new name, a rename or an unlink survives or not until
 * its directory is synced, apart from the file's content; a failed sync forgets what it should have
 * written, and the next sync says all is well without it. What always holds: synced bytes under a synced
 * name are there after every crash; a `…Later` call reports once, never before it returned, and never
 * after a crash.
 */
import { constants } from 'node:os';
import { dirname } from 'node:path';
import {
  BLOCK_BYTES,
  type Counted,
  type Disk,
  type DiskFile,
  type Done,
  type OpenMode,
  type Rights,
  readAllLater,
  type SyncedFile,
} from '../../src/storage/disk.ts';

export const SECTOR_BYTES = 512;

export type Call =
  | 'open'
  | 'read'
  | 'write'
  | 'truncate'
  | 'sync'
  | 'close'
  | 'readdir'
  | 'mkdir'
  | 'link'
  | 'rename'
  | 'unlink'
  | 'syncDirectory';

/** A fault to come. */
export interface Fault {
  call: Call;
  /** Only calls on paths that hold this text. */
  path?: string;
  /** So many such calls go well before. */
  skip?: number;
  /** How many calls fail, 1 by default. */
  times?: number;
  /** 'ENOSPC', 'EIO', 'EROFS', …; or with `short` none. */
  code?: string;
  /** Instead of failing, read or write no more than so many bytes. */
  short?: number;
}

/** Runs something after the present call is over; a simulator puts its clock here. */
export type Schedule = (run: () => void, call: Call) => void;

interface Inode {
  /** As programs see it. */
  bytes: Buffer;
  size: number;
  /** As it is on the device. */
  durable: Buffer;
  durableSize: number;
  /** Sectors whose two versions differ and that a sync will write. */
  dirty: Set<number>;
  /** Syncs that have begun, and the latest of these that has ended. */
  syncs: number;
  synced: number;
}

function inodeOf(content: Uint8Array): Inode {
  const { length } = content;
  const [bytes, durable] = [Buffer.from(content), Buffer.from(content)];
  return { bytes, size: length, durable, durableSize: length, dirty: new Set(), syncs: 0, synced: 0 };
}

type NameChange = { directory: string; set?: [string, Inode]; remove?: string };

/** A generator of numbers from 0 up to 1 (mulberry32, public domain, Tommy Ettinger). */
export function randomFrom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 0x1_0000_0000;
  };
}

export class FakeDisk implements Disk {
  /** How often each call was made. */
  readonly calls = new Map<Call, number>();
  readonly #random: () => number;
  readonly #schedule: Schedule;
  readonly #knowsSynced: boolean;
  readonly #directories = new Set<string>(['/']);
  #names = new Map<string, Inode>();
  #durableNames = new Map<string, Inode>();
  #changes: NameChange[] = [];
  #faults: Required<Fault>[] = [];
  #life = 0;
  readonly #identities = new WeakMap<Inode, number>();
  #identified = 0;
  #heldSyncs: (() => void)[] | null = null;
  #openFiles: string[] = [];

  /** Files can be written past the page cache where the seed is even. */
  constructor(seed = 1, schedule: Schedule = queueMicrotask) {
    this.#random = randomFrom(seed);
    this.#schedule = schedule;
    this.#knowsSynced = seed % 2 === 0;
  }

  /** Paths of the files that nobody has closed. */
  get openFiles(): readonly string[] {
    return this.#openFiles;
  }

  // Faults

  /** Adds a fault; faults are tried in the order they were added. */
  inject(fault: Fault): void {
    this.#faults.push({ path: '', skip: 0, times: 1, code: '', short: -1, ...fault });
  }

  /** Takes back the faults that have not come. */
  heal(): void {
    this.#faults = [];
  }

  /** From now on asynchronous syncs wait for `releaseSyncs`. */
  holdSyncs(): void {
    this.#heldSyncs ??= [];
  }

  releaseSyncs(): void {
    const held = this.#heldSyncs ?? [];
    this.#heldSyncs = null;
    for (const run of held) run();
  }

  /** The power goes: files that were open are dead, and chance decides about everything unsynced. */
  crash(): void {
    this.#life += 1;
    this.#openFiles = [];
    this.#heldSyncs = this.#heldSyncs === null ? null : [];
    for (const inode of new Set([...this.#names.values(), ...this.#durableNames.values()])) this.#tear(inode);
    for (const change of this.#changes) {
      if (this.#random() < 0.5) applyChange(this.#durableNames, change);
    }
    this.#changes = [];
    this.#names = new Map(this.#durableNames);
  }

  /** The process ends, the machine goes on: nothing is lost but what was on its way. */
  kill(): void {
    this.#life += 1;
    this.#openFiles = [];
    this.#heldSyncs = this.#heldSyncs === null ? null : [];
  }

  #tear(inode: Inode): void {
    const size = this.#tornSize(inode);
    const next = Buffer.alloc(Math.max(size, inode.durable.length));
    inode.durable.copy(next, 0, 0, inode.durableSize);
    for (const sector of inode.dirty) {
      const from = sector * SECTOR_BYTES;
      const chance = this.#random();
      if (chance < 0.4) inode.bytes.copy(next, from, from, from + SECTOR_BYTES);
      else if (chance < 0.6) this.#noise(inode, next, from, Math.min(from + SECTOR_BYTES, next.length));
    }
    next.fill(0, size);
    inode.durable = next;
    inode.durableSize = size;
    inode.bytes = Buffer.from(next);
    inode.size = size;
    inode.dirty.clear();
  }

  #tornSize(inode: Inode): number {
    const chance = this.#random();
    if (chance < 0.25) return inode.durableSize;
    if (chance < 0.75) return inode.size;
    const [low, high] = [Math.min(inode.size, inode.durableSize), Math.max(inode.size, inode.durableSize)];
    return low + Math.floor(this.#random() * (high - low + 1));
  }

  /** Bytes that the lost write would not have changed stay as they are. */
  #noise(inode: Inode, next: Buffer, from: number, to: number): void {
    for (let at = from; at < to; at++) {
      if (at >= inode.durableSize || next[at] !== inode.bytes[at]) next[at] = Math.floor(this.#random() * 256);
    }
  }

  // A look from outside, past every fault

  /** Names of files in a directory, sorted. */
  namesIn(path: string): string[] {
    return [...this.#names.keys()]
      .filter((name) => dirname(name) === path)
      .map((name) => name.slice(path.length + 1))
      .sort();
  }

  /** A file's bytes, copied; fails where there is none. */
  bytesOf(path: string): Buffer {
    const inode = this.#inode(path);
    return Buffer.from(inode.bytes.subarray(0, inode.size));
  }

  /** The device changes a byte that somebody may be writing behind: it is another one, whoever has the file open. */
  flip(path: string, at: number): void {
    const inode = this.#inode(path);
    for (const bytes of [inode.bytes, inode.durable]) if (at < bytes.length) bytes[at]! ^= 1;
  }

  /** Whether a power cut now would leave the file as programs see it, under this name. */
  isDurable(path: string): boolean {
    const inode = this.#inode(path);
    return (
      this.#durableNames.get(path) === inode &&
      inode.size === inode.durableSize &&
      inode.bytes.subarray(0, inode.size).equals(inode.durable.subarray(0, inode.size))
    );
  }

  /** Puts a file there, synced; `null` takes it away. */
  put(path: string, bytes: Uint8Array | null): void {
    this.#names.delete(path);
    this.#durableNames.delete(path);
    if (bytes === null) return;
    const inode = inodeOf(bytes);
    this.#names.set(path, inode);
    this.#durableNames.set(path, inode);
    this.#makeDirectories(dirname(path));
  }

  // Disk

  open(path: string, mode: OpenMode): DiskFile {
    this.#meet('open', path);
    if (mode === 'create') {
      if (this.#names.has(path)) throw systemError('EEXIST', 'open', path);
      this.#needDirectory(dirname(path), 'open');
      this.#change({ directory: dirname(path), set: [path, inodeOf(NO_BYTES)] });
    }
    return this.#file(path, this.#inode(path), mode !== 'read');
  }

  createLater(path: string, done: Done): void {
    this.#begun('open', () => this.open(path, 'create').close(), done);
  }

  /** Writes that report when they are synced; until then they are as unsafe as any. */
  openSynced(path: string): SyncedFile | null {
    if (!this.#knowsSynced) return null;
    const file = this.open(path, 'write');
    const needBlocks = (...places: number[]) => {
      const misfit = places.find((at) => at % BLOCK_BYTES !== 0);
      if (misfit !== undefined) throw new Error(`${path}: ${misfit} is no multiple of ${BLOCK_BYTES}`);
    };
    return {
      readLater: (bytes, from, to, position, done) => {
        needBlocks(bytes.length, from, to, position);
        readAllLater(file, bytes.subarray(from, to), position).then(
          (count) => done(null, count),
          (error: Error) => done(error, 0),
        );
      },
      writeLater: (bytes, from, to, position, done) => {
        needBlocks(bytes.length, from, to, position);
        let count = 0;
        try {
          count = file.write(bytes, from, to, position);
        } catch (error) {
          this.#later(
            'write',
            () => fail(error),
            (failure) => done(failure, 0),
          );
          return;
        }
        file.syncLater((error) => done(error, error === null ? count : 0));
      },
      closeLater: (done) => file.closeLater(done),
    };
  }

  exists(path: string): boolean {
    return this.#names.has(path) || this.#directories.has(path);
  }

  /** What a file is made with; nothing here changes them. */
  rights(path: string): Rights {
    this.#inode(path);
    return { mode: 0o600, isRoots: false };
  }

  identity(path: string): string {
    const inode = this.#inode(path);
    const number = this.#identities.get(inode) ?? ++this.#identified;
    this.#identities.set(inode, number);
    return String(number);
  }

  isShared(path: string): boolean {
    const inode = this.#inode(path);
    return [...this.#names.values()].filter((other) => other === inode).length > 1;
  }

  readdir(path: string): string[] {
    this.#meet('readdir', path);
    this.#needDirectory(path, 'readdir');
    return this.namesIn(path);
  }

  mkdir(path: string): void {
    this.#meet('mkdir', path);
    this.#makeDirectories(path);
  }

  rmdir(path: string): void {
    if (this.readdir(path).length > 0) throw systemError('ENOTEMPTY', 'rmdir', path);
    this.#directories.delete(path);
  }

  link(from: string, to: string): void {
    this.#meet('link', to);
    const inode = this.#inode(from);
    if (this.#names.has(to)) throw systemError('EEXIST', 'link', to);
    this.#change({ directory: dirname(to), set: [to, inode] });
  }

  rename(from: string, to: string): void {
    this.#meet('rename', to);
    this.#change({ directory: dirname(to), set: [to, this.#inode(from)], remove: from });
  }

  renameLater(from: string, to: string, done: Done): void {
    this.#later('rename', () => this.rename(from, to), done);
  }

  unlink(path: string): void {
    this.#meet('unlink', path);
    this.#inode(path);
    this.#change({ directory: dirname(path), remove: path });
  }

  unlinkLater(path: string, done: Done): void {
    this.#later('unlink', () => this.unlink(path), done);
  }

  syncDirectory(path: string): void {
    this.#meet('syncDirectory', path);
    this.#needDirectory(path, 'fsync');
    this.#syncNames(path, this.#changes.length);
  }

  syncDirectoryLater(path: string, done: Done): void {
    const count = this.#changes.length;
    const sync = () => {
      this.#meet('syncDirectory', path);
      this.#syncNames(path, count);
    };
    this.#laterSync('syncDirectory', sync, done);
  }

  #syncNames(path: string, count: number): void {
    const rest: NameChange[] = [];
    for (const [index, change] of this.#changes.entries()) {
      if (index < count && change.directory === path) applyChange(this.#durableNames, change);
      else rest.push(change);
    }
    this.#changes = rest;
  }

  #change(change: NameChange): void {
    applyChange(this.#names, change);
    this.#changes.push(change);
  }

  #inode(path: string): Inode {
    const inode = this.#names.get(path);
    if (inode === undefined) throw systemError('ENOENT', 'open', path);
    return inode;
  }

  #needDirectory(path: string, call: string): void {
    if (!this.#directories.has(path)) throw systemError('ENOENT', call, path);
  }

  #makeDirectories(path: string): void {
    for (let at = path; !this.#directories.has(at); at = dirname(at)) this.#directories.add(at);
  }

  #file(path: string, inode: Inode, writable: boolean): DiskFile {
    const life = this.#life;
    let open = true;
    this.#openFiles.push(path);
    const alive = (call: string) => {
      if (!open || life !== this.#life) throw systemError('EBADF', call, path);
    };
    const read = (bytes: Uint8Array, from: number, to: number, position: number): number => {
      alive('read');
      const short = this.#meet('read', path);
      const count = Math.min(to - from, Math.max(0, inode.size - position), short);
      bytes.set(inode.bytes.subarray(position, position + count), from);
      return count;
    };
    const write = (bytes: Uint8Array, from: number, to: number, position: number): number => {
      alive('write');
      if (!writable) throw systemError('EBADF', 'write', path);
      const short = this.#meet('write', path);
      const count = Math.min(to - from, short);
      writeInode(inode, bytes.subarray(from, from + count), position);
      return count;
    };
    const sync = (): (() => void) => {
      alive('sync');
      const written = capture(inode);
      return () => {
        try {
          this.#meet('sync', path);
        } catch (error) {
          inode.dirty.clear();
          throw error;
        }
        written();
      };
    };
    const truncate = (size: number) => {
      alive('truncate');
      this.#meet('truncate', path);
      truncateInode(inode, size);
    };
    const close = () => {
      alive('close');
      open = false;
      this.#openFiles.splice(this.#openFiles.indexOf(path), 1);
      this.#meet('close', path);
    };
    return {
      path,
      size: () => {
        alive('fstat');
        return inode.size;
      },
      isInPlace: () => this.#names.get(path) === inode,
      read,
      readLater: (bytes, from, to, position, done) =>
        this.#laterCount('read', () => read(bytes, from, to, position), done, life),
      write,
      writeLater: (bytes, from, to, position, done) =>
        this.#laterCount('write', () => write(bytes, from, to, position), done, life),
      truncate,
      truncateLater: (size, done) => this.#begun('truncate', () => truncate(size), done, life),
      sync: () => sync()(),
      syncLater: (done) => this.#laterSync('sync', sync(), done),
      close,
      closeLater: (done) => this.#later('close', close, done, life),
    };
  }

  /** Counts the call and lets a fault have it; returns how many bytes it may move. */
  #meet(call: Call, path: string): number {
    this.calls.set(call, (this.calls.get(call) ?? 0) + 1);
    const fault = this.#faults.find((one) => one.call === call && path.includes(one.path));
    if (fault === undefined) return Number.POSITIVE_INFINITY;
    if (fault.skip > 0) {
      fault.skip -= 1;
      return Number.POSITIVE_INFINITY;
    }
    fault.times -= 1;
    if (fault.times <= 0) this.#faults.splice(this.#faults.indexOf(fault), 1);
    if (fault.short >= 0) return fault.short;
    throw systemError(fault.code, call, path);
  }

  /** What it does is done at once, as a write past the page cache is, and told later. */
  #begun(call: Call, work: () => unknown, done: Done, life = this.#life): void {
    let failure: unknown = null;
    try {
      work();
    } catch (error) {
      failure = error;
    }
    this.#later(call, () => failure !== null && fail(failure), done, life);
  }

  #later(call: Call, work: () => unknown, done: Done, life = this.#life): void {
    this.#laterCount(
      call,
      () => {
        work();
        return 0;
      },
      (error) => done(error),
      life,
    );
  }

  /** `life`: in which the file was opened that it is about. */
  #laterCount(call: Call, work: () => number, done: Counted, life = this.#life): void {
    this.#schedule(() => {
      if (life !== this.#life) return;
      let count = 0;
      let failure: Error | null = null;
      try {
        count = work();
      } catch (error) {
        failure = error as Error;
      }
      done(failure, count);
    }, call);
  }

  #laterSync(call: Call, work: () => void, done: Done): void {
    if (this.#heldSyncs === null) this.#later(call, work, done);
    else this.#heldSyncs.push(() => this.#later(call, work, done));
  }
}

const NO_BYTES = new Uint8Array(0);

function applyChange(names: Map<string, Inode>, change: NameChange): void {
  if (change.remove !== undefined) names.delete(change.remove);
  if (change.set !== undefined) names.set(...change.set);
}

function writeInode(inode: Inode, bytes: Uint8Array, position: number): void {
  const end = position + bytes.length;
  if (end > inode.bytes.length) {
    const grown = Buffer.alloc(Math.max(end, 2 * inode.bytes.length));
    inode.bytes.copy(grown, 0, 0, inode.size);
    inode.bytes = grown;
  }
  inode.bytes.set(bytes, position);
  inode.size = Math.max(inode.size, end);
  const last = Math.floor((end - 1) / SECTOR_BYTES);
  for (let sector = Math.floor(position / SECTOR_BYTES); sector <= last; sector++) inode.dirty.add(sector);
}

function truncateInode(inode: Inode, size: number): void {
  if (size < inode.size) inode.bytes.fill(0, size);
  else if (size > inode.bytes.length) inode.bytes = Buffer.concat([inode.bytes], size);
  inode.size = size;
}

/** What a sync that begins now will have written when it ends: the sectors as they are at this moment. */
function capture(inode: Inode): () => void {
  const { size } = inode;
  const number = ++inode.syncs;
  const sectors = [...inode.dirty].map((sector) => {
    const from = sector * SECTOR_BYTES;
    return { sector, from, bytes: Buffer.from(inode.bytes.subarray(from, from + SECTOR_BYTES)) };
  });
  return () => {
    // Two processes may sync one file: what began later, and has ended, wrote all that this one would.
    if (number < inode.synced) return;
    inode.synced = number;
    if (size > inode.durable.length) {
      const grown = Buffer.alloc(Math.max(size, 2 * inode.durable.length));
      inode.durable.copy(grown, 0, 0, inode.durableSize);
      inode.durable = grown;
    }
    if (size < inode.durableSize) inode.durable.fill(0, size, inode.durableSize);
    for (const { sector, from, bytes } of sectors) {
      bytes.copy(inode.durable, from);
      if (inode.bytes.subarray(from, from + SECTOR_BYTES).equals(bytes)) inode.dirty.delete(sector);
    }
    inode.durableSize = size;
  };
}

/** Throws what it is given. */
function fail(error: unknown): never {
  throw error;
}

/** As Node tells it, which has no name for a quota that is used up; it says `UNKNOWN` too. */
function systemError(name: string, call: string, path: string): Error {
  if (name === 'EDQUOT') {
    const errno = -constants.errno.EDQUOT;
    const code = `Unknown system error ${errno}`;
    return Object.assign(new Error(`${code}: ${code}, ${call} '${path}'`), { code, errno });
  }
  return Object.assign(new Error(`${name}: ${call} '${path}'`), { code: name, syscall: call, path });
}
