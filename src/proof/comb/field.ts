/**
 * Arithmetic modulo p = 2^255 - 19 on pairs: each instruction works on two elements side by side, which know nothing of
 * each other: of two signatures, or of two parts of the sum that one alone needs.
 *
 * An element is ten limbs of alternating 26 and 25 bits (Bernstein, "Curve25519", 2006; on vectors: Bernstein and
 * Schwabe, "NEON crypto", 2012), limb i standing for 2^ceil(25.5 i). A pair is 80 bytes, five vectors; vector i holds
 * limbs 2i of both, then limbs 2i + 1 of both, so that one instruction multiplies a limb of both by a limb of both.
 *
 * What always holds: limbs are unsigned, and no column of a product reaches 2^64. With e = 2^26 for an even limb and
 * 2^25 for an odd one, each operation says the size of what it takes and gives, in multiples of e:
 *
 *   tight   at most 1 + 2^-8: what products, carry and entries are
 *   loose   at most 3 + 2^-6: what sum and difference make of tight ones
 *
 * A product takes factors of at most 6 + 2^-6 and 3 + 2^-6: then 19 times a limb of the second is below 2^32, and a
 * column is at most 6.02 * 3.02 * 2^52 * (1 + 19 * 6.5) < 2^63.2 (four products of even limbs wrap round, five of odd
 * ones, which count twice, and the one that does not).
 */
import {
  add32,
  add64,
  andBits,
  type Code,
  get,
  load,
  multiply32,
  multiplyHigh,
  multiplyLow,
  pick,
  set,
  shiftLeft64,
  shiftRight32,
  shiftRight64,
  store,
  subtract32,
  type WasmFunction,
  words,
} from './wasm.ts';

export const LIMBS = 10;
const VECTORS = LIMBS / 2;
/** Bytes of a pair of elements. */
export const PAIR_BYTES = VECTORS * 16;

export const P = 2n ** 255n - 19n;

const bitsOf = (limb: number) => (limb % 2 === 0 ? 26 : 25);

/** Where limb `limb` of the element in lane `lane` lies in its pair, in words. */
export const wordOf = (limb: number, lane: number) => (limb >> 1) * 4 + (limb & 1) * 2 + lane;

/** The limbs of a number below 2^255. */
export function limbsOf(value: bigint): number[] {
  let rest = value;
  return Array.from({ length: LIMBS }, (_, i) => {
    const limb = BigInt.asUintN(bitsOf(i), rest);
    rest >>= BigInt(bitsOf(i));
    return Number(limb);
  });
}

/** The eight little-endian words of a number below 2^256. */
export function wordsOf(value: bigint): Uint32Array {
  return Uint32Array.from({ length: 8 }, (_, i) => Number(BigInt.asUintN(32, value >> BigInt(32 * i))));
}

/**
 * Multiples of p whose limbs are all at least 1 (or 3) times e, so that what is subtracted from them stays positive.
 */
const TWICE_P = (i: number) => (i === 0 ? words(0x7ffffda, 0x7ffffda, 0x3fffffe, 0x3fffffe) : TWICE_P_REST);
const TWICE_P_REST = words(0x7fffffe, 0x7fffffe, 0x3fffffe, 0x3fffffe);
const FOUR_TIMES_P = (i: number) => (i === 0 ? words(0xfffffb4, 0xfffffb4, 0x7fffffc, 0x7fffffc) : FOUR_TIMES_P_REST);
const FOUR_TIMES_P_REST = words(0xffffffc, 0xffffffc, 0x7fffffc, 0x7fffffc);

type Vectors = readonly Code[];

/** What reads a pair at an address. */
export function pairAt(address: Code): Vectors {
  return Array.from({ length: VECTORS }, (_, i) => load(address, 16 * i));
}

/** Sizes add up. */
export function sum(a: Vectors, b: Vectors): Vectors {
  return a.map((vector, i) => add32(vector, b[i]!));
}

/** a - b; b must be tight. Size: that of a and 2. */
export function difference(a: Vectors, b: Vectors): Vectors {
  return a.map((vector, i) => add32(vector, subtract32(TWICE_P(i), b[i]!)));
}

/** a - b; b may be loose. Size: that of a and 4. */
export function wideDifference(a: Vectors, b: Vectors): Vectors {
  return a.map((vector, i) => add32(vector, subtract32(FOUR_TIMES_P(i), b[i]!)));
}

/** -a; a must be tight. Size: 2. */
export function negative(a: Vectors): Vectors {
  return a.map((vector, i) => subtract32(TWICE_P(i), vector));
}

export function storePair(address: Code, value: Vectors): Code {
  return value.map((vector, i) => store(address, 16 * i, vector));
}

const ODD = words(0, 0, -1, -1);
const MASKS = words(0x3ffffff, 0x3ffffff, 0x1ffffff, 0x1ffffff);
const LOW_26 = words(0x3ffffff, 0, 0x3ffffff, 0);
const LOW_25 = words(0x1ffffff, 0, 0x1ffffff, 0);
const NINETEEN = words(19, 19, 19, 19);

/** Stores the value, of size 8 at most, as a tight pair: each limb hands what is above its bits to the next, once. */
export function storeCarried(fn: WasmFunction, address: Code, value: Vectors): void {
  const limbs = value.map((vector) => fn.vector(vector));
  const carries = limbs.map((vector) =>
    fn.vector(pick(shiftRight32(vector, 26), shiftRight32(vector, 25), [0, 1, 6, 7])),
  );
  limbs.forEach((vector, i) => {
    const before = i > 0 ? carries[i - 1]! : fn.vector(multiply32(carries[VECTORS - 1]!, NINETEEN));
    const carried = pick(before, carries[i]!, [2, 3, 4, 5]);
    fn.emit(store(address, 16 * i, add32(andBits(vector, MASKS), carried)));
  });
}

/** A left factor's forms: as it is, and with its odd limbs twice. */
function leftForms(fn: WasmFunction, factor: Vectors) {
  const plain = factor.map((vector) => fn.vector(vector));
  return { plain, oddTwice: plain.map((vector) => fn.vector(add32(vector, andBits(vector, ODD)))) };
}

/** A right factor's: as it is, and 19 times; both also with halves exchanged, odd limbs where even ones were. */
function rightForms(fn: WasmFunction, factor: Vectors) {
  const plain = factor.map((vector) => fn.vector(vector));
  const wrapped = plain.map((vector) => fn.vector(multiply32(vector, NINETEEN)));
  const exchanged = (vectors: Vectors) => vectors.map((vector) => fn.vector(pick(vector, vector, [2, 3, 0, 1])));
  return { plain, wrapped, crossed: exchanged(plain), wrappedCrossed: exchanged(wrapped) };
}

/**
 * Limb i of `f` times limb j of `g`, as column i + j takes it: from the tenth column on it wraps round 19 times, and
 * two odd limbs stand half a bit too low each, so that their product counts twice.
 */
function product(f: ReturnType<typeof leftForms>, g: ReturnType<typeof rightForms>, i: number, j: number): Code {
  const isAligned = i % 2 === j % 2;
  const wraps = i + j >= LIMBS;
  const left = isAligned ? f.oddTwice : f.plain;
  const right = isAligned ? (wraps ? g.wrapped : g.plain) : wraps ? g.wrappedCrossed : g.crossed;
  return (i % 2 === 0 ? multiplyLow : multiplyHigh)(left[i >> 1]!, right[j >> 1]!);
}

/** Stores f * g, tight. Sizes: f at most 6 + 2^-6, g loose. */
export function storeProduct(fn: WasmFunction, address: Code, f: Vectors, g: Vectors): void {
  const left = leftForms(fn, f);
  const right = rightForms(fn, g);
  const columns = Array.from({ length: LIMBS }, (_, column) => {
    const terms = Array.from({ length: LIMBS }, (_, i) => product(left, right, i, (column - i + LIMBS) % LIMBS));
    return fn.define(terms.reduce(add64));
  });
  storeColumns(fn, address, columns);
}

/** Stores f * f, tight; products of two different limbs are made once and taken twice. f must be loose. */
export function storeSquare(fn: WasmFunction, address: Code, f: Vectors): void {
  const right = rightForms(fn, f);
  const once = leftForms(fn, right.plain);
  const twice = leftForms(fn, sum(right.plain, right.plain));
  const columns = Array.from({ length: LIMBS }, (_, column) => {
    const terms: Code[] = [];
    for (let i = 0; i < LIMBS; i++) {
      const j = (column - i + LIMBS) % LIMBS;
      if (i <= j) terms.push(product(i === j ? once : twice, right, i, j));
    }
    return fn.define(terms.reduce(add64));
  });
  storeColumns(fn, address, columns);
}

/**
 * Carries ten 64-bit columns into limbs, in two chains that the processor can run side by side. The last carry of all
 * may leave limb 1 at 1 + 2^-8.
 */
function storeColumns(fn: WasmFunction, address: Code, columns: readonly number[]): void {
  for (const limb of [0, 4, 1, 5, 2, 6, 3, 7, 4, 8, 9, 0]) {
    const column = columns[limb]!;
    const next = columns[(limb + 1) % LIMBS]!;
    const bits = bitsOf(limb);
    const carry = fn.vector(shiftRight64(get(column), bits));
    fn.emit(set(column, andBits(get(column), bits === 26 ? LOW_26 : LOW_25)));
    fn.emit(set(next, add64(get(next), limb === LIMBS - 1 ? nineteenTimes(carry) : carry)));
  }
  for (let i = 0; i < VECTORS; i++) {
    fn.emit(store(address, 16 * i, pick(get(columns[2 * i]!), get(columns[2 * i + 1]!), [0, 2, 4, 6])));
  }
}

/** Nineteen times each of two 64-bit numbers. */
function nineteenTimes(value: Code): Code {
  return add64(add64(value, shiftLeft64(value, 1)), shiftLeft64(value, 4));
}
