/**
 * What a dump keeps of memory that goes on changing. A dump copies nothing: whoever changes bytes that it holds copies
 * their block away first, and whoever reads the dump is given those copies, and the memory itself where nothing has
 * changed. Blocks are small, so that a batch that changes a thousand places right after a dump copies a thousand blocks
 * and not the pages they lie in.
 *
 * What always holds: what is read through a hold is what lay there when it was taken. Each of its parts is read once,
 * or dropped, and with the last one it is over: nothing is copied for it any more.
 */
import { fail, type OpenPart, RUN_BYTES } from './parts.ts';

/** Bytes that are copied away together, where pages are not smaller. */
export const BLOCK_BYTES = 512;

export class Hold {
  /** Bytes of a block. */
  private readonly size: number;
  private readonly first: number;
  /** By block from the first on, the number of its copy plus one; 0 where there is none. */
  private readonly numbers: Uint32Array;
  private readonly slabs: Uint8Array[] = [];
  private copies = 0;
  /** Names of the parts that were neither read yet nor dropped. */
  private readonly unread = new Set<string>();
  private readonly over: (hold: Hold) => void;

  /** Holds the blocks from `first` up to `end`, end excluded, of `size` bytes each. `over` is told when it is. */
  constructor(size: number, first: number, end: number, over: (hold: Hold) => void) {
    this.size = size;
    this.first = first;
    this.numbers = new Uint32Array(end - first);
    this.over = over;
  }

  /** Bytes that were copied for it so far. */
  get bytes(): number {
    return this.copies * this.size;
  }

  /** Whether the block must be kept before anything in it changes. One that came later has no number at all. */
  lacks(block: number): boolean {
    return this.numbers[block - this.first] === 0;
  }

  /** Keeps a block, which lies at `offset` in `memory`. */
  keep(block: number, memory: Uint8Array, offset: number): void {
    if (!this.lacks(block)) return;
    this.copy(this.copies).set(memory.subarray(offset, offset + this.size));
    this.numbers[block - this.first] = ++this.copies;
  }

  /** A part of what is held; `read` gives its bytes. The hold is over with the last of them. */
  part(name: string, read: () => Iterable<Uint8Array>): OpenPart {
    this.unread.add(name);
    const pieces = { [Symbol.iterator]: () => this.once(name, read) };
    return { name, final: false, pieces, drop: () => this.done(name) };
  }

  private *once(name: string, read: () => Iterable<Uint8Array>): Generator<Uint8Array> {
    if (!this.unread.has(name)) fail(`part ${name} was read before, or dropped`);
    for (const piece of read()) {
      yield piece;
      if (!this.unread.has(name)) fail(`part ${name} was dropped while it was read`);
    }
    this.done(name);
  }

  private done(name: string): void {
    if (!this.unread.delete(name) || this.unread.size > 0) return;
    for (const slab of this.slabs.splice(0)) if (spare.length < SPARE_SLABS_MAX) spare.push(slab);
    this.over(this);
  }

  /** The bytes that lay in `memory` when the hold was taken. It begins at byte `skip` of block `block`. */
  *read(memory: Uint8Array, block: number, skip: number): Generator<Uint8Array> {
    let number = block - this.first;
    let before = skip;
    for (let at = 0; at < memory.length; ) {
      const copy = this.numbers[number++]!;
      let end = Math.min(memory.length, at + this.size - before);
      while (copy === 0 && end < memory.length && end - at < RUN_BYTES && this.numbers[number] === 0) {
        end = Math.min(memory.length, end + this.size);
        number++;
      }
      yield copy === 0 ? memory.subarray(at, end) : this.copy(copy - 1).subarray(before, before + end - at);
      at = end;
      before = 0;
    }
  }

  private copy(number: number): Uint8Array {
    const perSlab = SLAB_BYTES / this.size;
    const slab = Math.floor(number / perSlab);
    const from = (number % perSlab) * this.size;
    if (slab === this.slabs.length) this.slabs.push(spare.pop() ?? new Uint8Array(new SharedArrayBuffer(SLAB_BYTES)));
    return this.slabs[slab]!.subarray(from, from + this.size);
  }
}

/** Copies lie in pieces of this size. They are used again: fresh memory costs more than the copying. */
const SLAB_BYTES = 1024 * 1024;
const SPARE_SLABS_MAX = 64;
const spare: Uint8Array[] = [];

/** The holds that are not over on some memory; mostly there are none. */
export class Holds {
  private list: readonly Hold[] = [];

  /** Bytes that were copied for those that are not over. */
  get bytes(): number {
    return this.list.reduce((sum, hold) => sum + hold.bytes, 0);
  }

  /** A hold on the blocks from `first` up to `end`. `over` is told when the last one of all is. */
  take(size: number, first: number, end: number, over: () => void): Hold {
    const hold = new Hold(size, first, end, (ended) => {
      this.list = this.list.filter((other) => other !== ended);
      if (this.list.length === 0) over();
    });
    this.list = [...this.list, hold];
    return hold;
  }

  /** Whether `keep` must be called before anything in the block changes. */
  lack(block: number): boolean {
    for (const hold of this.list) if (hold.lacks(block)) return true;
    return false;
  }

  keep(block: number, memory: Uint8Array, offset: number): void {
    for (const hold of this.list) hold.keep(block, memory, offset);
  }
}
