/** The digest of a state: the same for the same life, another for any difference, blind to where things lie. */
import { createHash } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { apply } from '../../src/core/apply.ts';
import { bytesOf, dumpState, loadState } from '../../src/core/dump.ts';
import { Kind } from '../../src/core/kinds.ts';
import { emptyState, type OpenIntent, type State } from '../../src/core/state.ts';
import { entryCodec } from '../../src/storage/codec.ts';
import { differencesOf, stateDigests } from '../../src/storage/state-digest.ts';
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

const WAITING: OpenIntent = {
  ledger: 1,
  moment: 1,
  status: 'pending',
  isHolding: false,
  counted: [],
  legs: [],
  bridges: [],
  thread: '',
  wallets: [],
};

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

  test('and nothing is kept for it afterwards', () => {
    const { rows } = state;
    stateDigests(state);
    rows.at.set(1, rows.at.get(1));
    expect(rows.lines.copied).toBe(0);
  });

  test('whatever the order in which things came', () => {
    const things: ((state: State) => void)[] = [
      ({ supply }) => void supply.set(1, 1n),
      ({ supply }) => void supply.set(20, 2n),
      ({ labels }) => void labels.set('1 3 gold', 1),
      ({ labels }) => void labels.set('1 3 new', 2),
      ({ feeds }) => void feeds.set(1, { seq: 5, index: 0, last: 0 }),
      ({ feeds }) => void feeds.set(2, { last: 0, index: 1, seq: 6 }),
      ({ threads }) => void threads.set('t', [1]),
      ({ threads }) => void threads.set('u', [2]),
    ];
    const [one, other] = [life().state, life().state];
    for (const add of things) add(one);
    for (const add of things.toReversed()) add(other);
    one.open.set(1, WAITING);
    other.open.set(1, Object.fromEntries(Object.entries(WAITING).toReversed()) as unknown as OpenIntent);
    expect(differencesOf(one, other)).toEqual([]);
  });

  test('of entries it is that of all their bytes, however long they are', () => {
    const { state } = life();
    const { heap, rows, feeds } = state;
    const add = (length: number, byte: number, before: number) =>
      heap.append(new Uint8Array(length).fill(byte), 0, length, before);
    // They are gathered up to 256 KiB: such as go beyond that, fill it alone, or are longer.
    const lengths = [262_140, 100_000, 100_000, 100_000, 262_140, 262_141, 262_144, 5, 262_135, 400_000, 7];
    for (const [n, length] of lengths.entries()) rows.at.set(0, add(length, n, rows.at.get(0)));
    feeds.set(5, { seq: 1, index: 0, last: add(9, 77, add(8, 78, 0)) });
    feeds.set(3, { seq: 1, index: 0, last: add(9, 79, 0) });
    feeds.set(4, { seq: 1, index: 0, last: 0 });
    const hash = createHash('sha256');
    const addChain = (last: number) => {
      for (let at = last; at !== 0; at = heap.prev(at)) {
        const bytes = heap.bytes(at);
        hash.update(Buffer.from(Uint32Array.of(bytes.length).buffer).swap32()).update(bytes);
      }
      hash.update(new Uint8Array(4));
    };
    for (let row = 0; row < rows.at.length; row++) addChain(rows.at.get(row));
    for (const row of [3, 5]) addChain(feeds.get(row)!.last);
    expect(stateDigests(state).get('entries')!.toString('hex')).toBe(hash.digest('hex'));
  });
});

const inShortPages = () => life(emptyState(entryCodec, 1, { chunkBytes: 1 << 20, pageRows: 4 })).state;

describe('a difference is seen and named', () => {
  test.each<[string, (state: State) => void, string]>([
    ['an amount', ({ balances }) => balances.add(0, 1, balances.moment(0)), 'balance-available'],
    ['a held amount', ({ balances }) => balances.hold(0, 5, 0, balances.moment(0)), 'balance-incoming'],
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
    ['its wallets', ({ open }) => void open.set(1, { ...WAITING, wallets: [2] }), 'open openWallets'],
    ['a thread', ({ threads }) => void threads.set('t', [1]), 'threads'],
    ['how far an effect was told', ({ feeds }) => void feeds.set(1, { seq: 1, index: 0, last: 0 }), 'feeds'],
    ['an entry', ({ rows, heap }) => rows.at.set(2, heap.append(new Uint8Array(9), 0, 9, rows.at.get(2))), 'entries'],
    [
      'an older entry',
      ({ rows, heap }) => rows.at.set(2, heap.append(heap.bytes(rows.at.get(2)), 0, heap.length(rows.at.get(2)), 0)),
      '',
    ],
  ])('%s', (_, change, thing) => {
    // In pages of so few rows that not all of a column lies in the last.
    const [one, other] = [inShortPages(), inShortPages()];
    change(other);
    expect(differencesOf(one, other)).toEqual(thing.split(' ').filter(Boolean));
    expect(text(other) === text(one)).toBe(thing === '');
  });
});
