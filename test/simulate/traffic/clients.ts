/**
 * What all clients of a life have in common: the names they use, the keys they sign with, what they know of the books,
 * and how a request looks before tokens and flaws.
 *
 * Always holds: what they know is the books as they are at the moment, so what reaches the server after somebody else's
 * request is a little out of date.
 */
import type { KindName } from '../../../src/core/kinds.ts';
import type { Dice } from '../../support/dice.ts';
import { PATHS } from '../answers.ts';
import type { Books } from '../model/books.ts';
import type { Rec } from '../model/record.ts';
import { contentOf, KEYS, type Key, type Look, recordBody, type Wish } from '../wish.ts';

export type Value = Record<string, unknown>;

/** A request before tokens and flaws. */
export interface Draft {
  readonly method: string;
  readonly path: string;
  readonly wish: Wish | Look;
  /** The ledger it speaks to; 0 for making one. */
  readonly ledger: number;
  readonly query?: string;
  readonly body?: Value;
  readonly wait?: number;
}

export const LEDGERS = ['guarded', 'narrow'];
export const WALLETS = ['w0', 'w1', 'w2', 'w3', 'w4', 'w5', 'svgs@w1', 'w2@bank'];
const BASIC_WALLETS = WALLETS.slice(0, 5);
export const BRIDGES = ['b0', 'b1'];
/** Wallets behind banks, and wallets that pass money on. */
export const BRIDGED = ['x0', 'x1'];
/** The last of them has others that its name comes to where it is gone. */
export const ROUTED = ['r0', 'r1', 'r2@w1'];
const NO_WALLETS: readonly string[] = [];
export const SYMBOLS = ['usd', 'eur', 'pts'];

export class Clients {
  readonly dice: Dice;
  readonly books: Books;
  /** Plain wallets that the life begins with and money moves between: few, so that they soon come to their limits. */
  readonly wallets: readonly string[];
  /** Wallets behind banks, and wallets that pass money on: not every life has them. */
  readonly bridged: readonly string[];
  readonly routed: readonly string[];
  /** Names that records had before they were given others. */
  readonly formerNames: string[] = [];
  #counted = 0;

  constructor(dice: Dice, books: Books) {
    this.dice = dice;
    this.books = books;
    this.wallets = BASIC_WALLETS.slice(0, dice.between(3, BASIC_WALLETS.length));
    this.bridged = dice.chance(0.7) ? BRIDGED : NO_WALLETS;
    this.routed = dice.chance(0.6) ? ROUTED : NO_WALLETS;
  }

  /** Another number each time. */
  count(): number {
    return this.#counted++;
  }

  /** A name that nobody has had. */
  fresh(prefix: string): string {
    return `${prefix}-${this.count()}`;
  }

  any(ledger: number, kind: KindName): Rec | null {
    const all = this.books.list(ledger, kind);
    if (all.length === 0) return null;
    // The newest are the ones that are on their way.
    return this.dice.chance(0.4) ? all[0]! : this.dice.pick(all);
  }

  /** A name that a record had before it was given another one, as far as there is any. */
  nameOfNobody(): string {
    const { dice, formerNames } = this;
    return formerNames.length > 0 && dice.chance(0.7) ? dice.pick(formerNames) : 'nobody';
  }

  idOf({ handle, luid }: Rec): string {
    return this.dice.chance(0.8) ? handle : luid;
  }

  /** Who signs: mostly somebody who may. */
  keys(ledger: number): readonly Key[] {
    const { dice } = this;
    const first = ledger === 1 || dice.chance(0.25) ? dice.pick(KEYS) : KEYS[0]!;
    return dice.chance(0.15) ? [first, dice.pick(KEYS)] : [first];
  }

  /** What a client says beside its signature: mostly when it was made, so that none is like another. */
  custom(): Value | null {
    const dated = (ms: number) => ({ moment: new Date(Date.UTC(2030, 0) + ms).toISOString() });
    return this.dice.weigh<Value | null>([
      [null, 4],
      [dated(this.count()), 4],
      // Another client, or a clock that stands still.
      [dated(0), 0.5],
      [{ n: this.count() }, 1],
    ]);
  }

  create(
    ledger: number,
    kind: KindName,
    value: Value,
    keys: readonly Key[],
    custom: Value | null = this.custom(),
  ): Draft {
    const content = contentOf(value, keys, custom);
    const wish: Wish = { op: 'create', ledger, kind, content };
    return { method: 'POST', path: `/v2/${PATHS[kind]}`, ledger, wish, body: recordBody(content) };
  }
}
