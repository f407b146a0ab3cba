/**
 * What a wallet had when a moment began, what each intent took from it or gave to it from then on, and what it had in
 * the end; or the same of all wallets of a ledger. A balance here is all that is the wallet's, what prepared intents
 * have reserved of it too: that moves when they are committed.
 *
 * Changes are told by claims, balances are added up from postings: after each intent both must come to the same.
 */
import { POSTING_WIDTH } from '../../core/entry.ts';
import type { State } from '../../core/state.ts';
import { type Booking, bookingsOf } from './bookings.ts';
import { NEVER } from './moment.ts';
import { type Moved, Past } from './past.ts';
import { type Unit, unitAt } from './unit.ts';

/** What a wallet has of a symbol, reserved or not. */
export interface Balance {
  /** Its row. */
  wallet: number;
  unit: Unit;
  balance: bigint;
  reserved: bigint;
}

/** What one claim of an intent took or gave. */
interface Change {
  moved: Moved;
  booking: Booking;
  unit: Unit;
  /** After it. */
  balance: bigint;
}

/** A wallet by its row, or all those of a ledger by its number. */
export type Whose = { readonly wallet: number } | { readonly ledger: number };

/** To be asked for what it begins with, then for the changes, all of them, and then for what it ends with. */
export class Statement {
  readonly from: number;
  readonly to: number;
  readonly #state: State;
  readonly #whose: Whose;
  readonly #past: Past;
  readonly #units = new Map<number, Unit>();
  /** By symbol row, then wallet row, what the changes have led to. */
  readonly #balances = new Map<number, Map<number, bigint>>();
  /** What does not fit; null where all does. Known at the end. */
  difference: string | null = null;

  constructor(state: State, whose: Whose, from: number, to: number) {
    this.#state = state;
    this.#whose = whose;
    this.from = from;
    this.to = to;
    this.#past = new Past(state);
  }

  /** How this wallet was called when the last entry came that was gone through. */
  nameOf(wallet: number): string {
    return this.#past.nameOf(wallet);
  }

  opening(): Balance[] {
    for (const _ of this.#past.upTo(this.from));
    for (const [symbol, wallet, { available, reserved }] of this.#accounts()) {
      this.#ledTo(symbol).set(wallet, available + reserved);
    }
    return this.#stand();
  }

  *changes(): Generator<Change> {
    for (const moved of this.#past.upTo(this.to)) {
      if (this.#touched(moved).next().done === true) continue;
      for (const booking of bookingsOf(this.#state, moved)) {
        const { wallet, symbol, change } = booking;
        if (!this.#isMeant(wallet)) continue;
        const led = this.#ledTo(symbol);
        const balance = (led.get(wallet) ?? 0n) + change;
        led.set(wallet, balance);
        yield { moved, booking, unit: this.#unitOf(symbol), balance };
      }
      this.#compare(moved);
    }
  }

  closing(): Balance[] {
    if (this.to === NEVER) this.difference ??= this.#past.money.differenceTo(this.#state);
    return this.#stand();
  }

  /** After an intent, in each balance of which it moved any. */
  #compare(moved: Moved): void {
    const { seq, entry } = moved;
    for (const [symbol, wallet] of this.#touched(moved)) {
      const { available, reserved } = this.#past.money.bySymbol.get(symbol)!.get(wallet)!;
      const [led, stands] = [this.#ledTo(symbol).get(wallet) ?? 0n, available + reserved];
      if (led === stands) continue;
      const what = `the claims of intent ${entry.handle} lead to ${led} ${this.#unitOf(symbol).handle}, its postings to ${stands}`;
      this.difference ??= `entry ${seq}: ${what}`;
    }
  }

  /** Rows of symbol and wallet of the postings that are meant. */
  *#touched({ entry }: Moved): Generator<[symbol: number, wallet: number]> {
    const { postings } = entry.outcome;
    for (let i = 0; i < postings.length; i += POSTING_WIDTH) {
      if (this.#isMeant(postings[i]!)) yield [postings[i + 1]!, postings[i]!];
    }
  }

  #isMeant(wallet: number): boolean {
    const whose = this.#whose;
    return 'wallet' in whose ? wallet === whose.wallet : this.#state.rows.ledger.get(wallet) === whose.ledger;
  }

  *#accounts() {
    for (const [symbol, wallets] of this.#past.money.bySymbol) {
      if ('wallet' in this.#whose) {
        const { wallet } = this.#whose;
        const account = wallets.get(wallet);
        if (account !== undefined) yield [symbol, wallet, account] as const;
        continue;
      }
      for (const [wallet, account] of wallets) if (this.#isMeant(wallet)) yield [symbol, wallet, account] as const;
    }
  }

  #stand(): Balance[] {
    return [...this.#accounts()].map(([symbol, wallet, { available, reserved }]) => {
      return { wallet, unit: this.#unitOf(symbol), balance: available + reserved, reserved };
    });
  }

  #ledTo(symbol: number): Map<number, bigint> {
    const known = this.#balances.get(symbol) ?? new Map<number, bigint>();
    this.#balances.set(symbol, known);
    return known;
  }

  #unitOf(symbol: number): Unit {
    const known = this.#units.get(symbol) ?? unitAt(this.#state, symbol, this.to);
    this.#units.set(symbol, known);
    return known;
  }
}
