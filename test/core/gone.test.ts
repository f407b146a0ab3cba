/** What was on its way while something else took away what it is about, or went before it. */
import { describe, expect, test } from 'vitest';
import { GRANTED } from '../../src/core/access/index.ts';
import type { Command } from '../../src/core/command.ts';
import { ANY_STATUS, liveCount } from '../../src/core/counts.ts';
import { type Entry, type IntentEntry, Side, type StepEntry } from '../../src/core/entry.ts';
import { findHandle, findLuid, findRecord } from '../../src/core/finding.ts';
import { Kind } from '../../src/core/kinds.ts';
import { meaningsOf } from '../../src/core/meaning.ts';
import { isRefusal } from '../../src/core/refusal.ts';
import { Books, issue, limit, transfer } from './books.ts';

const NOT_FOUND = { reason: 'record.not-found' };

describe('a record that was dropped meanwhile', () => {
  function open(): { books: Books; luid: string; hash: Uint8Array } {
    const books = Books.open();
    const [{ luid, hash }] = books.create(Kind.wallet, { handle: 'w' }) as [Entry & { hash: Uint8Array }];
    expect(books.drop(Kind.wallet, 'w')).toHaveLength(1);
    return { books, luid, hash };
  }

  test.each(['update', 'drop', 'proof', 'check'] as const)('is not found by luid: %s', (op) => {
    const { books, luid, hash } = open();
    const parent = Buffer.from(hash).toString('hex');
    const command = { ...books.command(Kind.wallet, { handle: 'w', parent }, 1, GRANTED), op, luid, hash };
    const proof = { ...command.proofs[0]!, custom: '{"status":"closed"}' };
    expect(books.do({ ...command, proof } as unknown as Command)).toMatchObject(NOT_FOUND);
  });

  test('is counted no more', () => {
    const { books } = open();
    books.wallets('other');
    const created = books.state.statuses.indexOf('created');
    for (const status of [created, ANY_STATUS]) expect(liveCount(books.state, 1, Kind.wallet, status)).toBe(1);
  });
});

test('a luid leads to its record in its own ledger alone, and to none once that was dropped', () => {
  const books = Books.open();
  books.create(Kind.ledger, { handle: 'other', access: [{ action: 'any', record: 'any' }] }, 0);
  const [{ luid }] = books.create(Kind.wallet, { handle: 'w' }) as [Entry];
  const found = () =>
    [1, 2].map((ledger) => [
      findLuid(books.state, ledger, Kind.wallet, luid),
      findRecord(books.state, ledger, Kind.wallet, luid),
    ]);
  const row = findHandle(books.state, 1, Kind.wallet, 'w');
  expect(found()).toEqual([
    [row, row],
    [-1, -1],
  ]);
  books.drop(Kind.wallet, 'w');
  expect(found()).toEqual([
    [row, -1],
    [-1, -1],
  ]);
});

test('a wallet that an intent limits stays from when its banks are asked until the money has moved', () => {
  const books = Books.open().symbols('usd').wallets('from', 'limited');
  books.intent(issue('from', 40));
  for (const bank of ['one', 'two'])
    books.create(Kind.bridge, { handle: bank, config: { server: 'http://127.0.0.1:9' } });
  books.create(Kind.wallet, { handle: 'to', bridge: 'two' });
  books.update(Kind.wallet, 'from', { handle: 'from', bridge: 'one' });
  const intent = books.intent(transfer('from', 'to', 40), limit('limited', 'maxBalance', 5));
  const [debit, credit] = ['deb', 'cre'].map((side, leg) => `${side}_${intent.luid.slice(5)}.${leg}`);
  const report = (handle: string | undefined, status: string) => {
    const proof = { ...intent.proofs[0]!, custom: JSON.stringify({ handle, status }) };
    const base = { ledger: 1, kind: Kind.intent, moment: books.moment, caller: GRANTED } as const;
    books.do({ op: 'proof', ...base, luid: intent.luid, hash: intent.hash, proof });
  };
  const stays = () => isRefusal(books.drop(Kind.wallet, 'limited'));
  expect(stays()).toBe(true);
  report(debit, 'prepared');
  expect(stays()).toBe(true);
  report(credit, 'prepared');
  expect([books.balance('from'), books.state.open.size, stays()]).toEqual([0, 1, false]);
});

describe('what became of an event', () => {
  let deliveries = 0;

  function open(): { books: Books; row: number; deliver: (seq: number, index: number) => unknown } {
    const books = Books.open();
    const value = { handle: 'b', config: { server: 'http://127.0.0.1:9' }, traits: ['statuses'] };
    const [{ luid: receiver }] = books.create(Kind.bridge, value) as [Entry];
    const deliver = (seq: number, index: number) => {
      const luid = `$evd.${String(deliveries++).padStart(17, '0')}`;
      const base = { op: 'delivery', ledger: 1, kind: Kind.bridge, moment: books.moment, caller: GRANTED } as const;
      return books.do({ ...base, luid, receiver, seq, index, attempts: 1, isDelivered: true, detail: '' });
    };
    return { books, row: findLuid(books.state, 1, Kind.bridge, receiver), deliver };
  }

  test('that was given up and delivered later, out of turn, does not have those behind it told again', () => {
    const { books, row, deliver } = open();
    const told = [
      [20, 1],
      [20, 0],
      [19, 7],
      [20, 2],
    ] as const;
    const seen = told.map(([seq, index]) => {
      deliver(seq, index);
      const feed = books.state.feeds.get(row)!;
      return [feed.seq, feed.index, feed.last];
    });
    const { log } = books.state;
    const written = told.map((_, n) => log.get(log.length - told.length + n));
    expect(seen).toEqual([
      [20, 1, written[0]],
      [20, 1, written[1]],
      [20, 1, written[2]],
      [20, 2, written[3]],
    ]);
  });

  test('is not noted where its bridge wants to hear of no statuses any more', () => {
    const { books, row, deliver } = open();
    books.update(Kind.bridge, 'b', { handle: 'b', config: { server: 'http://127.0.0.1:9' } });
    expect([books.state.feeds.has(row), deliver(20, 0)]).toEqual([false, []]);
  });
});

describe('what an intent was about is told', () => {
  test('though its wallets have exchanged their names since', () => {
    const books = Books.open().symbols('usd').wallets('a', 'b');
    books.intent(issue('a', 5));
    const [from, to] = ['a', 'b'].map((handle) => findHandle(books.state, 1, Kind.wallet, handle));
    const entry = books.intent(transfer('a', 'b', 2));
    const address = books.state.rows.at.get(findLuid(books.state, 1, Kind.intent, entry.luid));
    const told = () => {
      const { wallet } = meaningsOf(books.state, address, entry);
      return [wallet(0, Side.debit, 'a'), wallet(0, Side.credit, 'b')];
    };
    expect(told()).toEqual([from, to]);
    for (const [handle, next] of [
      ['a', 'x'],
      ['b', 'a'],
      ['x', 'b'],
    ]) {
      books.update(Kind.wallet, handle!, { handle: next });
    }
    expect(told()).toEqual([from, to]);
  });

  test('as it was when its money moved: a wallet may have got its name while the intent waited', () => {
    const books = Books.open();
    const access = [{ action: { $in: ['access', 'create', 'read', 'issue'] }, record: 'any' }];
    books.create(Kind.ledger, { handle: 'closed', access }, 0);
    books.create(Kind.symbol, { handle: 'usd', factor: 1 }, 2);
    const key = new Uint8Array(32).fill(3);
    const own = [{ action: 'spend', signer: { public: Buffer.from(key).toString('base64') } }];
    books.create(Kind.wallet, { handle: 'a', access: own }, 2);
    books.create(Kind.wallet, { handle: 'b' }, 2);
    books.create(Kind.intent, { handle: 'seed', claims: [issue('a', 5)] }, 2, GRANTED);
    const [{ luid, hash }] = books.create(Kind.intent, { handle: 'i', claims: [transfer('a', 'b', 2)] }, 2) as [
      IntentEntry,
    ];
    books.update(Kind.wallet, 'b', { handle: 'old' }, 2);
    books.create(Kind.wallet, { handle: 'b' }, 2);
    const proof = { public: key, result: new Uint8Array(64).fill(1), custom: null };
    const caller = { keys: [key], bearer: null };
    const by = { ledger: 2, kind: Kind.intent, moment: books.moment, caller } as const;
    const [, step] = books.do({ op: 'proof', ...by, luid, hash, proof }) as [Entry, StepEntry];
    const address = books.state.rows.at.get(findLuid(books.state, 2, Kind.intent, luid));
    const { wallet } = meaningsOf(books.state, address, step);
    expect(wallet(0, Side.credit, 'b')).toBe(findHandle(books.state, 2, Kind.wallet, 'b'));
  });
});
