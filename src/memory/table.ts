/**
 * A hash index: 32-bit hashes to 32-bit values. Several values may share a hash, so the caller compares keys.
 *
 * Open addressing in segments. The top bits of a hash choose one of a fixed number of segments, each a small table of
 * its own that grows alone: no operation ever touches more than one segment, so none is long. Within a segment the
 * remaining bits, taken as a fraction, are scaled to its capacity (Lemire, "Fast random integer generation in an
 * interval", 2019), so capacities need not be powers of two. Collisions go to the next slot; removal shifts later
 * entries back (Knuth 6.4, algorithm R), so no tombstones gather. Because the hash lies beside the value, growing
 * needs no keys.
 *
 * A slot is two words: hash, value + 1; a second word of 0 means free. The slots of a segment lie in pages of 8 KiB.
 * A segment begins as a part of one page that doubles, and then grows by half, at least by a page, into the pages it
 * has and the new ones, so that growing leaves no outgrown memory behind. It is never more than four fifths full: an
 * entry takes 10 to 15 bytes once there are four pages, and is moved twice for each that comes, on an average.
 *
 * Pages lie in slabs (slabs.ts), and what says where is flat arrays of numbers: on the way to a slot only the slot
 * itself is in memory that nobody has looked at lately.
 *
 * What always holds: every segment has a free slot, so each search ends; between an entry's home slot and its slot
 * there is no free one. Hashes must be well mixed (see hash.ts), above all their upper bits.
 */
import type { Hold } from './hold.ts';
import {
  exactly,
  fail,
  finder,
  hasShape,
  headPart,
  type Part,
  type Parts,
  powerOfTwo,
  readHead,
  Shape,
} from './parts.ts';
import { BLOCK_SLOTS_MAX, BLOCK_SLOTS_MIN, SLAB_MASK, SLAB_SHIFT, SLOT_BYTES, Slabs } from './slabs.ts';

const SEGMENTS = 1024;
/** Slots of a page. */
const PAGE_SLOTS = BLOCK_SLOTS_MAX;
const PAGE_SHIFT = Math.log2(PAGE_SLOTS);
const PAGE_MASK = PAGE_SLOTS - 1;
const VALUE_MAX = 0xffff_fffe;
const FRACTION = 2 ** -32;

/** Cursor positions that are no slot. */
const ENDED = -1;
const STALE = -2;

/** Where growing keeps the entries of a segment meanwhile. */
let scratch = new Uint32Array(PAGE_SLOTS);

export interface TableOptions {
  /**
   * A power of two from 2 to 65 536. About one for each 5 000 entries expected; less costs memory where entries are
   * few, more costs longer pauses to grow.
   */
  segments?: number | undefined;
}

export class Table {
  readonly name: string;
  private readonly bits: number;
  private readonly shift: number;
  private slabs = new Slabs();
  /** By segment: its slots, entries, and where its row of pages begins and how many have room there. */
  private capacities: Int32Array;
  private counts: Int32Array;
  private rows: Int32Array;
  private rooms: Int32Array;
  /** The rows of pages, in any order, with gaps: the address of each. */
  private pages = new Uint32Array(0);
  private rowsEnd = 0;
  private total = 0;
  private cursorHash = 0;
  /** The slot of the value last found, or ENDED or STALE. */
  private cursor = ENDED;

  constructor(name: string, options: TableOptions = {}) {
    const segments = options.segments ?? SEGMENTS;
    if (!powerOfTwo(segments, 2, 65_536)) fail(`table ${name}: ${segments} segments`);
    this.name = name;
    this.bits = Math.log2(segments);
    this.shift = 32 - this.bits;
    this.capacities = new Int32Array(segments);
    this.counts = new Int32Array(segments);
    this.rows = new Int32Array(segments);
    this.rooms = new Int32Array(segments);
  }

  /** Entries in the table. */
  get size(): number {
    return this.total;
  }

  /** Bytes of all slots, free ones included. */
  get bytes(): number {
    return this.capacities.reduce((sum, slots) => sum + slots, 0) * SLOT_BYTES;
  }

  /** Bytes of memory it takes, those it had and will have again included. */
  get taken(): number {
    return this.slabs.taken;
  }

  /** Bytes that were copied for dumps which are not read to their end. */
  get copied(): number {
    return this.slabs.copied;
  }

  /**
   * The first value under `hash`, or -1. It sets the table's one cursor: `next` and `replace` go on from here, until
   * the next `first`, `insert`, `remove` or `load`. Values under one hash come in no particular order.
   */
  first(hash: number): number {
    const segment = hash >>> this.shift;
    const capacity = this.capacities[segment]!;
    this.cursorHash = hash >>> 0;
    if (capacity === 0) {
      this.cursor = ENDED;
      return -1;
    }
    return this.seek(segment, hash >>> 0, this.home(hash, capacity));
  }

  /**
   * Reads a word where a search for `hash` begins, so that its memory is near when it does. It means nothing. Nothing
   * is compared: the processor need not wait for one word before it reads the next.
   */
  touch(hash: number): number {
    const segment = hash >>> this.shift;
    const capacity = this.capacities[segment]!;
    if (capacity === 0) return 0;
    const address = this.address(segment, this.home(hash, capacity));
    return this.slabs.words[address >>> SLAB_SHIFT]![address & SLAB_MASK]!;
  }

  /** The next value under the hash given to `first`, or -1. */
  next(): number {
    if (this.cursor < 0) {
      if (this.cursor === STALE) fail(`table ${this.name}: next() after a change`);
      return -1;
    }
    const segment = this.cursorHash >>> this.shift;
    const slot = this.cursor + 1;
    return this.seek(segment, this.cursorHash, slot === this.capacities[segment] ? 0 : slot);
  }

  /** Puts `value` in the place of the one `first` or `next` has just returned. */
  replace(value: number): void {
    if (this.cursor < 0) fail(`table ${this.name}: replace() without a value found`);
    if (value >>> 0 !== value || value > VALUE_MAX) fail(`table ${this.name}: value ${value}`);
    this.write(this.address(this.cursorHash >>> this.shift, this.cursor), this.cursorHash, value + 1);
  }

  /** Adds an entry; the same hash and value may be added more than once. `value`: 0 to 2^32 - 2. */
  insert(hash: number, value: number): void {
    if (value >>> 0 !== value || value > VALUE_MAX) fail(`table ${this.name}: value ${value}`);
    const segment = hash >>> this.shift;
    const count = this.counts[segment]! + 1;
    if (count * 5 > this.capacities[segment]! * 4) this.grow(segment);
    this.place(segment, hash >>> 0, value + 1);
    this.counts[segment] = count;
    this.total++;
    this.cursor = STALE;
  }

  /** Takes away one entry with this hash and value; false where there is none. Segments do not shrink. */
  remove(hash: number, value: number): boolean {
    let found = this.first(hash);
    while (found !== -1 && found !== value) found = this.next();
    const slot = this.cursor;
    this.cursor = STALE;
    if (found === -1) return false;
    const segment = hash >>> this.shift;
    this.close(segment, slot);
    this.counts[segment]!--;
    this.total--;
    return true;
  }

  /** All slots as one part, segment by segment, and a head. Copies none. */
  dump(): Part[] {
    const segments = this.capacities.length;
    const head = new Uint32Array(1 + segments * 2);
    head[0] = this.bits;
    for (let segment = 0; segment < segments; segment++) {
      head[1 + segment * 2] = this.capacities[segment]!;
      head[2 + segment * 2] = this.counts[segment]!;
    }
    const { slabs } = this;
    const hold = slabs.hold();
    const [capacities, rows, pages] = [this.capacities.slice(), this.rows.slice(), this.pages.slice(0, this.rowsEnd)];
    const read = () => readPages({ slabs, hold, capacities, rows, pages });
    return [hold.part(`${this.name}.slots`, read), headPart(this.name, Shape.table, head)];
  }

  /**
   * Takes over the state of a dump. Throws where parts are missing or do not fit, or where an entry does not lie where
   * a search would find it, and then changes nothing.
   */
  load(parts: Parts): void {
    const find = finder(parts);
    const segments = this.capacities.length;
    const isPaged = hasShape(find, this.name, Shape.pagedTable);
    const head = readHead(find, this.name, isPaged ? Shape.pagedTable : Shape.table, 1 + segments * 2);
    if (head[0] !== this.bits) throw new Error(`memory: table ${this.name} was dumped with another number of segments`);
    const loaded = new Table(this.name, { segments });
    for (let segment = 0; segment < segments; segment++) {
      loaded.checkCapacity(segment, head[1 + segment * 2]!, head[2 + segment * 2]!);
    }
    const page = isPaged ? loaded.pageFinder(find) : loaded.slotsReader(find, head);
    for (let segment = 0; segment < segments; segment++) {
      loaded.loadSegment(page, segment, head[1 + segment * 2]!, head[2 + segment * 2]!);
    }
    this.slabs = loaded.slabs;
    this.capacities = loaded.capacities;
    this.counts = loaded.counts;
    this.rows = loaded.rows;
    this.rooms = loaded.rooms;
    this.pages = loaded.pages;
    this.rowsEnd = loaded.rowsEnd;
    this.total = loaded.total;
    this.cursor = ENDED;
  }

  /** Pages of a dump that has a part for each, as they were once. */
  private pageFinder(find: (name: string) => Uint8Array): FindPage {
    return (segment, page, bytes) => exactly(find, `${this.name}.segment.${segment}.${page}`, bytes);
  }

  /** Pages of a dump in which they follow each other; to be asked for in that order. */
  private slotsReader(find: (name: string) => Uint8Array, head: Uint32Array): FindPage {
    let total = 0;
    for (let at = 1; at < head.length; at += 2) total += head[at]! * SLOT_BYTES;
    const slots = exactly(find, `${this.name}.slots`, total);
    let at = 0;
    return (_segment, _page, bytes) => {
      at += bytes;
      return slots.subarray(at - bytes, at);
    };
  }

  private checkCapacity(segment: number, capacity: number, entries: number): void {
    if (capacity === 0 && entries === 0) return;
    const whole =
      capacity <= PAGE_SLOTS ? powerOfTwo(capacity, BLOCK_SLOTS_MIN, PAGE_SLOTS) : capacity % PAGE_SLOTS === 0;
    if (!whole || entries * 5 > capacity * 4) {
      throw new Error(
        `memory: table ${this.name} cannot hold ${entries} entries in ${capacity} slots of segment ${segment}`,
      );
    }
  }

  private loadSegment(find: FindPage, segment: number, capacity: number, entries: number): void {
    const slots = Math.min(capacity, PAGE_SLOTS);
    for (let page = 0; page * PAGE_SLOTS < capacity; page++) {
      const bytes = find(segment, page, slots * SLOT_BYTES);
      const address = this.slabs.take(slots);
      this.slabs.bytesAt(address, slots).set(bytes);
      this.put(segment, page, address);
    }
    this.capacities[segment] = capacity;
    this.counts[segment] = entries;
    this.total += entries;
    this.check(segment);
  }

  /** The slot at which the search for `hash` begins, in a segment of `capacity` slots. */
  private home(hash: number, capacity: number): number {
    return (((hash << this.bits) >>> 0) * capacity * FRACTION) >>> 0;
  }

  private pageCount(segment: number): number {
    return (this.capacities[segment]! + PAGE_MASK) >>> PAGE_SHIFT;
  }

  /** Where a slot of a segment lies. */
  private address(segment: number, slot: number): number {
    return this.pages[this.rows[segment]! + (slot >>> PAGE_SHIFT)]! + ((slot & PAGE_MASK) << 1);
  }

  private seek(segment: number, hash: number, from: number): number {
    const capacity = this.capacities[segment]!;
    let slot = from;
    for (;;) {
      const address = this.address(segment, slot);
      const words = this.slabs.words[address >>> SLAB_SHIFT]!;
      const end = Math.min(capacity, (slot | PAGE_MASK) + 1);
      for (let word = address & SLAB_MASK; slot < end; slot++, word += 2) {
        const stored = words[word + 1]!;
        if (stored === 0) {
          this.cursor = ENDED;
          return -1;
        }
        if (words[word] === hash) {
          this.cursor = slot;
          return stored - 1;
        }
      }
      if (slot === capacity) slot = 0;
    }
  }

  /** Returns the slot. */
  private place(segment: number, hash: number, stored: number): number {
    const capacity = this.capacities[segment]!;
    let slot = this.home(hash, capacity);
    for (;;) {
      const address = this.address(segment, slot);
      const words = this.slabs.words[address >>> SLAB_SHIFT]!;
      const end = Math.min(capacity, (slot | PAGE_MASK) + 1);
      for (let word = address & SLAB_MASK; slot < end; slot++, word += 2) {
        if (words[word + 1] !== 0) continue;
        if (this.slabs.isHeld) this.slabs.keep(address - (address & SLAB_MASK) + word);
        words[word] = hash;
        words[word + 1] = stored;
        return slot;
      }
      if (slot === capacity) slot = 0;
    }
  }

  private write(address: number, hash: number, stored: number): void {
    if (this.slabs.isHeld) this.slabs.keep(address);
    const words = this.slabs.words[address >>> SLAB_SHIFT]!;
    words[address & SLAB_MASK] = hash;
    words[(address & SLAB_MASK) + 1] = stored;
  }

  /** Frees slot `free`, moving back each later entry of the cluster that may lie there. */
  private close(segment: number, free: number): void {
    const capacity = this.capacities[segment]!;
    let hole = free;
    let slot = free;
    for (;;) {
      slot++;
      if (slot === capacity) slot = 0;
      const address = this.address(segment, slot);
      const words = this.slabs.words[address >>> SLAB_SHIFT]!;
      const hash = words[address & SLAB_MASK]!;
      const stored = words[(address & SLAB_MASK) + 1]!;
      if (stored === 0) break;
      const fromHome = slot - this.home(hash, capacity);
      const fromHole = slot - hole;
      if ((fromHome < 0 ? fromHome + capacity : fromHome) < (fromHole < 0 ? fromHole + capacity : fromHole)) continue;
      this.write(this.address(segment, hole), hash, stored);
      hole = slot;
    }
    this.write(this.address(segment, hole), 0, 0);
  }

  /** Gives a segment more slots, and moves its entries to their new places. */
  private grow(segment: number): void {
    const words = this.gather(segment);
    const capacity = this.capacities[segment]!;
    const count = this.pageCount(segment);
    for (let page = 0; page < count; page++) this.clear(segment, page);
    if (capacity < PAGE_SLOTS) {
      const slots = Math.max(BLOCK_SLOTS_MIN, capacity * 2);
      this.put(segment, 0, this.slabs.take(slots));
      this.capacities[segment] = slots;
    } else {
      const grown = count + Math.max(1, count >>> 1);
      for (let page = count; page < grown; page++) this.put(segment, page, this.slabs.take(PAGE_SLOTS));
      this.capacities[segment] = grown * PAGE_SLOTS;
    }
    this.spread(segment, words);
  }

  /**
   * Puts what was gathered into a segment that is empty. It comes nearly in the order of the homes: mostly nothing lies
   * at a home or behind it yet, and nothing must be searched.
   */
  private spread(segment: number, words: number): void {
    const capacity = this.capacities[segment]!;
    // Those that went on from the end to the first slots come last.
    let first = 0;
    while (first < words && this.home(scratch[first]!, capacity) * 2 > capacity) first += 2;
    /** Nothing lies here or behind. */
    let end = 0;
    for (let next = 0; next < words; next += 2) {
      const at = next < words - first ? first + next : first + next - words;
      const hash = scratch[at]!;
      const home = this.home(hash, capacity);
      if (home < end) end = Math.max(end, this.place(segment, hash, scratch[at + 1]!) + 1);
      else {
        this.write(this.address(segment, home), hash, scratch[at + 1]!);
        end = home + 1;
      }
    }
  }

  /** Empties a page that stays, and gives away one that is too short to stay. */
  private clear(segment: number, page: number): void {
    const address = this.pages[this.rows[segment]! + page]!;
    const slots = this.capacities[segment]!;
    if (slots < PAGE_SLOTS) this.slabs.give(address, slots);
    else this.slabs.clear(address, PAGE_SLOTS);
  }

  /** Copies the entries of a segment to `scratch` and returns the number of words. */
  private gather(segment: number): number {
    const needed = this.counts[segment]! * 2;
    if (scratch.length < needed) scratch = new Uint32Array(needed * 2);
    const slots = Math.min(this.capacities[segment]!, PAGE_SLOTS);
    let to = 0;
    for (let page = 0; page < this.pageCount(segment); page++) {
      const address = this.pages[this.rows[segment]! + page]!;
      const words = this.slabs.words[address >>> SLAB_SHIFT]!;
      const from = address & SLAB_MASK;
      for (let word = from; word < from + slots * 2; word += 2) {
        if (words[word + 1] === 0) continue;
        scratch[to] = words[word]!;
        scratch[to + 1] = words[word + 1]!;
        to += 2;
      }
    }
    return to;
  }

  /** Makes the slots at this address a segment's page. */
  private put(segment: number, page: number, address: number): void {
    if (page >= this.rooms[segment]!) this.widen(segment, page);
    this.pages[this.rows[segment]! + page] = address;
  }

  /** Moves a segment's row of `count` pages to where twice as many have room. */
  private widen(segment: number, count: number): void {
    const room = Math.max(1, count * 2);
    const from = this.rows[segment]!;
    const to = this.rowsEnd;
    this.rowsEnd += room;
    if (this.rowsEnd > this.pages.length) {
      const { pages } = this;
      this.pages = new Uint32Array(this.rowsEnd * 2);
      this.pages.set(pages);
    }
    this.pages.copyWithin(to, from, from + count);
    this.rows[segment] = to;
    this.rooms[segment] = room;
  }

  /**
   * Throws unless a loaded segment holds its number of entries, each reachable from its home without a free slot
   * between.
   */
  private check(segment: number): void {
    const capacity = this.capacities[segment]!;
    const hashOf = (slot: number): number => {
      const address = this.address(segment, slot);
      const words = this.slabs.words[address >>> SLAB_SHIFT]!;
      return words[(address & SLAB_MASK) + 1] === 0 ? -1 : words[address & SLAB_MASK]!;
    };
    // How many slots before slot 0 are taken without a gap: a cluster may wrap.
    let run = 0;
    while (run < capacity && hashOf(capacity - 1 - run) >= 0) run++;
    let seen = 0;
    for (let slot = 0; slot < capacity; slot++) {
      const hash = hashOf(slot);
      if (hash < 0) {
        run = 0;
        continue;
      }
      const distance = slot - this.home(hash, capacity);
      if (hash >>> this.shift !== segment || (distance < 0 ? distance + capacity : distance) > run) {
        throw new Error(`memory: table ${this.name} has a misplaced entry in segment ${segment}`);
      }
      run++;
      seen++;
    }
    if (seen !== this.counts[segment]) {
      throw new Error(
        `memory: table ${this.name} has ${seen} entries instead of ${this.counts[segment]} in segment ${segment}`,
      );
    }
  }
}

/** Where a dump has so many bytes of a segment's page. */
type FindPage = (segment: number, page: number, bytes: number) => Uint8Array;

/** A table's pages as they were when they were held. */
interface HeldPages {
  slabs: Slabs;
  hold: Hold;
  capacities: Int32Array;
  rows: Int32Array;
  pages: Uint32Array;
}

function* readPages({ slabs, hold, capacities, rows, pages }: HeldPages): Generator<Uint8Array> {
  for (let segment = 0; segment < capacities.length; segment++) {
    const slots = Math.min(capacities[segment]!, PAGE_SLOTS);
    for (let page = 0; page * PAGE_SLOTS < capacities[segment]!; page++) {
      yield* slabs.read(hold, pages[rows[segment]! + page]!, slots);
    }
  }
}
