/** Threads whose money goes to a bank, or comes from one: what the bank says, and when each of the intents goes on. */
import { describe, expect, test } from 'vitest';
import { GRANTED, NOBODY } from '../../src/core/access/index.ts';
import type { Reference } from '../../src/core/claims/index.ts';
import { type Entry, EntryType, type IntentEntry, LEG_STATES, Side, type StepEntry } from '../../src/core/entry.ts';
import { findLuid } from '../../src/core/finding.ts';
import { stepsDue } from '../../src/core/intents.ts';
import { Kind } from '../../src/core/kinds.ts';
import { legHandle } from '../../src/core/legs.ts';
import { Books, issue, transfer } from './books.ts';
import { balances, expectNothingHeld, fresh, intentsIn, prove, reasonsOf, send, statusOf } from './thread-kit.ts';

describe('bridges in a thread', () => {
  /** The same word, said again, has the same signature. */
  const ONE_RESULT = new Uint8Array(64);
  function bridged(config: Record<string, unknown> = {}): Books {
    const books = Books.open({ 'intent.expiryThresholdMinutes': 10 }).symbols('usd').wallets('a', 'd');
    books.create(Kind.bridge, { handle: 'bank', config: { server: 'http://127.0.0.1:1', ...config } });
    books.create(Kind.wallet, { handle: 'out', bridge: 'bank' });
    books.create(Kind.wallet, { handle: 'c', routes: [{ action: 'forward', target: 'out' }] });
    books.intent(issue('a', 100));
    return books;
  }
  const report = (books: Books, intent: IntentEntry, handle: string, status: string, more: object = {}): Entry[] =>
    prove(books, intent, { handle, status, ...more, n: books.entries.length });
  const leg = (intent: IntentEntry): string => `cre_${intent.luid.slice(5)}.0`;

  test('the first waits, prepared, until the second is', () => {
    const books = bridged();
    const [first, second] = intentsIn(send(books, [transfer('a', 'c', 40)]));
    expect([first!, second!].map((intent) => statusOf(books, intent))).toEqual(['prepared', 'pending']);
    expect(prove(books, first!, { action: 'commit' })).toHaveLength(1);
    expect(statusOf(books, first!)).toBe('prepared');
    report(books, second!, leg(second!), 'prepared');
    expect([first!, second!].map((intent) => statusOf(books, intent))).toEqual(['completed', 'committed']);
    expect(balances(books, 'a', 'c', 'out')).toEqual([60, 0, 40]);
    report(books, second!, leg(second!), 'committed');
    expect(statusOf(books, second!)).toBe('completed');
    expectNothingHeld(books);
  });

  test.each([
    ['commit', 'committed'],
    ['abort', 'aborted'],
  ])('whoever says %s of an intent by hand before its own bank has answered is told so', (action, status) => {
    const books = bridged();
    const [intent] = intentsIn(send(books, [transfer('a', 'out', 40)], { commit: 'manual' }));
    const say = () => books.addProof(intent!, { action }, { caller: NOBODY, result: ONE_RESULT });
    expect(statusOf(books, intent!)).toBe('pending');
    for (let times = 0; times < 2; times++) expect(say()).toMatchObject({ reason: 'record.invalid' });
    report(books, intent!, leg(intent!), 'prepared');
    expect(statusOf(books, intent!)).toBe('prepared');
    say();
    expect(statusOf(books, intent!)).toBe(status);
    report(books, intent!, leg(intent!), status);
    expectNothingHeld(books);
  });

  test('whoever commits by hand before the bank has answered is told so: the same word, which has no moment, counts afterwards', () => {
    const books = bridged();
    const [first, second] = intentsIn(send(books, [transfer('a', 'c', 40)], { commit: 'manual' }));
    const say = () => books.addProof(first!, { action: 'commit' }, { caller: NOBODY, result: ONE_RESULT });
    expect(statusOf(books, first!)).toBe('prepared');
    for (let times = 0; times < 2; times++) expect(say()).toMatchObject({ reason: 'record.invalid' });
    report(books, second!, leg(second!), 'prepared');
    // Nobody's word was heard.
    expect([first!, second!].map((intent) => statusOf(books, intent))).toEqual(['prepared', 'prepared']);
    say();
    expect([first!, second!].map((intent) => statusOf(books, intent))).toEqual(['completed', 'committed']);
    report(books, second!, leg(second!), 'committed');
    expectNothingHeld(books);
  });

  test.each(['prepared', 'failed'])(
    'all fail where a bridge says %s after the time of one, before anybody looks what is due',
    (said) => {
      const books = bridged();
      const [first, second] = intentsIn(send(books, [transfer('a', 'c', 40)]));
      books.moment += 10 * 60_000 + 1;
      const say = (status: string) => prove(books, second!, { handle: leg(second!), status }, NOBODY);
      // What moves nothing does not end it either.
      expect(say('committed')).toHaveLength(1);
      expect(reasonsOf(say(said))).toEqual(['core.intent-expired', 'core.intent-expired']);
      expect([first!, second!].map((intent) => statusOf(books, intent))).toEqual(['rejected', 'aborted']);
      report(books, second!, leg(second!), 'aborted');
      expect(statusOf(books, second!)).toBe('rejected');
      expect(balances(books, 'a', 'c', 'out')).toEqual([100, 0, 0]);
      expectNothingHeld(books);
    },
  );

  test.each(['failed by its bridge', 'expired'])('the first fails with the second, %s', (how) => {
    const books = bridged();
    const [first, second] = intentsIn(send(books, [transfer('a', 'c', 40)]));
    if (how === 'expired') {
      books.moment += 11 * 60_000;
      for (const step of stepsDue(books.state, books.moment)) books.settle(step);
      expect(statusOf(books, second!)).toBe('aborted');
      report(books, second!, leg(second!), 'aborted');
    } else {
      report(books, second!, leg(second!), 'failed', { reason: 'bridge.account-closed', detail: 'closed' });
      expect(statusOf(books, second!)).toBe('aborted');
      report(books, second!, leg(second!), 'aborted');
    }
    expect([first!, second!].map((intent) => statusOf(books, intent))).toEqual(['rejected', 'rejected']);
    expect(balances(books, 'a', 'c', 'out')).toEqual([100, 0, 0]);
    expectNothingHeld(books);
  });

  test.each(['stands in for it', 'took its name'])(
    'a wallet that is dropped before it passes on does not, nor does the one that %s',
    (how) => {
      const books = bridged();
      books.intent(issue('d', 500));
      books.create(Kind.wallet, { handle: 'c@d', routes: [{ action: 'forward', target: 'a' }] });
      const claims = [transfer('a', 'c@d', 40), transfer('c@d', 'a', 40), transfer('a', 'out', 1)];
      const [first] = intentsIn(send(books, claims));
      // What comes to it leaves it again: earlier builds let it be dropped while the bank was asked about the rest.
      expect(books.drop(Kind.wallet, 'c@d')).toMatchObject({ reason: 'record.drop-rejected' });
      books.dropUnasked(Kind.wallet, 'c@d');
      if (how === 'took its name') {
        books.wallets('c@d');
        books.intent(issue('c@d', 500));
      }
      const entries = report(books, first!, leg(first!), 'prepared');
      expect(intentsIn(entries)).toEqual([]);
      expect(reasonsOf(entries)).toEqual(['core.routing-failed']);
      report(books, first!, leg(first!), 'aborted');
      expect(statusOf(books, first!)).toBe('rejected');
      expect(balances(books, 'a', 'd', 'c@d', 'out')).toEqual([100, 500, how === 'took its name' ? 500 : 0, 0]);
      expectNothingHeld(books);
    },
  );

  test('credits are asked once the last of the debits is prepared, not before', () => {
    const books = bridged().wallets('x', 'y');
    books.intent(issue('x', 5), issue('y', 5));
    for (const handle of ['x', 'y']) books.update(Kind.wallet, handle, { handle, bridge: 'bank' });
    const [asked] = intentsIn(send(books, [transfer('x', 'out', 1), transfer('y', 'out', 2)]));
    const { legs } = asked!.outcome.links!;
    const statesOf = (side: Side) =>
      books.state.open
        .get(findLuid(books.state, 1, Kind.intent, asked!.luid))!
        .legs.filter((_, index) => legs[index]!.side === side)
        .map((state) => LEG_STATES[state]);
    const debits = legs.flatMap((one, index) => (one.side === Side.debit ? [legHandle(asked!.luid, one, index)] : []));
    expect([statesOf(Side.debit), statesOf(Side.credit)]).toEqual([
      ['preparing', 'preparing'],
      ['idle', 'idle'],
    ]);
    report(books, asked!, debits[1]!, 'prepared');
    expect(statesOf(Side.credit)).toEqual(['idle', 'idle']);
    report(books, asked!, debits[0]!, 'prepared');
    expect(statesOf(Side.credit)).toEqual(['preparing', 'preparing']);
  });

  test('claims that are alike share a leg; what a bridge groups by decides', () => {
    const claims = [transfer('a', 'out', 1), transfer('d', 'out', 2), transfer('a', 'out', 3)];
    const legsOf = (books: Books): object[] => {
      books.intent(issue('d', 5));
      const [entry] = intentsIn(send(books, claims));
      return entry!.outcome.links!.legs.map(({ amount, claims: numbers }) => ({ amount, claims: numbers }));
    };
    expect(legsOf(bridged())).toEqual([
      { amount: 4, claims: [0, 2] },
      { amount: 2, claims: [1] },
    ]);
    expect(legsOf(bridged({ 'credits.claims.groupBy': ['symbol'] }))).toEqual([{ amount: 6, claims: [0, 1, 2] }]);
    const rows = legsOf(bridged({ 'debits.claims.groupBy': ['symbol'] }));
    expect(rows).toHaveLength(2);
  });

  test('claims share a leg as far as its amount can be told exactly', () => {
    const MAX = Number.MAX_SAFE_INTEGER;
    const books = bridged();
    books.intent(issue('d', MAX));
    // What comes back in the same intent lets more go to the bank than there is of anything.
    const [more, back] = [transfer('d', 'out', MAX), transfer('out', 'd', MAX)];
    const [asked] = intentsIn(send(books, [more, transfer('d', 'out', 2), back, transfer('d', 'out', 1), more, back]));
    const sums = asked!.outcome.links!.legs.map(({ side, amount, claims }) => [side, amount, claims]);
    expect(sums).toEqual([
      [Side.credit, MAX, [0]],
      [Side.credit, 3, [1, 3]],
      [Side.debit, MAX, [2]],
      [Side.credit, MAX, [4]],
      [Side.debit, MAX, [5]],
    ]);
  });

  test('claims that name other accounts behind one wallet do not', () => {
    const to = (custom?: Record<string, unknown>): Reference => ({ handle: 'out', ...(custom && { custom }) });
    const targets: Reference[] = [
      'out',
      to(),
      to({ account: 'ana', bank: { a: [1], b: 2 } }),
      to({ bank: { b: 2, a: [1] }, account: 'ana' }),
      to({ account: 'luz', bank: { a: [1], b: 2 } }),
    ];
    const claims = targets.map((target, index) => ({ ...transfer('a', 'out', index + 1), target }));
    const [entry] = intentsIn(send(bridged(), claims));
    expect(entry!.outcome.links!.legs.map((one) => one.claims)).toEqual([[0, 1], [2, 3], [4]]);
  });

  test('who may not activate the bridge does not report for it', () => {
    const books = Books.open();
    const access = [{ action: { $in: ['access', 'create', 'read', 'spend', 'issue'] }, record: 'any' }];
    books.create(Kind.ledger, { handle: 'closed', access }, 0);
    const key = new Uint8Array(32).fill(3);
    const own = [{ action: 'activate', signer: { public: Buffer.from(key).toString('base64') } }];
    books.create(Kind.symbol, { handle: 'usd', factor: 1 }, 2);
    books.create(Kind.bridge, { handle: 'bank', config: { server: 'http://127.0.0.1:1' }, access: own }, 2);
    books.create(Kind.wallet, { handle: 'out', bridge: 'bank' }, 2);
    const value = { handle: 't', claims: [issue('out', 5)] };
    const [intent] = intentsIn(books.create(Kind.intent, value, 2, GRANTED) as Entry[]);
    const by = (signer: Uint8Array, status = 'prepared') =>
      books.addProof(intent!, { handle: leg(intent!), status }, { key: signer });
    expect(by(new Uint8Array(32).fill(4))).toMatchObject({ reason: 'auth.forbidden' });
    // What no bridge reports is a proof as any other.
    expect(by(new Uint8Array(32).fill(5), 'seen')).toMatchObject([{ type: EntryType.proof, status: null }]);
    const steps = (by(key) as Entry[]).filter((entry): entry is StepEntry => entry.type === EntryType.step);
    expect(steps.flatMap((step) => step.outcome.steps)).toEqual(['prepared', 'committed']);
  });
});

test('a bridge that a wallet needs keeps its name, and stays', () => {
  const books = fresh();
  const config = { server: 'http://127.0.0.1:1' };
  books.create(Kind.bridge, { handle: 'bank', config });
  books.create(Kind.wallet, { handle: 'out', bridge: 'bank' });
  expect(books.update(Kind.bridge, 'bank', { handle: 'other', config })).toMatchObject({ reason: 'record.invalid' });
  expect(books.drop(Kind.bridge, 'bank')).toMatchObject({ reason: 'record.drop-rejected' });
});
