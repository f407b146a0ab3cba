/**
 * Multiples of points by tables: the comb method (Lim and Lee, "More Flexible Exponentiation with Precomputation",
 * 1994) with digits that are never zero (Hamburg, "Fast and compact elliptic-curve cryptography", 2012, section 3.3).
 *
 * A scalar's bits stand in `blocks` blocks of `teeth` rows of `spacing` columns, and each bit means plus or minus its
 * power of two. A table has, for each block, the sums of the powers at its rows' first column under all signs, the
 * highest row's being plus: 2^(teeth - 1) entries. A column of a block is then one entry or its negative, so a multiple
 * costs `spacing` doublings and `spacing * blocks` additions, whatever the scalar; several multiples share the
 * doublings.
 *
 * The two lanes of a vector make two sums side by side, or, where there is one alone, each its share of the blocks.
 *
 * Scalars here are public. Nothing in this folder hides what it works on by its time, and no secret may come here.
 */
import { LIMBS, limbsOf, P, PAIR_BYTES, wordOf, wordsOf } from './field.ts';
import { type Curve, compileCurve, ENTRY_BYTES, OWN_BYTES, POINT_BYTES, T, X, Y, Z } from './points.ts';

interface Shape {
  readonly teeth: number;
  readonly blocks: number;
  readonly spacing: number;
}

/**
 * The shapes of a key's table and of the base point's: they cover the same bits, at least 254, with the same columns.
 */
export interface Shapes {
  readonly key: Shape;
  readonly base: Shape;
}

/**
 * A key's table is 8 KiB in both. Fewest additions, for two multiples side by side; the base point's table is 256 KiB.
 */
export const PAIRED: Shapes = {
  key: { teeth: 6, blocks: 2, spacing: 22 },
  base: { teeth: 12, blocks: 1, spacing: 22 },
};
/** Fewest steps where the lanes share one multiple, each its half of the blocks; the base point's table is 128 KiB. */
export const SHARED: Shapes = {
  key: { teeth: 5, blocks: 4, spacing: 13 },
  base: { teeth: 10, blocks: 2, spacing: 13 },
};
const BOTH = [PAIRED, SHARED];

const bitsOf = ({ teeth, blocks, spacing }: Shape) => teeth * blocks * spacing;
const tableBytes = ({ teeth, blocks }: Shape) => (blocks << (teeth - 1)) * ENTRY_BYTES;

/** The order L of the base point, in words, and d of the curve's equation (RFC 8032, 5.1). */
export const ORDER = wordsOf(2n ** 252n + 27742317777372353535851937790883648493n);
const D = 37095705934669439343138083508754565189542113879843219016388785533085940283555n;
const ROOT_OF_MINUS_ONE = 19681161376707505956807079304988542015446066515923890162744021073123829784752n;
const BASE_POINT = 46316835694926478169428394003475163141307993866256225615783033603165251855960n;

const most = (count: (shapes: Shapes) => number) => Math.max(...BOTH.map(count));
/** Pairs of points that can be worked on at once: a base table needs as many. */
export const ROWS = most(({ base }) => base.blocks << (base.teeth - 2));
const TEETH_MAX = most(({ key, base }) => Math.max(key.teeth * key.blocks, base.teeth * base.blocks));
/** A column's first step is the doubling before it. */
const stepsPerColumn = ({ key, base }: Shapes) => 1 + key.blocks + base.blocks;
/** The same where the lanes share one multiple. */
const stepsPerColumnShared = ({ key, base }: Shapes) => 1 + Math.ceil((key.blocks + base.blocks) / 2);
const STEPS_MAX = most((shapes) => shapes.key.spacing * stepsPerColumn(shapes));

/** Where things lie in the memory. */
const CONSTANTS = OWN_BYTES;
const ONE = CONSTANTS;
const CURVE_D = ONE + PAIR_BYTES;
const TWICE_D = CURVE_D + PAIR_BYTES;
const ROOT = TWICE_D + PAIR_BYTES;
const SCRATCH = ROOT + PAIR_BYTES;
const scratch = (index: number) => SCRATCH + index * PAIR_BYTES;
const SCRATCH_PAIRS = 8;
const SCHEDULE = scratch(SCRATCH_PAIRS);
const SHARED_SCHEDULE = SCHEDULE + STEPS_MAX * 8;
const IDENTITY = SHARED_SCHEDULE + STEPS_MAX * 8;
const POINTS = IDENTITY + POINT_BYTES;
const PREFIXES = POINTS + ROWS * POINT_BYTES;
const TEETH = alignedTo(ENTRY_BYTES, PREFIXES + ROWS * PAIR_BYTES);
const NOTHING = TEETH + 2 * TEETH_MAX * ENTRY_BYTES;
const TABLES = NOTHING + ENTRY_BYTES;

function alignedTo(bytes: number, at: number): number {
  return Math.ceil(at / bytes) * bytes;
}

const rowAt = (row: number) => POINTS + row * POINT_BYTES;
const prefixAt = (row: number) => PREFIXES + row * PAIR_BYTES;

/** Bit where limb i begins, and its mask. */
const LIMB_BITS = Array.from({ length: LIMBS }, (_, i) => Math.ceil(25.5 * i));
const LIMB_WIDTHS = Array.from({ length: LIMBS }, (_, i) => (i % 2 === 0 ? 26 : 25));

/** The tables of a thread, and the memory they and their points lie in. */
export class Combs {
  /** Where the table of the base point lies. */
  readonly base = TABLES;
  readonly #curve: Curve;
  readonly #words: Uint32Array;
  readonly #shapes: Shapes;
  readonly #bits: Uint8Array;
  readonly #scalar = new Uint32Array(9);
  readonly #limbs = new Uint32Array(LIMBS);

  /**
   * With room for the tables of `keys` keys, still without that of the base point. Throws where this machine has no
   * 128-bit vectors.
   */
  constructor(keys: number, shapes = PAIRED) {
    this.#shapes = shapes;
    this.#bits = new Uint8Array(bitsOf(shapes.key));
    this.#curve = compileCurve(TABLES + tableBytes(shapes.base) + keys * tableBytes(shapes.key));
    this.#words = new Uint32Array(this.#curve.memory);
    this.#putNumber(ONE, 1n);
    this.#putNumber(CURVE_D, D);
    this.#putNumber(TWICE_D, (2n * D) % P);
    this.#putNumber(ROOT, ROOT_OF_MINUS_ONE);
    this.#putNumber(IDENTITY + Y, 1n);
    this.#putNumber(IDENTITY + Z, 1n);
    this.#curve.writeEntries(IDENTITY, NOTHING, NOTHING, TWICE_D);
  }

  /** Makes the table of the base point, without which there are no others, in steps of some milliseconds. */
  *buildBase(): Generator<void> {
    if (!this.#decode(wordsOf(BASE_POINT), false)) throw new Error('the base point is not on the curve');
    yield* this.#buildTable(this.#shapes.base, this.base);
  }

  /** Where the table of the key in this place lies. */
  tableAt(place: number): number {
    const { key, base } = this.#shapes;
    return this.base + tableBytes(base) + place * tableBytes(key);
  }

  /**
   * Makes the table of the negative of this point, given by its encoding (8 words). Returns false where there is no
   * such point, or where it is not of order L: multiples are reckoned modulo L here.
   */
  buildKey(encoding: Uint32Array, place: number): boolean {
    if (!this.#decode(encoding, true)) return false;
    const table = this.tableAt(place);
    finish(this.#buildTable(this.#shapes.key, table));
    return this.#isOrderL(table);
  }

  /**
   * Lane `lane` of the next `run`: s times the base point plus k times the point of `table`. Scalars are 8 words below
   * L.
   */
  schedule(lane: number, s: Uint32Array, k: Uint32Array, table: number): void {
    const { key, base } = this.#shapes;
    this.#recode(s);
    this.#writeDigits(lane, base, this.base, 1);
    this.#recode(k);
    this.#writeDigits(lane, key, table, 1 + base.blocks);
  }

  /** Makes the pair of points that both lanes' schedules stand for, as row `row`. */
  run(row: number): void {
    this.#runFrom(SCHEDULE, stepsPerColumn(this.#shapes), row);
  }

  /**
   * Makes the point that lane 0's schedule stands for, in both lanes of row `row`: each lane has its share of a
   * column's entries, which with doublings of its own come to a part of the sum, and the parts are added at last.
   */
  runAlone(row: number): void {
    const words = this.#words;
    const { key, base } = this.#shapes;
    const entries = key.blocks + base.blocks;
    let [from, to] = [SCHEDULE / 4, SHARED_SCHEDULE / 4];
    for (let column = 0; column < key.spacing; column++) {
      // Past the doubling's zeros.
      [from, to] = [from + 2, to + 2];
      for (let entry = 0; entry < entries; entry += 2) {
        words[to] = words[from + 2 * entry]!;
        words[to + 1] = entry + 1 < entries ? words[from + 2 * entry + 2]! : NOTHING;
        to += 2;
      }
      from += 2 * entries;
    }
    this.#runFrom(SHARED_SCHEDULE, stepsPerColumnShared(this.#shapes), row);
    this.#addLanes(row);
  }

  /**
   * Divides the coordinates of the first `count` rows by their Z: one inversion for all of them (Montgomery's trick).
   */
  normalise(count: number): void {
    const { multiply } = this.#curve;
    const [inverse, one] = [scratch(6), scratch(7)];
    this.#copyPair(rowAt(0) + Z, prefixAt(0));
    for (let row = 1; row < count; row++) multiply(prefixAt(row), prefixAt(row - 1), rowAt(row) + Z);
    this.#invert(inverse, prefixAt(count - 1));
    for (let row = count - 1; row >= 0; row--) {
      const at = rowAt(row);
      if (row > 0) multiply(one, inverse, prefixAt(row - 1));
      else this.#copyPair(inverse, one);
      multiply(inverse, inverse, at + Z);
      multiply(at + X, at + X, one);
      multiply(at + Y, at + Y, one);
    }
  }

  /** Nothing is doubled before the first column. */
  #runFrom(schedule: number, stepsPerColumn: number, row: number): void {
    this.#copyPoint(IDENTITY, rowAt(row));
    this.#curve.run(rowAt(row), schedule + 8, schedule + 8 * stepsPerColumn * this.#shapes.key.spacing);
  }

  /**
   * Both lanes of a row become the sum of its two points, whichever they are: "add-2008-hwcd-3", but for T, since
   * nothing is added to a sum: 8 products.
   */
  #addLanes(row: number): void {
    const { multiply, add, subtract } = this.#curve;
    const at = rowAt(row);
    const [x, y, z, t] = [at + X, at + Y, at + Z, at + T];
    const [a, b, c, d] = [scratch(0), scratch(1), scratch(2), scratch(3)];
    const [e, f, g, h] = [scratch(4), scratch(5), scratch(6), scratch(7)];
    const other = (coordinate: number) => {
      this.#copyExchanged(coordinate, h);
      return h;
    };
    subtract(a, y, x);
    multiply(a, a, other(a));
    add(b, y, x);
    multiply(b, b, other(b));
    multiply(c, t, other(t));
    multiply(c, c, TWICE_D);
    multiply(d, z, other(z));
    add(d, d, d);
    subtract(e, b, a);
    subtract(f, d, c);
    add(g, d, c);
    add(h, b, a);
    multiply(x, e, f);
    multiply(y, g, h);
    multiply(z, f, g);
  }

  /** The encoding (8 words) of a point of a normalised row. */
  encode(row: number, lane: number, encoding: Uint32Array): void {
    const at = rowAt(row);
    this.#canonicalLimbs(at + X, lane);
    const sign = this.#limbs[0]! & 1;
    this.#canonicalLimbs(at + Y, lane);
    encoding.fill(0);
    for (let i = 0; i < LIMBS; i++) {
      const word = LIMB_BITS[i]! >> 5;
      const shift = LIMB_BITS[i]! & 31;
      encoding[word]! |= this.#limbs[i]! << shift;
      if (shift + LIMB_WIDTHS[i]! > 32) encoding[word + 1]! |= this.#limbs[i]! >>> (32 - shift);
    }
    encoding[7]! |= sign << 31;
  }

  /**
   * Row 0, both lanes, becomes the point of this encoding (RFC 8032, 5.1.3), or its negative. False where none has it;
   * that y is below p is not looked at.
   */
  #decode(encoding: Uint32Array, isNegated: boolean): boolean {
    const { multiply, squareTimes, add, subtract } = this.#curve;
    const at = rowAt(0);
    const [x, y] = [at + X, at + Y];
    const [u, v, vv, root] = [scratch(5), scratch(6), scratch(7), at + T];
    this.#putEncoding(y, encoding);
    this.#copyPair(ONE, at + Z);
    squareTimes(vv, y, 1);
    subtract(u, vv, ONE);
    multiply(v, vv, CURVE_D);
    add(v, v, ONE);
    // x = u v^3 (u v^7)^((p - 5) / 8), times the root of -1 where v x^2 = -u.
    squareTimes(vv, v, 1);
    multiply(root, vv, v);
    multiply(root, root, u);
    squareTimes(vv, vv, 1);
    multiply(x, root, vv);
    this.#toThePowerOf250Ones(x);
    squareTimes(scratch(0), scratch(0), 2);
    multiply(x, scratch(0), x);
    multiply(x, x, root);
    squareTimes(vv, x, 1);
    multiply(vv, vv, v);
    if (!this.#isEqual(vv, u)) {
      add(vv, vv, u);
      if (!this.#isZero(vv)) return false;
      multiply(x, x, ROOT);
    }
    // The two points with x = 0 have small order.
    if (this.#isZero(x)) return false;
    const sign = encoding[7]! >>> 31;
    if ((this.#limbs[0]! & 1) !== (isNegated ? 1 - sign : sign)) {
      this.#putNumber(u, 0n);
      subtract(x, u, x);
    }
    multiply(at + T, x, y);
    return true;
  }

  /** Makes the table of the point that row 0 has in both lanes, in steps. */
  *#buildTable({ teeth, blocks, spacing }: Shape, table: number): Generator<void> {
    const count = teeth * blocks;
    // The power of two at each tooth, and twice that: what changing its sign adds.
    for (let tooth = 0; tooth < count; tooth++) {
      const [once, twice, next] = [rowAt(2 * tooth), rowAt(2 * tooth + 1), rowAt(2 * tooth + 2)];
      this.#copyPoint(once, twice);
      this.#curve.double(twice);
      if (tooth === count - 1) break;
      this.#copyPoint(twice, next);
      for (let i = 1; i < spacing; i++) this.#curve.double(next);
    }
    this.normalise(2 * count);
    for (let i = 0; i < 2 * count; i++) {
      const entry = TEETH + i * ENTRY_BYTES;
      this.#curve.writeEntries(rowAt(i), entry, entry, TWICE_D);
    }
    yield;

    const half = 1 << (teeth - 2);
    for (let block = 0; block < blocks; block++) this.#addUp(block * half, teeth, block * teeth);
    yield;
    this.normalise(blocks * half);
    yield;
    for (let row = 0; row < blocks * half; row++) {
      const block = Math.floor(row / half);
      const first = table + (block * 2 * half + (row % half)) * ENTRY_BYTES;
      this.#curve.writeEntries(rowAt(row), first, first + half * ENTRY_BYTES, TWICE_D);
    }
  }

  /**
   * The sums of one block from row `from` on: bit j of a row's number tells the sign of tooth j. The last tooth but one
   * is minus in lane 0 and plus in lane 1, the last is plus.
   */
  #addUp(from: number, teeth: number, firstTooth: number): void {
    const { addEntries } = this.#curve;
    const once = (tooth: number) => TEETH + 2 * (firstTooth + tooth) * ENTRY_BYTES;
    const start = rowAt(from);
    this.#copyPoint(IDENTITY, start);
    addEntries(start, once(teeth - 1), once(teeth - 1));
    addEntries(start, once(teeth - 2) + 1, once(teeth - 2));
    for (let tooth = 0; tooth < teeth - 2; tooth++) addEntries(start, once(tooth) + 1, once(tooth) + 1);
    for (let signs = 1; signs < 1 << (teeth - 2); signs++) {
      const point = rowAt(from + signs);
      this.#copyPoint(rowAt(from + (signs & (signs - 1))), point);
      const twice = once(31 - Math.clz32(signs & -signs)) + ENTRY_BYTES;
      addEntries(point, twice, twice);
    }
  }

  /**
   * Whether L times the point of a key's table is nothing. L is odd, so that it is not changed when its digits are
   * made.
   */
  #isOrderL(table: number): boolean {
    const zero = new Uint32Array(8);
    for (let lane = 0; lane < 2; lane++) this.schedule(lane, zero, ORDER, table);
    this.run(0);
    this.normalise(1);
    const encoding = new Uint32Array(8);
    this.encode(0, 0, encoding);
    return encoding.every((word, i) => word === (i === 0 ? 1 : 0));
  }

  /**
   * The digits of a scalar, plus (1) and minus (0): a number that is odd, k or k + L, is the sum of all powers of two
   * below 2^bits under the signs that the bits of (k - 1) / 2 + 2^(bits - 1) tell.
   */
  #recode(scalar: Uint32Array): void {
    const words = this.#scalar;
    words.set(scalar);
    words[8] = 0;
    if ((words[0]! & 1) === 0) {
      let carry = 0;
      for (let i = 0; i < 8; i++) {
        const total = words[i]! + ORDER[i]! + carry;
        words[i] = total;
        carry = total > 0xffffffff ? 1 : 0;
      }
    }
    const bits = this.#bits;
    const top = bits.length - 1;
    for (let bit = 0; bit < top; bit++) bits[bit] = (words[(bit + 1) >> 5]! >>> ((bit + 1) & 31)) & 1;
    bits[top] = 1;
  }

  /** Writes the entries of all columns, highest first; a column's first step is the doubling before it. */
  #writeDigits(lane: number, { teeth, blocks, spacing }: Shape, table: number, firstStep: number): void {
    const bits = this.#bits;
    const half = 1 << (teeth - 1);
    const wordsPerColumn = 2 * stepsPerColumn(this.#shapes);
    for (let block = 0; block < blocks; block++) {
      const entries = table + block * half * ENTRY_BYTES;
      let step = SCHEDULE / 4 + 2 * (firstStep + block) + lane;
      for (let column = spacing - 1; column >= 0; column--) {
        let digit = 0;
        const top = column + spacing * (teeth * (block + 1) - 1);
        for (let tooth = 0, bit = top; tooth < teeth; tooth++, bit -= spacing) digit = (digit << 1) | bits[bit]!;
        // Where the highest row is minus, it is the negative of the entry with all signs the other way round.
        this.#words[step] =
          digit >= half ? entries + (digit - half) * ENTRY_BYTES : entries + (half - 1 - digit) * ENTRY_BYTES + 1;
        step += wordsPerColumn;
      }
    }
  }

  /** scratch(0) = pair^(2^250 - 1), scratch(1) = pair^11. */
  #toThePowerOf250Ones(at: number): void {
    const { multiply, squareTimes } = this.#curve;
    const [result, eleventh, ten, fifty, other] = [scratch(0), scratch(1), scratch(2), scratch(3), scratch(4)];
    squareTimes(result, at, 1);
    squareTimes(other, result, 2);
    multiply(other, other, at);
    multiply(eleventh, other, result);
    squareTimes(result, eleventh, 1);
    multiply(result, result, other);
    /** From 2^n - 1 in `to` to 2^(n + bits) - 1, with 2^bits - 1 in `ones`. */
    const append = (to: number, bits: number, ones: number) => {
      squareTimes(other, to, bits);
      multiply(to, other, ones);
    };
    append(result, 5, result);
    this.#copyPair(result, ten);
    append(result, 10, result);
    append(result, 20, result);
    append(result, 10, ten);
    this.#copyPair(result, fifty);
    append(result, 50, result);
    append(result, 100, result);
    append(result, 50, fifty);
  }

  /** Pair to the power p - 2 = 2^255 - 21. */
  #invert(to: number, at: number): void {
    this.#toThePowerOf250Ones(at);
    this.#curve.squareTimes(scratch(0), scratch(0), 5);
    this.#curve.multiply(to, scratch(0), scratch(1));
  }

  #isEqual(a: number, b: number): boolean {
    this.#curve.subtract(scratch(0), a, b);
    return this.#isZero(scratch(0));
  }

  /** Leaves the element's limbs in #limbs, reduced. */
  #isZero(at: number): boolean {
    this.#canonicalLimbs(at, 0);
    return this.#limbs.every((limb) => limb === 0);
  }

  /** The limbs of a tight element, reduced: minus p where adding 19 reaches 2^255. */
  #canonicalLimbs(at: number, lane: number): void {
    const words = this.#words;
    const limbs = this.#limbs;
    let carry = 19;
    for (let i = 0; i < LIMBS; i++) {
      limbs[i] = words[at / 4 + wordOf(i, lane)]!;
      carry = (limbs[i]! + carry) >>> LIMB_WIDTHS[i]!;
    }
    carry *= 19;
    for (let i = 0; i < LIMBS; i++) {
      const total = limbs[i]! + carry;
      carry = total >>> LIMB_WIDTHS[i]!;
      limbs[i] = total & ((1 << LIMB_WIDTHS[i]!) - 1);
    }
  }

  #putNumber(at: number, value: bigint): void {
    limbsOf(value).forEach((limb, i) => {
      for (let lane = 0; lane < 2; lane++) this.#words[at / 4 + wordOf(i, lane)] = limb;
    });
  }

  /** The y of an encoding, without the sign at its top. */
  #putEncoding(at: number, encoding: Uint32Array): void {
    let value = 0n;
    for (let i = 7; i >= 0; i--) value = (value << 32n) | BigInt(encoding[i]!);
    this.#putNumber(at, BigInt.asUintN(255, value));
  }

  #copyPair(from: number, to: number): void {
    this.#words.copyWithin(to / 4, from / 4, (from + PAIR_BYTES) / 4);
  }

  /** Each lane gets what the other has. */
  #copyExchanged(from: number, to: number): void {
    for (let at = 0; at < PAIR_BYTES / 4; at++) this.#words[to / 4 + at] = this.#words[from / 4 + (at ^ 1)]!;
  }

  #copyPoint(from: number, to: number): void {
    this.#words.copyWithin(to / 4, from / 4, (from + POINT_BYTES) / 4);
  }
}

/** Takes all steps at once. */
export function finish(steps: Iterable<void>): void {
  for (const _ of steps);
}
