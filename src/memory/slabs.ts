/**
 * Slabs: slots of two words in blocks, many blocks to a piece of shared memory of 1 MiB, the first of 32 KiB since many
 * books are small. A block has a power of two of slots, and an address: its slab's number, then the word in it where it
 * begins.
 *
 * What always holds: blocks do not overlap, and none straddles slabs. While dumps hold the slabs, whoever writes says
 * so before (`keep`), and so does handing out what was used before.
 */
import { BLOCK_BYTES, type Hold, Holds } from './hold.ts';
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

/** In words: what a dump has copied away together, see hold.ts. */
const HELD_WORDS = BLOCK_BYTES / 4;
const HELD_SHIFT = Math.log2(HELD_WORDS);

export class Slabs {
  readonly words: Uint32Array<SharedArrayBuffer>[] = [];
  /** Words of the last slab that were handed out at some time. */
  private used = 0;
  /** Addresses of blocks to be used again, by their number of slots. */
  private readonly free = new Map<number, number[]>();
  private readonly holds = new Holds();
  /** Whether some dump holds what is there, so that `keep` must be called before it changes. */
  isHeld = false;

  /** Bytes of memory that all blocks take, free ones too. */
  get taken(): number {
    const { length } = this.words;
    return length === 0 ? 0 : 4 * (FIRST_WORDS + (length - 1) * SLAB_WORDS);
  }

  /** A block of zeros. */
  take(slots: number): number {
    const known = this.free.get(slots)?.pop();
    if (known === undefined) return this.begin(slots);
    this.clear(known, slots);
    return known;
  }

  /** Fills a block with zeros. */
  clear(address: number, slots: number): void {
    const from = address - (address & (HELD_WORDS - 1));
    if (this.isHeld) for (let at = from; at < address + slots * 2; at += HELD_WORDS) this.keep(at);
    this.bytesAt(address, slots).fill(0);
  }

  /** Nobody needs this block any more. */
  give(address: number, slots: number): void {
    const known = this.free.get(slots);
    if (known === undefined) this.free.set(slots, [address]);
    else known.push(address);
  }

  /** Bytes that were copied for dumps which are not read to their end. */
  get copied(): number {
    return this.holds.bytes;
  }

  /** Holds all that is there now. */
  hold(): Hold {
    this.isHeld = true;
    const size = this.words.length * (SLAB_WORDS / HELD_WORDS);
    return this.holds.take(BLOCK_BYTES, 0, size, () => {
      this.isHeld = false;
    });
  }

  /** To be called before the word at this address changes, while dumps hold it. */
  keep(address: number): void {
    if (!this.holds.lack(address >>> HELD_SHIFT)) return;
    const from = address & SLAB_MASK & -HELD_WORDS;
    const { buffer } = this.words[address >>> SLAB_SHIFT]!;
    this.holds.keep(address >>> HELD_SHIFT, new Uint8Array(buffer), from * 4);
  }

  /** The bytes of a block as they were when it was held. */
  read(hold: Hold, address: number, slots: number): Iterable<Uint8Array> {
    return hold.read(this.bytesAt(address, slots), address >>> HELD_SHIFT, (address & (HELD_WORDS - 1)) * 4);
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
