/**
 * What a wallet had when a moment began, what each intent took from it or gave to it from then on, and what it had in the
 * end. A balance here is all that is the wallet's, what prepared intents have reserved of it too: that moves when they are
 * committed.
 *
 * Changes are told by claims, balances are added up from postings: after each intent both must come to the same.
 */
import { type Outcome, POSTING_WIDTH } from '../../core/entry.ts';
import type { State } from '../../core/state.ts';
import { type Booking, bookingsOf } from './bookings.ts';
import { NEVER } from './moment.ts';
import { type Moved, Past } from './past.ts';
import { type Unit, unitAt } from './unit.ts';

/** What a wallet has of a symbol, reserved or not. */
export interface Balance {
  unit: Unit;
  balance: bigint;
  reserved: bigint;
}

/** What one claim of an intent took or gave. */
export interface Change {
  moved: Moved;
  booking: Booking;
  unit: Unit;
  /** After it. */
  balance: bigint;
}

/** To be asked for what it begins with, then for the changes, all of them, and then for what it ends with. */
export class Statement {
  readonly from: number;
  readonly to: number;
  readonly #state: State;
  readonly #wallet: number;
  readonly #past: Past;
  readonly #units = new Map<number, Unit>();
  /** By symbol row, what the changes have led to. */
  readonly #balances = new Map<number, bigint>();
  /** What does not fit; null where all does. Known at the end. */
  difference: string | null = null;

  constructor(state: State, wallet: number, from: number, to: number) {
    this.#state = state;
    this.#wallet = wallet;
    this.from = from;
    this.to = to;
    this.#past = new Past(state);
  }

  opening(): Balance[] {
    for (const _ of this.#past.upTo(this.from));
    for (const [symbol, { available, reserved }] of this.#accounts()) this.#balances.set(symbol, available + reserved);
    return this.#stand();
  }

  *changes(): Generator<Change> {
    for (const moved of this.#past.upTo(this.to)) {
      if (symbolsIn(moved.entry.outcome, this.#wallet).length === 0) continue;
      for (const booking of bookingsOf(this.#state, moved)) {
        const { wallet, symbol, change } = booking;
        if (wallet !== this.#wallet) continue;
        const balance = (this.#balances.get(symbol) ?? 0n) + change;
        this.#balances.set(symbol, balance);
        yield { moved, booking, unit: this.#unitOf(symbol), balance };
      }
      this.#compare(moved);
    }
  }

  closing(): Balance[] {
    if (this.to === NEVER) this.difference ??= this.#past.money.differenceTo(this.#state);
    return this.#stand();
  }

  /** After an intent, in each symbol of which it moved any. */
  #compare({ seq, entry }: Moved): void {
    for (const symbol of symbolsIn(entry.outcome, this.#wallet)) {
      const { available, reserved } = this.#past.money.bySymbol.get(symbol)!.get(this.#wallet)!;
      const [led, stands] = [this.#balances.get(symbol) ?? 0n, available + reserved];
      if (led === stands) continue;
      const what = `the claims of intent ${entry.handle} lead to ${led} ${this.#unitOf(symbol).handle}, its postings to ${stands}`;
      this.difference ??= `entry ${seq}: ${what}`;
    }
  }

  *#accounts() {
    for (const [symbol, wallets] of this.#past.money.bySymbol) {
      const account = wallets.get(this.#wallet);
      if (account !== undefined) yield [symbol, account] as const;
    }
  }

  #stand(): Balance[] {
    return [...this.#accounts()].map(([symbol, { available, reserved }]) => {
      return { unit: this.#unitOf(symbol), balance: available + reserved, reserved };
    });
  }

  #unitOf(symbol: number): Unit {
    const known = this.#units.get(symbol) ?? unitAt(this.#state, symbol, this.to);
    this.#units.set(symbol, known);
    return known;
  }
}

/** Rows of the symbols of which the postings are about this wallet. */
function symbolsIn({ postings }: Outcome, wallet: number): number[] {
  const symbols: number[] = [];
  for (let i = 0; i < postings.length; i += POSTING_WIDTH) if (postings[i] === wallet) symbols.push(postings[i + 1]!);
  return symbols;
}
