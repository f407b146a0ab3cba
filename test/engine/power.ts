/**
 * A disk whose power goes at a call chosen beforehand. Every call counts, and for a call that waits for the device its
 * end counts too, so a cut may fall between a sync and the news of it.
 *
 * Always holds: once the power is gone, nothing reaches the disk below and nothing is heard from it, so what still
 * runs of the process that died can change nothing. The disk below lives on for the next process.
 */
import type { Counted, Disk, DiskFile, Done, OpenMode, SyncedFile } from '../../src/storage/disk.ts';
import type { FakeDisk } from '../storage/fake-disk.ts';

/** What the code meets that runs when the power goes: in truth it would simply not be there any more. */
export class PowerCut extends Error {
  override name = 'PowerCut';
  readonly code = 'EPOWER';
}

/** A disk below whose processes may end, and whose power may go. */
export type TearableDisk = Disk & Pick<FakeDisk, 'crash' | 'kill'>;

export class Power implements Disk {
  /** Calls and ends of calls so far. */
  count = 0;
  isOff = false;
  /** Resolves when the power goes. */
  readonly gone: Promise<void>;
  readonly #disk: TearableDisk;
  #cutAt: number;
  #isSpared = false;
  readonly #goes: () => void;

  /** Cuts at the `cutAt`th call, counted from 1. */
  constructor(disk: TearableDisk, cutAt = Number.POSITIVE_INFINITY) {
    this.#disk = disk;
    this.#cutAt = cutAt;
    let goes = () => {};
    this.gone = new Promise((resolve) => {
      goes = resolve;
    });
    this.#goes = goes;
  }

  /** Cuts at the `calls`th call from now on, where it would not sooner. */
  cutIn(calls: number): void {
    if (!this.#isSpared) this.#cutAt = Math.min(this.#cutAt, this.count + calls);
  }

  /** Cuts nothing by itself any more, whatever is asked for later. */
  spare(): void {
    this.#isSpared = true;
    this.#cutAt = Number.POSITIVE_INFINITY;
  }

  /** The machine loses its power, or with 'kill' only the process ends. */
  cut(how: 'power' | 'kill' = 'power'): void {
    if (this.isOff) return;
    this.isOff = true;
    if (how === 'power') this.#disk.crash();
    else this.#disk.kill();
    this.#goes();
  }

  /** False where there is no power, before or after this call. */
  #lives(): boolean {
    if (!this.isOff && ++this.count === this.#cutAt) this.cut();
    return !this.isOff;
  }

  #now<T>(work: () => T): T {
    if (!this.#lives()) throw new PowerCut('the power is gone');
    return work();
  }

  #later<D extends (...news: never[]) => void>(start: (done: D) => void, done: D): void {
    if (!this.#lives()) return;
    start(((...news: never[]) => {
      if (this.#lives()) done(...news);
    }) as D);
  }

  open(path: string, mode: OpenMode): DiskFile {
    const file = this.#now(() => this.#disk.open(path, mode));
    return {
      path,
      size: () => file.size(),
      isInPlace: () => file.isInPlace(),
      read: (bytes, from, to, position) => this.#now(() => file.read(bytes, from, to, position)),
      readLater: (bytes, from, to, position, done) =>
        this.#later<Counted>((end) => file.readLater(bytes, from, to, position, end), done),
      write: (bytes, from, to, position) => this.#now(() => file.write(bytes, from, to, position)),
      writeLater: (bytes, from, to, position, done) =>
        this.#later<Counted>((end) => file.writeLater(bytes, from, to, position, end), done),
      truncate: (size) => this.#now(() => file.truncate(size)),
      truncateLater: (size, done) => this.#later<Done>((end) => file.truncateLater(size, end), done),
      sync: () => this.#now(() => file.sync()),
      syncLater: (done) => this.#later<Done>((end) => file.syncLater(end), done),
      close: () => this.#now(() => file.close()),
      closeLater: (done) => this.#later<Done>((end) => file.closeLater(end), done),
    };
  }

  openSynced(path: string): SyncedFile | null {
    const file = this.#now(() => this.#disk.openSynced(path));
    if (file === null) return null;
    return {
      writeLater: (bytes, from, to, position, done) =>
        this.#later<Counted>((end) => file.writeLater(bytes, from, to, position, end), done),
      readLater: (bytes, from, to, position, done) =>
        this.#later<Counted>((end) => file.readLater(bytes, from, to, position, end), done),
      closeLater: (done) => this.#later<Done>((end) => file.closeLater(end), done),
    };
  }

  createLater = (path: string, done: Done) => this.#later<Done>((end) => this.#disk.createLater(path, end), done);
  exists = (path: string) => this.#now(() => this.#disk.exists(path));
  identity = (path: string) => this.#now(() => this.#disk.identity(path));
  isShared = (path: string) => this.#now(() => this.#disk.isShared(path));
  rights = (path: string) => this.#now(() => this.#disk.rights(path));
  readdir = (path: string) => this.#now(() => this.#disk.readdir(path));
  mkdir = (path: string) => this.#now(() => this.#disk.mkdir(path));
  link = (from: string, to: string) => this.#now(() => this.#disk.link(from, to));
  rename = (from: string, to: string) => this.#now(() => this.#disk.rename(from, to));
  renameLater = (from: string, to: string, done: Done) =>
    this.#later<Done>((end) => this.#disk.renameLater(from, to, end), done);
  unlink = (path: string) => this.#now(() => this.#disk.unlink(path));
  rmdir = (path: string) => this.#now(() => this.#disk.rmdir(path));
  unlinkLater = (path: string, done: Done) => this.#later<Done>((end) => this.#disk.unlinkLater(path, end), done);
  syncDirectory = (path: string) => this.#now(() => this.#disk.syncDirectory(path));
  syncDirectoryLater = (path: string, done: Done) =>
    this.#later<Done>((end) => this.#disk.syncDirectoryLater(path, end), done);
}
