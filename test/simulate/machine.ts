/**
 * Machines of which none sees the processes of another, on one volume: two containers, or two hosts with a disk between
 * them. Each has a clock and a /proc of its own; a process has its seat on one of them.
 *
 * Always holds: whoever has lost the lock begins no change of the volume any more. What a process began before is done,
 * unless it ends, and also while it stands still: it hears of that later. Where the power goes, it goes for all.
 */
import type { Counted, DiskFile, Done, OpenMode, SyncedFile } from '../../src/storage/disk.ts';
import type { TearableDisk } from '../engine/power.ts';
import type { FakeDisk } from '../storage/fake-disk.ts';
import type { Clock } from './clock.ts';
import type { Loop, Owner } from './loop.ts';
import { Violation } from './must.ts';

/** What /proc tells of all machines is kept here, where no server looks. */
const MACHINES = '/machines';
const PROC = '/proc/';
const PID_MIN = 7;

export class Machine {
  readonly name: string;
  readonly clock: Clock;
  readonly #disk: FakeDisk;

  /** Containers of one host have one `boot`. */
  constructor(name: string, boot: string, clock: Clock, disk: FakeDisk) {
    this.name = name;
    this.clock = clock;
    this.#disk = disk;
    disk.put(this.path('/proc/sys/kernel/random/boot_id'), Buffer.from(`${boot}\n`));
  }

  /** Where a path leads from here. */
  path(path: string): string {
    return path.startsWith(PROC) ? `${MACHINES}/${this.name}${path}` : path;
  }

  /** A process begins. */
  begin(pid: number, start: number): void {
    const state = `${pid} (node) S 1 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 ${start} 1000 10\n`;
    this.#disk.put(this.path(`/proc/${pid}/stat`), Buffer.from(state));
  }

  end(pid: number): void {
    this.#disk.put(this.path(`/proc/${pid}/stat`), null);
  }
}

/** All seats that are taken. */
export class Seats {
  readonly #taken = new Set<Seat>();
  readonly #loop: Loop;
  readonly #disk: FakeDisk;
  #begun = 0;

  constructor(loop: Loop, disk: FakeDisk) {
    this.#loop = loop;
    this.#disk = disk;
  }

  /** A process begins on a machine. Where there are few, as in containers, their numbers are the same on all. */
  take(machine: Machine): Seat {
    const there = [...this.#taken].flatMap((seat) => (seat.machine === machine ? [seat.pid] : []));
    let pid = PID_MIN;
    while (there.includes(pid)) pid++;
    machine.begin(pid, ++this.#begun);
    const seat = new Seat(this, machine, pid, this.#loop, this.#disk);
    this.#taken.add(seat);
    return seat;
  }

  /** The process ends; files that others have open live on. */
  leave(seat: Seat): void {
    this.#free(seat);
    if (this.#taken.size === 0) this.#disk.kill();
  }

  /** The power of the volume goes, and of all machines. */
  crash(): void {
    this.#disk.crash();
    const all = [...this.#taken];
    for (const seat of all) this.#free(seat);
    for (const seat of all) seat.onPowerGone();
  }

  #free(seat: Seat): void {
    if (this.#taken.delete(seat)) seat.machine.end(seat.pid);
  }
}

/** What a process asks its system for. */
export const ASKED = ['open', 'read', 'write', 'truncate', 'sync', 'close', 'unlink'] as const;
type Asked = (typeof ASKED)[number];

/** Where one process runs, and the volume as it sees it. */
export class Seat implements TearableDisk {
  readonly machine: Machine;
  readonly pid: number;
  readonly owner: Owner;
  /** The lock of the directory is another's. */
  hasLostLock = false;
  onPowerGone: () => void = () => {};
  /** The process has taken the lock, and read nothing yet. */
  onLocked: () => void = () => {};
  readonly #seats: Seats;
  readonly #loop: Loop;
  readonly #disk: FakeDisk;
  /** What the system does for it. */
  readonly #system: Owner;
  /** Who waits for it to ask for something. */
  #awaited: { readonly what: Asked; readonly comes: () => void } | null = null;

  constructor(seats: Seats, machine: Machine, pid: number, loop: Loop, disk: FakeDisk) {
    this.#seats = seats;
    this.machine = machine;
    this.pid = pid;
    this.#loop = loop;
    this.#disk = disk;
    const owner: Owner = { name: `${pid} of ${machine.name}`, isGone: false };
    this.owner = owner;
    this.#system = {
      name: `system for ${owner.name}`,
      get isGone() {
        return owner.isGone;
      },
    };
  }

  crash(): void {
    this.#seats.crash();
  }

  kill(): void {
    this.#seats.leave(this);
  }

  /** Resolves when it has asked for this once more, and before it hears of that. */
  next(what: Asked): Promise<void> {
    return new Promise((comes) => {
      this.#awaited = { what, comes };
    });
  }

  #asks(what: Asked): void {
    if (this.#awaited?.what === what) this.#awaited.comes();
  }

  /** Whatever changes the volume. */
  #change<T>(what: string, path: string, change: (path: string) => T): T {
    if (this.hasLostLock) this.#loop.fail(new Violation(`a server that has lost the lock does ${what} ${path}`));
    return change(path);
  }

  /** What the system does meanwhile is heard of where the process goes on. */
  #later<D extends (...news: never[]) => void>(what: Asked, begin: (done: D) => void, done: D): void {
    this.#asks(what);
    const hear = ((...news: never[]) => this.#loop.after(0, () => done(...news), this.owner)) as unknown as D;
    this.#loop.as(this.#system, () => begin(hear));
  }

  open(path: string, mode: OpenMode): DiskFile {
    const open = (at: string) => this.#disk.open(at, mode);
    this.#asks('open');
    const file = mode === 'create' ? this.#change('create', path, open) : open(this.machine.path(path));
    return {
      ...file,
      write: (bytes, from, to, position) => this.#change('write', path, () => file.write(bytes, from, to, position)),
      writeLater: (bytes, from, to, position, done) =>
        this.#change('write', path, () =>
          this.#later<Counted>('write', (end) => file.writeLater(bytes, from, to, position, end), done),
        ),
      readLater: (bytes, from, to, position, done) =>
        this.#later<Counted>('read', (end) => file.readLater(bytes, from, to, position, end), done),
      syncLater: (done) => this.#later<Done>('sync', (end) => file.syncLater(end), done),
      truncate: (size) => this.#change('truncate', path, () => file.truncate(size)),
      truncateLater: (size, done) =>
        this.#change('truncate', path, () =>
          this.#later<Done>('truncate', (end) => file.truncateLater(size, end), done),
        ),
      closeLater: (done) => this.#later<Done>('close', (end) => file.closeLater(end), done),
    };
  }

  createLater = (path: string, done: Done) =>
    this.#change('create', path, (at) => this.#later<Done>('open', (end) => this.#disk.createLater(at, end), done));

  openSynced(path: string): SyncedFile | null {
    this.#asks('open');
    const file = this.#disk.openSynced(path);
    if (file === null) return null;
    return {
      ...file,
      writeLater: (bytes, from, to, position, done) =>
        this.#change('write', path, () =>
          this.#later<Counted>('write', (end) => file.writeLater(bytes, from, to, position, end), done),
        ),
      closeLater: (done) => this.#later<Done>('close', (end) => file.closeLater(end), done),
    };
  }

  exists = (path: string) => this.#disk.exists(this.machine.path(path));
  identity = (path: string) => this.#disk.identity(path);
  isShared = (path: string) => this.#disk.isShared(path);
  rights = (path: string) => this.#disk.rights(path);
  readdir = (path: string) => this.#disk.readdir(path);
  mkdir = (path: string) => this.#change('mkdir', path, () => this.#disk.mkdir(path));
  rmdir = (path: string) => this.#change('rmdir', path, () => this.#disk.rmdir(path));
  link = (from: string, to: string) => this.#change('link', to, () => this.#disk.link(from, to));
  rename = (from: string, to: string) => this.#change('rename', to, () => this.#disk.rename(from, to));
  renameLater = (from: string, to: string, done: Done) =>
    this.#change('rename', to, () => this.#later<Done>('unlink', (end) => this.#disk.renameLater(from, to, end), done));
  unlink = (path: string) => this.#change('unlink', path, () => this.#disk.unlink(path));
  unlinkLater = (path: string, done: Done) =>
    this.#change('unlink', path, () => this.#later<Done>('unlink', (end) => this.#disk.unlinkLater(path, end), done));
  syncDirectory = (path: string) => this.#disk.syncDirectory(path);
  syncDirectoryLater = (path: string, done: Done) =>
    this.#later<Done>('sync', (end) => this.#disk.syncDirectoryLater(path, end), done);
}
