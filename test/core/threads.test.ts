/** Threads: what routes of wallets make of an intent. Those that lead to banks: threads-bridges.test.ts. */
import { describe, expect, test } from 'vitest';
import { GRANTED } from '../../src/core/access/index.ts';
import type { Claim } from '../../src/core/claims/index.ts';
import type { Entry, IntentEntry } from '../../src/core/entry.ts';
import { findLuid } from '../../src/core/finding.ts';
import { Kind } from '../../src/core/kinds.ts';
import { readRow } from '../../src/core/records.ts';
import { Books, destroy, issue, limit, transfer } from './books.ts';
import {
  balances,
  expectNothingHeld,
  fresh,
  intentsIn,
  prove,
  type Route,
  reasonsOf,
  send,
  statusOf,
} from './thread-kit.ts';

describe('forward', () => {
  test('makes a second intent of the thread, and both happen', () => {
    const books = fresh({ c: [{ action: 'forward', target: 'd' }] });
    const entries = send(books, [transfer('a', 'c', 40)]);
    const [first, second] = intentsIn(entries);
    expect(second!.thread).toBe(first!.thread);
    expect(JSON.parse(second!.data)).toMatchObject({
      origin: first!.handle,
      claims: [{ action: 'transfer', source: { handle: 'c' }, target: { handle: 'd' }, amount: 40 }],
    });
    expect([first!, second!].map((intent) => statusOf(books, intent))).toEqual(['completed', 'completed']);
    expect(balances(books, 'a', 'c', 'd')).toEqual([60, 0, 40]);
    expectNothingHeld(books);
  });

  test('routes of whoever it goes to see all data of the intent that passes it on', () => {
    const books = fresh({
      c: [{ action: 'forward', target: 'e' }],
      e: [{ action: 'credit', target: 'd', filter: { 'intent.origin': 't9' } }, { action: 'accept' }],
    });
    const [, second] = intentsIn(send(books, [transfer('a', 'c', 40)]));
    expect(JSON.parse(second!.data).origin).toBe('t9');
    expect(balances(books, 'e', 'd')).toEqual([0, 40]);
  });

  test('to a wallet that passes on another claim of the intent as well is no ring', () => {
    const books = fresh({ c: [{ action: 'forward', target: 'd' }], e: [{ action: 'forward', target: 'c' }] });
    const entries = send(books, [transfer('a', 'c', 1), transfer('a', 'e', 2)]);
    expect(reasonsOf(entries)).toEqual([]);
    expect(intentsIn(entries)).toHaveLength(4);
    expect(balances(books, 'a', 'c', 'd', 'e')).toEqual([97, 0, 3, 0]);
    expectNothingHeld(books);
  });

  test.each([1, 2, 3])('in a ring of %s is refused before the money is back', (wallets) => {
    const ring = Array.from({ length: wallets }, (_, n) => `r${n}`);
    const next = (n: number) => ({ action: 'forward', target: ring[(n + 1) % wallets]! });
    const books = fresh(Object.fromEntries(ring.map((handle, n) => [handle, [next(n)]])));
    const entries = send(books, [transfer('a', 'b', 1), transfer('a', 'r0', 2)]);
    expect(intentsIn(entries)).toHaveLength(1 + wallets);
    expect(reasonsOf(entries)[0]).toBe('core.routing-failed');
    expect(balances(books, 'a', 'b', ...ring)).toEqual([100, 0, ...ring.map(() => 0)]);
    expectNothingHeld(books);
  });

  test.each([
    ['before', false],
    ['behind', true],
  ])('a name that leads nowhere is told rather than a route that does, of a claim %s', (_, isBehind) => {
    const lost: Route[] = [{ action: 'accept', filter: { amount: 7 } }];
    const claims = [transfer('a', 'x', 1), transfer('a', 'c', 1)];
    const entries = send(fresh({ c: lost }), isBehind ? claims.reverse() : claims);
    expect(reasonsOf(entries)).toEqual(['core.target-invalid']);
    expect(reasonsOf(send(fresh({ c: lost }), [transfer('a', 'c', 1), transfer('a', 'd', 1)]))).toEqual([
      'core.routing-failed',
    ]);
  });

  test('of issued money, and over several hops', () => {
    const books = fresh({ c: [{ action: 'forward', target: 'e' }], e: [{ action: 'forward', target: 'd' }] });
    expect(intentsIn(send(books, [issue('c', 7)]))).toHaveLength(3);
    expect(balances(books, 'c', 'e', 'd')).toEqual([0, 0, 7]);
    expectNothingHeld(books);
  });

  test('of each claim by itself, the rest stays', () => {
    const books = fresh({
      c: [
        { action: 'accept', filter: { amount: { $lte: 10 } } },
        { action: 'forward', target: 'd' },
      ],
    });
    const entries = send(books, [transfer('a', 'c', 10), transfer('a', 'c', 11), transfer('a', 'c', 12)]);
    expect(intentsIn(entries)).toHaveLength(3);
    expect(balances(books, 'a', 'c', 'd')).toEqual([67, 10, 23]);
    expectNothingHeld(books);
  });

  test('takes what the thread brings, and no more than is there of the rest', () => {
    // c gets 40 and gives 30 away in the same intent, and passes on all 40: 30 of them must be there.
    const routes = { c: [{ action: 'forward', target: 'd' }] };
    const books = fresh(routes);
    const claims = [transfer('a', 'c', 40), transfer('c', 'b', 30)];
    expect(reasonsOf(send(books, claims))[0]).toBe('core.insufficient-balance');
    expect(balances(books, 'a', 'b', 'c', 'd')).toEqual([100, 0, 0, 0]);
    const rich = fresh();
    rich.create(Kind.wallet, { handle: 'c' });
    rich.intent(issue('c', 30));
    rich.update(Kind.wallet, 'c', { handle: 'c', routes: routes.c });
    send(rich, claims);
    expect(balances(rich, 'a', 'b', 'c', 'd')).toEqual([60, 30, 0, 40]);
    expectNothingHeld(rich);
  });

  // Of what comes to c some goes away in the same intent, so that not all of what it passes on is brought.
  test.each<[string, Claim[], number[]]>([
    ['once', [transfer('a', 'c', 20), transfer('a', 'c', 20), transfer('c', 'b', 20)], [20, 0]],
    ['of its symbol', [transfer('a', 'c', 20, 'eur'), transfer('a', 'c', 20), transfer('c', 'b', 20, 'eur')], [0, 20]],
  ])('passes on what the thread brings %s', (_, claims, needed) => {
    for (const own of [needed, needed.map((amount) => Math.max(0, amount - 1))]) {
      const books = fresh();
      books.intent(issue('a', 100, 'eur'));
      books.create(Kind.wallet, { handle: 'c' });
      for (const [n, symbol] of ['usd', 'eur'].entries()) if (own[n]! > 0) books.intent(issue('c', own[n]!, symbol));
      books.update(Kind.wallet, 'c', { handle: 'c', routes: [{ action: 'forward', target: 'd' }] });
      const reasons = reasonsOf(send(books, claims));
      if (own === needed) expect(reasons).toEqual([]);
      else expect(new Set(reasons)).toEqual(new Set(['core.insufficient-balance']));
      const left = own === needed ? [0, 0] : own;
      expect([books.balance('c', 'usd'), books.balance('c', 'eur')]).toEqual(left);
      expectNothingHeld(books);
    }
  });

  test('fails with the second, for its reason', () => {
    const books = fresh({ c: [{ action: 'forward', target: 'd' }] });
    books.intent(limit('d', 'maxBalance', 10));
    const entries = send(books, [transfer('a', 'c', 40)]);
    expect(intentsIn(entries).map((intent) => statusOf(books, intent))).toEqual(['rejected', 'rejected']);
    expect(reasonsOf(entries)).toEqual(['core.limit-exceeded', 'core.limit-exceeded']);
    expect(balances(books, 'a', 'c', 'd')).toEqual([100, 0, 0]);
    expectNothingHeld(books);
  });

  test('what a wallet passes on does not count towards what it must keep', () => {
    const books = fresh({ c: [{ action: 'forward', target: 'd' }] });
    books.intent(limit('c', 'minBalance', 5));
    expect(reasonsOf(send(books, [transfer('a', 'c', 40)]))).toEqual(['core.limit-exceeded', 'core.limit-exceeded']);
    expect(balances(books, 'a', 'c', 'd')).toEqual([100, 0, 0]);
    expectNothingHeld(books);
  });

  test.each<[string, Record<string, Route[]>]>([
    ['to itself', { c: [{ action: 'forward', target: 'c' }] }],
    ['in a ring', { c: [{ action: 'forward', target: 'e' }], e: [{ action: 'forward', target: 'c' }] }],
    ['to nobody', { c: [{ action: 'forward', target: 'nobody' }] }],
  ])('%s fails as a whole', (_, wallets) => {
    const books = fresh(wallets);
    const entries = send(books, [transfer('a', 'c', 40)]);
    for (const intent of intentsIn(entries)) expect(statusOf(books, intent)).toBe('rejected');
    expect(reasonsOf(entries)[0]).toMatch(/core\.(routing-failed|target-invalid)/);
    expect(balances(books, 'a', 'c')).toEqual([100, 0]);
    expectNothingHeld(books);
  });

  test.each([
    [9, 'completed', 10],
    [10, 'rejected', 10],
  ])('over %i wallets: %s', (count, status, intents) => {
    const books = fresh();
    for (let n = count; n > 0; n--) {
      const target = n === count ? 'd' : `w${n + 1}`;
      books.create(Kind.wallet, { handle: `w${n}`, routes: [{ action: 'forward', target }] });
    }
    const entries = send(books, [transfer('a', 'w1', 5)]);
    expect(intentsIn(entries)).toHaveLength(intents);
    for (const intent of intentsIn(entries)) expect(statusOf(books, intent)).toBe(status);
    if (status === 'rejected') {
      // The one that could not pass it on says why, the others that it was that one.
      const details = entries.map((entry) => ('outcome' in entry ? entry.outcome.detail : ''));
      expect(details).toContain('A thread has at most 10 intents');
    }
    expectNothingHeld(books);
  });

  test('is paid by the wallet the money came to, whatever its routes for debits say', () => {
    const books = fresh({
      c: [
        { action: 'forward', target: 'd' },
        { action: 'debit', target: 'rich' },
      ],
    });
    books.wallets('rich').intent(issue('rich', 100));
    send(books, [transfer('a', 'c', 40)]);
    expect(balances(books, 'a', 'c', 'd', 'rich')).toEqual([60, 0, 40, 100]);
    expectNothingHeld(books);
  });

  test('rests where the first is manual, and goes with it', () => {
    for (const action of ['commit', 'abort']) {
      const books = fresh({ c: [{ action: 'forward', target: 'd' }] });
      const [first, second] = intentsIn(send(books, [transfer('a', 'c', 40)], { commit: 'manual' }));
      expect([first!, second!].map((intent) => statusOf(books, intent))).toEqual(['prepared', 'prepared']);
      expect(balances(books, 'a', 'c', 'd')).toEqual([60, 0, 0]);
      // The wallet in the middle neither has nor awaits anything, and is part of it all the same.
      expect(books.drop(Kind.wallet, 'c')).toMatchObject({ reason: 'record.drop-rejected' });
      prove(books, first!, { action });
      const end = action === 'commit' ? 'completed' : 'rejected';
      expect([first!, second!].map((intent) => statusOf(books, intent))).toEqual([end, end]);
      expect(balances(books, 'a', 'c', 'd')).toEqual(action === 'commit' ? [60, 0, 40] : [100, 0, 0]);
      expectNothingHeld(books);
    }
  });
});

test.each(['commit', 'abort'])(
  'who may %s what the server passes on, but not what began the thread, does neither',
  (action) => {
    const books = Books.open();
    const [bob, boss] = [3, 4].map((byte) => new Uint8Array(32).fill(byte)) as [Uint8Array, Uint8Array];
    const may = (key: Uint8Array) => ({ action, signer: { public: Buffer.from(key).toString('base64') } });
    const rules = [{ action: { $in: ['access', 'create'] }, record: 'any' }, { policy: 'not-high' }];
    const make = (kind: Kind, value: Record<string, unknown>) => books.create(kind, value, 2, GRANTED, true) as Entry[];
    books.create(Kind.ledger, { handle: 'closed', access: rules }, 0);
    // What the server makes says nothing of its class.
    const filter = { 'data.custom.class': { $ne: 'high' } };
    make(Kind.policy, { handle: 'not-high', schema: 'access', record: 'intent', values: [may(bob)], filter });
    make(Kind.symbol, { handle: 'usd', factor: 1 });
    for (const handle of ['a', 'd']) make(Kind.wallet, { handle });
    make(Kind.wallet, { handle: 'c', routes: [{ action: 'forward', target: 'd' }] });
    make(Kind.intent, { handle: 'seed', claims: [issue('a', 40)] });
    const value = { handle: 't', claims: [transfer('a', 'c', 40)], config: { commit: 'manual' } };
    const intents = intentsIn(make(Kind.intent, { ...value, custom: { class: 'high' }, access: [may(boss)] }));
    const statuses = () =>
      intents.map(({ luid }) => readRow(books.state, findLuid(books.state, 2, Kind.intent, luid)).status);
    const say = (key: Uint8Array, intent: IntentEntry) => void books.addProof(intent, { action }, { key });
    for (const intent of intents) {
      say(bob, intent);
      expect(statuses()).toEqual(['prepared', 'prepared']);
    }
    // Nor does who may do so to what began it alone, by way of what the server passes on.
    say(boss, intents[1]!);
    expect(statuses()).toEqual(['prepared', 'prepared']);
    say(boss, intents[0]!);
    const end = action === 'commit' ? 'completed' : 'rejected';
    expect(statuses()).toEqual([end, end]);
  },
);

describe('at the end of what can be told exactly', () => {
  const MAX = Number.MAX_SAFE_INTEGER;
  const AMOUNT = 101;

  /** Through `c` passes money of a thread that rests, and that came from `a`. */
  function passing(): { books: Books; intents: [IntentEntry, IntentEntry] } {
    const books = fresh({ c: [{ action: 'forward', target: 'd' }] });
    books.wallets('e').intent(issue('a', 1));
    const intents = intentsIn(send(books, [transfer('a', 'c', AMOUNT)], { commit: 'manual' }));
    books.update(Kind.wallet, 'c', { handle: 'c' });
    return { books, intents: intents as [IntentEntry, IntentEntry] };
  }

  const ends = [0, 1].flatMap((which) => ['commit', 'abort'].map((action) => [action, which] as const));
  const endsOf = (books: Books, intents: readonly IntentEntry[]) => intents.map((intent) => statusOf(books, intent));

  test.each(ends)('a wallet that is full has room for what passes through: %s by intent %i', (action, which) => {
    const { books, intents } = passing();
    expect(books.intent(issue('c', MAX - AMOUNT + 1)).outcome.reason).toBe('core.limit-exceeded');
    expect(books.intent(issue('c', MAX - AMOUNT)).outcome.reason).toBe('');
    prove(books, intents[which]!, { action });
    const end = action === 'commit' ? 'completed' : 'rejected';
    expect(endsOf(books, intents)).toEqual([end, end]);
    const moved = action === 'commit' ? AMOUNT : 0;
    expect(balances(books, 'a', 'c', 'd')).toEqual([AMOUNT - moved, MAX - AMOUNT, moved]);
    // There is room again once it is through.
    expect(books.intent(issue('c', AMOUNT)).outcome.reason).toBe('');
    expectNothingHeld(books);
  });

  test.each(ends)('a wallet that owes all it may can still pass on: %s by intent %i', (action, which) => {
    const { books, intents } = passing();
    books.intent(limit('c', 'minBalance', -MAX));
    expect(books.intent(transfer('c', 'e', MAX - AMOUNT + 1)).outcome.reason).toBe('core.limit-exceeded');
    expect(books.intent(transfer('c', 'e', MAX - AMOUNT)).outcome.reason).toBe('');
    prove(books, intents[which]!, { action });
    const moved = action === 'commit' ? AMOUNT : 0;
    expect(balances(books, 'a', 'c', 'd')).toEqual([AMOUNT - moved, AMOUNT - MAX, moved]);
    // Once it is through, the rest may go; `e` has no room for it.
    expect(books.wallets('g').intent(transfer('c', 'g', AMOUNT)).outcome.reason).toBe('');
    expectNothingHeld(books);
  });

  test.each(ends)('what is to come beside it stays exact: %s by intent %i', (action, which) => {
    const { books, intents } = passing();
    books.intent(limit('c', 'minBalance', -AMOUNT));
    books.intent(transfer('c', 'e', AMOUNT));
    expect(reasonsOf(send(books, [issue('c', MAX)], { commit: 'manual' }))).toEqual(['core.limit-exceeded']);
    const [held] = intentsIn(send(books, [issue('c', MAX - AMOUNT)], { commit: 'manual' }));
    prove(books, intents[which]!, { action });
    prove(books, held!, { action: 'abort' });
    expect(balances(books, 'c')).toEqual([-AMOUNT]);
    expectNothingHeld(books);
  });
});

describe('debit and credit', () => {
  test('stand in without a new intent, and say so', () => {
    const books = fresh({ from: [{ action: 'debit', target: 'a' }], into: [{ action: 'credit', target: 'd' }] });
    const entries = send(books, [transfer('from', 'into', 40)]);
    expect(entries).toHaveLength(1);
    expect(balances(books, 'a', 'from', 'into', 'd')).toEqual([60, 0, 0, 40]);
    expect((entries[0] as IntentEntry).outcome.links!.routed).toHaveLength(6);
  });

  test.each([
    ['transfer', 'only where its own rules let the signer spend', true, false],
    ['transfer', 'only where those of the named one do', false, true],
    ['transfer', 'where both do', true, true],
    ['destroy', 'only where its own rules let the signer spend', true, false],
    ['destroy', 'only where those of the named one do', false, true],
    ['destroy', 'where both do', true, true],
  ])('another pays for a %s %s', (action, _, isNamedOpen, isPayerOpen) => {
    const happens = isNamedOpen && isPayerOpen;
    const books = Books.open();
    const ledger = { handle: 'closed', access: [{ action: { $in: ['access', 'create', 'read'] }, record: 'any' }] };
    books.create(Kind.ledger, ledger, 0);
    const key = new Uint8Array(32).fill(3);
    const mine = [{ action: 'spend', signer: { public: Buffer.from(key).toString('base64') } }];
    const make = (value: Record<string, unknown>) => books.create(Kind.wallet, value, 2);
    books.create(Kind.symbol, { handle: 'usd', factor: 1, access: [{ action: 'destroy' }] }, 2);
    make({ handle: 'rich', access: isPayerOpen ? mine : [] });
    make({ handle: 'to' });
    make({ handle: 'named', access: isNamedOpen ? mine : [], routes: [{ action: 'debit', target: 'rich' }] });
    books.create(Kind.intent, { handle: 'i', claims: [issue('rich', 5)] }, 2, GRANTED);
    const claims = [action === 'destroy' ? destroy('named', 5) : transfer('named', 'to', 5)];
    const [entry] = books.create(Kind.intent, { handle: 't', claims }, 2, { keys: [key], bearer: null }) as Entry[];
    const { steps, postings } = (entry as IntentEntry).outcome;
    expect([steps.includes('completed'), postings.length > 0]).toEqual([happens, happens]);
    if (!happens) expect(steps).toEqual([]);
  });

  test.each([
    [3, 'completed'],
    [4, 'rejected'],
  ])('after %i hops: %s', (hops, status) => {
    const books = fresh();
    for (let n = hops; n > 0; n--) {
      const target = n === hops ? 'd' : `w${n + 1}`;
      books.create(Kind.wallet, { handle: `w${n}`, routes: [{ action: 'credit', target }] });
    }
    const [entry] = send(books, [transfer('a', 'w1', 5)]);
    expect(statusOf(books, entry!)).toBe(status);
  });
});

describe('a filter', () => {
  const claim = (amount: number): Claim => ({
    ...transfer('a', 'c', amount),
    source: { handle: 'a', custom: { city: 'Lima' } },
  });
  test.each<[Record<string, unknown>, boolean]>([
    [{ amount: 5 }, true],
    [{ amount: 6 }, false],
    [{ amount: { $gte: 5, $lt: 6 } }, true],
    [{ amount: { $gt: 5 } }, false],
    [{ 'symbol.handle': 'usd', 'source.handle': { $in: ['a', 'b'] } }, true],
    [{ symbol: 'usd' }, true],
    [{ 'source.handle': { $nin: ['a'] } }, false],
    [{ 'source.custom.city': 'Lima' }, true],
    [{ 'source.custom.city': { $ne: 'Lima' } }, false],
    [{ 'intent.schema': 'pay' }, true],
    [{ 'intent.custom.kind': 'rent', amount: 5 }, true],
    [{ 'intent.custom.kind': 'food' }, false],
    [{ 'toString.length': 0 }, false],
    [{ amount: { $unknown: 5 } }, false],
  ])('%j: %s', (filter, isMet) => {
    const books = fresh({ c: [{ action: 'accept', filter }] });
    const value = { handle: 't', schema: 'pay', custom: { kind: 'rent' }, claims: [claim(5)] };
    const [entry] = books.create(Kind.intent, value) as Entry[];
    expect(statusOf(books, entry!)).toBe(isMet ? 'completed' : 'rejected');
    if (!isMet) expect((entry as IntentEntry).outcome.reason).toBe('core.routing-failed');
  });

  test('reads a bare reference as one with a handle', () => {
    const books = fresh({ c: [{ action: 'accept', filter: { 'source.handle': 'a', 'symbol.handle': 'usd' } }] });
    const bare = { action: 'transfer', source: 'a', target: 'c', symbol: 'usd', amount: 5 };
    expect(statusOf(books, send(books, [bare])[0]!)).toBe('completed');
  });

  /** So many routes, each with so many values that do not fit; the last takes all. */
  function longRoutes(routes: number, values: number): Route[] {
    const list = Array.from({ length: values }, (_, n) => `no-${n}`);
    const long = Array.from({ length: routes }, (): Route => {
      return { action: 'accept', filter: { 'source.custom.city': { $in: list } } };
    });
    return [...long, { action: 'accept' }];
  }

  test.each([
    [10, 5, 100, 'completed'],
    [100, 20, 50, 'completed'],
    [1000, 50, 50, 'rejected'],
    [20, 300, 250, 'rejected'],
  ])('%i claims over %i routes of %i values: %s, however long it would take', (claims, routes, values, status) => {
    const books = fresh({ c: longRoutes(routes, values) });
    const [entry] = send(
      books,
      Array.from({ length: claims }, () => claim(1)),
    );
    if (status === 'rejected') expect((entry as IntentEntry).outcome.reason).toBe('core.routing-failed');
    expect(statusOf(books, entry!)).toBe(status);
  });

  test.each([
    [20, 'completed'],
    [2000, 'rejected'],
  ])('that looks at all %i claims for each of them: %s', (count, status) => {
    const books = fresh({ c: [{ action: 'accept', filter: { 'intent.claims.amount': 5 } }] });
    books.intent(issue('a', 10_000));
    const claims = Array.from({ length: count }, (_, n) => transfer('a', 'c', n === count - 1 ? 5 : 1));
    expect(statusOf(books, send(books, claims)[0]!)).toBe(status);
  });

  test('a wallet that says only what to accept says it of what comes in, and pays what it likes', () => {
    const books = fresh({ c: [{ action: 'accept', filter: { amount: 5 } }] });
    expect(statusOf(books, send(books, [transfer('a', 'c', 5)])[0]!)).toBe('completed');
    expect(statusOf(books, send(books, [transfer('c', 'b', 3)])[0]!)).toBe('completed');
    expect(balances(books, 'a', 'c', 'b')).toEqual([95, 2, 3]);
  });

  test('one for whom another pays the rest pays itself only what it says it accepts', () => {
    const books = fresh({
      c: [
        { action: 'accept', filter: { amount: 3 } },
        { action: 'debit', target: 'a' },
      ],
    });
    books.intent(issue('c', 3));
    send(books, [transfer('c', 'b', 2)]);
    expect(balances(books, 'a', 'c', 'b')).toEqual([98, 3, 2]);
    send(books, [transfer('c', 'b', 3)]);
    expect(balances(books, 'a', 'c', 'b')).toEqual([98, 0, 5]);
  });

  test('routes of the other side are not asked', () => {
    const books = fresh({ c: [{ action: 'debit', target: 'a', filter: { amount: 1 } }] });
    expect(statusOf(books, send(books, [transfer('a', 'c', 5)])[0]!)).toBe('completed');
    expect(statusOf(books, send(books, [transfer('c', 'b', 5)])[0]!)).toBe('rejected');
  });
});

test('a route that leads nowhere is refused', () => {
  for (const action of ['forward', 'debit', 'credit']) {
    const made = fresh().create(Kind.wallet, { handle: 'w', routes: [{ action: 'accept' }, { action }] });
    expect(made).toMatchObject({ reason: 'record.invalid', detail: 'Route 1 has no target' });
  }
});
