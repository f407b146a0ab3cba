/**
 * Writes bytes to a file one behind the other, in large pieces, and hashes them on the way.
 *
 * What always holds: a piece that is handed in was copied before anybody else has a turn, so it may lie in memory that
 * changes; the event loop comes round between two pieces where they take long; of what was written hardly more than
 * `SYNC_BYTES` are not on the device.
 */
import { createHash } from 'node:crypto';
import { Breaks } from './breaks.ts';
import { type DiskFile, syncLater, writeAllLater } from './disk.ts';
import { crc } from './format.ts';
import { PIECE_BYTES } from './snapshot-format.ts';

/**
 * Had the system all of a long file to bring there at its end, the journal's frames would wait behind hundreds of
 * megabytes.
 */
export const SYNC_BYTES = 2 * 1024 * 1024;

export function gatheringBuffer(pieceBytes = PIECE_BYTES): Buffer {
  return Buffer.allocUnsafeSlow(2 * pieceBytes);
}

export class FileStream {
  readonly #file: DiskFile;
  readonly #sha = createHash('sha256');
  readonly #breaks = new Breaks();
  /** What was handed in and not written yet, up to `#held`. */
  #buffer: Buffer;
  #held = 0;
  #written = 0;
  #synced = 0;
  readonly #pieceBytes: number;

  /**
   * `pieceBytes`: so much is gathered before it is written. `buffer`: where, of twice that, for whoever writes many
   * files one after the other: fresh memory for each makes V8 collect all it has, some milliseconds each time.
   */
  constructor(file: DiskFile, pieceBytes = PIECE_BYTES, buffer = gatheringBuffer(pieceBytes)) {
    this.#file = file;
    this.#pieceBytes = pieceBytes;
    this.#buffer = buffer;
  }

  /** Bytes handed in so far. */
  get bytes(): number {
    return this.#written + this.#held;
  }

  /** Takes pieces, each before the next is asked for; returns how many bytes they had, and the CRC of them all. */
  async add(pieces: Iterable<Uint8Array>): Promise<{ bytes: number; crc: number }> {
    const before = this.bytes;
    let sum = 0;
    for (const piece of pieces) {
      this.#hold(piece);
      sum = crc(this.#buffer, this.#held - piece.length, this.#held, sum);
      if (this.#held >= this.#pieceBytes) await this.#write();
      else if (this.#breaks.isDue) await this.#breaks.take();
    }
    return { bytes: this.bytes - before, crc: sum };
  }

  /** Has everything in the file; returns the hash of it. More may come behind it, that is not hashed. */
  async hash(): Promise<Uint8Array> {
    await this.#write();
    return this.#sha.digest();
  }

  #hold(piece: Uint8Array): void {
    const end = this.#held + piece.length;
    if (end > this.#buffer.length) {
      const buffer = Buffer.allocUnsafeSlow(2 * end);
      buffer.set(this.#buffer.subarray(0, this.#held));
      this.#buffer = buffer;
    }
    this.#buffer.set(piece, this.#held);
    this.#held = end;
  }

  async #write(): Promise<void> {
    const held = this.#buffer.subarray(0, this.#held);
    this.#sha.update(held);
    await writeAllLater(this.#file, held, this.#written);
    this.#written += held.length;
    this.#held = 0;
    if (this.#written - this.#synced < SYNC_BYTES) return;
    await syncLater(this.#file);
    this.#synced = this.#written;
  }
}
