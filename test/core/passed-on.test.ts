/** What a thread passes on from wallet to wallet, where limits, banks and the day have something to say about it. */
import { expect, test } from 'vitest';
import { GRANTED } from '../../src/core/access/index.ts';
import type { Claim } from '../../src/core/claims/index.ts';
import { type Entry, EntryType, type IntentEntry } from '../../src/core/entry.ts';
import { findLuid } from '../../src/core/finding.ts';
import { stepsDue } from '../../src/core/intents.ts';
import { Kind } from '../../src/core/kinds.ts';
import { readRow } from '../../src/core/records.ts';
import { Books, issue, limit, MIDNIGHT, transfer } from './books.ts';

/** Books with 100 in `a`; `c` and `e` pass on what they get to `d`, `f` and `g` to `far`, which is behind a bank. */
class Town {
  readonly books = Books.open({ 'intent.expiryThresholdMinutes': 10 }).symbols('usd').wallets('a', 'd');

  constructor() {
    const { books } = this;
    books.create(Kind.bridge, { handle: 'bank', config: { server: 'http://127.0.0.1:1' } });
    books.create(Kind.wallet, { handle: 'far', bridge: 'bank' });
    const ways = { c: 'd', e: 'd', f: 'far', g: 'far' };
    for (const [handle, target] of Object.entries(ways)) {
      books.create(Kind.wallet, { handle, routes: [{ action: 'forward', target }] });
    }
    books.intent(issue('a', 100));
  }

  send(claims: Claim[]): IntentEntry[] {
    const entries = this.books.create(Kind.intent, { handle: `t${this.books.entries.length}`, claims }) as Entry[];
    return entries.filter((entry): entry is IntentEntry => entry.type === EntryType.intent);
  }

  /** The bank says so of the credit of an intent. */
  report({ luid, hash }: IntentEntry, status: string): void {
    const custom = JSON.stringify({ handle: `cre_${luid.slice(5)}.0`, status, n: this.books.entries.length });
    const proof = { public: new Uint8Array(32).fill(5), result: new Uint8Array(64), custom };
    const by = { ledger: 1, kind: Kind.intent, moment: this.books.moment, caller: GRANTED } as const;
    this.books.do({ op: 'proof', ...by, luid, hash, proof });
  }

  statusOf({ luid }: IntentEntry): string {
    return readRow(this.books.state, findLuid(this.books.state, 1, Kind.intent, luid)).status;
  }
}

test('a wallet that lacks some of its minBalance gets it by what is passed on to it', () => {
  const town = new Town();
  const { books } = town;
  books.intent(limit('d', 'minBalance', 30));
  const intents = town.send([transfer('a', 'c', 40)]);
  expect(intents.map(({ outcome }) => outcome.reason)).toEqual(['', '']);
  expect(books.balance('d')).toBe(40);
});

test('a wallet passes on what it may not keep, since its maxBalance fell while a bank was asked', () => {
  const town = new Town();
  const { books } = town;
  books.intent(limit('c', 'maxBalance', 40));
  const [first] = town.send([transfer('a', 'c', 40), transfer('a', 'far', 1)]);
  expect(town.statusOf(first!)).toBe('pending');
  books.intent(limit('c', 'maxBalance', 10));
  for (const status of ['prepared', 'committed']) town.report(first!, status);
  expect(town.statusOf(first!)).toBe('completed');
  expect(['a', 'c', 'd', 'far'].map((wallet) => books.balance(wallet))).toEqual([59, 0, 40, 1]);
});

test('what is passed on after midnight, and came before it, is judged by the day it came', () => {
  const { books } = new Town();
  books.intent(limit('d', 'dailyCount', 1));
  const late = books.command(Kind.intent, { handle: 'late', claims: [transfer('a', 'c', 1)] });
  books.intent(transfer('a', 'd', 1));
  books.moment = MIDNIGHT + 86_400_000;
  const reasons = (books.do(late) as IntentEntry[]).map(({ outcome }) => outcome.reason);
  expect(reasons).toEqual(['', 'core.limit-exceeded', 'core.limit-exceeded']);
  expect(books.balance('d')).toBe(1);
});

test('where one of two intents that a bank is asked about fails, the other is given up as well', () => {
  const town = new Town();
  const intents = town.send([transfer('a', 'f', 1), transfer('a', 'g', 2)]);
  expect(intents.map((intent) => town.statusOf(intent))).toEqual(['prepared', 'pending', 'pending']);
  town.report(intents[1]!, 'failed');
  expect(intents.map((intent) => town.statusOf(intent))).toEqual(['rejected', 'aborted', 'aborted']);
  for (const intent of intents.slice(1)) town.report(intent, 'aborted');
  expect(intents.map((intent) => town.statusOf(intent))).toEqual(['rejected', 'rejected', 'rejected']);
  expect([town.books.balance('a'), town.books.state.open.size]).toEqual([100, 0]);
});

test('two of a thread whose time is over at once end once each', () => {
  const town = new Town();
  const intents = town.send([transfer('a', 'f', 1), transfer('a', 'g', 2)]);
  town.books.moment += 11 * 60_000;
  const steps = [...dueIn(town.books)];
  expect(steps.map(({ luid }) => luid).sort()).toEqual(intents.map(({ luid }) => luid).sort());
  expect(intents.map((intent) => town.statusOf(intent))).toEqual(['rejected', 'aborted', 'aborted']);
});

/** What comes of looking what is due, each applied before the next is asked for. */
function* dueIn(books: Books): Generator<Entry> {
  for (const step of stepsDue(books.state, books.moment)) yield* books.settle(step);
}
