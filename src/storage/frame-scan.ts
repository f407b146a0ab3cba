/**
 * A segment whose bytes come piece by piece: whether each frame in it is whole, by its CRC. Nothing of them is decoded
 * or kept.
 */

import {
  COUNT_END,
  crc,
  FRAME_BYTES_MAX,
  LENGTH_AT,
  PAYLOAD_AT,
  readSegmentHeader,
  SEGMENT_HEADER_BYTES,
} from './format.ts';
import { isZeros } from './frame-chain.ts';

export class FrameScan {
  /** Where the frame, or the header, begins that is being read; zeros behind the last frame belong to none. */
  at = 0;
  /** How many entries the whole frames have. */
  entries = 0;
  readonly #rim = Buffer.alloc(SEGMENT_HEADER_BYTES);
  /** Of the header, or of a frame's first bytes, there are so many. */
  #held = 0;
  /** Of the frame so many bytes are to come. */
  #left = 0;
  #crc = 0;
  #isRoom = false;

  /** Whether all was whole so far, with these bytes. */
  add(bytes: Uint8Array): boolean {
    for (let from = 0; from < bytes.length; ) {
      if (this.#isRoom) return isZeros(bytes, from);
      const count = Math.min(this.#left > 0 ? this.#left : this.#rimBytes - this.#held, bytes.length - from);
      const isWhole = this.#left > 0 ? this.#addPayload(bytes, from, count) : this.#addRim(bytes, from, count);
      if (!isWhole) return false;
      from += count;
    }
    return true;
  }

  /** Whether nothing is missing where the segment ends now. */
  get isWhole(): boolean {
    return this.at > 0 && isZeros(this.#rim.subarray(0, this.#held), 0);
  }

  /** A header, or a frame's beginning. */
  get #rimBytes(): number {
    return this.at === 0 ? SEGMENT_HEADER_BYTES : COUNT_END;
  }

  #addRim(bytes: Uint8Array, from: number, count: number): boolean {
    this.#rim.set(bytes.subarray(from, from + count), this.#held);
    this.#held += count;
    if (this.#held < this.#rimBytes) return true;
    if (this.at === 0) {
      if (readSegmentHeader(this.#rim, 0, SEGMENT_HEADER_BYTES) === null) return false;
      this.at = SEGMENT_HEADER_BYTES;
      this.#held = 0;
      return true;
    }
    const length = this.#rim.readUInt32BE(LENGTH_AT);
    if (length === 0) {
      this.#isRoom = true;
      this.#held = 0;
      return isZeros(this.#rim.subarray(0, COUNT_END), 0);
    }
    this.#left = PAYLOAD_AT + length - COUNT_END;
    this.#crc = crc(this.#rim, LENGTH_AT, COUNT_END);
    return this.#left > 0 && length <= FRAME_BYTES_MAX;
  }

  #addPayload(bytes: Uint8Array, from: number, count: number): boolean {
    this.#crc = crc(bytes, from, from + count, this.#crc);
    this.#left -= count;
    if (this.#left > 0) return true;
    const isWhole = this.#rim.readUInt32BE(0) === this.#crc;
    if (isWhole) {
      this.at += PAYLOAD_AT + this.#rim.readUInt32BE(LENGTH_AT);
      this.entries += this.#rim.readUInt32BE(COUNT_END - 4);
    }
    this.#held = 0;
    return isWhole;
  }
}
