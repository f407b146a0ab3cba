/**
 * Frames looked through ahead of whoever applies them: while one thread decodes and applies the entries of a frame,
 * another compares the CRCs of the next ones, takes the digests of their entries, and notes the outlines of intents,
 * with the hashes of their names. It also touches the memory that the entries will be copied to, which the system only
 * gives then, a page at a time.
 *
 * The main thread reads a segment into pieces of shared memory, as many whole frames as fit into each, and hands them
 * over in turns; the other walks through them. A journal is read by the first alone, so any Disk will do.
 *
 * What always holds: what is told of a frame was found in the bytes that are told with it, which change no more. Of a
 * frame that is not whole, or longer than a piece, nothing is told, nor where the other thread does not answer: the
 * reader looks for itself then, and says what is wrong.
 */
import { parentPort, receiveMessageOnPort, type Worker } from 'node:worker_threads';
import type { HeapRoom } from '../core/state.ts';
import { type DiskFile, readAll } from './disk.ts';
import { passNextNoting } from './entry-bytes.ts';
import {
  digestEntry,
  FRAME_FOOT_BYTES,
  FRAME_HEAD_BYTES,
  frameBytesAt,
  frameWhole,
  HASH_BYTES,
  readFrameHead,
} from './format.ts';
import { startHelper } from './helper-thread.ts';
import { CodecError } from './msgpack.ts';
import type { Frame } from './window.ts';

const PIECES = 3;
/** Room for some frames of a busy server, which closes its batches at about 1 MiB. */
const PIECE_BYTES = 4 * 1024 * 1024;
/** What is found in a piece has room for entries of 64 bytes, frames of 256, and a word noted for 8 bytes. */
const DIGESTS_MAX = PIECE_BYTES / 64;
const FRAMES_MAX = PIECE_BYTES / 256;
const NOTES_MAX = PIECE_BYTES / 8;
/** Of a frame: where it ends, and how many digests and words of notes there are up to there. */
const FOUND_WORDS = 3;
/** What the memory of an entry takes more than the entry itself, at most. */
const KEPT_BYTES = 16;
/** Longer than looking through any piece takes. */
const WAIT_MS_MAX = 10_000;

/** The word behind those of the pieces. */
const OVER = PIECES;

const Stage = { empty: 0, filled: 1, looked: 2 } as const;

interface Piece {
  readonly bytes: Buffer<SharedArrayBuffer>;
  readonly digests: Buffer<SharedArrayBuffer>;
  /** How many frames were found whole; then FOUND_WORDS of each. */
  readonly found: Int32Array<SharedArrayBuffer>;
  readonly notes: Int32Array<SharedArrayBuffer>;
}

export interface AheadOptions {
  /** What names are hashed with; where it is not known, none are. */
  hashSeed?: number | undefined;
  /** The memory that entries go to, next first; asked again and again as it is filled. */
  room?(): readonly HeapRoom[];
}

export interface FramesAheadData {
  readonly hashSeed: number | undefined;
  /** A word per piece, one of Stage; behind them a word that is not 0 once it is over. */
  readonly stages: Int32Array<SharedArrayBuffer>;
  readonly pieces: readonly { readonly [member in keyof Piece]: SharedArrayBuffer }[];
}

/** A piece that was handed over: file bytes [base, base + length). `frame`: the first that was not asked for. */
interface Filled {
  index: number;
  base: number;
  length: number;
  frame: number;
}

export class FramesAhead {
  readonly #worker: Worker | null;
  readonly #data: FramesAheadData;
  readonly #room: () => readonly HeapRoom[];
  /** The last of that memory which was handed over. */
  #given: SharedArrayBuffer | null = null;
  readonly #pieces: Piece[];
  #file: DiskFile | null = null;
  #size = 0;
  /** Pieces are handed over, and looked through, in turns: the next one, and those that were, in order. */
  #turn = 0;
  #filled: Filled[] = [];
  /** Where the next piece begins. Where no frame fits it begins nowhere before the reader is past that. */
  #next = 0;
  #stuckAt = -1;
  #isAnswering: boolean;
  /** Nobody looks at it. */
  readonly #fetched = new Uint8Array(PIECE_BYTES);

  constructor({ hashSeed, room = () => [] }: AheadOptions) {
    this.#room = room;
    const shared = (bytes: number) => new SharedArrayBuffer(bytes);
    this.#data = {
      hashSeed,
      stages: new Int32Array(shared(4 * (PIECES + 1))),
      pieces: Array.from({ length: PIECES }, () => ({
        bytes: shared(PIECE_BYTES),
        digests: shared(DIGESTS_MAX * HASH_BYTES),
        found: shared(4 * (1 + FOUND_WORDS * FRAMES_MAX)),
        notes: shared(4 * NOTES_MAX),
      })),
    };
    this.#pieces = piecesOf(this.#data);
    this.#worker = startHelper(new URL('../storage/frames-ahead-worker.js', import.meta.url), this.#data);
    this.#isAnswering = this.#worker !== null;
  }

  /** Goes on with this file, from where its first frame begins. */
  begin(file: DiskFile, from: number, size: number): void {
    for (const filled of this.#filled) this.#wait(filled);
    if (!this.#isAnswering) return;
    for (const { index } of this.#filled) this.#data.stages[index] = Stage.empty;
    this.#filled = [];
    this.#file = file;
    this.#size = size;
    this.#next = from;
    this.#stuckAt = -1;
    this.#fill();
  }

  /**
   * The frame that begins at this byte of the file, good until the next is asked for, or null. Frames are asked for in
   * order; some may be left out.
   */
  frameAt(at: number): Required<Frame> | null {
    if (!this.#isAnswering) return null;
    this.#dropBefore(at);
    const filled = this.#filled[0];
    if (filled === undefined || at < filled.base || !this.#wait(filled)) return null;
    const { bytes, digests, found, notes: words } = this.#pieces[filled.index]!;
    while (filled.frame < found[0]! && upTo(found, filled.frame, END) < at - filled.base) filled.frame++;
    const { frame } = filled;
    const from = upTo(found, frame, END);
    if (frame === found[0]! || from !== at - filled.base) return null;
    const digestsFrom = upTo(found, frame, DIGESTS) * HASH_BYTES;
    return {
      bytes,
      from,
      to: upTo(found, frame + 1, END),
      digests: digests.subarray(digestsFrom, upTo(found, frame + 1, DIGESTS) * HASH_BYTES),
      notes: { words, at: upTo(found, frame, NOTES), end: upTo(found, frame + 1, NOTES) },
    };
  }

  /** Lets the other thread end. */
  close(): void {
    const { stages } = this.#data;
    Atomics.store(stages, OVER, 1);
    for (let index = 0; index < PIECES; index++) {
      Atomics.store(stages, index, Stage.filled);
      Atomics.notify(stages, index);
    }
  }

  /** The reader is past what lies before `at`: those pieces are filled again. */
  #dropBefore(at: number): void {
    let first = this.#filled[0];
    if (first !== undefined && at < first.base + first.length) return;
    for (; first !== undefined && at >= first.base + first.length; first = this.#filled[0]) {
      if (!this.#wait(first)) return;
      this.#data.stages[first.index] = Stage.empty;
      this.#filled.shift();
    }
    if (first === undefined && at > this.#stuckAt) this.#next = at;
    this.#fill();
  }

  #fill(): void {
    this.#giveRoom();
    while (this.#filled.length < PIECES && this.#next !== this.#stuckAt && this.#next < this.#size) {
      const index = this.#turn;
      const { bytes } = this.#pieces[index]!;
      const count = readAll(this.#file!, bytes.subarray(0, this.#size - this.#next), this.#next);
      this.#fetch(this.#next + count);
      const length = framesEnd(bytes, count);
      if (length === 0) {
        this.#stuckAt = this.#next;
        return;
      }
      this.#pieces[index]!.found[0] = length;
      this.#filled.push({ index, base: this.#next, length, frame: 0 });
      this.#next += length;
      this.#turn = (index + 1) % PIECES;
      Atomics.store(this.#data.stages, index, Stage.filled);
      Atomics.notify(this.#data.stages, index);
    }
  }

  /**
   * Has the system read what comes next while this is looked through: the journal was written past the page cache, or
   * the machine has started since. Where it fails, whoever reads the same again says so.
   */
  #fetch(from: number): void {
    const bytes = Math.min(PIECE_BYTES, this.#size - from);
    if (bytes > 0) this.#file!.readLater(this.#fetched, 0, bytes, from, () => {});
  }

  /** Hands over the memory that is not known there yet. */
  #giveRoom(): void {
    const room = this.#room();
    const known = room.findIndex(({ buffer }) => buffer === this.#given);
    for (const each of room.slice(known + 1)) {
      this.#worker?.postMessage(each);
      this.#given = each.buffer;
    }
  }

  /** Whether the piece has been looked through, once it has; never again true after it took too long. */
  #wait({ index }: Filled): boolean {
    const { stages } = this.#data;
    while (this.#isAnswering && Atomics.load(stages, index) === Stage.filled) {
      if (Atomics.wait(stages, index, Stage.filled, WAIT_MS_MAX) === 'timed-out') this.#isAnswering = false;
    }
    return this.#isAnswering;
  }
}

/** Which of a frame's words. */
const END = 0;
const DIGESTS = 1;
const NOTES = 2;

/** How much of one sort there is up to the beginning of a frame. */
function upTo(found: Int32Array, frame: number, word: number): number {
  return frame === 0 ? 0 : found[1 + FOUND_WORDS * (frame - 1) + word]!;
}

function piecesOf({ pieces }: FramesAheadData): Piece[] {
  return pieces.map(({ bytes, digests, found, notes }) => ({
    bytes: Buffer.from(bytes),
    digests: Buffer.from(digests),
    found: new Int32Array(found),
    notes: new Int32Array(notes),
  }));
}

/**
 * Where the last of the frames ends that bytes[0, count) seem to begin with; only what says their lengths is looked at.
 */
function framesEnd(bytes: Buffer, count: number): number {
  let end = 0;
  while (count - end >= FRAME_HEAD_BYTES) {
    const length = frameBytesAt(bytes, end, count - end);
    if (length === 0) break;
    end += length;
  }
  return end;
}

/** What the other thread does until it is over. */
export function lookThrough(data: FramesAheadData): void {
  const { stages, hashSeed } = data;
  const pieces = piecesOf(data);
  const room: RoomLeft = { bytes: PIECE_BYTES, at: 0, words: [] };
  for (let index = 0; ; index = (index + 1) % PIECES) {
    for (let stage = -1; stage !== Stage.filled; ) {
      stage = Atomics.load(stages, index);
      if (Atomics.load(stages, OVER) !== 0) return;
      if (stage !== Stage.filled) Atomics.wait(stages, index, stage);
    }
    const bytes = lookThroughPiece(pieces[index]!, hashSeed);
    Atomics.store(stages, index, Stage.looked);
    Atomics.notify(stages, index);
    touch(room, bytes);
  }
}

/** Memory that was handed over and is to be touched. */
interface RoomLeft {
  /** How many bytes are known to be needed, and some more, less those that were touched. */
  bytes: number;
  /** The first word of the first that was not touched. */
  at: number;
  words: Int32Array[];
}

const PAGE_BYTES = 4096;

/**
 * Touches as much more memory as these bytes will need, as far as it was handed over, in messages that nobody waits
 * for.
 */
function touch(room: RoomLeft, bytes: number): void {
  const { words } = room;
  room.bytes += bytes;
  for (let next = receiveMessageOnPort(parentPort!); next !== undefined; next = receiveMessageOnPort(parentPort!)) {
    const { buffer, from } = next.message as HeapRoom;
    if (words.length === 0) room.at = from >>> 2;
    words.push(new Int32Array(buffer));
  }
  while (room.bytes > 0 && words.length > 0) {
    if (room.at >= words[0]!.length) {
      words.shift();
      room.at = 0;
      continue;
    }
    // Puts zeros where zeros are: whatever is written there meanwhile stays. Where a page is read before it is written,
    // as adding zero does, the system gives memory twice, and all threads wait for that.
    Atomics.compareExchange(words[0]!, room.at, 0, 0);
    room.at += PAGE_BYTES / 4;
    room.bytes -= PAGE_BYTES;
  }
}

/**
 * Notes the frames from the beginning of the piece up to one that is not whole. Returns how much memory they need, at
 * most.
 */
function lookThroughPiece(piece: Piece, hashSeed: number | undefined): number {
  const { bytes, found } = piece;
  const end = found[0]!;
  const head = { firstSeq: 0, count: 0, moment: 0 };
  const taken = { digests: 0, notes: 0 };
  let frames = 0;
  let from = 0;
  for (; from < end && frames < FRAMES_MAX; frames++) {
    const to = from + frameBytesAt(bytes, from, end - from);
    if (!frameWhole(bytes, from, to) || readFrameHead(bytes, from, to, head) !== '') break;
    if (taken.digests + head.count > DIGESTS_MAX || !lookThroughEntries(piece, from, to, head.count, taken, hashSeed))
      break;
    const words = 1 + FOUND_WORDS * frames;
    found[words + END] = to;
    found[words + DIGESTS] = taken.digests;
    found[words + NOTES] = taken.notes;
    from = to;
  }
  found[0] = frames;
  return from + taken.digests * KEPT_BYTES;
}

/** Takes the digests of a frame's entries, and notes of them; false where they do not fill it. */
function lookThroughEntries(
  { bytes, digests, notes }: Piece,
  from: number,
  to: number,
  count: number,
  taken: { digests: number; notes: number },
  hashSeed: number | undefined,
): boolean {
  const end = to - FRAME_FOOT_BYTES;
  const cursor = { at: from + FRAME_HEAD_BYTES };
  try {
    for (let index = 0; index < count; index++) {
      const start = cursor.at;
      taken.notes = passNextNoting(bytes, cursor, end, notes, taken.notes, hashSeed);
      digestEntry(bytes, start, cursor.at, digests, taken.digests * HASH_BYTES);
      taken.digests++;
    }
  } catch (error) {
    if (error instanceof CodecError) return false;
    throw error;
  }
  return cursor.at === end;
}
