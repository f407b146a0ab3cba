/**
 * The bank's books: accounts, the entries asked for by the ledger, and what the bank owes and is owed.
 *
 * They are what the facts in its file add up to: `apply` is the only way in, for what happens now and for what is
 * read at a start, so a restarted bank has the very books it had. Nothing here waits, reads a clock or a file.
 *
 * What always holds, and is asserted: all accounts with their holds, plus what went out, minus what came in, is
 * what the accounts were opened with; no account and no hold is below zero.
 */
import { type Kind, POSTINGS, type Posting, type State } from './machine.ts';

export interface Account {
  handle: string;
  /** An account that is not active takes part in nothing new. */
  isActive: boolean;
  available: number;
  held: number;
  incoming: number;
}

export interface Entry {
  readonly handle: string;
  readonly kind: Kind;
  /** '' where the entry was aborted before its prepare came. */
  readonly account: string;
  readonly amount: number;
  readonly intent: IntentName;
  /** The bank's own name for it. */
  readonly coreId: string;
  state: State;
  /** When it came to its state, as the report of it says: a report is the same each time. */
  moment: string;
  reason?: string;
  detail?: string;
  /** The last state whose report has been answered for good. */
  told: State | null;
}

export interface IntentName {
  readonly handle: string;
  readonly hash: string;
}

/** One thing that happened. What was decided stands in it, so that reading it again decides nothing. */
export type Fact =
  /** Books of earlier versions have no handle here; then a second such fact adds it. */
  | { type: 'ledger'; key: string; handle?: string }
  | { type: 'account'; account: string; amount: number }
  | { type: 'activity'; account: string; isActive: boolean }
  | {
      type: 'entry';
      entry: string;
      kind: Kind;
      state: 'prepared' | 'failed' | 'aborted';
      account: string;
      amount: number;
      intent: IntentName;
      coreId: string;
      moment: string;
      reason?: string;
      detail?: string;
    }
  | { type: 'step'; entry: string; state: 'committed' | 'aborted'; moment: string }
  /**
   * A report was answered for good; `status` is the answer's: with 2xx the ledger took it, with any other it never
   * will.
   */
  | { type: 'told'; entry: string; state: State; status: number }
  | { type: 'intent'; intent: string; status: string }
  | { type: 'event'; event: string; effect: string; signal: string };

export interface Books {
  /** The ledger's public key, believed from the first start on; null before. */
  ledgerKey: string | null;
  /** The handle of its ledger on that server, learnt with the key where nobody gave it; null before. */
  ledgerHandle: string | null;
  accounts: Map<string, Account>;
  entries: Map<string, Entry>;
  /** Last status heard of intents, and the events heard, of which only the newest are kept. */
  intents: Map<string, string>;
  events: Map<string, string>;
  /** Reports that the ledger has refused for good. */
  refusedReports: number;
  opened: bigint;
  out: bigint;
  in: bigint;
}

/** How many intents' statuses, and how many events, are remembered. */
const HEARD_MAX = 100_000;

export class BooksError extends Error {
  override name = 'BooksError';
}

export function createBooks(): Books {
  return {
    ledgerKey: null,
    ledgerHandle: null,
    accounts: new Map(),
    entries: new Map(),
    intents: new Map(),
    events: new Map(),
    refusedReports: 0,
    opened: 0n,
    out: 0n,
    in: 0n,
  };
}

/** Enters a fact. Throws BooksError where it contradicts the books: then either they or the file are wrong. */
export function apply(books: Books, fact: Fact): void {
  switch (fact.type) {
    case 'ledger':
      assert(books.ledgerKey === null || books.ledgerKey === fact.key, 'the ledger has one key');
      assert(books.ledgerHandle === null, 'the bank is of one ledger');
      books.ledgerKey = fact.key;
      books.ledgerHandle = fact.handle ?? null;
      return;
    case 'account':
      return openAccount(books, fact.account, fact.amount);
    case 'activity':
      accountOf(books, fact.account).isActive = fact.isActive;
      return;
    case 'entry':
      return addEntry(books, fact);
    case 'step':
      return moveEntry(books, fact.entry, fact.state, fact.moment);
    case 'told':
      entryOf(books, fact.entry).told = fact.state;
      if (fact.status >= 300) books.refusedReports += 1;
      return;
    case 'intent':
      return remember(books.intents, fact.intent, fact.status);
    case 'event':
      return remember(books.events, fact.event, fact.signal);
    default:
      // A file of a later version may hold facts this one does not know, and their money.
      throw new BooksError(`a fact of an unknown type: ${JSON.stringify(fact satisfies never)}`);
  }
}

/**
 * Adds up every account; throws BooksError where the sum is not what they were opened with, minus what went out, plus
 * what came in.
 */
export function addUp(books: Books): void {
  let sum = 0n;
  for (const { handle, available, held } of books.accounts.values()) {
    assert(available >= 0 && held >= 0, `${handle} is below zero`);
    sum += BigInt(available) + BigInt(held);
  }
  assert(sum + books.out - books.in === books.opened, `accounts hold ${sum}, which is not what they should`);
}

/** Adds up everything anew: the accounts, and each account's hold from the prepared debits. */
export function recount(books: Books): void {
  addUp(books);
  const holds = new Map<string, bigint>();
  for (const { kind, state, account, amount } of books.entries.values()) {
    if (kind === 'debit' && state === 'prepared') holds.set(account, (holds.get(account) ?? 0n) + BigInt(amount));
  }
  for (const { handle, held } of books.accounts.values()) {
    assert((holds.get(handle) ?? 0n) === BigInt(held), `${handle} holds what no entry asks for`);
  }
}

function openAccount(books: Books, handle: string, amount: number): void {
  assert(!books.accounts.has(handle), `${handle} is opened once`);
  assert(Number.isSafeInteger(amount) && amount >= 0, `${handle} is opened with a whole amount`);
  books.accounts.set(handle, { handle, isActive: true, available: amount, held: 0, incoming: 0 });
  books.opened += BigInt(amount);
}

function addEntry(books: Books, fact: Extract<Fact, { type: 'entry' }>): void {
  assert(!books.entries.has(fact.entry), `${fact.entry} is entered once`);
  const { type, entry: handle, ...rest } = fact;
  const entry: Entry = { handle, ...rest, told: null };
  if (entry.state === 'prepared') post(books, entry, POSTINGS[entry.kind].prepare);
  books.entries.set(handle, entry);
}

function moveEntry(books: Books, handle: string, state: 'committed' | 'aborted', moment: string): void {
  const entry = entryOf(books, handle);
  const wasPrepared = entry.state === 'prepared';
  assert(wasPrepared || (entry.state === 'failed' && state === 'aborted'), `${handle} goes from prepared`);
  if (wasPrepared) post(books, entry, POSTINGS[entry.kind][state === 'committed' ? 'commit' : 'abort']);
  entry.state = state;
  entry.moment = moment;
  delete entry.reason;
  delete entry.detail;
}

/** Moves the entry's amount as the posting says; the sum over accounts, out and in is the same before and after. */
function post(books: Books, { account: handle, amount }: Entry, posting: Posting): void {
  const account = accountOf(books, handle);
  const sign = (place: keyof Posting): number => posting[place] ?? 0;
  assert(Number.isSafeInteger(amount) && amount > 0, 'an amount is a whole number above zero');
  assert(sign('available') + sign('held') + sign('out') - sign('in') === 0, 'a posting makes no money');
  for (const place of ['available', 'held', 'incoming'] as const) {
    account[place] += sign(place) * amount;
    assert(Number.isSafeInteger(account[place]) && account[place] >= 0, `${handle} cannot have ${account[place]}`);
  }
  books.out += BigInt(sign('out') * amount);
  books.in += BigInt(sign('in') * amount);
}

function accountOf(books: Books, handle: string): Account {
  const account = books.accounts.get(handle);
  assert(account !== undefined, `no account ${handle}`);
  return account;
}

function entryOf(books: Books, handle: string): Entry {
  const entry = books.entries.get(handle);
  assert(entry !== undefined, `no entry ${handle}`);
  return entry;
}

function remember(heard: Map<string, string>, handle: string, what: string): void {
  heard.delete(handle);
  heard.set(handle, what);
  if (heard.size > HEARD_MAX) heard.delete(heard.keys().next().value!);
}

function assert(condition: boolean, what: string): asserts condition {
  if (!condition) throw new BooksError(what);
}
