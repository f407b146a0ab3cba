/**
 * Whether the bank can do what it is asked to prepare: the reasons to say no, in their order. Reads the books, and
 * changes nothing.
 */
import type { Account, Books } from './books.ts';
import type { PrepareRequest } from './requests.ts';

export interface House {
  /** The bank's name, which is also that of its wallet and bridge at the ledger. */
  readonly name: string;
  /** The one currency the accounts are in. */
  readonly symbol: string;
}

/** Why a prepare fails; it goes back to the ledger in the report. */
interface Failure {
  readonly reason: string;
  readonly detail: string;
}

/**
 * The account an entry is about: the one its sender named behind the bank's own wallet, else the one with the wallet's
 * handle. Accounts named behind other wallets are another bank's, whoever asks.
 */
export function accountNameOf({ name }: House, { wallet, named }: PrepareRequest): string {
  return wallet === name && named !== null ? named : wallet;
}

/** The reason to refuse, or null. */
export function findFailure(books: Books, house: House, request: PrepareRequest): Failure | null {
  const { kind, symbol, amount } = request;
  const name = accountNameOf(house, request);
  if (symbol !== house.symbol) {
    return { reason: 'bridge.entry-rejected', detail: `accounts are in ${house.symbol}, not in ${symbol}` };
  }
  if (request.isMixed) {
    return { reason: 'bridge.entry-rejected', detail: 'an entry is of one account, its claims name several' };
  }
  const account = books.accounts.get(name);
  if (account === undefined) return { reason: 'bridge.account-not-found', detail: `no account ${name}` };
  if (!account.isActive) return { reason: 'bridge.account-inactive', detail: `account ${name} is not active` };
  if (kind === 'debit' && account.available < amount) {
    const detail = `account ${name} has ${account.available} available, ${amount} are needed`;
    return { reason: 'bridge.account-insufficient-balance', detail };
  }
  if (kind === 'credit' && amount > roomOf(account)) {
    return { reason: 'bridge.account-limit-exceeded', detail: `account ${name} cannot have ${amount} more` };
  }
  return null;
}

/** How much an account can still take, also when all it holds and expects has come to it. */
function roomOf({ available, held, incoming }: Account): number {
  return Number(BigInt(Number.MAX_SAFE_INTEGER) - BigInt(available) - BigInt(held) - BigInt(incoming));
}
