/**
 * The money of the books, added up apart from the core: in BigInt, from the postings alone.
 *
 *     committed at once       available += change
 *     set aside               what leaves goes from available to reserved, what comes is expected
 *     set aside, committed    reserved goes, what was expected is available
 *     set aside, aborted      as it was before
 *
 * Money that comes with its thread and goes on with it is never reserved: it is expected no more.
 *
 * What always holds at the end: per symbol, available and reserved of all wallets add up to what was issued less what
 * was destroyed.
 */
import { CHANGE, type Entry, EntryType, type Outcome, POSTING_WIDTH, THROUGH_WIDTH } from '../../core/entry.ts';
import { readRow } from '../../core/records.ts';
import type { State } from '../../core/state.ts';

interface Account {
  available: bigint;
  reserved: bigint;
  incoming: bigint;
}

export class Money {
  postings = 0;
  /** By symbol row, then wallet row. */
  readonly #accounts = new Map<number, Map<number, Account>>();
  readonly #supply = new Map<number, bigint>();
  /** Rows of intents that hold money. */
  readonly #holding = new Set<number>();
  #rows = 0;

  /** To be given every entry, in order. */
  add(entry: Entry): void {
    if (entry.type === EntryType.create) this.#rows++;
    else if (entry.type === EntryType.intent) this.#outcome(this.#rows++, entry.outcome);
    else if (entry.type === EntryType.step) this.#outcome(entry.row, entry.outcome);
  }

  #outcome(row: number, outcome: Outcome): void {
    const { steps, postings, links } = outcome;
    const moves = steps.includes('committed');
    const isEnd = moves || steps.includes('aborted');
    const isHeld = isEnd && this.#holding.delete(row);
    const holds = !isEnd && postings.length > 0;
    if (holds) this.#holding.add(row);
    const through = new Map<number, number>();
    for (let i = 0; i < (links?.through.length ?? 0); i += THROUGH_WIDTH) {
      through.set(links!.through[i]! * POSTING_WIDTH, links!.through[i + 1]!);
    }
    for (let i = 0; i < postings.length; i += POSTING_WIDTH) {
      const symbol = postings[i + 1]!;
      const change = BigInt(postings[i + CHANGE]!);
      const account = this.#account(symbol, postings[i]!);
      this.postings++;
      const passed = BigInt(through.get(i) ?? 0);
      if (isHeld) release(account, change + passed, moves);
      else if (holds) hold(account, change + passed);
      else if (moves) account.available += change;
      if (isHeld || holds) account.incoming += isHeld ? passed : -passed;
      if (isHeld && moves) account.available -= passed;
      if (moves) this.#supply.set(symbol, (this.#supply.get(symbol) ?? 0n) + change);
    }
  }

  #account(symbol: number, wallet: number): Account {
    let wallets = this.#accounts.get(symbol);
    if (wallets === undefined) {
      wallets = new Map();
      this.#accounts.set(symbol, wallets);
    }
    let account = wallets.get(wallet);
    if (account === undefined) {
      account = { available: 0n, reserved: 0n, incoming: 0n };
      wallets.set(wallet, account);
    }
    return account;
  }

  /** What is wrong with the money of a state that has the same entries, or null. */
  differenceTo(state: State): string | null {
    const { balances } = state;
    let known = 0;
    for (let slot = 0; slot < balances.size; slot++) {
      const wallet = balances.wallet(slot);
      const symbol = balances.symbol(slot);
      const account = this.#accounts.get(symbol)?.get(wallet) ?? NOTHING;
      if (account !== NOTHING) known++;
      for (const part of ['available', 'reserved', 'incoming'] as const) {
        const stated = balances[part](slot);
        if (!Number.isSafeInteger(stated) || BigInt(stated) !== account[part]) {
          const who = `wallet ${nameOf(state, wallet)} in ${nameOf(state, symbol)}`;
          return `${who} has ${stated} ${part}, and its postings add up to ${account[part]}`;
        }
      }
    }
    let accounts = 0;
    for (const [symbol, wallets] of this.#accounts) {
      accounts += wallets.size;
      let sum = 0n;
      for (const { available, reserved } of wallets.values()) sum += available + reserved;
      const supply = this.#supply.get(symbol) ?? 0n;
      const stated = state.supply.get(symbol) ?? 0n;
      if (sum !== supply || stated !== supply) {
        return `of ${nameOf(state, symbol)} wallets hold ${sum}, ${supply} were issued, and its supply is given as ${stated}`;
      }
    }
    for (const [symbol, stated] of state.supply) {
      if (stated !== 0n && !this.#accounts.has(symbol))
        return `of ${nameOf(state, symbol)} nothing was issued, not ${stated}`;
    }
    return known === accounts ? null : `${accounts} balances were moved, and ${known} of them are there`;
  }

  /** What wallets have, by symbol row, then wallet row, in the order in which anything of it first moved. */
  get bySymbol(): ReadonlyMap<number, ReadonlyMap<number, Readonly<Account>>> {
    return this.#accounts;
  }

  /** Balances that were ever moved. */
  get accounts(): number {
    let count = 0;
    for (const wallets of this.#accounts.values()) count += wallets.size;
    return count;
  }
}

const NOTHING: Account = { available: 0n, reserved: 0n, incoming: 0n };

function hold(account: Account, change: bigint): void {
  if (change > 0n) {
    account.incoming += change;
  } else {
    account.available += change;
    account.reserved -= change;
  }
}

function release(account: Account, change: bigint, moves: boolean): void {
  if (change > 0n) {
    account.incoming -= change;
    if (moves) account.available += change;
  } else {
    account.reserved += change;
    if (!moves) account.available -= change;
  }
}

function nameOf(state: State, row: number): string {
  try {
    return readRow(state, row).entry.handle;
  } catch {
    return `row ${row}`;
  }
}
