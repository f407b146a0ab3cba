/**
 * A hash index: 32-bit hashes to 32-bit values. Several values may share a hash, so the caller compares keys.
 *
 * Open addressing in segments. The top bits of a hash choose one of a fixed number of segments, each a small table of
 * its own in one shared buffer, which grows alone: no operation ever touches more than one segment, so none is long.
 * Within a segment the remaining bits, taken as a fraction, are scaled to its capacity (Lemire, "Fast random integer
 * generation in an interval", 2019), so capacities need not be powers of two and grow by a quarter: a segment is
 * always 64 to 80 % full, 10 to 12.5 bytes an entry. Collisions go to the next slot; removal shifts later entries
 * back (Knuth 6.4, algorithm R), so no tombstones gather. Because the hash lies beside the value, growing needs no keys.
 *
 * A slot is two words: hash, value + 1; a second word of 0 means free.
 *
 * What always holds: every segment has a free slot, so each search ends; between an entry's home slot and its slot
 * there is no free one. Hashes must be well mixed (see hash.ts), above all their upper bits.
 */
import {
  exactly,
  fail,
  finder,
  headPart,
  type Part,
  type Parts,
  pageName,
  powerOfTwo,
  readHead,
  Shape,
  sharedCopy,
} from './parts.ts';

const SEGMENTS = 1024;
const SEGMENT_SLOTS_MIN = 8;
/** Up to here a segment doubles when it is full, beyond it grows by a quarter. */
const DOUBLING_SLOTS_MAX = 128;
const VALUE_MAX = 0xffff_fffe;
const FRACTION = 2 ** -32;

/** Words that stand for a segment nothing was put into yet: one free slot. */
const NOTHING = new Uint32Array(new SharedArrayBuffer(8));

/** Cursor positions that are no slot. */
const ENDED = -1;
const STALE = -2;

export interface TableOptions {
  /** A power of two from 2 to 65 536. About one for each 5 000 entries expected. */
  segments?: number;
}

export class Table {
  readonly name: string;
  private readonly bits: number;
  private readonly shift: number;
  private segments: Uint32Array<SharedArrayBuffer>[];
  private counts: Uint32Array;
  /** Counts dumps; `owners[segment]` is the count at which the segment was last known to be in no dump. */
  private dumps = 0;
  private owners: Uint32Array;
  private total = 0;
  private cursorHash = 0;
  private cursor = ENDED;

  constructor(name: string, options: TableOptions = {}) {
    const segments = options.segments ?? SEGMENTS;
    if (!powerOfTwo(segments, 2, 65_536)) fail(`table ${name}: ${segments} segments`);
    this.name = name;
    this.bits = Math.log2(segments);
    this.shift = 32 - this.bits;
    this.segments = new Array(segments).fill(NOTHING);
    this.counts = new Uint32Array(segments);
    this.owners = new Uint32Array(segments);
  }

  /** Entries in the table. */
  get size(): number {
    return this.total;
  }

  /**
   * The first value under `hash`, or -1. It sets the table's one cursor: `next` and `replace` go on from here, until
   * the next `first`, `insert` or `remove`. Values under one hash come in no particular order.
   */
  first(hash: number): number {
    const slots = this.segments[hash >>> this.shift]!;
    this.cursorHash = hash >>> 0;
    return this.seek(slots, hash >>> 0, this.home(hash, slots.length));
  }

  /** The next value under the hash given to `first`, or -1. */
  next(): number {
    if (this.cursor < 0) {
      if (this.cursor === STALE) fail(`table ${this.name}: next() after a change`);
      return -1;
    }
    const slots = this.segments[this.cursorHash >>> this.shift]!;
    const at = this.cursor + 2;
    return this.seek(slots, this.cursorHash, at === slots.length ? 0 : at);
  }

  /** Puts `value` in the place of the one `first` or `next` has just returned. */
  replace(value: number): void {
    if (this.cursor < 0) fail(`table ${this.name}: replace() without a value found`);
    if (value >>> 0 !== value || value > VALUE_MAX) fail(`table ${this.name}: value ${value}`);
    const segment = this.cursorHash >>> this.shift;
    if (this.owners[segment] !== this.dumps) this.own(segment);
    this.segments[segment]![this.cursor + 1] = value + 1;
  }

  /** Adds an entry; the same hash and value may be added more than once. `value`: 0 to 2^32 - 2. */
  insert(hash: number, value: number): void {
    if (value >>> 0 !== value || value > VALUE_MAX) fail(`table ${this.name}: value ${value}`);
    const segment = hash >>> this.shift;
    const count = this.counts[segment]! + 1;
    // Four fifths of the slots, two words each.
    if (count * 5 > this.segments[segment]!.length * 2) this.grow(segment);
    else if (this.owners[segment] !== this.dumps) this.own(segment);
    const slots = this.segments[segment]!;
    this.place(slots, hash >>> 0, value + 1);
    this.counts[segment] = count;
    this.total++;
    this.cursor = STALE;
  }

  /** Takes away one entry with this hash and value; false where there is none. */
  remove(hash: number, value: number): boolean {
    let found = this.first(hash);
    while (found !== -1 && found !== value) found = this.next();
    const at = this.cursor;
    this.cursor = STALE;
    if (found === -1) return false;
    const segment = hash >>> this.shift;
    if (this.owners[segment] !== this.dumps) this.own(segment);
    this.close(this.segments[segment]!, at);
    this.counts[segment]!--;
    this.total--;
    return true;
  }

  /** Every segment in use as a part, and a head. Copies no segment. */
  dump(): Part[] {
    const head = new Uint32Array(1 + this.segments.length * 2);
    head[0] = this.bits;
    const parts: Part[] = [];
    for (let i = 0; i < this.segments.length; i++) {
      const slots = this.segments[i]!;
      if (slots === NOTHING) continue;
      head[1 + i * 2] = slots.length / 2;
      head[2 + i * 2] = this.counts[i]!;
      parts.push({ name: pageName(this.name, 'segment', i), final: false, bytes: new Uint8Array(slots.buffer) });
    }
    this.dumps++;
    parts.push(headPart(this.name, Shape.table, head));
    return parts;
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
    const segments: Uint32Array<SharedArrayBuffer>[] = new Array(count).fill(NOTHING);
    const counts = new Uint32Array(count);
    let total = 0;
    for (let i = 0; i < count; i++) {
      const slotsCount = head[1 + i * 2]!;
      const entries = head[2 + i * 2]!;
      if (slotsCount === 0 && entries === 0) continue;
      const name = pageName(this.name, 'segment', i);
      if (slotsCount < SEGMENT_SLOTS_MIN || entries * 5 > slotsCount * 4) {
        throw new Error(`memory: part ${name} cannot hold ${entries} entries in ${slotsCount} slots`);
      }
      const slots = new Uint32Array(sharedCopy(exactly(find, name, slotsCount * 8), slotsCount * 8));
      this.check(name, i, slots, entries);
      segments[i] = slots;
      counts[i] = entries;
      total += entries;
    }
    this.segments = segments;
    this.counts = counts;
    this.total = total;
    this.dumps = 0;
    this.owners = new Uint32Array(count);
    this.cursor = ENDED;
  }

  /** The word at which the search for `hash` begins, in a segment of `words` words. */
  private home(hash: number, words: number): number {
    return (((hash << this.bits) >>> 0) * (words >>> 1) * FRACTION) << 1;
  }

  private seek(slots: Uint32Array, hash: number, from: number): number {
    let at = from;
    for (;;) {
      const stored = slots[at + 1]!;
      if (stored === 0) {
        this.cursor = ENDED;
        return -1;
      }
      if (slots[at] === hash) {
        this.cursor = at;
        return stored - 1;
      }
      at += 2;
      if (at === slots.length) at = 0;
    }
  }

  private place(slots: Uint32Array, hash: number, stored: number): void {
    let at = this.home(hash, slots.length);
    while (slots[at + 1] !== 0) {
      at += 2;
      if (at === slots.length) at = 0;
    }
    slots[at] = hash;
    slots[at + 1] = stored;
  }

  /** Frees the slot at word `free`, moving back each later entry of the cluster that may lie there. */
  private close(slots: Uint32Array, free: number): void {
    const words = slots.length;
    let hole = free;
    let at = free;
    for (;;) {
      at += 2;
      if (at === words) at = 0;
      if (slots[at + 1] === 0) break;
      const fromHome = at - this.home(slots[at]!, words);
      const fromHole = at - hole;
      if ((fromHome < 0 ? fromHome + words : fromHome) < (fromHole < 0 ? fromHole + words : fromHole)) continue;
      slots[hole] = slots[at]!;
      slots[hole + 1] = slots[at + 1]!;
      hole = at;
    }
    slots[hole] = 0;
    slots[hole + 1] = 0;
  }

  private grow(segment: number): void {
    const old = this.segments[segment]!;
    const slotsCount = old.length / 2;
    let next = slotsCount * 2;
    if (slotsCount < SEGMENT_SLOTS_MIN) next = SEGMENT_SLOTS_MIN;
    else if (slotsCount >= DOUBLING_SLOTS_MAX) next = Math.ceil((slotsCount * 1.25) / 8) * 8;
    const slots = new Uint32Array(new SharedArrayBuffer(next * 8));
    for (let at = 0; at < old.length; at += 2) {
      const stored = old[at + 1]!;
      if (stored !== 0) this.place(slots, old[at]!, stored);
    }
    this.segments[segment] = slots;
    this.owners[segment] = this.dumps;
  }

  /** Gives the table a copy of a segment that a dump holds. */
  private own(segment: number): void {
    const slots = this.segments[segment]!;
    if (slots !== NOTHING) {
      this.segments[segment] = new Uint32Array(sharedCopy(new Uint8Array(slots.buffer), slots.length * 4));
    }
    this.owners[segment] = this.dumps;
  }

  /** Throws unless a loaded segment holds `entries` entries of its own, each reachable from its home without a free slot between. */
  private check(name: string, segment: number, slots: Uint32Array, entries: number): void {
    const words = slots.length;
    // How many words before word 0 are taken without a gap: a cluster may wrap.
    let run = 0;
    while (run < words && slots[words - 1 - run] !== 0) run += 2;
    let seen = 0;
    for (let at = 0; at < words; at += 2) {
      if (slots[at + 1] === 0) {
        run = 0;
        continue;
      }
      const hash = slots[at]!;
      const distance = (at - this.home(hash, words) + words) % words;
      if (hash >>> this.shift !== segment || distance > run)
        throw new Error(`memory: part ${name} has a misplaced entry`);
      run += 2;
      seen++;
    }
    if (seen !== entries) throw new Error(`memory: part ${name} holds ${seen} entries instead of ${entries}`);
  }
}
