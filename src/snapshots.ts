/**
 * The snapshots of a running server; and where the disk has changed what a start would read, one more of them, which
 * needs nothing of that.
 *
 * What always holds: nothing is written for a snapshot while scrubbing writes, nor beside a journal that others have
 * put in the place of this one. A snapshot that was found to have changed, or from which no start could go on, does not
 * count as kept. While something that a start would read has changed on the disk, memory may be all that is whole: a
 * snapshot that cannot be taken then is told of, and does not end the process.
 */
import { dropParts, dumpState, finalParts } from './core/dump.ts';
import type { State } from './core/state.ts';
import type { Disk, Done } from './storage/disk.ts';
import { segmentSeq } from './storage/format.ts';
import type { Journal } from './storage/journal.ts';
import { Scrub, type ScrubOptions } from './storage/scrub.ts';
import { neededSegments } from './storage/segments.ts';
import { type SnapshotOptions, type SnapshotTaken, takeSnapshot } from './storage/snapshot.ts';
import { isPartName, SnapshotError, snapshotSeq } from './storage/snapshot-format.ts';
import type { RefusedSnapshot } from './storage/snapshot-reader.ts';
import { errorCode } from './storage/system-error.ts';
import { packValue } from './storage/values.ts';
import { notLeftText, notReplacedText } from './trouble.ts';

interface SnapshotsOptions extends Pick<SnapshotOptions, 'sign' | 'verify' | 'pieceBytes'> {
  disk: Disk;
  directory: string;
  state: State;
  journal: Pick<Journal, 'position' | 'end' | 'mustBeAsLeft'>;
  /** Name of the one that was loaded, null where none was, and those that could not be. */
  loaded: string | null;
  refused: readonly RefusedSnapshot[];
  /** Of scrubbing; null: nothing is read again. */
  rest: ScrubOptions['rest'] | null;
  /** Asks for `take` to be called, between two frames. */
  request(): void;
  /** Asks for the journal to go on in a new segment; `done` as for `Journal.beginSegment`. */
  beginSegment(done: Done): void;
  tell(text: string): void;
}

export class Snapshots {
  /** What became of those of this run. */
  taken = 0;
  lastEntry = 0;
  lastMs = 0;
  /** Null where nothing is read again. */
  readonly scrub: Scrub | null;
  readonly #options: SnapshotsOptions;
  /** The one that was loaded or taken last. */
  #newest: string | null;
  /** Names of those that a start could not use, or could not any more. */
  readonly #refused: Set<string>;
  /** Those of them that the system did not give at the start, and may give again. */
  readonly #ungiven: Set<string>;
  /** Names of what has changed, as long as a start would read it. */
  readonly #changed = new Set<string>();
  /** Up to this entry the journal has changed, where no start needs it: who begins before has no way on. */
  #brokenUpTo = 0;

  constructor(options: SnapshotsOptions) {
    this.#options = options;
    this.#newest = options.loaded;
    this.#refused = new Set(options.refused.map(({ file }) => file));
    const ungiven = options.refused.filter(({ error }) => !(error instanceof SnapshotError));
    this.#ungiven = new Set(ungiven.map(({ file }) => file));
    this.scrub = options.rest === null ? null : this.#scrubWith(options.rest);
  }

  get newest(): string | null {
    return this.#newest;
  }

  /**
   * Takes one. To be called between two frames: what the state holds is then what the journal does. Null where it could
   * not be taken, and is told of; rejects where the process is to end for that.
   */
  async take(): Promise<(SnapshotTaken & { seq: number }) | null> {
    try {
      return await this.#take();
    } catch (error) {
      const isDisks = error instanceof SnapshotError || errorCode(error) !== '';
      if (this.#changed.size === 0 || !isDisks) throw error;
      this.#options.tell(notReplacedText(error as Error));
      return null;
    }
  }

  async #take(): Promise<SnapshotTaken & { seq: number }> {
    const { state, journal } = this.#options;
    // It would stand for entries that a journal put in the place of this one has not, and what it makes superfluous
    // goes.
    journal.mustBeAsLeft();
    const { extra, parts } = dumpState(state);
    const content = { ...journal.position, extra: packValue(extra), parts };
    try {
      const write = () => this.#write(content);
      const taken = await (this.scrub === null ? write() : this.scrub.alone(write));
      this.#tookOne(taken, content.seq);
      return { ...taken, seq: content.seq };
    } finally {
      // Where it failed, what it has not read would be kept for it for good.
      dropParts(parts);
    }
  }

  #write(content: Parameters<typeof takeSnapshot>[2]): Promise<SnapshotTaken> {
    const { disk, directory, journal } = this.#options;
    return takeSnapshot(disk, directory, content, {
      ...this.#options,
      counts: (file) => this.counts(file),
      mustBeOurs: () => journal.mustBeAsLeft(),
    });
  }

  #tookOne({ file, ms }: SnapshotTaken, seq: number): void {
    const { disk, directory, journal } = this.#options;
    this.taken += 1;
    this.lastEntry = seq;
    this.lastMs = ms;
    this.#newest = file;
    // It may be in the place of one that was of no use.
    this.#refused.delete(file);
    const needed = neededSegments(disk, directory, { ...journal.position, seq });
    for (const name of this.#changed) {
      if (needed.some((segment) => segment.file === name)) continue;
      this.#changed.delete(name);
      // What has changed of the journal may lie there still, for the snapshot before.
      if (!isPartName(name) && snapshotSeq(name) < 0) this.#breakUpTo(needed[0]!.firstSeq - 1);
    }
  }

  /** Whether a start could fall back on this snapshot, or would read this segment then. */
  counts(file: string): boolean {
    return this.offers(file) && !this.#refused.has(file);
  }

  /**
   * Whether copies are given this snapshot, or segment: of one that cannot be read they tell why, and it may be there
   * again.
   */
  offers(file: string): boolean {
    const seq = snapshotSeq(file);
    if (seq < 0) return segmentSeq(file) > this.#brokenUpTo;
    return seq >= this.#brokenUpTo && (!this.#refused.has(file) || this.#ungiven.has(file));
  }

  #lose(name: string): void {
    this.#refused.add(name);
    this.#ungiven.delete(name);
  }

  #breakUpTo(seq: number): void {
    this.#brokenUpTo = Math.max(this.#brokenUpTo, seq);
  }

  #scrubWith(rest: ScrubOptions['rest']): Scrub {
    const { disk, directory, verify, state, journal, request, beginSegment, tell } = this.#options;
    return new Scrub({
      ...{ disk, directory, verify, rest, tell },
      newest: () => this.#newest,
      finals: () => finalParts(state),
      end: () => journal.end,
      renew: (file) => {
        this.#changed.add(file);
        this.#lose(file);
        request();
      },
      counts: (file) => this.counts(file),
      lose: (name) => this.#lose(name),
      breakUpTo: (seq) => this.#breakUpTo(seq),
      lacks: (part, isLacking) => void (isLacking ? this.#changed.add(part) : this.#changed.delete(part)),
      leave: (file) => {
        this.#changed.add(file);
        // A start reads the segment that the snapshot's own entry lies in from its beginning, unless the next is there.
        if (journal.end?.file !== file) request();
        else
          beginSegment((error) => {
            // One without a frame was written again, and is whole.
            if (error === null && journal.end?.file === file) this.#changed.delete(file);
            // Where the directory is another's by now, the snapshot finds that too, and it is what ends this one.
            if (error === null || errorCode(error) === '') request();
            else tell(notLeftText(file, error));
          });
      },
    });
  }
}
