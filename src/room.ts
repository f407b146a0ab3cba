/**
 * What room the books have left of all that would end the process once it is used up, and each later start that reads
 * as much: the memory for records, the numbers of rows, V8's own heap, which holds all that is no record, and what the
 * machine has for both. Before that nothing new comes in.
 *
 * What is new is refused first, then what continues something that is there; some room is left for what the server
 * itself has to note.
 */
import { bytesTaken, rowsTaken, type State } from './core/state.ts';

/** Of the memory. */
const KEPT_FROM_NEW = 1 / 32;
const KEPT_FOR_OWN = 1 / 128;
/** Shares of V8's heap. A start, and a map that doubles its table, take more than what lives long; ends make room. */
const V8_FOR_NEW = 0.7;
const V8_FOR_GOING_ON = 0.85;

/** Before V8 next collects garbage its heap takes about so many times what lives long. */
const V8_GARBAGE = 1.5;

export interface RoomOptions {
  state: State;
  /** Bytes that records, their indexes and balances may take in memory. */
  recordsBytesMax: number;
  /** How much of what V8 may take is in use, 0 to 1. */
  v8Share: () => number;
  /** Bytes that V8 may take for what lives long; and that this and records may take together. */
  v8BytesMax: number;
  bothBytesMax: number;
}

/**
 * What there is no room for: records; any entry at all; what is no record, in V8's heap; or either, in the machine's
 * memory.
 */
type Fullness = 'records' | 'entries' | 'v8' | 'memory';

export class Room {
  /** Bytes that records, their indexes and balances take, as of the last look. */
  recordsBytes = 0;
  readonly recordsBytesMax: number;
  readonly bothBytesMax: number;
  readonly v8Share: () => number;
  readonly #v8BytesMax: number;
  readonly #state: State;

  constructor({ state, recordsBytesMax, v8Share, v8BytesMax, bothBytesMax }: RoomOptions) {
    this.#state = state;
    this.recordsBytesMax = recordsBytesMax;
    this.bothBytesMax = bothBytesMax;
    this.v8Share = v8Share;
    this.#v8BytesMax = v8BytesMax;
    this.look();
  }

  /** To be called after each batch. */
  look(): void {
    this.recordsBytes = bytesTaken(this.#state);
  }

  /** Bytes that records and V8's heap take together, as of the last looks at them, with what V8 lets lie of garbage. */
  get bothBytes(): number {
    return this.recordsBytes + Math.min(1, V8_GARBAGE * this.v8Share()) * this.#v8BytesMax;
  }

  /** What the books have no more room for, or null. */
  whatIsFull(isNew: boolean): Fullness | null {
    const most = 1 - (isNew ? KEPT_FROM_NEW : KEPT_FOR_OWN);
    const { heap } = this.#state;
    // First, since of full records nobody would hear that a token cannot be written down either.
    if (rowsTaken(this.#state) > most) return 'entries';
    if (this.recordsBytes > this.recordsBytesMax * most || heap.used > heap.bytesMax * most) return 'records';
    if (this.v8Share() > (isNew ? V8_FOR_NEW : V8_FOR_GOING_ON)) return 'v8';
    return this.bothBytes > this.bothBytesMax * most ? 'memory' : null;
  }
}
