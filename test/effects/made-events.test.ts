/** Events of one entry may be thousands, and what they show may be large: who asks for one pays for one. */
import { afterEach, describe, expect, test, vi } from 'vitest';
import { GRANTED } from '../../src/core/access/index.ts';
import { Kind } from '../../src/core/kinds.ts';
import { nameAt } from '../../src/core/past.ts';
import { readRow } from '../../src/core/records.ts';
import { EventMemo } from '../../src/effects/event-memo.ts';
import { allEvents, eventsOf, type Placed, placedAt } from '../../src/events.ts';
import { keyPairFromSecret } from '../../src/proof/keys.ts';
import { Sealer } from '../../src/proof/sealer.ts';
import { Books, issue, limit, transfer } from '../core/books.ts';
import { heldBytes } from '../support/collect.ts';

const CLAIMS = 500;

afterEach(() => void vi.restoreAllMocks());

/** A ledger's last entry is an intent that moves the money of few wallets often. */
function giant(): { books: Books; placed: Placed } {
  const books = Books.open().symbols('usd').wallets('a', 'b');
  const claims = Array.from({ length: CLAIMS }, (_, n) => issue(n % 2 === 0 ? 'a' : 'b', n + 1));
  books.intent(...claims, limit('a', 'maxBalance', 1e9), limit('b', 'maxBalance', 1e9));
  return { books, placed: placedAt(books.state, books.state.log.length)! };
}

describe('events of an intent of many claims', () => {
  test('read each wallet they name once, not once for each claim', () => {
    const { books, placed } = giant();
    const decode = vi.spyOn(books.state.codec, 'decode');
    expect([...eventsOf(books.state, placed, 'balance-received', 0)]).toHaveLength(CLAIMS);
    expect(decode.mock.calls.length).toBeLessThan(10);
  });

  test('share what they show of a record: each makes it once for all', () => {
    const { books, placed } = giant();
    const events = [...eventsOf(books.state, placed, 'balance-received', 0)];
    for (const [name, count] of Object.entries({ wallet: 2, symbol: 1, intent: 1 })) {
      expect(new Set(events.map(({ members }) => members[name])).size, name).toBe(count);
    }
  });

  test('are made when they are asked for', () => {
    const { books, placed } = giant();
    const names = vi.spyOn(books.state.names, 'place');
    for (const { members } of eventsOf(books.state, placed, 'balance-received', 0)) {
      expect(Object.keys(members)).toEqual(['amount', 'intent', 'symbol', 'wallet']);
      break;
    }
    // Its wallet and its symbol.
    expect(names).toHaveBeenCalledTimes(2);
  });

  test('of a wallet that a longer name stands for look at the others no more than that of any', () => {
    const names = Array.from({ length: CLAIMS }, (_, n) => `w${n}`);
    const books = Books.open()
      .symbols('usd')
      .wallets('bank', ...names);
    books.intent(issue('svc@bank', 1), ...names.map((name) => issue(name, 1)));
    const placed = placedAt(books.state, books.state.log.length)!;
    const read = vi.spyOn(books.state.codec, 'names');
    const [first] = eventsOf(books.state, placed, 'balance-received', 0);
    expect(readRow(books.state, first!.rows[1]!).entry.handle).toBe('bank');
    expect(read.mock.calls.length).toBeLessThan(10);
  });

  test('from a number on are those that all of them have there', () => {
    const { books, placed } = giant();
    const told = (from: number) =>
      [...allEvents(books.state, placed, from)].map(({ index, signal, handle }) => ({ index, signal, handle }));
    const all = told(0);
    expect(all).toHaveLength(2 + CLAIMS + 2);
    for (const from of [1, 2, 3, 2 + CLAIMS - 1, 2 + CLAIMS, 2 + CLAIMS + 1, 2 + CLAIMS + 2, 10_000]) {
      expect(told(from), `from ${from}`).toEqual(all.filter(({ index }) => index >= from));
    }
  });
});

describe('a memo of events', () => {
  test('has those that all of them have, in whatever order they are asked for', () => {
    const { books, placed } = giant();
    const memo = new EventMemo(books.state);
    const { seq } = placed;
    const told = [...allEvents(books.state, placed, 0)].map(({ index, signal, handle }) => ({ index, signal, handle }));
    for (const at of [told.length - 1, 0, 7, 3, 1]) expect(memo.at(seq, told[at]!.index)).toMatchObject(told[at]!);
    const received = [...memo.of(placed, 'balance-received')].map(({ index }) => index);
    expect(received).toEqual(told.filter(({ signal }) => signal === 'balance-received', 0).map(({ index }) => index));
    expect(memo.find(placed, 10_000)).toBeNull();
  });

  test('makes none again of the eight entries that were asked for last, and keeps no more than those', () => {
    const books = Books.open().wallets(...Array.from({ length: 9 }, (_, n) => `w${n}`));
    const [oldest, ...eight] = Array.from({ length: 9 }, (_, n) => books.state.log.length - n) as [number, ...number[]];
    const memo = new EventMemo(books.state);
    const made = new Map([oldest, ...eight].map((seq) => [seq, memo.at(seq, 0)]));
    for (const seq of [...eight.toReversed(), ...eight]) {
      expect(memo.at(seq, 0)).toBe(made.get(seq));
      expect([...memo.of(memo.placedAt(seq)!, 'wallet-created')][0]).toBe(made.get(seq));
    }
    expect(memo.at(oldest, 0)).not.toBe(made.get(oldest));
  });

  test('keeps nothing of what others showed', () => {
    const books = Books.open().symbols('usd');
    books.create(Kind.wallet, { handle: 'a', custom: { note: 'x'.repeat(5000) } });
    for (let n = 0; n < 500; n++) books.intent(issue('a', n + 1));
    const memo = new EventMemo(books.state);
    const sealer = new Sealer(keyPairFromSecret(new Uint8Array(32).fill(9)));
    const look = (from: number, to: number) => {
      for (let seq = from; seq <= to; seq++) {
        const placed = memo.placedAt(seq)!;
        for (const { members } of memo.of(placed, 'balance-received')) {
          members.wallet!.text(sealer);
          members.wallet!.value(null);
        }
      }
    };
    const { length } = books.state.log;
    look(length - 499, length - 400);
    const before = heldBytes();
    look(length - 399, length);
    expect(heldBytes() - before).toBeLessThan(1e6);
  });
});

test('a credit is told of the wallet that its claim named, though that has another name since, and a shorter one would do', () => {
  const books = Books.open().symbols('usd').wallets('svc@bank', 'bank');
  books.intent(issue('svc@bank', 1), issue('bank', 2));
  const placed = placedAt(books.state, books.state.log.length)!;
  const walletsTold = () => [...eventsOf(books.state, placed, 'balance-received', 0)].map(({ rows }) => rows[1]);
  const told = walletsTold();
  books.update(Kind.wallet, 'svc@bank', { handle: 'svc-once' });
  expect(walletsTold()).toEqual(told);
  books.update(Kind.wallet, 'bank', { handle: 'svc@bank' });
  expect(walletsTold()).toEqual(told);
});

describe('of an intent that', () => {
  const OWN = [
    ['intent-created', 0],
    ['intent-updated', 1],
  ];
  test.each<[string, unknown[][], Record<string, unknown>]>([
    [
      'waits for a signature there are none but its making',
      [['intent-created', 0]],
      { claims: [transfer('own', 'b', 1)] },
    ],
    ['waits for a word none of its money', OWN, { claims: [issue('b', 1)], config: { commit: 'manual' } }],
    ['was rejected none either', OWN, { claims: [issue('b', 1), transfer('a', 'b', 100)] }],
    [
      'went through those of its money name who got it, and its limits come behind all claims',
      [...OWN, ['balance-received', 2, 'b'], ['balance-received', 3, 'b'], ['wallet-limited', 5, 'b']],
      { claims: [issue('b', 1), transfer('a', 'to', 1), limit('b', 'maxBalance', 100)] },
    ],
  ])('%s', (_, told, value) => {
    const books = Books.open();
    const { state } = books;
    const access = [{ action: { $in: ['access', 'create', 'limit', 'issue', 'read'] }, record: 'any' }];
    books.create(Kind.ledger, { handle: 'closed', access }, 0);
    books.create(Kind.symbol, { handle: 'usd', factor: 1 }, 2);
    const anybody = [{ action: 'any' }];
    const wallet = (more: object) => books.create(Kind.wallet, { access: anybody, ...more }, 2);
    for (const handle of ['a', 'b']) wallet({ handle });
    wallet({ handle: 'to', routes: [{ action: 'credit', target: 'b' }] });
    wallet({ handle: 'own', access: [] });
    books.create(Kind.intent, { handle: 'seed', claims: ['a', 'own'].map((to) => issue(to, 9)) }, 2, GRANTED);
    const before = state.log.length;
    books.create(Kind.intent, { handle: 'i', ...value }, 2);
    const seqs = Array.from({ length: state.log.length - before }, (_, n) => before + n + 1);
    const events = seqs.flatMap((seq) => [...allEvents(state, placedAt(state, seq)!, 0)]);
    expect(
      events.map(({ signal, index, members }) => {
        const who = members.wallet?.value(null) as { data: { handle: string } } | undefined;
        return [signal, index, ...(who === undefined ? [] : [who.data.handle])];
      }),
    ).toEqual(told);
    const { meta } = events[0]!.members.intent!.value(null) as { meta: { status: string } };
    expect(meta.status, 'as it was made').toBe('pending');
  });
});

test('a record is called what it was called then', () => {
  const books = Books.open().wallets('a');
  const [first, row] = [books.state.log.get(books.state.log.length - 1), books.state.rows.kind.length - 1];
  books.update(Kind.wallet, 'a', { handle: 'b' });
  const second = books.state.log.get(books.state.log.length - 1);
  expect([first, second].map((address) => nameAt(books.state, row, address))).toEqual(['a', 'b']);
});

test('credits of long ago are told without passing by all that their wallet has had since, once for each', () => {
  const [PAID, CHANGED] = [50, 1000];
  const books = Books.open().symbols('usd').wallets('w');
  const { state } = books;
  const placed = Array.from({ length: PAID }, () => {
    books.intent(issue('w', 1));
    return placedAt(state, state.log.length)!;
  });
  for (let n = 0; n < CHANGED; n++) books.update(Kind.wallet, n === 0 ? 'w' : `w${n - 1}`, { handle: `w${n}` });
  const prev = vi.spyOn(state.heap, 'prev');
  for (const each of placed) {
    const [event, ...others] = eventsOf(state, each, 'balance-received', 0);
    expect(others).toEqual([]);
    expect(event!.members.wallet!.value(null)).toMatchObject({ data: { handle: 'w' } });
  }
  // All of them once, and then few each time.
  expect(prev.mock.calls.length).toBeLessThan(CHANGED + 100 * PAID);
});

test('who hears of one ledger reads no entries of others, but its own ledger’s record', () => {
  const books = Books.open();
  const { state } = books;
  for (const handle of ['other', 'third']) {
    books.create(Kind.ledger, { handle, access: [{ action: 'any', record: 'any' }] }, 0);
  }
  for (let n = 0; n < 30; n++) books.create(Kind.wallet, { handle: `w${n}` }, 1 + (n % 3));
  const seqs = Array.from({ length: state.log.length }, (_, n) => n + 1);
  for (const ledger of [1, 2, 3]) {
    const own = seqs.filter((seq) => placedAt(state, seq)?.ledger === ledger);
    expect(own).toHaveLength(11);
    const decode = vi.spyOn(state.codec, 'decode');
    const found = seqs.filter((seq) => placedAt(state, seq, ledger)?.ledger === ledger);
    expect(found).toEqual(own);
    // Ledgers' records are the server's.
    expect(decode.mock.calls.length).toBe(10 + 3);
    vi.restoreAllMocks();
  }
});
