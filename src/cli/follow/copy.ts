/**
 * A copy of the books that is kept going: a directory like that of the server, but for the key, which a server can be
 * started on whenever nobody follows any more.
 *
 * What always holds: what it has is a beginning of the server's books, each frame of them looked at before it is
 * written, and on the device before it is spoken of; files get their names in an order in which only a whole copy can
 * be started from (as those of `ayni backup`: the newest segment first, the oldest last, then parts, then snapshots);
 * a snapshot comes after the entries it stands for, and only then what it makes superfluous goes.
 */
import { createHash, randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { equalBytes } from '../../core/bytes.ts';
import { COPY_NAME_FILE } from '../../followers.ts';
import { Breaks } from '../../storage/breaks.ts';
import {
  type Disk,
  type DiskFile,
  readAllLater,
  readWhole,
  renameLater,
  syncDirectoryLater,
  syncLater,
  TEMPORARY,
  withFile,
  writeAllLater,
  writeWhole,
} from '../../storage/disk.ts';
import { fileBytes, writeTemporary } from '../../storage/final-parts.ts';
import {
  FORMAT_VERSION,
  FRAME_FOOT_BYTES,
  SEGMENT_HEADER_BYTES,
  type SegmentHeader,
  segmentName,
  segmentSeq,
  type VerifyHash,
  writeSegmentHeader,
} from '../../storage/format.ts';
import { FrameChain, SpoiltFrameError } from '../../storage/frame-chain.ts';
import { whileHeld } from '../../storage/held-disk.ts';
import { type JournalEnd, type JournalPosition, writeAgain } from '../../storage/journal.ts';
import { readJournal, stepJournal } from '../../storage/journal-reader.ts';
import { acquireLock, type Lock } from '../../storage/lock.ts';
import { mendEnd, NOT_PUT_BACK } from '../../storage/mend.ts';
import { ownLastSegment } from '../../storage/own-segment.ts';
import { DamageError, headerOf, journalStart, listSegments } from '../../storage/segments.ts';
import { settleBooks } from '../../storage/settle.ts';
import {
  isBooksName,
  isPartName,
  type Manifest,
  partName,
  SnapshotError,
  snapshotName,
  snapshotSeq,
} from '../../storage/snapshot-format.ts';
import { pruneSnapshots } from '../../storage/snapshot-prune.ts';
import { listSnapshots, readOutline } from '../../storage/snapshot-reader.ts';
import { copyFrames, provenManifest, StrangeBooksError } from './incoming.ts';
import { AwayError, NotGivenError, type Source } from './source.ts';

const NAME_BYTES_MAX = 1024;
/** What a torn tail of a copy is. The server may have acknowledged it long ago. */
const NOT_WHOLE = 'it had not come whole, or was cut here since, and is fetched again';

const WENT = 'files of its books went while they were copied';
/**
 * What does not come may a moment later, as where a byte changed on its way, or a process had too many files; not so
 * often.
 */
const FAILED_MAX = 5;

/** Between two segments there something is missing, or one of both is of another history. */
class GapError extends StrangeBooksError {
  override name = 'GapError';
}

/** What came of asking for more. */
type Step = 'more' | 'nothing';

export class Copy {
  readonly directory: string;
  readonly #disk: Disk;
  readonly #lock: Lock;
  readonly #verify: VerifyHash;
  readonly #tell: (text: string) => void;
  /** Null until it is whole. */
  #end: JournalEnd | null = null;
  /** The last segment, held open: what is put in its place later is another. */
  #file: DiskFile | null = null;
  #newestSnapshot: number;
  /** Files that did not come though they are there, and how often. */
  readonly #failed = new Map<string, number>();

  /** Takes the directory, which is made where it is not there; nobody else may write to it until `close`. */
  constructor(disk: Disk, directory: string, verify: VerifyHash, tell: (text: string) => void) {
    this.directory = directory;
    this.#verify = verify;
    this.#tell = tell;
    disk.mkdir(directory);
    this.#lock = acquireLock(disk, directory);
    this.#disk = whileHeld(disk, this.#lock);
    for (const name of this.#disk.readdir(directory)) if (isHalf(name)) this.#disk.unlink(join(directory, name));
    this.#newestSnapshot = Math.max(0, ...listSnapshots(this.#disk, directory).map(snapshotSeq));
    if (!this.#isWhole()) return;
    this.#readEnd();
    settleBooks(this.#disk, directory);
  }

  /** Where it ends; of one that is not whole yet there is none. */
  get end(): Readonly<JournalPosition> | null {
    return this.#end;
  }

  /** The entry of its newest snapshot, 0 where it has none. */
  get newestSnapshot(): number {
    return this.#newestSnapshot;
  }

  /**
   * The name that tells it from other copies: the same whoever keeps it going, and wherever it is moved. A copy of the
   * copy has the same, and does not count beside it. Made and written down where there is none yet.
   */
  name(): string {
    const path = join(this.directory, COPY_NAME_FILE);
    if (this.#disk.exists(path)) {
      const known = readWhole(this.#disk, path, NAME_BYTES_MAX).toString().trim();
      if (/^[\w-]{1,40}$/.test(known)) return known;
    }
    const name = randomBytes(8).toString('hex');
    writeWhole(this.#disk, path, Buffer.from(`${name}\n`));
    return name;
  }

  /** Lets the directory go; throws LockLostError where it was somebody else's by then. */
  close(): void {
    this.#file?.close();
    this.#file = null;
    this.#lock.release();
  }

  /** The same after an error, of which whatever is wrong now is no news. */
  abandon(): void {
    try {
      this.close();
    } catch {}
  }

  /** A server could be started on it: the journal goes back to the first entry, or to a snapshot. */
  #isWhole(): boolean {
    const [first] = listSegments(this.#disk, this.directory);
    return first !== undefined && (first.firstSeq === 1 || this.newestSnapshot >= first.firstSeq - 1);
  }

  /** Reads the last two segments; mends what whoever followed has left behind the last frame, as a start would. */
  #readEnd(): void {
    const [disk, directory] = [this.#disk, this.directory];
    const own = ownLastSegment(disk, directory);
    if (own !== null) this.#tell(own);
    // Of the last one the header itself may be torn.
    const before = listSegments(disk, directory).at(-2)?.firstSeq;
    const options = { verifyFrame: this.#verify, onEntry() {} };
    const read = () => readJournal(disk, directory, journalStart(disk, directory, before), options);
    let { position, torn } = read();
    // Behind a frame that is whole again there may be what is left of the next.
    for (let putBack = -1; torn !== null; ) {
      const { file } = torn;
      if (torn.byte <= putBack) throw new DamageError(join(directory, file), putBack, NOT_PUT_BACK);
      const { notes, byte } = mendEnd(disk, directory, { torn, position }, this.#verify, NOT_WHOLE);
      for (const note of notes) this.#tell(note);
      if (byte === null) break;
      putBack = byte;
      ({ position, torn } = read());
    }
    // Of a server whose first write never ended: there was one segment, with nothing in it, and that is gone.
    if (position.file === null) return;
    const isHeader = position.byte === SEGMENT_HEADER_BYTES;
    const stands = isHeader ? this.#snapshotBefore(position) : position;
    if (stands === null) return this.#readEndBefore(position.file);
    this.#syncLast(position);
    this.#end = { ...position, moment: stands.moment };
    this.#hold(position.file);
  }

  /**
   * The snapshot that vouches for the only segment here, a header alone; null where there is none, or another segment.
   */
  #snapshotBefore({ seq, chain, file }: JournalEnd): Manifest | null {
    const [disk, path] = [this.#disk, join(this.directory, snapshotName(seq))];
    if (listSegments(disk, this.directory).length > 1 || !disk.exists(path)) return null;
    const manifest = manifestIn(disk, path, this.#verify);
    if (equalBytes(manifest.chain, chain)) return manifest;
    throw new DamageError(join(this.directory, file!), 0, `it does not go on from ${snapshotName(seq)}`);
  }

  /**
   * Of a segment that ends with its header nothing is lost, and nobody has signed it: books that went on without it
   * would be taken for others. Where it was all that made a copy whole, it is made whole again.
   */
  #readEndBefore(name: string): void {
    this.#disk.unlink(join(this.directory, name));
    this.#disk.syncDirectory(this.directory);
    if (this.#isWhole()) this.#readEnd();
  }

  /**
   * Who ended may have left it in the page cache only. It counts from now on: it must not go with the next power cut.
   */
  #syncLast({ file: name, byte }: JournalEnd): void {
    withFile(this.#disk, join(this.directory, name!), 'write', (file) => {
      // Where a sync of it failed, another would write nothing.
      writeAgain(file, 0, byte);
      file.sync();
    });
    this.#disk.syncDirectory(this.directory);
  }

  /** Makes it whole: fetches what is there of the books, and not here yet. */
  async begin(source: Source): Promise<void> {
    const { segments, snapshots } = await source.list();
    // What went there since an earlier try began goes here too: between two of them there must be no gap.
    for (const { file } of listSegments(this.#disk, this.directory)) {
      if (segments.includes(file)) continue;
      const last = await this.#lastOf(file);
      // From the oldest on they go there. A later one that is here alone may be all that is left of its entries.
      if (last !== null && file > (segments[0] ?? '')) throw otherThan(last.seq, file > segments.at(-1)!);
      this.#disk.unlink(join(this.directory, file));
    }
    const { from, note } = await this.#fetchSegments(source, segments, snapshotSeq(snapshots.at(-1) ?? ''));
    const [first] = listSegments(this.#disk, this.directory);
    const isBehind = (name: string) => snapshotSeq(name) >= first!.firstSeq - 1;
    const lacking = first === undefined ? [] : await this.#fetchAsManyAsCome(source, snapshots.filter(isBehind));
    if (first === undefined) await this.#fetchBare(source, segments.slice(from), snapshots.at(-1));
    if (!this.#isWhole()) throw lacking[0] ?? new AwayError(WENT);
    // Not before: it may be tried again and again.
    if (note !== '') this.#tell(note);
    for (const { message } of lacking) this.#tell(`${message}. The copy begins without it.`);
    this.#readEnd();
  }

  /**
   * Fetches snapshots; returns why some cannot be had: the disk there does not give them, or has changed them. Others,
   * and the journal, may do. Each is tried, however often it takes to know that of one: the tries are counted for all
   * together (follow.ts).
   */
  async #fetchAsManyAsCome(source: Source, names: readonly string[]): Promise<Error[]> {
    const lacking: Error[] = [];
    let again: Error | null = null;
    for (const name of names) {
      try {
        await this.#fetchSnapshot(source, name);
      } catch (error) {
        if (error instanceof NotGivenError) lacking.push(error);
        else if (!(error instanceof SpoiltFrameError)) throw error;
        else if (this.#failsAgain(name)) lacking.push(error);
        else again ??= error;
      }
    }
    if (again !== null) throw again;
    return lacking;
  }

  /**
   * Fetches them, the newest first; returns from which on, and what is to be told of that. One that the disk there has
   * changed, lost or does not give, and the newest snapshot does without, is where the copy begins: the server may not
   * know of it, as after a start, which reads none of it.
   */
  async #fetchSegments(
    source: Source,
    segments: readonly string[],
    newestSnapshot: number,
  ): Promise<{ from: number; note: string }> {
    for (let at = segments.length - 1; at >= 0; at--) {
      const name = segments[at]!;
      if (await this.#leadsOn(name)) continue;
      try {
        await this.#fetchSegment(source, name);
      } catch (error) {
        // One that follows there, and did not come, is where a start would begin, perhaps: the next one here counts.
        const next = this.#nextOf(name)?.firstSeq ?? segmentSeq(segments[at + 1] ?? '');
        const isSpare = next > 0 && next <= newestSnapshot + 1;
        // What is here of it, or from before it, may be nowhere else any more.
        const isHere = listSegments(this.#disk, this.directory).some(({ file }) => file <= name);
        if (!isSpare || isHere || !this.#isNotToBeHad(name, error)) throw error;
        const note = `${name} there is not whole (${(error as Error).message}): the copy begins behind it, as a start there does.`;
        return { from: at + 1, note };
      }
    }
    return { from: 0, note: '' };
  }

  /** Whether an error says that what is there of a segment leads nowhere, and will not another time either. */
  #isNotToBeHad(name: string, error: unknown): boolean {
    if (error instanceof SpoiltFrameError || error instanceof GapError) return true;
    return error instanceof NotGivenError && this.#failsAgain(name);
  }

  #failsAgain(name: string): boolean {
    const times = (this.#failed.get(name) ?? 0) + 1;
    this.#failed.set(name, times);
    return times >= FAILED_MAX;
  }

  /**
   * Of books whose journal has nothing behind their newest snapshot, and is not whole before it: the disk has changed
   * it there, and no entry has come since. With answers that wait for copies (--followers-min) none can come before
   * this is one.
   */
  async #fetchBare(source: Source, segments: readonly string[], snapshot: string | undefined): Promise<void> {
    if (snapshot === undefined || segments.length > 1 || segments[0] !== segmentName(snapshotSeq(snapshot) + 1)) return;
    const path = join(this.directory, snapshot);
    // An older version takes the segment away, which has no frame.
    if (this.#disk.exists(path)) await this.#beginBehind(manifestIn(this.#disk, path, this.#verify));
    else await this.#fetchSnapshot(source, snapshot);
  }

  /** Whether a segment is here that the next one goes on from: what was the last one may have grown there since. */
  async #leadsOn(name: string): Promise<boolean> {
    const next = this.#nextOf(name);
    if (next === null || !this.#disk.exists(join(this.directory, name))) return false;
    const end = await this.#pointAt(name, next.firstSeq - 1);
    return end !== null && equalBytes(end.chain, next.chain);
  }

  /** The header of the segment here that follows; null where none does. */
  #nextOf(name: string): SegmentHeader | null {
    const next = listSegments(this.#disk, this.directory).find(({ file }) => file > name);
    return next === undefined ? null : withFile(this.#disk, join(this.directory, next.file), 'read', headerOf);
  }

  /** The point of the books behind this entry, which ends a frame of a segment that is here; null where none does. */
  async #pointAt(name: string, seq: number, file = name): Promise<Readonly<JournalPosition> | null> {
    let point: JournalPosition | null = null;
    await this.#readFrames(name, file, (frame) => {
      if (frame.seq === seq) point = frame;
      return point !== null;
    });
    return point;
  }

  /** The point behind the last frame of a segment that is here, as far as it is sound; null where it has none. */
  async #lastOf(name: string): Promise<Readonly<JournalPosition> | null> {
    let point: JournalPosition | null = null;
    try {
      await this.#readFrames(name, name, (frame) => {
        point = frame;
        return false;
      });
    } catch (error) {
      if (!(error instanceof DamageError)) throw error;
    }
    return point;
  }

  /** Goes through the frames of a segment, which lies in this file, until `visit` has seen enough. */
  async #readFrames(name: string, file: string, visit: (point: JournalPosition) => boolean): Promise<void> {
    const disk: Disk = {
      ...this.#disk,
      readdir: () => [name],
      open: (_, mode) => this.#disk.open(join(this.directory, file), mode),
    };
    const breaks = new Breaks();
    let isEnough = false;
    const steps = stepJournal(disk, this.directory, journalStart(disk, this.directory), {
      // What is here was looked at when it came.
      verifyFrame: () => true,
      onEntry() {},
      onFrame(frame) {
        isEnough = visit(frame);
      },
    });
    for (const _ of steps) {
      if (isEnough) break;
      if (breaks.isDue) await breaks.take();
    }
  }

  /** Fetches a segment as far as it goes, and looks at all of it. What is here of it goes once that is in what came. */
  async #fetchSegment(source: Source, name: string): Promise<void> {
    const [disk, path] = [this.#disk, join(this.directory, name)];
    const isHere = disk.exists(path);
    const fetched = await source.fetch(name, { from: 0, has: null, waits: false });
    if (fetched.kind === 'missing' && isHere) throw new AwayError(WENT);
    const chain = new FrameChain({ seq: segmentSeq(name) - 1, chain: null, moment: 0 }, this.#verify);
    if (fetched.kind === 'bytes')
      await writeTemporary(disk, path + TEMPORARY, (file) =>
        copyFrames(name, 0, chain, fetched.chunks, (bytes, at) => writeAllLater(file, bytes, at)),
      );
    // One without a frame comes when it has one.
    const hasFrames = chain.position.seq >= segmentSeq(name);
    let keeps = false;
    try {
      if (isHere) await this.#checkSame(name, hasFrames ? chain.position.seq : 0);
      keeps = hasFrames;
    } finally {
      if (fetched.kind === 'bytes' && !keeps) disk.unlink(path + TEMPORARY);
    }
    if (!keeps) return;
    this.#checkNext(name, chain.position);
    await this.#name(name);
  }

  /** What came of a segment, up to this entry, has what is here of it: that may be nowhere else any more. */
  async #checkSame(name: string, seq: number): Promise<void> {
    const last = await this.#lastOf(name);
    if (last === null) return;
    const there = seq < last.seq ? null : await this.#pointAt(name, last.seq, name + TEMPORARY);
    if (there === null || !equalBytes(there.chain, last.chain)) throw otherThan(last.seq, seq < last.seq);
  }

  /** The segment that follows, which is here already, goes on where this one ends. */
  #checkNext(name: string, { seq, chain }: JournalPosition): void {
    const next = this.#nextOf(name);
    if (next === null || (next.firstSeq === seq + 1 && equalBytes(next.chain, chain))) return;
    throw new GapError(`${name} there does not lead to ${segmentName(next.firstSeq)}`);
  }

  /**
   * Throws where the journal there does not have the last frame of this one, where this one has it: then it does not go
   * on from it.
   */
  async compare(source: Source): Promise<void> {
    const has = this.#end!;
    // Without a frame: what comes for it is held to what the snapshot says.
    if (has.byte === SEGMENT_HEADER_BYTES) return;
    const { file: name, byte: to, seq } = has;
    // The signature of the last frame stands for all before it; of these a byte that has changed there is no other
    // history.
    const from = Math.max(0, to - FRAME_FOOT_BYTES);
    const fetched = await source.fetch(name!, { from, to, has, waits: false });
    // Where that segment has gone there, the next one tells what it goes on from.
    if (fetched.kind === 'missing') return void (await this.#missing(source, name!));
    if (fetched.kind === 'strange') throw otherHistory(seq);
    const there = fetched.kind === 'bytes' ? await beginningOf(fetched.chunks, to - from) : Buffer.alloc(0);
    if (there.length < to - from) throw endsBefore(seq);
    const here = Buffer.alloc(to - from);
    await readAllLater(this.#file!, here, from);
    if (!here.equals(there)) throw otherHistory(seq);
  }

  /** Takes what the journal there has behind the end of this one, which is on the device when it resolves. */
  async goOn(source: Source, waits: boolean): Promise<Step> {
    const end = this.#end!;
    // A header goes with its first frame: the one that is here was made here.
    const from = end.byte === SEGMENT_HEADER_BYTES ? 0 : end.byte;
    const step = await this.#take(source, end.file!, from, waits);
    if (step !== 'ended') return step;
    // To which nothing comes any more, that segment is followed by another.
    const next = await this.#take(source, segmentName(end.seq + 1), 0, waits);
    return next === 'more' ? 'more' : 'nothing';
  }

  async #take(source: Source, name: string, from: number, waits: boolean): Promise<Step | 'ended'> {
    const has = this.#end!;
    this.#mustHave(has.byte);
    const fetched = await source.fetch(name, { from, has, waits });
    if (fetched.kind === 'nothing') return 'nothing';
    if (fetched.kind === 'bytes') return (await this.#append(name, from, fetched.chunks)) ? 'more' : 'ended';
    if (fetched.kind === 'shorter') throw endsBefore(has.seq);
    if (fetched.kind === 'strange') throw otherHistory(has.seq);
    return this.#missing(source, name);
  }

  /** What it means that a segment is not there: throws where nothing can follow from that. */
  async #missing(source: Source, name: string): Promise<'ended'> {
    const { segments } = await source.list();
    const [oldest, newest] = [segments.at(0), segments.at(-1)].map((file) => segmentSeq(file ?? '')) as [
      number,
      number,
    ];
    const { seq, byte } = this.#end!;
    const next = segmentName(seq + 1);
    // The last one here has gone there, as a whole; what follows it has not.
    if (name !== next && segments.includes(next)) return 'ended';
    if (byte === SEGMENT_HEADER_BYTES) throw new StrangeBooksError(noSegmentBehind(seq));
    if (newest < segmentSeq(name)) throw endsBefore(seq);
    if (oldest <= segmentSeq(name)) throw otherHistory(seq);
    // The same each time: how far back it goes there may change before it is asked again, and what is told twice is
    // believed.
    throw new StrangeBooksError(
      `the journal there does not go back any more to entry ${seq + 1}, the next one here: begin a new copy, in an empty directory`,
    );
  }

  /** Takes what comes of the segment, from its byte `from` on, to the device; returns whether anything did. */
  async #append(name: string, from: number, chunks: AsyncIterable<Uint8Array>): Promise<boolean> {
    const before = this.#end!;
    const chain = new FrameChain(before, this.#verify);
    const endAt = (byte: number) => ({ ...chain.position, file: name, byte, written: from });
    if (from === 0) await this.#appendNew(name, chain, chunks, endAt);
    else {
      await copyFrames(name, from, chain, chunks, async (bytes, at) => {
        // It may have been cut while this waited for them: there would be a hole before them.
        this.#mustHave(at);
        await writeAllLater(this.#file!, bytes, at);
        await syncLater(this.#file!);
        this.#mustHave(at + bytes.length);
        this.#end = endAt(at + bytes.length);
      });
    }
    return this.#end !== before;
  }

  #hold(name: string): void {
    this.#file?.close();
    this.#file = this.#disk.open(join(this.directory, name), 'write');
  }

  /**
   * Somebody may put another file in its place, or cut it: what came would be in no books, and what is there is no
   * copy.
   */
  #mustHave(bytes: number): void {
    const file = this.#file!;
    if (!file.isInPlace() || file.size() < bytes)
      throw new Error(
        `${file.path} was replaced, cut or taken away while the books were followed into it: begin a new copy`,
      );
  }

  /** A segment that begins gets its name when what came of it is on the device. */
  async #appendNew(
    name: string,
    chain: FrameChain,
    chunks: AsyncIterable<Uint8Array>,
    endAt: (byte: number) => JournalEnd,
  ): Promise<void> {
    let [file, end] = [null as DiskFile | null, null as JournalEnd | null];
    try {
      await copyFrames(name, 0, chain, chunks, async (bytes, at) => {
        file ??= this.#disk.open(join(this.directory, name + TEMPORARY), 'create');
        await writeAllLater(file, bytes, at);
        end = endAt(at + bytes.length);
      });
    } finally {
      // What came whole stays, whatever came of the rest.
      if (end !== null) {
        await syncLater(file!);
        file!.close();
        await this.#name(name);
        this.#hold(name);
        this.#end = end;
      }
    }
  }

  /**
   * Fetches the snapshots that are there and not here, as far as the journal has come; what they make superfluous goes.
   * One that cannot be had, and has a newer one behind it that can, is none that anybody waits for.
   */
  async takeSnapshots(source: Source): Promise<string[]> {
    const { snapshots } = await source.list();
    const taken: string[] = [];
    let lacking: Error | null = null;
    for (const name of snapshots) {
      const seq = snapshotSeq(name);
      if (seq <= this.newestSnapshot || seq > this.#end!.seq) continue;
      try {
        const manifest = await this.#fetchSnapshot(source, name);
        if (manifest === null) continue;
        await pruneSnapshots(this.#disk, this.directory, manifest, { verify: this.#verify });
        taken.push(name);
        lacking = null;
      } catch (error) {
        if (!(error instanceof NotGivenError || error instanceof SpoiltFrameError)) throw error;
        lacking ??= error;
      }
    }
    if (lacking !== null) throw lacking;
    return taken;
  }

  /** Null where it is there no more, or here already. */
  async #fetchSnapshot(source: Source, name: string): Promise<Manifest | null> {
    const [disk, path] = [this.#disk, join(this.directory, name)];
    if (disk.exists(path) || !(await this.#fetch(source, name, null))) return null;
    let manifest: Manifest | null = null;
    try {
      manifest = await this.#withParts(source, name);
    } finally {
      // It may be gigabytes, and when it is asked for again another be the newest.
      if (manifest === null) disk.unlink(path + TEMPORARY);
    }
    if (manifest === null) return null;
    await this.#name(name);
    this.#newestSnapshot = Math.max(this.#newestSnapshot, manifest.seq);
    return manifest;
  }

  /**
   * The manifest of a snapshot that has come, and has no name yet, once its parts are here; null where one is there no
   * more.
   */
  async #withParts(source: Source, name: string): Promise<Manifest | null> {
    const manifest = await this.#manifestOf(name);
    for (const { name: part, final, bytes, hash } of manifest.parts) {
      if (!final) continue;
      const file = partName(part, hash!);
      if (fileBytes(this.#disk, join(this.directory, file)) === bytes) continue;
      if (!(await this.#fetch(source, file, { bytes, hash: hash! }))) return null;
      await this.#name(file);
    }
    return manifest;
  }

  /** Of a snapshot that has come, and has no name yet. */
  async #manifestOf(name: string): Promise<Manifest> {
    const manifest = await provenManifest(this.#disk, join(this.directory, name + TEMPORARY), this.#verify);
    if (manifest.seq !== snapshotSeq(name)) throw new StrangeBooksError(`${name} there is of entry ${manifest.seq}`);
    // By itself a snapshot is no copy.
    if (listSegments(this.#disk, this.directory).length === 0) await this.#beginBehind(manifest);
    if (!(await this.#isOfThese(manifest))) throw new StrangeBooksError(`${name} there is of another history`);
    return manifest;
  }

  /**
   * Begins the segment that a signed snapshot says comes next; until its first frame has come it says no more than
   * that.
   */
  async #beginBehind({ seq, chain }: Manifest): Promise<void> {
    const [name, header] = [segmentName(seq + 1), Buffer.alloc(SEGMENT_HEADER_BYTES)];
    writeSegmentHeader(header, seq + 1, chain, FORMAT_VERSION);
    const path = join(this.directory, name + TEMPORARY);
    await writeTemporary(this.#disk, path, (file) => writeAllLater(file, header, 0));
    await this.#name(name);
  }

  /**
   * Whether a snapshot stands for what the journal here has up to its entry: the server may have signed two histories.
   */
  async #isOfThese({ seq, chain }: Manifest): Promise<boolean> {
    const segments = listSegments(this.#disk, this.directory);
    const holder = segments.findLast(({ firstSeq }) => firstSeq <= seq);
    const point =
      holder === undefined ? journalStart(this.#disk, this.directory) : await this.#pointAt(holder.file, seq);
    return point !== null && point.seq === seq && equalBytes(point.chain, chain);
  }

  /**
   * Fetches a file whole, and leaves it without its name; false where it is there no more. Of a part it is known what
   * it is.
   */
  async #fetch(source: Source, name: string, known: { bytes: number; hash: Uint8Array } | null): Promise<boolean> {
    const fetched = await source.fetch(name, { from: 0, waits: false });
    if (fetched.kind !== 'bytes') return false;
    const sha = createHash('sha256');
    await writeTemporary(this.#disk, join(this.directory, name + TEMPORARY), async (file) => {
      let at = 0;
      for await (const chunk of fetched.chunks) {
        if (known !== null && at + chunk.length > known.bytes) throw new SpoiltFrameError(`${name}, longer than it is`);
        await writeAllLater(file, chunk, at);
        sha.update(chunk);
        at += chunk.length;
      }
      if (known !== null && !equalBytes(sha.digest(), known.hash))
        throw new SpoiltFrameError(`${name} with other bytes`);
    });
    return true;
  }

  /** Gives a file its name, now that all of it is there. Each by itself: of several, a power cut could keep any. */
  async #name(name: string): Promise<void> {
    const path = join(this.directory, name);
    await renameLater(this.#disk, path + TEMPORARY, path);
    await syncDirectoryLater(this.#disk, this.directory);
  }
}

function endsBefore(seq: number): StrangeBooksError {
  return new StrangeBooksError(
    `the books there end before entry ${seq}, which is here: they are an older copy, and what they lost is here alone, or they are other ones. ${GONE_OVER_FROM}`,
  );
}

function otherHistory(seq: number): StrangeBooksError {
  return new StrangeBooksError(
    `the books there have not the entry ${seq} that is here: they are of another history, or have changed there (\`ayni verify\` tells). Where an older copy was put there and went on, what it lost is here alone. ${GONE_OVER_FROM}`,
  );
}

/** Throws DamageError where its outline is not what the server has signed. */
function manifestIn(disk: Disk, path: string, verify: VerifyHash): Manifest {
  try {
    return withFile(disk, path, 'read', (file) => readOutline(file, verify)).manifest;
  } catch (error) {
    throw error instanceof SnapshotError ? new DamageError(path, 0, error.message, error.kind) : error;
  }
}

/** Where a copy has no frame the books there cannot be compared with it any further. */
function noSegmentBehind(seq: number): string {
  return `no segment there begins with entry ${seq + 1}, where this copy is to go on: the books there end before, or went on otherwise. Once it is clear that they have all that is here, begin a new copy, in an empty directory`;
}

/** The books there have not this entry that is here: they are shorter, or of another history. */
function otherThan(seq: number, isShorter: boolean): StrangeBooksError {
  return isShorter ? endsBefore(seq) : otherHistory(seq);
}

/** These may be books of a server, which others went over from. */
const GONE_OVER_FROM =
  'Where the server there took over from these books, what is here alone was never answered if answers waited for its copy: begin a new one, in an empty directory';

/** The first bytes of what comes, or all where it is less. */
async function beginningOf(chunks: AsyncIterable<Uint8Array>, length: number): Promise<Buffer> {
  const pieces: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of chunks) {
    pieces.push(chunk);
    bytes += chunk.length;
    if (bytes >= length) break;
  }
  return Buffer.concat(pieces).subarray(0, length);
}

/** What somebody who followed has left of a file that did not come whole. */
function isHalf(name: string): boolean {
  if (!name.endsWith(TEMPORARY)) return false;
  const whole = name.slice(0, -TEMPORARY.length);
  return isBooksName(whole) || isPartName(whole);
}
