/**
 * Points of edwards25519 in pairs, extended coordinates (X : Y : Z : T), T = XY / Z (Hisil, Wong, Carter and Dawson,
 * "Twisted Edwards Curves Revisited", 2008). Their formulas are complete: no point, of whatever order, needs a case of
 * its own.
 *
 * An entry is a point of one element a coordinate, y + x, y - x and 2dxy with Z = 1, its limbs in order: 120 bytes in
 * 128. An address of an entry plus one stands for its negative.
 *
 * What always holds: coordinates of points and of entries are tight.
 */
import {
  difference,
  LIMBS,
  negative,
  PAIR_BYTES,
  pairAt,
  storeCarried,
  storePair,
  storeProduct,
  storeSquare,
  sum,
  wideDifference,
} from './field.ts';
import {
  add,
  and,
  type Code,
  call,
  choose,
  compile,
  get,
  isLess,
  loadHalf,
  loadWord,
  multiply,
  number,
  pick,
  repeat,
  select,
  set,
  splat,
  storeHalf,
  subtract,
  WasmFunction,
} from './wasm.ts';

export const POINT_BYTES = 4 * PAIR_BYTES;
export const X = 0;
export const Y = PAIR_BYTES;
export const Z = 2 * PAIR_BYTES;
export const T = 3 * PAIR_BYTES;

export const ENTRY_BYTES = 128;
const ELEMENT_BYTES = LIMBS * 4;

/** The first bytes of the memory are the formulas' own. */
const SLOTS = 8;
export const OWN_BYTES = SLOTS * PAIR_BYTES;
const slot = (index: number): Code => number(index * PAIR_BYTES);

/** In the order of their index: what is called is defined before its callers. */
const MULTIPLY = 0;
const SQUARE = 1;
const DOUBLE = 4;
const ADD = 5;

const multiplyInto = (at: Code, f: Code, g: Code) => call(MULTIPLY, at, f, g);
const squareInto = (at: Code, f: Code) => call(SQUARE, at, f);

export interface Curve {
  /** Pair = pair * pair; sizes at most 6 + 2^-6 and 3 + 2^-6. */
  multiply(at: number, f: number, g: number): void;
  /** Pair = pair squared `times` times; at least once. */
  squareTimes(at: number, f: number, times: number): void;
  /** Pair = pair + pair, carried. */
  add(at: number, a: number, b: number): void;
  /** Pair = pair - pair, carried. */
  subtract(at: number, a: number, b: number): void;
  double(point: number): void;
  /** Adds an entry to each point of the pair. */
  addEntries(point: number, first: number, second: number): void;
  /** Writes the points of a pair whose Z is 1 as entries; `twiceD` is a pair of 2d. */
  writeEntries(point: number, first: number, second: number, twiceD: number): void;
  /** Runs a schedule: per step two entries to add; 0 for the first: to double. */
  run(point: number, from: number, to: number): void;
  readonly memory: ArrayBuffer;
}

/** Throws where this machine has no 128-bit vectors. */
export function compileCurve(bytes: number): Curve {
  const functions = [multiplyPairs(), squarePair(), squareTimes(), addPairs(), doublePoints(), addEntries(), run()];
  const { exports, memory } = compile([...functions, subtractPairs(), writeEntries()], bytes);
  return { ...(exports as unknown as Omit<Curve, 'memory'>), memory };
}

function multiplyPairs(): WasmFunction {
  const fn = new WasmFunction('multiply', 3);
  storeProduct(fn, get(0), pairAt(get(1)), pairAt(get(2)));
  return fn;
}

function squarePair(): WasmFunction {
  const fn = new WasmFunction('square', 2);
  storeSquare(fn, get(0), pairAt(get(1)));
  return fn;
}

function squareTimes(): WasmFunction {
  const fn = new WasmFunction('squareTimes', 3);
  const countDown = set(2, subtract(get(2), number(1)));
  fn.emit(squareInto(get(0), get(1)), countDown);
  fn.emit(choose(get(2), repeat([squareInto(get(0), get(0)), countDown], get(2)), []));
  return fn;
}

function addPairs(): WasmFunction {
  const fn = new WasmFunction('add', 3);
  storeCarried(fn, get(0), sum(pairAt(get(1)), pairAt(get(2))));
  return fn;
}

function subtractPairs(): WasmFunction {
  const fn = new WasmFunction('subtract', 3);
  storeCarried(fn, get(0), difference(pairAt(get(1)), pairAt(get(2))));
  return fn;
}

/** "dbl-2008-hwcd" for a = -1, all four coordinates negated, which is the same point: 4 products and 4 squares. */
function doublePoints(): WasmFunction {
  const fn = new WasmFunction('double', 1);
  const [x, y, z, t] = coordinatesOf(get(0));
  const [xx, yy, zz, e, h, g, f] = [slot(0), slot(1), slot(2), slot(3), slot(4), slot(5), slot(6)];
  fn.emit(squareInto(xx, x), squareInto(yy, y), squareInto(zz, z));
  fn.emit(storePair(e, sum(pairAt(x), pairAt(y))), squareInto(e, e));
  fn.emit(storePair(h, sum(pairAt(xx), pairAt(yy))));
  fn.emit(storePair(g, difference(pairAt(yy), pairAt(xx))));
  storeCarried(fn, e, wideDifference(pairAt(e), pairAt(h)));
  fn.emit(storePair(f, wideDifference(sum(pairAt(zz), pairAt(zz)), pairAt(g))));
  fn.emit(multiplyInto(x, f, e), multiplyInto(y, h, g), multiplyInto(z, f, g), multiplyInto(t, h, e));
  return fn;
}

/** "madd-2008-hwcd-3": 7 products. */
function addEntries(): WasmFunction {
  const fn = new WasmFunction('addEntries', 3);
  const [x, y, z, t] = coordinatesOf(get(0));
  const [a, b, c, e, f, g, h] = [slot(0), slot(1), slot(2), slot(3), slot(4), slot(5), slot(6)];
  const first = entryAt(1);
  const second = entryAt(2);
  fn.emit(storePair(a, interleaved(first.minus, second.minus)));
  fn.emit(storePair(b, interleaved(first.plus, second.plus)));
  const product = interleaved(first.product, second.product).map((vector) => fn.vector(vector));
  const isNegative = fn.vector(pick(splat(first.mask), splat(second.mask), [0, 4, 0, 4]));
  const negated = negative(product);
  fn.emit(
    storePair(
      c,
      product.map((vector, i) => select(negated[i]!, vector, isNegative)),
    ),
  );
  fn.emit(storePair(e, difference(pairAt(y), pairAt(x))), multiplyInto(a, e, a));
  fn.emit(storePair(e, sum(pairAt(y), pairAt(x))), multiplyInto(b, e, b));
  fn.emit(multiplyInto(c, t, c));
  fn.emit(storePair(e, difference(pairAt(b), pairAt(a))), storePair(h, sum(pairAt(b), pairAt(a))));
  const twiceZ = sum(pairAt(z), pairAt(z)).map((vector) => fn.vector(vector));
  fn.emit(storePair(f, difference(twiceZ, pairAt(c))), storePair(g, sum(twiceZ, pairAt(c))));
  fn.emit(multiplyInto(x, f, e), multiplyInto(y, h, g), multiplyInto(z, f, g), multiplyInto(t, h, e));
  return fn;
}

function writeEntries(): WasmFunction {
  const fn = new WasmFunction('writeEntries', 4);
  const [x, y] = coordinatesOf(get(0));
  const elements = [slot(0), slot(1), slot(2)];
  storeCarried(fn, elements[0]!, sum(pairAt(y), pairAt(x)));
  storeCarried(fn, elements[1]!, difference(pairAt(y), pairAt(x)));
  fn.emit(multiplyInto(elements[2]!, x, y), multiplyInto(elements[2]!, elements[2]!, get(3)));
  for (const [index, element] of elements.entries()) {
    for (const [i, vector] of pairAt(element).entries()) {
      const apart = fn.vector(pick(vector, vector, [0, 2, 1, 3]));
      const offset = index * ELEMENT_BYTES + 8 * i;
      fn.emit(storeHalf(get(1), offset, apart, 0), storeHalf(get(2), offset, apart, 1));
    }
  }
  return fn;
}

function run(): WasmFunction {
  const fn = new WasmFunction('run', 3);
  const first = loadWord(get(1), 0);
  const step = choose(first, call(ADD, get(0), first, loadWord(get(1), 4)), call(DOUBLE, get(0)));
  fn.emit(repeat([step, set(1, add(get(1), number(8)))], isLess(get(1), get(2))));
  return fn;
}

function coordinatesOf(point: Code): [x: Code, y: Code, z: Code, t: Code] {
  return [point, add(point, number(Y)), add(point, number(Z)), add(point, number(T))];
}

/** The three elements of an entry or of its negative, which has the first two exchanged and the third to be negated. */
function entryAt(parameter: number): { plus: Code; minus: Code; product: Code; mask: Code } {
  const sign = and(get(parameter), number(1));
  const base = subtract(get(parameter), sign);
  const offset = multiply(sign, number(ELEMENT_BYTES));
  return {
    plus: add(base, offset),
    minus: subtract(add(base, number(ELEMENT_BYTES)), offset),
    product: add(base, number(2 * ELEMENT_BYTES)),
    mask: subtract(number(0), sign),
  };
}

/** The pair of an element at `first` and one at `second`. */
function interleaved(first: Code, second: Code): Code[] {
  return Array.from({ length: LIMBS / 2 }, (_, i) =>
    pick(loadHalf(first, 8 * i), loadHalf(second, 8 * i), [0, 4, 1, 5]),
  );
}
