/**
 * The audit of a directory: everything in it read from the beginning, believed only as far as the server's public key
 * goes. The plan: pin the files, find the key, replay the journal entry by entry, compare every snapshot with the
 * replayed state at its place, look at what remains.
 *
 * Where segments have gone because snapshots made them superfluous, their entries are taken from the record heap of
 * the oldest snapshot, which holds them all in order.
 *
 * It ends at the first thing that is wrong, but for a snapshot or part that is not whole: a start does without, where
 * the rest leads past it, and whoever has to mend something needs to know whether that does.
 *
 * What always holds: not a byte of the directory changes, and no lock is taken, so it may be run beside a server.
 */
import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { hex } from '../../core/bytes.ts';
import type { Entry } from '../../core/entry.ts';
import { isoMoment } from '../../core/proofs.ts';
import type { MemorySizes, State } from '../../core/state.ts';
import { verifyBy } from '../../proof/verify.ts';
import { type Disk, readAll } from '../../storage/disk.ts';
import { FRAME_HEAD_BYTES, type VerifyHash } from '../../storage/format.ts';
import { JOURNAL_START, type JournalPosition } from '../../storage/journal.ts';
import { type FrameRead, type ReadResult, stepJournal } from '../../storage/journal-reader.ts';
import { KEY_FILE } from '../../storage/key-file.ts';
import { END_FILE, type KnownEnd, readKnownEnd } from '../../storage/known-end.ts';
import { type Pinned, pin } from '../../storage/pinned.ts';
import { journalStart, listSegments } from '../../storage/segments.ts';
import {
  isBooksName,
  isPartName,
  isTemporaryName,
  PIECE_BYTES,
  partEnd,
  snapshotSeq,
} from '../../storage/snapshot-format.ts';
import { differencesOf } from '../../storage/state-digest.ts';
import { isOutOfMemory } from '../../trouble.ts';
import { checkEnd } from './end.ts';
import { EntryAudit, type EntryCounts, noCounts, type PlacedEntry } from './entries.ts';
import { type Finding, FoundError, findingOf, lieAt, type Place } from './finding.ts';
import { type KnownHead, readHead } from './head.ts';
import { headerNotes } from './headers.ts';
import { heapEntries } from './heap-entries.ts';
import { differingIndex, reseeded } from './indexes.ts';
import { checkKeyFile, type FoundKey, findKey } from './key.ts';
import { Signatures } from './signatures.ts';
import { type LoadedSnapshot, loadSnapshot, refuseGap } from './snapshots.ts';

export interface AuditOptions {
  disk: Disk;
  directory: string;
  /** The server's public key, where the auditor knows it. */
  key: Uint8Array | null;
  /** Threads that verify signatures. */
  workers: number;
  /** Whether entries that today's rules decide otherwise only count. */
  otherRules: boolean;
  /** Whether decisions that no signature in the books explains were decided otherwise. */
  signedOnly?: boolean;
  /** A head received once, and where it was read from. */
  head?: { file: string; text: string };
  /** The pieces in which memory grew where the books were written; tests make them small. */
  sizes?: MemorySizes;
}

/** Whether the history a head speaks of is in the books; false also where that can no longer be told. */
export interface HeadReport {
  seq: number;
  chain: string;
  isProven: boolean;
}

export interface AuditReport {
  key: FoundKey;
  segments: number;
  segmentBytes: number;
  frames: number;
  counts: EntryCounts;
  signatures: number;
  postings: number;
  balances: number;
  snapshots: number;
  parts: number;
  partBytes: number;
  /** Of the head that was to be looked for. */
  head: HeadReport | null;
  /** Files in the directory that are no part of the books: nothing is said of their bytes. */
  strangers: string[];
  /**
   * The last entry, and the hash of the last frame, hex: who keeps them can tell a journal that was cut short later.
   */
  seq: number;
  chain: string;
  milliseconds: number;
  /** What is no lie but should be known, in sentences. */
  notes: string[];
  /** The first thing that is wrong, or null. */
  finding: Finding | null;
  /**
   * All that was found: snapshots and parts that are not whole, as far as the rest leads past them, and what ended the
   * audit.
   */
  findings: Finding[];
  /** Whether it came to the end of the books, past whatever was found. */
  toEnd: boolean;
}

/** Throws where there is nothing to audit, or what the disk throws; all else is in the report. */
export async function audit(options: AuditOptions): Promise<AuditReport> {
  const began = performance.now();
  const pinned = pin(options.disk, options.directory);
  const signatures = new Signatures(options.workers);
  try {
    const run = new Run(options, pinned, signatures);
    await run.go();
    run.report.milliseconds = performance.now() - began;
    return run.report;
  } finally {
    await signatures.close();
    pinned.release();
  }
}

/** A frame's hash, and the signature of it. */
interface Signed {
  hash: Uint8Array;
  signature: Uint8Array;
}

class Run {
  readonly report: AuditReport;
  readonly #options: AuditOptions;
  readonly #pinned: Pinned;
  readonly #signatures: Signatures;
  readonly #key: FoundKey;
  readonly #verify: VerifyHash;
  #entries: EntryAudit | null = null;
  /** Names of snapshots not yet compared, oldest first. */
  #snapshots: string[];
  /** A snapshot behind which the first frame comes: its moment is as it says, as far as those around it let it be. */
  #beforeFrames: { file: string; seq: number; moment: number } | null = null;
  readonly #head: KnownHead | null;
  /** Where a server last stopped on these books. */
  readonly #stopped: KnownEnd | null;

  constructor(options: AuditOptions, pinned: Pinned, signatures: Signatures) {
    this.#options = options;
    this.#pinned = pinned;
    this.#signatures = signatures;
    const names = pinned.readdir(options.directory);
    this.#snapshots = names.filter((name) => snapshotSeq(name) >= 0);
    const segments = listSegments(pinned, options.directory);
    this.#key = findKey(options, pinned);
    this.#verify = verifyBy(this.#key.public);
    const { head, directory, disk } = options;
    this.#head = head === undefined ? null : readHead(head.file, head.text, this.#key.public);
    this.#stopped = readKnownEnd(pinned, directory, this.#verify);
    const parts = names.filter(isPartName);
    const bytesOf = (files: string[]) => files.reduce((sum, name) => sum + pinned.size(name), 0);
    this.report = {
      key: this.#key,
      segments: segments.length,
      segmentBytes: bytesOf(segments.map(({ file }) => file)),
      frames: 0,
      counts: noCounts(),
      signatures: 0,
      postings: 0,
      balances: 0,
      snapshots: 0,
      parts: parts.length,
      partBytes: bytesOf(parts),
      head: this.#head === null ? null : { seq: this.#head.seq, chain: this.#head.chain, isProven: false },
      strangers: disk.readdir(directory).filter((name) => !isOfBooks(name)),
      seq: 0,
      chain: '',
      milliseconds: 0,
      notes: [],
      finding: null,
      findings: [],
      toEnd: false,
    };
  }

  async go(): Promise<void> {
    try {
      await this.#check();
      this.report.toEnd = true;
    } catch (error) {
      this.report.findings.push(await this.#first(error));
      if (this.report.head !== null) this.report.head.isProven = false;
    }
    this.report.finding = this.report.findings[0] ?? null;
    this.report.signatures = this.#signatures.count;
    if (this.#entries === null) return;
    this.report.postings = this.#entries.money.postings;
    this.report.balances = this.#entries.money.accounts;
  }

  /** What is told: a signature that is found bad meanwhile stands before what ended the reading. */
  async #first(error: unknown): Promise<Finding> {
    const finding = findingOf(error);
    if (finding === null) throw error;
    try {
      await this.#signatures.settle();
    } catch (earlier) {
      return findingOf(earlier) ?? finding;
    }
    return finding;
  }

  async #check(): Promise<void> {
    const { directory, otherRules, signedOnly = false, sizes } = this.#options;
    const { report } = this;
    for (const name of this.#pinned.readdir(directory)) if (isPartName(name)) this.#checkPart(name);
    const first = this.#oldest();
    const entries = new EntryAudit({
      serverKey: this.#key.public,
      signatures: this.#signatures,
      // With the seed of the snapshots the indexes of both states can be compared byte by byte.
      hashSeed: first?.state.hashSeed ?? 1,
      sizes,
      otherRules,
      signedOnly,
    });
    this.#entries = entries;
    report.counts = entries.counts;
    const after = await this.#start(entries, first);
    await this.#readJournal(entries, after);
    await this.#signatures.settle();

    const newer = this.#snapshots[0];
    if (newer !== undefined) {
      const what = `it is of entry ${snapshotSeq(newer)}, and the journal ends at ${report.seq}`;
      throw new FoundError('damage', { file: join(directory, newer), byte: 0, seq: snapshotSeq(newer) }, what);
    }
    const wrong = entries.money.differenceTo(entries.state);
    if (wrong !== null) throw new FoundError('lie', { file: directory, seq: report.seq }, wrong);
    this.#missHead();
    report.notes.push(...headerNotes(this.#pinned, directory));
    const { counts, firstPermitted } = entries;
    if (firstPermitted !== null) {
      const { seq, luid } = firstPermitted;
      report.notes.push(
        `${counts.permitted} decisions rest on permissions by tokens or by the server's own rules, which the books do not hold; the first is entry ${seq}, ${luid}. Where neither is in use, --signed-only takes none of them.`,
      );
    }
    const keyNote = checkKeyFile(this.#options.disk, directory, this.#key.public);
    if (keyNote !== null) report.notes.push(keyNote);
    const left = this.#options.disk.readdir(directory).filter(isTemporaryName);
    if (left.length > 0) report.notes.push(`Half-written and of no account: ${left.join(', ')}.`);
  }

  /** Brings the entries before the first segment into the state; where the journal is to be read from. */
  async #start(entries: EntryAudit, oldest: LoadedSnapshot | null): Promise<JournalPosition> {
    const { directory } = this.#options;
    const first = listSegments(this.#pinned, directory)[0];
    if (first === undefined) {
      throw new FoundError('damage', { file: directory }, 'there are snapshots, but no journal');
    }
    if (first.firstSeq === 1) return JOURNAL_START;
    const seq = first.firstSeq - 1;
    refuseGap(directory, seq, oldest?.file);
    const file = join(directory, oldest.file);
    this.report.notes.push(
      `Segments before entry ${first.firstSeq} are gone, as they may be after two snapshots: entries 1 to ${seq} are read from the records of ${oldest.file}, without the frames they came in.`,
    );
    let held: PlacedEntry | null = null;
    let count = 0;
    for (const found of heapEntries(oldest.state, { file })) {
      if (count === seq) break;
      count++;
      if (held !== null) entries.add(held, found?.entry ?? null, null);
      held = found === null ? null : { ...found, place: { file, seq: count, luid: found.entry.luid } };
      if (found === null) entries.passToken();
      if (this.#signatures.isDue) await this.#signatures.relief();
    }
    if (held !== null) entries.add(held, null, null);
    entries.tokens.take(oldest.state.tokens, oldest.seq);
    if (count < seq) throw new FoundError('lie', { file }, `it holds ${count} entries, not ${oldest.seq}`);
    const { chain } = journalStart(this.#pinned, directory);
    // Of a segment that has no frame yet the header is all there is.
    this.#reached(seq, chain);
    this.#meetHead({ seq, count: seq, chain, moment: null }, file);
    // Before the first frame that is still there nothing can be told.
    this.#meetStop({ seq, count: 1, chain });
    // Where it is of the very entry before the first segment, no frame will lead to it.
    if (oldest.seq === seq) {
      this.#compare(oldest, entries, { seq, chain, moment: Math.max(oldest.moment, entries.lastMoment) });
      this.#snapshots.shift();
      this.#beforeFrames = { file, seq, moment: oldest.moment };
    }
    return { seq, chain, moment: 0 };
  }

  async #readJournal(entries: EntryAudit, after: JournalPosition): Promise<void> {
    const { directory } = this.#options;
    let signed: Signed | null = null;
    let read: { entry: Entry; bytes: Uint8Array; from: number }[] = [];
    const steps = stepJournal(this.#pinned, directory, after, {
      verifyFrame(hash, signature) {
        // Checked with many others at a time (signatures.ts).
        signed = { hash, signature };
        return true;
      },
      onEntry(entry, bytes, from, to) {
        // The reader's bytes are good for one call only, and `slice` of a Buffer would be a view of them.
        read.push({ entry, bytes: Uint8Array.from(bytes.subarray(from, to)), from });
      },
      onFrame: (frame) => {
        const start = frame.byte + FRAME_HEAD_BYTES - read[0]!.from;
        const first = frame.seq - frame.count + 1;
        const placed = read.map(({ entry, bytes, from }, index) => {
          const place = { file: frame.file, byte: start + from, seq: first + index, luid: entry.luid };
          return { entry, bytes, place };
        });
        read = [];
        this.#addFrame(entries, frame, signed!, placed);
      },
    });
    try {
      for (;;) {
        const step = steps.next();
        if (step.done === true) return this.#end(step.value);
        if (this.#signatures.isDue) await this.#signatures.relief();
      }
    } finally {
      steps.return({} as ReadResult);
    }
  }

  #addFrame(entries: EntryAudit, frame: FrameRead, { hash, signature }: Signed, placed: PlacedEntry[]): void {
    const place = { file: frame.file, byte: frame.byte, seq: frame.seq };
    this.#meetFrame(frame);
    this.#signatures.add(this.#key.public, hash, signature, place, 'this frame is not signed by the server');
    for (const [index, one] of placed.entries()) entries.add(one, placed[index + 1]?.entry ?? null, frame.moment);
    entries.endFrame(place);
    this.#meetHead(frame, frame.file);
    this.#meetStop(frame);
    this.report.frames++;
    this.#reached(frame.seq, frame.chain);
    for (
      let name = this.#snapshots[0];
      name !== undefined && snapshotSeq(name) <= frame.seq;
      name = this.#snapshots[0]
    ) {
      const snapshot = this.#load(name);
      if (snapshot !== null) this.#compare(snapshot, entries, frame);
      this.#snapshots.shift();
    }
  }

  #reached(seq: number, chain: Uint8Array): void {
    this.report.seq = seq;
    this.report.chain = hex(chain);
  }

  /**
   * The first frame was written no earlier than the snapshot before it says: a start from that would take this for
   * damage.
   */
  #meetFrame({ moment }: FrameRead): void {
    const before = this.#beforeFrames;
    this.#beforeFrames = null;
    if (before === null || before.moment <= moment) return;
    throw new FoundError('lie', { file: before.file, seq: before.seq }, 'its moment is after that of the next frame');
  }

  /** Where a server has stopped, a frame ends, and it is the one that was the last then. */
  #meetStop({ seq, count, chain }: { seq: number; count: number; chain: Uint8Array }): void {
    const stopped = this.#stopped;
    if (stopped === null || stopped.seq > seq || stopped.seq <= seq - count) return;
    if (stopped.seq === seq && stopped.chain === hex(chain)) return;
    const place = { file: join(this.#options.directory, END_FILE), seq: stopped.seq };
    const here = stopped.seq === seq ? `here it leads to ${hex(chain)}` : 'here no frame ends there';
    const what = `the history up to here is another: a server stopped properly where it led to ${stopped.chain}, ${here}`;
    throw new FoundError('lie', place, what);
  }

  /** Where the history reaches the head, it must be the head's. `moment` is null where it is not known. */
  #meetHead(end: { seq: number; count: number; chain: Uint8Array; moment: number | null }, file: string): void {
    const head = this.#head;
    if (head === null || head.seq > end.seq || this.report.head!.isProven) return;
    const place = { file, seq: head.seq };
    if (head.seq < end.seq) {
      // Before the first frame that is still there nothing can be told.
      if (head.seq <= end.seq - end.count || end.moment === null) return;
      throw new FoundError('lie', place, `the server once signed that a frame ends with this entry; here none does`);
    }
    const isSame = hex(end.chain) === head.chain && (end.moment === null || isoMoment(end.moment) === head.moment);
    if (!isSame) {
      const what = `the history up to here was rewritten: the server once signed that it leads to ${head.chain}, here it leads to ${hex(end.chain)}`;
      throw new FoundError('lie', place, what);
    }
    this.report.head!.isProven = true;
  }

  /** Says why the head was not met, where it was not. */
  #missHead(): void {
    const head = this.#head;
    if (head === null || this.report.head!.isProven) return;
    const { directory } = this.#options;
    const last = this.report.seq;
    if (head.seq > last) {
      const what = `the server once signed that entry ${head.seq} is in the books; they end with entry ${last}`;
      throw new FoundError('damage', { file: directory, seq: last + 1 }, what);
    }
    const first = listSegments(this.#pinned, directory)[0]!.firstSeq - 1;
    this.report.notes.push(
      `Not proven: the head is of entry ${head.seq}, and the frames up to entry ${first} are gone. What is proven: entries 1 to ${first} are here with all their hashes and signatures, a snapshot the server signed holds them, and every frame after them links to the next. What is not: that they are the ones the head speaks of, in that order. A backup from before tells, and so does any head of entry ${first} or later.`,
    );
  }

  /** The oldest snapshot that is whole, and one to be compared; those before it are looked at no more. */
  #oldest(): LoadedSnapshot | null {
    for (let name = this.#snapshots[0]; name !== undefined; name = this.#snapshots[0]) {
      const loaded = this.#load(name);
      if (loaded !== null) return loaded;
      this.#snapshots.shift();
    }
    return null;
  }

  /** Null where it is not whole: a start passes it over as well, and the rest may be. */
  #load(name: string): LoadedSnapshot | null {
    try {
      return loadSnapshot(this.#pinned, this.#options.directory, name, this.#verify, this.#options.sizes);
    } catch (error) {
      if (!(error instanceof FoundError)) throw error;
      this.report.findings.push(error.finding);
      return null;
    }
  }

  /** A snapshot must be the very state that its entries lead to. */
  #compare(snapshot: LoadedSnapshot, { state, money }: EntryAudit, frame: JournalPosition): void {
    const file = join(this.#options.directory, snapshot.file);
    const place = { file, seq: snapshot.seq };
    const lie = lieAt(place);
    if (snapshot.seq !== frame.seq) lie(`entry ${snapshot.seq} does not end a frame`);
    if (!Buffer.from(frame.chain).equals(snapshot.chain)) lie('it is of another journal: its chain differs');
    if (snapshot.moment !== frame.moment) lie('its moment is not that of its frame');
    if (snapshot.state.log.length !== snapshot.seq) lie(`its log is of ${snapshot.state.log.length} entries`);
    const wrong = money.differenceTo(snapshot.state);
    if (wrong !== null) lie(wrong);
    const different = differencesOf(state, snapshot.state);
    if (different.length > 0) lie(`it differs from what its entries lead to in ${different.join(', ')}`);
    const index = differingIndex(this.#withSeed(state, snapshot.state.hashSeed, place), snapshot.state);
    if (index !== null) lie(`its index ${index} differs from what its entries lead to`);
    this.report.snapshots++;
  }

  /** A server that could use no snapshot once began with another seed. */
  #withSeed(state: State, hashSeed: number, place: Place): State {
    if (state.hashSeed === hashSeed) return state;
    try {
      return reseeded(state, hashSeed, this.#options.sizes);
    } catch (error) {
      if (isOutOfMemory(error)) throw error;
      // The tokens are taken from a snapshot where the first segments are gone.
      throw new FoundError('lie', place, `it cannot be made with its seed: ${(error as Error).message}`);
    }
  }

  /** A part's name holds the beginning of its hash, whichever snapshot names it. */
  #checkPart(name: string): void {
    const path = join(this.#options.directory, name);
    const file = this.#pinned.open(path, 'read');
    const size = file.size();
    const sha = createHash('sha256');
    // Nobody has said yet that it is as long as a part is, and no more than a piece is held of it.
    const piece = Buffer.allocUnsafeSlow(PIECE_BYTES);
    for (let at = 0; at < size; ) {
      const count = readAll(file, piece.subarray(0, size - at), at);
      if (count === 0) break;
      sha.update(piece.subarray(0, count));
      at += count;
    }
    if (name.endsWith(partEnd(sha.digest()))) return;
    const what = `its ${size} bytes have another hash than its name`;
    this.report.findings.push(new FoundError('damage', { file: path, byte: 0 }, what).finding);
  }

  #end(read: ReadResult): void {
    checkEnd(this.#pinned, this.#options.directory, read, this.#verify);
    const { torn } = read;
    if (torn === null) return;
    this.report.notes.push(
      torn.bytes === 0
        ? `${torn.file} is a segment with nothing in it: a write to it never began. Where it is still there, the next start removes it.`
        : `${torn.file} ends with a torn tail of ${torn.bytes} bytes at byte ${torn.byte}: a write that had not ended, and was not acknowledged. Where it is still there, the next start cuts it off.`,
    );
  }
}

function isOfBooks(name: string): boolean {
  return isBooksName(name) || isPartName(name) || name === KEY_FILE || name === END_FILE || isTemporaryName(name);
}
