/**
 * Slabs: slots of two words in blocks, many blocks to a piece of shared memory of 1 MiB, the first of 32 KiB since many
 * books are small. A block has a power of two of slots, and an address: its slab's number, then the word in it where it
 * begins.
 *
 * A block that a dump still holds is retired instead of given back: it waits until the dump has been written
 * (`release`). Left to the garbage collector it would linger: that hardly sees shared memory, and a slab is freed as a
 * whole or not at all.
 *
 * What always holds: blocks do not overlap, and none straddles slabs; a retired one is not handed out before `release`.
 */
import { fail } from './parts.ts';

export const SLOT_BYTES = 8;
export const BLOCK_SLOTS_MIN = 8;
export const BLOCK_SLOTS_MAX = 1024;

/** In words: how far an address is shifted to give its slab, and which of its bits lie within it. */
export const SLAB_SHIFT = 18;
const SLAB_WORDS = 1 << SLAB_SHIFT;
export const SLAB_MASK = SLAB_WORDS - 1;
const FIRST_WORDS = 1 << 13;
const SLABS_MAX = 2 ** 32 / SLAB_WORDS;

export class Slabs {
  readonly words: Uint32Array<SharedArrayBuffer>[] = [];
  /** Words of the last slab that were handed out at some time. */
  private used = 0;
  /** Addresses of blocks to be used again, by their number of slots. */
  private readonly free = new Map<number, number[]>();
  /** Flat rows of address, slots. */
  private retired: number[] = [];

  /** A block of zeros. */
  take(slots: number): number {
    const known = this.free.get(slots)?.pop();
    if (known === undefined) return this.begin(slots);
    this.bytesAt(known, slots).fill(0);
    return known;
  }

  /** A block with what is in this one, which is retired: a dump holds it. */
  replace(address: number, slots: number): number {
    const block = this.free.get(slots)?.pop() ?? this.begin(slots);
    this.bytesAt(block, slots).set(this.bytesAt(address, slots));
    this.retire(address, slots);
    return block;
  }

  /** A dump holds this block; it is needed no more for anything else. */
  retire(address: number, slots: number): void {
    this.retired.push(address, slots);
  }

  /** Nobody needs this block any more. */
  give(address: number, slots: number): void {
    const known = this.free.get(slots);
    if (known === undefined) this.free.set(slots, [address]);
    else known.push(address);
  }

  /** Dumps are written: what was retired for them may be used again. */
  release(): void {
    const { retired } = this;
    for (let at = 0; at < retired.length; at += 2) this.give(retired[at]!, retired[at + 1]!);
    this.retired = [];
  }

  /** The bytes of a block, as a view. */
  bytesAt(address: number, slots: number): Uint8Array<SharedArrayBuffer> {
    const { buffer } = this.words[address >>> SLAB_SHIFT]!;
    return new Uint8Array(buffer, (address & SLAB_MASK) * 4, slots * SLOT_BYTES);
  }

  /** A block that was never used. */
  private begin(slots: number): number {
    if (slots < BLOCK_SLOTS_MIN || slots > BLOCK_SLOTS_MAX) fail(`slabs: a block of ${slots} slots`);
    const words = slots * 2;
    if (this.used + words > (this.words.at(-1)?.length ?? 0)) {
      // What is left of the last one has room for no such block: less than a page of it in a slab of 128.
      if (this.words.length === SLABS_MAX) fail('slabs: all addresses are taken');
      const size = this.words.length === 0 ? FIRST_WORDS : SLAB_WORDS;
      this.words.push(new Uint32Array(new SharedArrayBuffer(size * 4)));
      this.used = 0;
    }
    const address = (this.words.length - 1) * SLAB_WORDS + this.used;
    this.used += words;
    return address;
  }
}
