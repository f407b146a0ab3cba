/**
 * Tokens that are good only once and were used, remembered for as long as they could be used again.
 *
 * When that is, no clock of ours says: clocks jump, and the moments of entries only ever go on. The tokens say it. One
 * that is taken at a time t ends by t + TOKEN_SPAN_SECONDS at the latest, so where one that ends at e has been taken,
 * everything that ends before e − TOKEN_SPAN_SECONDS is over by the clock that took it, and is forgotten. Should that
 * clock go back further, what ends no later than what was forgotten is refused, since it may have been used.
 *
 * Ids lie in columns, so that a million of them is in a snapshot without being packed. Slots of tokens with one end
 * form a chain; those that were forgotten form another, and are used again.
 */
import { hashText, type MemorySizes, type Part, type Parts, Table, U32Column } from '../memory/index.ts';
import { assert } from './refusal.ts';

/** Longest life of a token that is good only once, and by how much its clock may be ahead of ours. */
export const TOKEN_LIFE_SECONDS_MAX = 300;
export const TOKEN_SKEW_SECONDS = 60;
const TOKEN_SPAN_SECONDS = TOKEN_LIFE_SECONDS_MAX + TOKEN_SKEW_SECONDS;

/** Remembered at a time: each for some minutes. */
const TOKENS_MAX = 2_000_000;

/** How many go with one that comes. */
const FORGOTTEN_PER_USE = 8;

const SEGMENTS = 256;

/** Of an id's 256 bits so many are kept, in words of 32: nobody finds two ids that share them. */
const ID_WORDS = 4;
const WORD_DIGITS = 8;

/** What is not in columns. Plain data. */
export interface UsedTokensExtra {
  /** By end, in seconds since 1970, the first slot of its chain, plus one. */
  chains: [number, number][];
  /** First slot that is free, plus one; 0 for none. */
  free: number;
  size: number;
  forgotten: number;
}

export class UsedTokens {
  readonly #hashSeed: number;
  readonly #table: Table;
  readonly #words: readonly U32Column[];
  /** Next slot of the same chain, plus one; 0 ends. */
  readonly #next: U32Column;
  readonly #hash: U32Column;
  readonly #chains = new Map<number, number>();
  /** No chain has an earlier end: where this one is not over, none is. */
  #least = Number.POSITIVE_INFINITY;
  #free = 0;
  #size = 0;
  /** The latest end of those that were forgotten, in seconds. */
  #forgotten = 0;

  constructor(hashSeed: number, { pageRows, segments = SEGMENTS }: MemorySizes = {}) {
    this.#hashSeed = hashSeed;
    this.#table = new Table('tokens', { segments });
    this.#words = Array.from({ length: ID_WORDS }, (_, n) => new U32Column(`token-id-${n}`, false, pageRows));
    this.#next = new U32Column('token-next', false, pageRows);
    this.#hash = new U32Column('token-hash', false, pageRows);
  }

  get size(): number {
    return this.#size;
  }

  /** `id` is 64 hexadecimal digits. */
  has(id: string): boolean {
    const words = wordsOf(id);
    for (let slot = this.#table.first(this.#hashOf(id)); slot >= 0; slot = this.#table.next()) {
      if (words.every((word, n) => this.#words[n]!.get(slot) === word)) return true;
    }
    return false;
  }

  /** Whether one with this end may have been used and forgotten. */
  isForgotten(end: number): boolean {
    return end <= this.#forgotten;
  }

  /** Whether there is room for one with this end, once it has let go those that are over. */
  hasRoom(end: number, max = TOKENS_MAX): boolean {
    if (this.#size < max) return true;
    if (!isOver(this.#least, end)) return false;
    for (const other of this.#chains.keys()) if (isOver(other, end)) return true;
    return false;
  }

  /** Remembers a token, and forgets some of those that are over: more than come, not all at once. */
  use(id: string, end: number): void {
    if (isOver(this.#least, end)) this.#forgetOver(end);
    const slot = this.#takeSlot();
    const hash = this.#hashOf(id);
    this.#hash.set(slot, hash);
    for (const [n, word] of wordsOf(id).entries()) this.#words[n]!.set(slot, word);
    this.#next.set(slot, this.#chains.get(end) ?? 0);
    this.#chains.set(end, slot + 1);
    this.#least = Math.min(this.#least, end);
    this.#table.insert(hash, slot);
    this.#size++;
  }

  /** Forgets some of those that are over where one that ends at `end` is taken. */
  #forgetOver(end: number): void {
    let left = FORGOTTEN_PER_USE;
    let least = Number.POSITIVE_INFINITY;
    for (const other of this.#chains.keys()) {
      if (isOver(other, end)) left = this.#forget(other, left);
      else least = Math.min(least, other);
      if (left === 0) return;
    }
    this.#least = least;
  }

  /** Forgets up to `max` tokens of this end; how many more there might have been. */
  #forget(end: number, max: number): number {
    this.#forgotten = Math.max(this.#forgotten, end);
    let first = this.#chains.get(end)!;
    let left = max;
    for (; first !== 0 && left > 0; left--) {
      const slot = first - 1;
      first = this.#next.get(slot);
      const removed = this.#table.remove(this.#hash.get(slot), slot);
      assert(removed, 'a token that is remembered is in the index');
      this.#next.set(slot, this.#free);
      this.#free = slot + 1;
      this.#size--;
    }
    if (first === 0) this.#chains.delete(end);
    else this.#chains.set(end, first);
    return left;
  }

  #takeSlot(): number {
    if (this.#free === 0) {
      for (const column of this.#words) column.push(0);
      this.#hash.push(0);
      return this.#next.push(0);
    }
    const slot = this.#free - 1;
    this.#free = this.#next.get(slot);
    return slot;
  }

  #hashOf(id: string): number {
    return hashText(this.#hashSeed, id.slice(0, ID_WORDS * WORD_DIGITS));
  }

  get #structures() {
    return [this.#table, this.#hash, ...this.#words, this.#next];
  }

  /** Bytes of memory they take. */
  get taken(): number {
    return this.#structures.reduce((sum, structure) => sum + structure.taken, 0);
  }

  /** The same in the same slots, found by hashes of another seed. */
  withSeed(hashSeed: number, sizes?: MemorySizes): UsedTokens {
    const other = new UsedTokens(hashSeed, sizes);
    for (let slot = 0; slot < this.#next.length; slot++) {
      const words = this.#words.map((column) => column.get(slot));
      for (const [n, word] of words.entries()) other.#words[n]!.push(word);
      other.#next.push(this.#next.get(slot));
      other.#hash.push(other.#hashOf(textOf(words)));
    }
    let left = this.#size;
    for (const [end, first] of this.#chains) {
      other.#chains.set(end, first);
      for (let slot = first; slot !== 0; slot = this.#next.get(slot - 1)) {
        // They may come from a snapshot that lies.
        assert(left-- > 0, 'no more tokens are chained than are remembered');
        other.#table.insert(other.#hash.get(slot - 1), slot - 1);
      }
    }
    other.#least = this.#least;
    other.#free = this.#free;
    other.#size = this.#size;
    other.#forgotten = this.#forgotten;
    return other;
  }

  extra(): UsedTokensExtra {
    return { chains: [...this.#chains], free: this.#free, size: this.#size, forgotten: this.#forgotten };
  }

  dump(): Part[] {
    return this.#structures.flatMap((structure) => structure.dump());
  }

  load(parts: Parts, extra: UsedTokensExtra): void {
    for (const structure of this.#structures) structure.load(parts);
    for (const [end, slot] of extra.chains) {
      this.#chains.set(end, slot);
      this.#least = Math.min(this.#least, end);
    }
    this.#free = extra.free;
    this.#size = extra.size;
    this.#forgotten = extra.forgotten;
  }
}

/** Whether a token that ends at `other` is over at any time at which one that ends at `end` can be taken. */
function isOver(other: number, end: number): boolean {
  return other < end - TOKEN_SPAN_SECONDS;
}

function wordsOf(id: string): number[] {
  return Array.from({ length: ID_WORDS }, (_, n) =>
    Number.parseInt(id.slice(n * WORD_DIGITS, (n + 1) * WORD_DIGITS), 16),
  );
}

/** As much of an id as is kept of it. */
function textOf(words: readonly number[]): string {
  return words.map((word) => word.toString(16).padStart(WORD_DIGITS, '0')).join('');
}
