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
 * A segment begins as a part of one page that doubles, and then grows by a page (from 16 pages on, by an eighth)
 * into the pages it has and the new ones, so that growing leaves no outgrown memory behind. It is never more than
 * four fifths full: with p pages, 10 bytes an entry and at most 10 (p + 1) / p.
 *
 * What always holds: every segment has a free slot, so each search ends; between an entry's home slot and its slot
 * there is no free one. Hashes must be well mixed (see hash.ts), above all their upper bits.
 */
import { Pages } from './pages.ts';
import {
  exactly,
  fail,
  finder,
  headPart,
  type Part,
  type Parts,
  powerOfTwo,
  readHead,
  Shape,
  sharedCopy,
} from './parts.ts';

const SEGMENTS = 1024;
const SEGMENT_SLOTS_MIN = 8;
const PAGE_SHIFT = 10;
const PAGE_SLOTS = 1 << PAGE_SHIFT;
const PAGE_MASK = PAGE_SLOTS - 1;
const SLOT_BYTES = 8;
const VALUE_MAX = 0xffff_fffe;
const FRACTION = 2 ** -32;

/** Cursor positions that are no slot. */
const ENDED = -1;
const STALE = -2;

type Words = Uint32Array<SharedArrayBuffer>;

/** One of the small tables. */
class Segment {
  readonly index: number;
  pages: Words[] = [];
  /** The part of each page, kept ready so that a dump of many pages takes no time. */
  parts: Part[] = [];
  /** For each page the count of dumps at which it was last known to be in none. */
  owners: number[] = [];
  /** Slots in all pages. */
  capacity = 0;
  entries = 0;

  constructor(index: number) {
    this.index = index;
  }
}

/** Stands for a segment nothing was put into yet: one free slot. */
const NOTHING = new Segment(-1);
NOTHING.pages.push(new Uint32Array(new SharedArrayBuffer(SLOT_BYTES)));
NOTHING.capacity = 1;

/** Where growing keeps the entries of a segment meanwhile. */
let scratch = new Uint32Array(PAGE_SLOTS);

export interface TableOptions {
  /** A power of two from 2 to 65 536. About one for each 5 000 entries expected; less costs memory where entries are few, more costs longer pauses to grow. */
  segments?: number | undefined;
}

export class Table {
  readonly name: string;
  private readonly bits: number;
  private readonly shift: number;
  private readonly pool = new Pages(PAGE_SLOTS * SLOT_BYTES);
  private segments: Segment[];
  private total = 0;
  private dumps = 0;
  private cursorHash = 0;
  /** The slot of the value last found, or ENDED or STALE. */
  private cursor = ENDED;

  constructor(name: string, options: TableOptions = {}) {
    const segments = options.segments ?? SEGMENTS;
    if (!powerOfTwo(segments, 2, 65_536)) fail(`table ${name}: ${segments} segments`);
    this.name = name;
    this.bits = Math.log2(segments);
    this.shift = 32 - this.bits;
    this.segments = new Array<Segment>(segments).fill(NOTHING);
  }

  /** Entries in the table. */
  get size(): number {
    return this.total;
  }

  /** Bytes of all slots, free ones included. */
  get bytes(): number {
    let slots = 0;
    for (const segment of this.segments) if (segment !== NOTHING) slots += segment.capacity;
    return slots * SLOT_BYTES;
  }

  /**
   * The first value under `hash`, or -1. It sets the table's one cursor: `next` and `replace` go on from here, until
   * the next `first`, `insert`, `remove` or `load`. Values under one hash come in no particular order.
   */
  first(hash: number): number {
    const segment = this.segments[hash >>> this.shift]!;
    this.cursorHash = hash >>> 0;
    return this.seek(segment, hash >>> 0, this.home(hash, segment.capacity));
  }

  /** The next value under the hash given to `first`, or -1. */
  next(): number {
    if (this.cursor < 0) {
      if (this.cursor === STALE) fail(`table ${this.name}: next() after a change`);
      return -1;
    }
    const segment = this.segments[this.cursorHash >>> this.shift]!;
    const slot = this.cursor + 1;
    return this.seek(segment, this.cursorHash, slot === segment.capacity ? 0 : slot);
  }

  /** Puts `value` in the place of the one `first` or `next` has just returned. */
  replace(value: number): void {
    if (this.cursor < 0) fail(`table ${this.name}: replace() without a value found`);
    if (value >>> 0 !== value || value > VALUE_MAX) fail(`table ${this.name}: value ${value}`);
    const segment = this.segments[this.cursorHash >>> this.shift]!;
    this.owned(segment, this.cursor >>> PAGE_SHIFT)[((this.cursor & PAGE_MASK) << 1) + 1] = value + 1;
  }

  /** Adds an entry; the same hash and value may be added more than once. `value`: 0 to 2^32 - 2. */
  insert(hash: number, value: number): void {
    if (value >>> 0 !== value || value > VALUE_MAX) fail(`table ${this.name}: value ${value}`);
    let segment = this.segments[hash >>> this.shift]!;
    if ((segment.entries + 1) * 5 > segment.capacity * 4) segment = this.grow(hash >>> this.shift);
    this.place(segment, hash >>> 0, value + 1);
    segment.entries++;
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
    const segment = this.segments[hash >>> this.shift]!;
    this.close(segment, slot);
    segment.entries--;
    this.total--;
    return true;
  }

  /** Every page as a part, and a head. Copies no page. */
  dump(): Part[] {
    const head = new Uint32Array(1 + this.segments.length * 2);
    head[0] = this.bits;
    const parts: Part[] = [];
    for (let i = 0; i < this.segments.length; i++) {
      const segment = this.segments[i]!;
      if (segment === NOTHING) continue;
      head[1 + i * 2] = segment.capacity;
      head[2 + i * 2] = segment.entries;
      for (const part of segment.parts) parts.push(part);
    }
    parts.push(headPart(this.name, Shape.table, head));
    this.dumps++;
    this.pool.forget();
    return parts;
  }

  /** Says that the bytes of all dumps so far are needed no more, so that pages kept for them are used again. Optional. */
  release(): void {
    this.pool.release();
    for (const segment of this.segments) segment.owners.fill(this.dumps);
  }

  /**
   * Takes over the state of a dump. Throws where parts are missing or do not fit, or where an entry does not lie where
   * a search would find it, and then changes nothing.
   */
  load(parts: Parts): void {
    const find = finder(parts);
    const count = this.segments.length;
    const head = readHead(find, this.name, Shape.table, 1 + count * 2);
    if (head[0] !== this.bits) throw new Error(`memory: table ${this.name} was dumped with another number of segments`);
    const segments = new Array<Segment>(count).fill(NOTHING);
    let total = 0;
    for (let i = 0; i < count; i++) {
      const capacity = head[1 + i * 2]!;
      const entries = head[2 + i * 2]!;
      if (capacity === 0 && entries === 0) continue;
      const whole =
        capacity <= PAGE_SLOTS ? powerOfTwo(capacity, SEGMENT_SLOTS_MIN, PAGE_SLOTS) : capacity % PAGE_SLOTS === 0;
      if (!whole || entries * 5 > capacity * 4) {
        throw new Error(
          `memory: table ${this.name} cannot hold ${entries} entries in ${capacity} slots of segment ${i}`,
        );
      }
      const segment = new Segment(i);
      const pageBytes = Math.min(capacity, PAGE_SLOTS) * SLOT_BYTES;
      for (let slot = 0; slot < capacity; slot += PAGE_SLOTS) {
        this.put(
          segment,
          slot >>> PAGE_SHIFT,
          sharedCopy(exactly(find, this.partName(i, slot >>> PAGE_SHIFT), pageBytes), pageBytes),
        );
      }
      segment.capacity = capacity;
      segment.entries = entries;
      this.check(segment);
      segments[i] = segment;
      total += entries;
    }
    this.segments = segments;
    this.total = total;
    // The pages were put under the present count of dumps, so it stays.
    this.cursor = ENDED;
    this.pool.reset();
  }

  /** The slot at which the search for `hash` begins, in a segment of `capacity` slots. */
  private home(hash: number, capacity: number): number {
    return (((hash << this.bits) >>> 0) * capacity * FRACTION) >>> 0;
  }

  private seek(segment: Segment, hash: number, from: number): number {
    const pages = segment.pages;
    let index = from >>> PAGE_SHIFT;
    let page = pages[index]!;
    let word = (from & PAGE_MASK) << 1;
    for (;;) {
      const stored = page[word + 1]!;
      if (stored === 0) {
        this.cursor = ENDED;
        return -1;
      }
      if (page[word] === hash) {
        this.cursor = (index << PAGE_SHIFT) | (word >>> 1);
        return stored - 1;
      }
      word += 2;
      if (word === page.length) {
        word = 0;
        index++;
        if (index === pages.length) index = 0;
        page = pages[index]!;
      }
    }
  }

  private place(segment: Segment, hash: number, stored: number): void {
    const pages = segment.pages;
    const home = this.home(hash, segment.capacity);
    let index = home >>> PAGE_SHIFT;
    let page = pages[index]!;
    let word = (home & PAGE_MASK) << 1;
    while (page[word + 1] !== 0) {
      word += 2;
      if (word === page.length) {
        word = 0;
        index++;
        if (index === pages.length) index = 0;
        page = pages[index]!;
      }
    }
    if (segment.owners[index] !== this.dumps) page = this.owned(segment, index);
    page[word] = hash;
    page[word + 1] = stored;
  }

  /** Frees slot `free`, moving back each later entry of the cluster that may lie there. */
  private close(segment: Segment, free: number): void {
    const { pages, capacity } = segment;
    let hole = free;
    let slot = free;
    for (;;) {
      slot++;
      if (slot === capacity) slot = 0;
      const page = pages[slot >>> PAGE_SHIFT]!;
      const word = (slot & PAGE_MASK) << 1;
      if (page[word + 1] === 0) break;
      const fromHome = slot - this.home(page[word]!, capacity);
      const fromHole = slot - hole;
      if ((fromHome < 0 ? fromHome + capacity : fromHome) < (fromHole < 0 ? fromHole + capacity : fromHole)) continue;
      const target = this.owned(segment, hole >>> PAGE_SHIFT);
      target[(hole & PAGE_MASK) << 1] = page[word]!;
      target[((hole & PAGE_MASK) << 1) + 1] = page[word + 1]!;
      hole = slot;
    }
    const target = this.owned(segment, hole >>> PAGE_SHIFT);
    target[(hole & PAGE_MASK) << 1] = 0;
    target[((hole & PAGE_MASK) << 1) + 1] = 0;
  }

  /** The page to write to: a copy where a dump holds the one there was. */
  private owned(segment: Segment, page: number): Words {
    if (segment.owners[page] !== this.dumps) this.copy(segment, page);
    return segment.pages[page]!;
  }

  private copy(segment: Segment, page: number): void {
    const words = segment.pages[page]!;
    const buffer =
      words.length === PAGE_SLOTS * 2
        ? this.pool.replace(words.buffer)
        : sharedCopy(new Uint8Array(words.buffer), words.length * 4);
    this.put(segment, page, buffer);
  }

  /** Gives segment `i` more slots, moves its entries to their new places and returns it. */
  private grow(i: number): Segment {
    let segment = this.segments[i]!;
    if (segment === NOTHING) {
      segment = new Segment(i);
      this.segments[i] = segment;
    }
    const count = this.gather(segment);
    const { capacity, pages } = segment;
    if (capacity < PAGE_SLOTS) {
      segment.capacity = Math.max(SEGMENT_SLOTS_MIN, capacity * 2);
      const bytesCount = segment.capacity * SLOT_BYTES;
      this.put(segment, 0, segment.capacity === PAGE_SLOTS ? this.pool.take() : new SharedArrayBuffer(bytesCount));
    } else {
      for (let page = 0; page < pages.length; page++) {
        if (segment.owners[page] === this.dumps) pages[page]!.fill(0);
        else this.put(segment, page, this.pool.renew(pages[page]!.buffer));
      }
      for (let more = Math.max(1, pages.length >>> 3); more > 0; more--)
        this.put(segment, pages.length, this.pool.take());
      segment.capacity = pages.length * PAGE_SLOTS;
    }
    for (let at = 0; at < count; at += 2) this.place(segment, scratch[at]!, scratch[at + 1]!);
    return segment;
  }

  /** Copies the entries of a segment to `scratch` and returns the number of words. */
  private gather(segment: Segment): number {
    const words = segment.entries * 2;
    if (scratch.length < words) scratch = new Uint32Array(words * 2);
    let to = 0;
    for (const page of segment.pages) {
      for (let at = 0; at < page.length; at += 2) {
        if (page[at + 1] === 0) continue;
        scratch[to] = page[at]!;
        scratch[to + 1] = page[at + 1]!;
        to += 2;
      }
    }
    return to;
  }

  private put(segment: Segment, page: number, buffer: SharedArrayBuffer): void {
    segment.pages[page] = new Uint32Array(buffer);
    segment.parts[page] = { name: this.partName(segment.index, page), final: false, bytes: new Uint8Array(buffer) };
    segment.owners[page] = this.dumps;
  }

  private partName(segment: number, page: number): string {
    return `${this.name}.segment.${segment}.${page}`;
  }

  /** Throws unless a loaded segment holds its number of entries, each reachable from its home without a free slot between. */
  private check(segment: Segment): void {
    const { pages, capacity, index } = segment;
    // How many slots before slot 0 are taken without a gap: a cluster may wrap.
    let run = 0;
    for (let slot = capacity - 1; pages[slot >>> PAGE_SHIFT]![((slot & PAGE_MASK) << 1) + 1] !== 0; slot--) {
      run++;
      if (slot === 0) break;
    }
    let seen = 0;
    for (let slot = 0; slot < capacity; slot++) {
      const page = pages[slot >>> PAGE_SHIFT]!;
      const word = (slot & PAGE_MASK) << 1;
      if (page[word + 1] === 0) {
        run = 0;
        continue;
      }
      const distance = slot - this.home(page[word]!, capacity);
      if (page[word]! >>> this.shift !== index || (distance < 0 ? distance + capacity : distance) > run) {
        throw new Error(`memory: table ${this.name} has a misplaced entry in segment ${index}`);
      }
      run++;
      seen++;
    }
    if (seen !== segment.entries) {
      throw new Error(
        `memory: table ${this.name} has ${seen} entries instead of ${segment.entries} in segment ${index}`,
      );
    }
  }
}
