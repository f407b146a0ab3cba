/**
 * WebAssembly written by hand: just the instructions that arithmetic on pairs of field elements needs, each as a
 * function from the code of its operands to its own (WebAssembly Core Specification 2.0, 5.4 and 5.5).
 *
 * Why no compiler: straight-line code for a hundred products is a loop here, and nothing has to be built or shipped.
 */

/**
 * Bytes of instructions that leave one value, or none; those of operands stand in it as they are, so that nothing is
 * copied.
 */
export type Code = readonly (number | Code)[];

/** A function over addresses, all 32-bit: its parameters are locals 0 to `params - 1`. */
export class WasmFunction {
  readonly name: string;
  readonly params: number;
  readonly #code: Code[] = [];
  #vectors = 0;

  constructor(name: string, params: number) {
    this.name = name;
    this.params = params;
  }

  emit(...code: Code[]): void {
    this.#code.push(...code);
  }

  /** A new 128-bit local with this value; returns what reads it. */
  vector(value: Code): Code {
    return get(this.define(value));
  }

  /** The same, where it will be set again: returns its number. */
  define(value: Code): number {
    const local = this.params + this.#vectors++;
    this.emit(set(local, value));
    return local;
  }

  get body(): Code {
    return [list([[unsigned(this.#vectors), V128]]), ...this.#code, END];
  }
}

const I32 = 0x7f;
const V128 = 0x7b;
const END = 0x0b;
const VOID = 0x40;

export const get = (local: number): Code => [0x20, unsigned(local)];
export const set = (local: number, value: Code): Code => [value, 0x21, unsigned(local)];
export const call = (index: number, ...args: Code[]): Code => [...args, 0x10, unsigned(index)];
export const number = (value: number): Code => [0x41, signed(value)];
export const add = (a: Code, b: Code): Code => [a, b, 0x6a];
export const subtract = (a: Code, b: Code): Code => [a, b, 0x6b];
export const multiply = (a: Code, b: Code): Code => [a, b, 0x6c];
export const and = (a: Code, b: Code): Code => [a, b, 0x71];
export const isLess = (a: Code, b: Code): Code => [a, b, 0x49];
export const loadWord = (at: Code, offset: number): Code => [at, 0x28, 2, unsigned(offset)];
export const choose = (condition: Code, then: Code, otherwise: Code): Code => {
  return [condition, 0x04, VOID, then, 0x05, otherwise, END];
};
/** Runs `body`, and again while `condition` holds after it. */
export const repeat = (body: Code, condition: Code): Code => [0x03, VOID, body, condition, 0x0d, 0, END];

export const load = (at: Code, offset: number): Code => [at, simd(0x00), 0, unsigned(offset)];
/** Two words into lanes 0 and 1; 2 and 3 are zero. */
export const loadHalf = (at: Code, offset: number): Code => [at, simd(0x5d), 0, unsigned(offset)];
export const store = (at: Code, offset: number, value: Code): Code => [at, value, simd(0x0b), 0, unsigned(offset)];
export const words = (a: number, b: number, c: number, d: number): Code => [
  simd(0x0c),
  ...[a, b, c, d].map(littleEndian),
];
const littleEndian = (word: number): Code => [word & 255, (word >>> 8) & 255, (word >>> 16) & 255, word >>> 24];
/** Four words of the eight that `a` (0 to 3) and `b` (4 to 7) are. */
export const pick = (a: Code, b: Code, lanes: readonly number[]): Code => {
  return [a, b, simd(0x0d), ...lanes.map((lane) => [4 * lane, 4 * lane + 1, 4 * lane + 2, 4 * lane + 3])];
};
export const splat = (value: Code): Code => [value, simd(0x11)];
export const andBits = binary(0x4e);
/** Bits of `a` where `mask` has ones, of `b` elsewhere. */
export const select = (a: Code, b: Code, mask: Code): Code => [a, b, mask, simd(0x52)];
/** Stores the lower or the upper two words of a vector. */
export const storeHalf = (at: Code, offset: number, value: Code, half: 0 | 1): Code => {
  return [at, value, simd(0x5b), 0, unsigned(offset), half];
};
export const add32 = binary(0xae);
export const subtract32 = binary(0xb1);
export const multiply32 = binary(0xb5);
export const shiftRight32 = shift(0xad);
export const add64 = binary(0xce);
export const shiftLeft64 = shift(0xcb);
export const shiftRight64 = shift(0xcd);
/** 64-bit products of the words in lanes 0 and 1, unsigned. */
export const multiplyLow = binary(0xde);
/** The same of those in lanes 2 and 3. */
export const multiplyHigh = binary(0xdf);

function binary(operation: number): (a: Code, b: Code) => Code {
  return (a, b) => [a, b, simd(operation)];
}

function shift(operation: number): (a: Code, bits: number) => Code {
  return (a, bits) => [a, number(bits), simd(operation)];
}

function simd(operation: number): Code {
  return [0xfd, unsigned(operation)];
}

/** An engine's exports: each function of the module by its name. */
type Exports = Record<string, (...addresses: number[]) => void>;

/** Compiles the functions over a memory of `bytes`, all zero. Throws where the machine has no 128-bit vectors. */
export function compile(functions: readonly WasmFunction[], bytes: number): { exports: Exports; memory: ArrayBuffer } {
  const pages = Math.ceil(bytes / 65_536);
  const memory = new wasm.Memory({ initial: pages, maximum: pages });
  const instance = new wasm.Instance(new wasm.Module(moduleOf(functions, pages)), { ayni: { memory } });
  return { exports: instance.exports, memory: memory.buffer };
}

/** Types, the imported memory, functions, exports, code: a module's sections in their order. */
function moduleOf(functions: readonly WasmFunction[], pages: number): Uint8Array {
  const addresses = (count: number) => list(Array.from({ length: count }, () => [I32]));
  const types = functions.map(({ params }) => [0x60, addresses(params), 0]);
  const memory = [name('ayni'), name('memory'), 0x02, 0x01, unsigned(pages), unsigned(pages)];
  const exported = functions.map((fn, index) => [name(fn.name), 0x00, unsigned(index)]);
  return Uint8Array.from([
    ...[0x00, 0x61, 0x73, 0x6d, 1, 0, 0, 0],
    ...section(1, list(types)),
    ...section(2, list([memory])),
    ...section(3, list(functions.map((_, index) => unsigned(index)))),
    ...section(7, list(exported)),
    ...section(10, list(functions.map(({ body }) => sized(body)))),
  ]);
}

function section(id: number, body: Code): number[] {
  return [id, ...bytesOf(sized(body))];
}

function sized(body: Code): Code {
  const bytes = bytesOf(body);
  return [unsigned(bytes.length), bytes];
}

function bytesOf(code: Code, bytes: number[] = []): number[] {
  for (const part of code) {
    if (typeof part === 'number') bytes.push(part);
    else bytesOf(part, bytes);
  }
  return bytes;
}

function list(items: readonly Code[]): Code {
  return [unsigned(items.length), ...items];
}

function name(text: string): Code {
  return [unsigned(text.length), ...Buffer.from(text)];
}

/** LEB128. */
function unsigned(value: number): Code {
  return value < 128 ? [value] : [(value & 127) | 128, unsigned(value >>> 7)];
}

function signed(value: number): Code {
  const rest = value >> 7;
  const isLast = (rest === 0 && (value & 64) === 0) || (rest === -1 && (value & 64) !== 0);
  return isLast ? [value & 127] : [(value & 127) | 128, signed(rest)];
}

/** Node's, which the library of types named in tsconfig.json leaves to those of browsers. */
const wasm = (
  globalThis as unknown as {
    WebAssembly: {
      Memory: new (limits: { initial: number; maximum: number }) => { buffer: ArrayBuffer };
      Module: new (bytes: Uint8Array) => object;
      Instance: new (module: object, imports: object) => { exports: Exports };
    };
  }
).WebAssembly;
