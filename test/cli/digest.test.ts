/** The digest of a state: the same for the same life, another for any difference, blind to where things lie. */
import { describe, expect, test } from 'vitest';
import { apply } from '../../src/core/apply.ts';
import { bytesOf, dumpState, loadState } from '../../src/core/dump.ts';
import { Kind } from '../../src/core/kinds.ts';
import { emptyState, type OpenIntent, type State } from '../../src/core/state.ts';
import { entryCodec } from '../../src/storage/codec.ts';
import { differencesOf } from '../../src/storage/state-digest.ts';
import { Books, issue, limit, transfer } from '../core/books.ts';
import { stateDigest } from '../support/state-digest.ts';

function life(state?: State): Books {
  const books = new Books(state);
  books.create(Kind.ledger, { handle: 'main', access: [{ action: 'any', record: 'any' }] }, 0);
  books.symbols('usd', 'eur').wallets('a', 'b', 'c');
  books.intent(issue('a', 100), issue('b', 50, 'eur'));
  books.intent(limit('b', 'maxBalance', 30), limit('c', 'dailyCount', 3));
  books.intent(transfer('a', 'b', 20), transfer('a', 'c', 5));
  books.intent(transfer('a', 'b', 999));
  return books;
}

const text = (state: State) => Buffer.from(stateDigest(state)).toString('hex');

describe('one life, one digest', () => {
  const { state, entries } = life();

  test('whatever the seed and the size of chunks', () => {
    expect(text(life(emptyState(entryCodec, 99, { chunkBytes: 1 << 16 })).state)).toBe(text(state));
  });

  test('lived, replayed and loaded from its dump', () => {
    const replayed = emptyState(entryCodec, 7);
    for (const bytes of entries) apply(replayed, entryCodec.decode(bytes, 0, bytes.length), bytes, 0, bytes.length);
    expect(text(replayed)).toBe(text(state));
    const { extra, parts } = dumpState(replayed);
    const loaded = loadState(
      entryCodec,
      structuredClone(extra),
      new Map(parts.map((part) => [part.name, bytesOf(part)])),
    );
    expect(text(loaded)).toBe(text(state));
  });

  test('taken twice, changing nothing', () => {
    expect(text(state)).toBe(text(state));
  });
});

const WAITING: OpenIntent = {
  ledger: 1,
  moment: 1,
  status: 'pending',
  isHolding: false,
  counted: [],
  legs: [],
  bridges: [],
  thread: '',
};

describe('a difference is seen and named', () => {
  test.each<[string, (state: State) => void, string]>([
    ['an amount', ({ balances }) => balances.add(0, 1, balances.moment(0)), 'balance-available'],
    ['a held amount', ({ balances }) => balances.hold(0, 5, balances.moment(0)), 'balance-incoming'],
    ['when a balance moved', ({ balances }) => balances.add(0, 0, 5), 'balance-moment'],
    ['a limit', ({ balances }) => balances.setLimit(2, 0, 5, 5), 'balance-limits'],
    ['what was moved today', ({ balances }) => balances.addMoved(3, 1, 1, 9e12), 'balance-limits'],
    ['a status', ({ rows }) => rows.status.set(1, 1), 'row-status'],
    ['a flag', ({ rows }) => rows.flags.set(1, 1), 'row-flags'],
    ['a place', ({ rows }) => rows.place.set(1, 0), 'row-place'],
    ['an order', ({ order }) => void order.push(1), 'order'],
    ['a supply', ({ supply }) => void supply.set(1, 1n), 'supply'],
    ['a count', ({ counts }) => void counts.set(7, 1), 'counts'],
    ['a status text', ({ statuses }) => void statuses.push('new'), 'statuses'],
    ['a ledger', ({ ledgers }) => void ledgers.push(ledgers[1]!), 'ledgerRows'],
    ['an open intent', ({ open }) => void open.set(1, WAITING), 'open'],
    ['a thread', ({ threads }) => void threads.set('t', [1]), 'threads'],
    ['how far an effect was told', ({ feeds }) => void feeds.set(1, { seq: 1, index: 0, last: 0 }), 'feeds'],
    ['an entry', ({ rows, heap }) => rows.at.set(2, heap.append(new Uint8Array(9), 0, 9, rows.at.get(2))), 'entries'],
    [
      'an older entry',
      ({ rows, heap }) => rows.at.set(2, heap.append(heap.bytes(rows.at.get(2)), 0, heap.length(rows.at.get(2)), 0)),
      '',
    ],
  ])('%s', (_, change, thing) => {
    const one = life().state;
    const other = life().state;
    change(other);
    expect(differencesOf(one, other)).toEqual(thing === '' ? [] : [thing]);
    expect(text(other) === text(one)).toBe(thing === '');
  });
});
