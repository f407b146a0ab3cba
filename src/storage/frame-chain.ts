/**
 * Frames as they come from elsewhere, one after the other: each is looked at before anything is kept of it. Entries are
 * passed through for their digests, not decoded; what they say was decided by who wrote them, and is read by who starts
 * on them.
 */
import { equalBytes } from '../core/bytes.ts';
import {
  FRAME_BYTES_MAX,
  FRAME_HEAD_BYTES,
  type FrameHead,
  frameBytesAt,
  frameHash,
  frameSignature,
  frameWhole,
  HASH_BYTES,
  isKnownVersion,
  readFrameHead,
  readSegmentHeader,
  SEGMENT_HEADER_BYTES,
  type VerifyHash,
} from './format.ts';
import { noEntries, takeEntries } from './frame-entries.ts';
import type { JournalPosition } from './journal.ts';
import { misplaced, NOT_SIGNED } from './journal-reader.ts';
import { CodecError } from './msgpack.ts';

/** Why what came is no part of these books: another key's, another history's, or a newer server's. */
export class StrangeFrameError extends Error {
  override name = 'StrangeFrameError';
}

/** Bytes that nobody wrote so: they changed on their way. */
export class SpoiltFrameError extends Error {
  override name = 'SpoiltFrameError';
}

/** A point between two frames; the chain may not be known yet. */
interface Start extends Omit<JournalPosition, 'chain'> {
  chain: Uint8Array | null;
}

/** The end of the books, as far as they are known, and what may come behind it. */
export class FrameChain {
  #position: JournalPosition;
  readonly #startsAnywhere: boolean;
  readonly #verify: VerifyHash;
  readonly #head: FrameHead = { firstSeq: 0, count: 0, moment: 0 };
  readonly #entries = noEntries();

  /** `chain` is null where the header of a segment, the first thing to come, is to tell. */
  constructor({ seq, chain, moment }: Start, verify: VerifyHash) {
    this.#startsAnywhere = chain === null;
    this.#position = { seq, chain: chain ?? new Uint8Array(HASH_BYTES), moment };
    this.#verify = verify;
  }

  get position(): Readonly<JournalPosition> {
    return this.#position;
  }

  /** Looks at the header of the segment that follows, with which `bytes` begin; returns its length. */
  takeHeader(bytes: Buffer): number {
    const header = readSegmentHeader(bytes, 0, bytes.length);
    if (header === null) throw new SpoiltFrameError('no whole header of a segment');
    if (!isKnownVersion(header.version)) throw new StrangeFrameError(`a segment of format version ${header.version}`);
    const { seq, moment } = this.#position;
    const chain = this.#startsAnywhere ? header.chain : this.#position.chain;
    if (header.firstSeq !== seq + 1 || !equalBytes(header.chain, chain)) {
      throw new StrangeFrameError(`a segment that does not continue entry ${seq}`);
    }
    this.#position = { seq, chain, moment };
    return SEGMENT_HEADER_BYTES;
  }

  /**
   * The length of the frame bytes[from, …), once it is all there: then it is the next one, and the end is behind it. 0
   * where more of it has to come, or nothing but zeros is there. Throws where it is none of these books'.
   */
  take(bytes: Buffer, from: number): number {
    if (bytes.length - from < FRAME_HEAD_BYTES) return 0;
    const length = frameBytesAt(bytes, from, FRAME_BYTES_MAX);
    if (length === 0) {
      if (isZeros(bytes, from)) return 0;
      throw new SpoiltFrameError(`no frame behind entry ${this.#position.seq}`);
    }
    const to = from + length;
    if (to > bytes.length) return 0;
    if (!frameWhole(bytes, from, to)) {
      throw new SpoiltFrameError(`a frame behind entry ${this.#position.seq} that has changed`);
    }
    const head = this.#head;
    const wrong = readFrameHead(bytes, from, to, head) || misplaced(head, this.#position, bytes, from);
    if (wrong !== '') throw new StrangeFrameError(wrong);
    const hash = this.#hashOf(bytes, from, to);
    if (!this.#verify(hash, frameSignature(bytes, to))) throw new StrangeFrameError(`a frame that is ${NOT_SIGNED}`);
    this.#position = { seq: head.firstSeq + head.count - 1, chain: hash, moment: head.moment };
    return length;
  }

  #hashOf(bytes: Buffer, from: number, to: number): Uint8Array {
    const { count } = this.#head;
    try {
      takeEntries(this.#entries, { bytes, from, to }, count, null);
    } catch (error) {
      if (error instanceof CodecError) throw new StrangeFrameError(`a frame with ${error.message}`);
      throw error;
    }
    return frameHash(bytes, from, this.#entries.digests.subarray(0, count * HASH_BYTES));
  }
}

/** Whether there is nothing but the room that a segment may have behind its frames. */
export function isZeros(bytes: Uint8Array, from: number): boolean {
  for (let at = from; at < bytes.length; at++) if (bytes[at] !== 0) return false;
  return true;
}
