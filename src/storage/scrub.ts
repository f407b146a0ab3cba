/**
 * Scrubbing: what lies on the disk and is read by a start alone is read again while the server runs. Bytes of a device
 * change without a word, and of a final part there is one file, which every later snapshot names: where it changed, no
 * snapshot could be loaded, and what the journal held before them is gone. While the server runs its memory has the
 * same bytes, so a file that has changed is written anew from there; and where the journal has, a snapshot is taken
 * that does without. What a start would only fall back on is told of, and counts no more: the next snapshot makes up
 * for it. (Schwarz et al., "Disk Scrubbing in Large Archival Storage Systems", 2004.)
 *
 * What always holds: nothing is replaced but by bytes with the hash that the signed snapshot names; of memory that has
 * other ones by now nothing is written, and nobody is to be answered from it; files are read past the page cache where
 * the disk has a way to do that, for what was written lies there as it was, whatever the device makes of it; nothing is
 * written here while a snapshot is.
 */
import { createHash } from 'node:crypto';
import { basename, join } from 'node:path';
import { equalBytes } from '../core/bytes.ts';
import type { FinalPart } from '../core/dump.ts';
import {
  BLOCK_BYTES,
  closeLater,
  counted,
  type Disk,
  type DiskFile,
  pageAligned,
  readAllLater,
  type SyncedFile,
  syncDirectoryLater,
} from './disk.ts';
import { gatheringBuffer } from './file-stream.ts';
import { fileBytes, keepPart, rememberedPart, spoiltPart } from './final-parts.ts';
import type { VerifyHash } from './format.ts';
import { FrameScan } from './frame-scan.ts';
import { JOURNAL_START } from './journal.ts';
import { DamageError, listSegments, neededSegments } from './segments.ts';
import { FOOT_BYTES, type PartRow, PIECE_BYTES, partName, SnapshotError, snapshotSeq } from './snapshot-format.ts';
import { listSnapshots, NOT_OURS_TO_READ, readFoot, readFootAhead } from './snapshot-reader.ts';
import { errorCode } from './system-error.ts';

export interface ScrubOptions {
  disk: Disk;
  directory: string;
  verify: VerifyHash;
  /** Name of the snapshot that was loaded or taken last; null before the first. */
  newest(): string | null;
  /** The final parts that there are in memory. */
  finals(): readonly FinalPart[];
  /**
   * Called after each piece with its share of all there is to read; it goes on when that resolves. Of a round they add
   * up to 1.
   */
  rest(share: number): Promise<void>;
  /** Something changed on the disk: what, and what is done about it. */
  tell(what: string): void;
  /** The newest snapshot's own file has changed: it counts no more, and a new one is to be taken. */
  renew(name: string): void;
  /** Where the journal's last frame ends that is on the device; null before the first. */
  end(): { readonly file: string; readonly byte: number } | null;
  /** Whether a part that has changed is whole again; until it is, memory alone has its bytes. */
  lacks(part: string, isLacking: boolean): void;
  /** A segment that a start would read has changed: a snapshot is to be taken behind it. */
  leave(file: string): void;
  /** Whether a file that a start would only fall back on is of any use, as far as is known. */
  counts(file: string): boolean;
  /** This snapshot, before the newest, has changed: it counts no more. */
  lose(name: string): void;
  /**
   * A segment before those that a start would read has changed: nothing counts that needs entries up to this one of it.
   */
  breakUpTo(seq: number): void;
}

/** Memory of a final part has other bytes than when it was written: the machine's fault, or ours. */
export class MemoryChangedError extends Error {
  override name = 'MemoryChangedError';

  constructor(part: string) {
    super(`the memory of ${part} has changed, which nobody changes: the machine's memory fails, or ayni has a defect`);
  }
}

/** A file that is looked through: how long it has to be, how many bytes of it there is a hash of, and which. */
interface Looked {
  readonly path: string;
  readonly size: number;
  readonly bytes: number;
  readonly hash: Uint8Array;
}

/** A segment that is looked through. */
interface Segment {
  readonly file: string;
  readonly firstSeq: number;
  /** It may have more by the time it is looked at. */
  readonly bytes: number;
  /** How many entries it has, as the name of the next one tells; null where there is none. */
  readonly entries: number | null;
  /** A start would read it. */
  readonly isNeeded: boolean;
}

export class Scrub {
  /**
   * Bytes of files read again since the start, how often one was found to have changed, and files that were written
   * anew.
   */
  readonly stats = { bytes: 0, changed: 0, mended: 0 };
  readonly #options: ScrubOptions;
  /** Past the page cache whole pages are read into whole pages. */
  readonly #piece = new Uint8Array(pageAligned(PIECE_BYTES, PIECE_BYTES));
  /** Ends when nobody writes a part, here or for a snapshot. */
  #turn: Promise<unknown> = Promise.resolve();
  #isClosed = false;
  /** What of this round's rests there was, from 0 to 1. */
  #rested = 0;
  /** Paths of what is told once, however often it is found. */
  readonly #told = new Set<string>();

  constructor(options: ScrubOptions) {
    this.#options = options;
  }

  /**
   * Goes once through the newest snapshot and all parts that have a file, through the memory of these and the journal,
   * and through what a start would fall back on; returns how many bytes that were. Rejects with MemoryChangedError, and
   * where the books are another server's by now.
   */
  async round(): Promise<number> {
    const { directory, newest, finals } = this.#options;
    const name = newest();
    const own = name === null ? null : await this.#readSnapshot(name, (fault) => this.#snapshotChanged(name, fault));
    const parts = finals().flatMap((part) => {
      const row = rememberedPart(directory, part);
      return row === null ? [] : [{ part, row }];
    });
    // Of one moment: segments go behind the snapshots that need them.
    const [segments, names] = [this.#segments(), this.#olderSnapshots()];
    const older: (Looked & { name: string })[] = [];
    for (const name of names) {
      const looked = await this.#readSnapshot(name, (fault) => this.#olderChanged(name, fault));
      if (looked !== null) older.push({ ...looked, name });
    }
    const all =
      parts.reduce((sum, { row }) => sum + 2 * row.bytes, own?.bytes ?? 0) +
      [...older, ...segments].reduce((sum, { bytes }) => sum + bytes, 0);
    this.#rested = 0;
    const fault = own === null ? null : await this.#faultOf(own, all);
    if (fault !== null && (await this.#isStill(name!, own!))) this.#snapshotChanged(name!, fault);
    for (const { part, row } of parts) await this.#look(part, row, all);
    for (const segment of segments) await this.#lookAtFrames(segment, all);
    for (const looked of older) {
      const fault = (await this.#faultOf(looked, all)) ?? gapBehind(looked.name, segments);
      if (fault !== null) this.#olderChanged(looked.name, fault);
    }
    // What was not read to its end has had no rests: who begins the next round at once would do nothing else.
    if (all > 0) await this.#rest(Math.max(0, 1 - this.#rested));
    return all;
  }

  /** Resolves with what `write` does, while nothing is written here. */
  alone<T>(write: () => Promise<T>): Promise<T> {
    const turn = this.#turn.then(write);
    this.#turn = turn.catch(() => {});
    return turn;
  }

  /** Resolves when nothing is written here, and nothing will be. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#turn;
  }

  async #rest(share: number): Promise<void> {
    this.#rested += share;
    await this.#options.rest(share);
  }

  /** What of a snapshot's own file its foot has the hash of; null where that cannot be read. */
  async #readSnapshot(name: string, changed: (fault: string) => void): Promise<Looked | null> {
    const { disk, directory, verify, newest } = this.#options;
    const path = join(directory, name);
    try {
      return await withOpen(disk.open(path, 'read'), async (file) => {
        await readFootAhead(file);
        const size = file.size();
        return { path, size, bytes: size - FOOT_BYTES, hash: readFoot(file, verify).foot.hash };
      });
    } catch (error) {
      const fault = this.#faultIn(error, path);
      // The foot has a sum of its own: where that fits, and not the key, it was written so, by others.
      const isOthers = error instanceof SnapshotError && error.kind === 'unsigned' && name !== newest();
      if (fault !== null && !isOthers) changed(fault);
      return null;
    }
  }

  /**
   * Whether the snapshot of this name is the one that was looked at: one of the same entry may have been taken since,
   * in its place.
   */
  async #isStill(name: string, { hash }: Looked): Promise<boolean> {
    let isGone = false;
    const now = await this.#readSnapshot(name, () => {
      isGone = true;
    });
    return isGone || (now !== null && equalBytes(now.hash, hash));
  }

  /** The one before it and the journal would do for a start; but of those there is one too by now. */
  #snapshotChanged(name: string, fault: string): void {
    const { newest, tell, renew } = this.#options;
    // One that is not the newest any more may be gone.
    if (this.#isClosed || name !== newest() || this.#isReplaced(name) || this.#isInUseGone()) return;
    this.stats.changed += 1;
    tell(`${name} has changed on the disk (${fault}). A new snapshot is taken: see to the disk.`);
    renew(name);
  }

  /**
   * Whether this one, known to have changed, has gone for the next, which is there and not yet done with what it makes
   * superfluous.
   */
  #isReplaced(name: string): boolean {
    const { disk, directory, counts } = this.#options;
    try {
      const names = listSnapshots(disk, directory);
      return !counts(name) && !names.includes(name) && names.some((other) => other > name && counts(other));
    } catch (error) {
      this.#faultIn(error, directory);
      return false;
    }
  }

  #olderChanged(name: string, fault: string): void {
    if (this.#spareChanged(name, fault)) this.#options.lose(name);
  }

  /** Returns whether that is news: a start does not need it, so all there is to do is to give it to nobody. */
  #spareChanged(file: string, fault: string): boolean {
    const { disk, directory, newest, counts, tell } = this.#options;
    // Behind a newer snapshot it may be gone.
    if (this.#isClosed || !counts(file) || !disk.exists(join(directory, file))) return false;
    this.stats.changed += 1;
    tell(
      `${file} has changed on the disk (${fault}). A start does not need it as long as ${newest()} is whole: no copy is given it any more, and the next snapshot makes up for it. See to the disk.`,
    );
    return true;
  }

  async #look(part: FinalPart, { name, bytes, hash }: PartRow, all: number): Promise<void> {
    const { disk, directory, tell, lacks } = this.#options;
    const file = partName(name, hash!);
    if (!equalBytes(await this.#hashMemory(part.bytes, all), hash!)) throw new MemoryChangedError(name);
    const fault = await this.#faultOf({ path: join(directory, file), size: bytes, bytes, hash: hash! }, all);
    if (fault === null) return;
    await this.alone(async () => {
      if (this.#isClosed || this.#isInUseGone()) return;
      this.stats.changed += 1;
      try {
        await keepPart(disk, directory, part, gatheringBuffer());
        await syncDirectoryLater(disk, directory);
        this.stats.mended += 1;
        lacks(file, false);
        tell(`${file} had changed on the disk (${fault}), and is written anew: see to the disk.`);
      } catch (error) {
        if (errorCode(error) === '') throw error;
        spoiltPart(part);
        lacks(file, true);
        tell(
          `${file} has changed on the disk (${fault}), and cannot be written anew (${(error as Error).message}): no start could read it. It is tried again with the next look, and with the next snapshot (SIGUSR2).`,
        );
      }
    });
  }

  /** The segments there are, without one of which nothing is on the device yet; none where that cannot be asked. */
  #segments(): Segment[] {
    const { disk, directory, newest, end, counts } = this.#options;
    const name = newest();
    const seq = name === null ? 0 : snapshotSeq(name);
    try {
      const last = end()?.file ?? '';
      const all = listSegments(disk, directory).filter(({ file }) => file <= last);
      if (this.#isInUseGone()) return [];
      const first = neededSegments(disk, directory, { ...JOURNAL_START, seq })[0]?.file ?? '';
      const segments = all.map(({ file, firstSeq }, index) => {
        const next = all[index + 1];
        const bytes = this.#bytesOf(join(directory, file));
        const entries = next === undefined ? null : next.firstSeq - firstSeq;
        // The one in use has none behind it, also while the next lies there already and is being begun.
        return { file, firstSeq, bytes, entries, isNeeded: next === undefined || file >= first };
      });
      return segments.filter(({ file, isNeeded }) => isNeeded || counts(file));
    } catch (error) {
      // The first of them is missing.
      if (error instanceof DamageError) this.#journalChanged('the journal', error.what);
      else this.#faultIn(error, directory);
      return [];
    }
  }

  /**
   * Whether somebody took the segment in use away, and may be about to put other books here. Then nothing is written or
   * begun behind it, and no snapshot taken, which would be of entries that those books have not. Nor does the process
   * end for it: it has the file open, and nobody else has it.
   */
  #isInUseGone(): boolean {
    const file = this.#options.end()?.file;
    if (file === undefined || this.#isThere(file)) return false;
    const isNews = this.#tellOnce(
      join(this.#options.directory, file),
      `${file}, which is written to, is gone from the directory. The server has it open still: it ends with the next entry, and what the file has is lost then. Copy it from /proc/${process.pid}/fd (ls -l tells which it is) to its place, then end the server and start again; where other books are put here, end it at once.`,
    );
    if (isNews) this.stats.changed += 1;
    return true;
  }

  /** Whether there is a segment of this name, also where the directory cannot be asked. */
  #isThere(name: string): boolean {
    const { disk, directory } = this.#options;
    try {
      return listSegments(disk, directory).some(({ file }) => file === name);
    } catch (error) {
      this.#faultIn(error, directory);
      return true;
    }
  }

  /** Names of the snapshots that a start would fall back on. */
  #olderSnapshots(): string[] {
    const { disk, directory, newest, counts } = this.#options;
    const seq = snapshotSeq(newest() ?? '');
    try {
      return listSnapshots(disk, directory).filter((name) => snapshotSeq(name) < seq && counts(name));
    } catch (error) {
      this.#faultIn(error, directory);
      return [];
    }
  }

  /**
   * The length of a file; 0 of one that the disk does not give: what is wrong with it is found where it is looked at,
   * and the others have to be looked at too.
   */
  #bytesOf(path: string): number {
    try {
      return Math.max(0, fileBytes(this.#options.disk, path));
    } catch (error) {
      this.#faultIn(error, path);
      return 0;
    }
  }

  #journalChanged(file: string, fault: string): void {
    if (this.#isClosed) return;
    const { tell, leave } = this.#options;
    this.stats.changed += 1;
    tell(
      `${file} has changed on the disk (${fault}), and a start may not be able to read it: a snapshot is taken behind it. See to the disk.`,
    );
    leave(file);
  }

  async #lookAtFrames(looked: Segment, all: number): Promise<void> {
    const { file } = looked;
    const fault = await this.#frameFault(looked, all);
    if (fault === null) return;
    // One that was needed when the round began may be by nobody now, or gone.
    const now = this.#segments().find((segment) => segment.file === file);
    if (now?.isNeeded) this.#journalChanged(file, fault);
    else if (now !== undefined && this.#spareChanged(file, fault))
      this.#options.breakUpTo(now.firstSeq + now.entries! - 1);
  }

  /** Which frame of a segment is not whole; null where all are, or it cannot be looked at now. */
  async #frameFault(looked: Segment, all: number): Promise<string | null> {
    const { file, entries } = looked;
    const share = all === 0 ? 0 : looked.bytes / all;
    const { disk, directory, end } = this.#options;
    const path = join(directory, file);
    const piece = this.#piece;
    const scan = new FrameScan();
    try {
      const last = end();
      // What lies behind the end of the last one is being written.
      const bytes = last?.file === file ? last.byte : fileBytes(disk, path);
      for (let at = 0; at < bytes; at += piece.length) {
        const wanted = Math.min(piece.length, bytes - at);
        const count = Math.min(wanted, await readPast(disk, path, piece, at));
        if (count < wanted || !scan.add(piece.subarray(0, wanted))) return `from byte ${scan.at} on`;
        this.stats.bytes += wanted;
        await this.#rest(share * (wanted / bytes));
      }
      // Cut between two frames it would look whole.
      return scan.isWhole && scan.entries === (entries ?? scan.entries) ? null : `from byte ${scan.at} on`;
    } catch (error) {
      return this.#faultIn(error, path);
    }
  }

  async #hashMemory(memory: Uint8Array, all: number): Promise<Uint8Array> {
    const sha = createHash('sha256');
    for (let at = 0; at < memory.length; at += PIECE_BYTES) {
      const piece = memory.subarray(at, at + PIECE_BYTES);
      sha.update(piece);
      await this.#rest(piece.length / all);
    }
    return sha.digest();
  }

  /** What is wrong with a file; null where nothing is, or it cannot be looked at now. */
  async #faultOf({ path, size, bytes, hash }: Looked, all: number): Promise<string | null> {
    const { disk } = this.#options;
    const piece = this.#piece;
    try {
      const there = fileBytes(disk, path);
      if (there !== size) return there < 0 ? 'it is missing' : `it has ${there} bytes`;
      const sha = createHash('sha256');
      for (let at = 0; at < bytes; at += piece.length) {
        const wanted = Math.min(piece.length, bytes - at);
        if ((await readPast(disk, path, piece, at)) < wanted) return 'it is too short';
        sha.update(piece.subarray(0, wanted));
        this.stats.bytes += wanted;
        await this.#rest(wanted / all);
      }
      return equalBytes(sha.digest(), hash) ? null : 'other bytes';
    } catch (error) {
      return this.#faultIn(error, path);
    }
  }

  /**
   * What an error says of a file; null where it says nothing against it. Throws what is neither the disk's nor the
   * file's.
   */
  #faultIn(error: unknown, path: string): string | null {
    const code = errorCode(error);
    if (!(error instanceof SnapshotError) && code === '') throw error;
    const { message } = error as Error;
    if (!NOT_OURS_TO_READ.includes(code)) return message;
    if (NOT_ALLOWED.includes(code))
      this.#tellOnce(
        path,
        `${basename(path)} cannot be read (${message}): whether the disk has changed it is not known. See that this user may read it, as a start has to.`,
      );
    return null;
  }

  /** Returns whether that is news. */
  #tellOnce(path: string, text: string): boolean {
    if (this.#isClosed || this.#told.has(path)) return false;
    this.#told.add(path);
    this.#options.tell(text);
    return true;
  }
}

/** What is wrong behind a snapshot, of the segments that there are; null where its journal goes on there. */
function gapBehind(name: string, [first]: readonly Segment[]): string | null {
  const seq = snapshotSeq(name) + 1;
  return first === undefined || first.firstSeq <= seq ? null : `the segment with entry ${seq} is missing`;
}

/** Until somebody changes that. What else is not ours to read is so for the moment. */
const NOT_ALLOWED = ['EACCES', 'EPERM'];
/**
 * Why a file cannot be read past the cache: the file system gives no blocks, or this user may not write there, or
 * nobody may any more. Whoever may read it still can.
 */
const NOT_PAST_THE_CACHE = ['EINVAL', 'EACCES', 'EPERM', 'EROFS'];

/**
 * Fills the piece with what the device has from this place on, where the disk has a way to ask for that; returns how
 * many bytes the file had. Nobody holds it open through a rest: a snapshot that is removed meanwhile is to give back
 * its room.
 */
async function readPast(disk: Disk, path: string, piece: Uint8Array, position: number): Promise<number> {
  try {
    const synced = disk.openSynced(path);
    if (synced !== null) return await withOpen(synced, (file) => readBlocks(file, piece, position));
  } catch (error) {
    if (!NOT_PAST_THE_CACHE.includes(errorCode(error))) throw error;
  }
  return withOpen(disk.open(path, 'read'), (file) => readAllLater(file, piece, position));
}

async function readBlocks(file: SyncedFile, piece: Uint8Array, position: number): Promise<number> {
  let at = 0;
  do {
    const count = await counted((done) => file.readLater(piece, at, piece.length, position + at, done));
    at += count;
    if (count === 0) break;
    // Where it gives no whole block the file ends.
  } while (at < piece.length && at % BLOCK_BYTES === 0);
  return at;
}

async function withOpen<F extends Pick<DiskFile, 'closeLater'>, T>(file: F, use: (file: F) => Promise<T>): Promise<T> {
  try {
    return await use(file);
  } finally {
    await closeLater(file);
  }
}
