/**
 * Books in the middle of things (legs that are asked, threads that wait, effects that are behind) are the same whichever
 * way they are read: as they are, entry by entry from the beginning, or from a snapshot of any moment and what came after.
 */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { GRANTED } from '../../src/core/access/index.ts';
import { apply } from '../../src/core/apply.ts';
import { bytesOf, dropParts, dumpState, loadState } from '../../src/core/dump.ts';
import { type IntentEntry, LEG_STATES } from '../../src/core/entry.ts';
import { legsOf, stepsDue } from '../../src/core/intents.ts';
import { Kind } from '../../src/core/kinds.ts';
import { legHandle } from '../../src/core/legs.ts';
import { readRow } from '../../src/core/records.ts';
import { emptyState, type State } from '../../src/core/state.ts';
import { entryCodec } from '../../src/storage/codec.ts';
import { differencesOf } from '../../src/storage/state-digest.ts';
import { packValue, unpackValue } from '../../src/storage/values.ts';
import { often } from '../support/long.ts';
import { Books, issue, limit, transfer } from './books.ts';

const HOOK = { schema: 'webhook', endpoint: 'http://127.0.0.1:1' };

/** Two banks, wallets behind them and not, that pay, stand in and pass on; two effects, one bank that is told. */
function town(): Books {
  // Snapshots are of chunks of the usual size.
  const books = new Books(emptyState(entryCodec, 1));
  const config = { 'intent.expiryThresholdMinutes': 10 };
  books.create(Kind.ledger, { handle: 'main', config, access: [{ action: 'any', record: 'any' }] }, 0);
  books.symbols('usd').wallets('a', 'b');
  books.create(Kind.bridge, { handle: 'one', config: { server: 'http://127.0.0.1:1' }, traits: ['statuses'] });
  books.create(Kind.bridge, { handle: 'two', config: { server: 'http://127.0.0.1:2' } });
  const wallet = (handle: string, more: object) => books.create(Kind.wallet, { handle, ...more });
  wallet('x', { bridge: 'one' });
  wallet('y', { bridge: 'two' });
  wallet('f', { routes: [{ action: 'forward', target: 'y' }] });
  wallet('g', { bridge: 'one', routes: [{ action: 'forward', target: 'f' }] });
  wallet('s', { routes: [{ action: 'credit', target: 'x' }] });
  books.intent(issue('a', 500));
  books.intent(limit('x', 'minBalance', -100), limit('b', 'dailyAmount', 50), limit('y', 'maxBalance', 60));
  for (const [handle, signal] of [
    ['e', 'intent-updated'],
    ['r', 'balance-received'],
  ]) {
    books.create(Kind.effect, { handle, signal, action: HOOK });
  }
  // One intent of a thread waits for a bank, and one effect has been told of something.
  books.create(Kind.intent, { handle: 'passed-on', claims: [transfer('a', 'f', 5)] });
  act(books, [8, 1, 1, 2]);
  return books;
}

type Step = [what: number, one: number, other: number, amount: number];

const WALLETS = ['a', 'b', 'x', 'y', 'f', 'g', 's'];
const REPORTS = ['prepared', 'prepared', 'prepared', 'failed', 'committed', 'committed', 'aborted'];

/** One thing that happens; what does not fit is refused, or changes nothing. */
function act(books: Books, [what, one, other, amount]: Step): void {
  const { state } = books;
  const base = { ledger: 1, moment: books.moment, caller: GRANTED } as const;
  const n = books.entries.length;
  const open = [...state.open].map(([row]) => row);
  const row = open[one % Math.max(1, open.length)];
  const prove = (custom: object) => void books.addProof(readRow(state, row!).entry, custom, { caller: GRANTED });
  switch (what % 10) {
    case 0:
    case 1: {
      const claims = [transfer(WALLETS[one % 7]!, WALLETS[other % 7]!, amount)];
      if (amount % 4 === 0) claims.push(transfer('a', WALLETS[one % 7]!, 1));
      const commit = amount % 3 === 0 ? 'manual' : 'auto';
      books.create(Kind.intent, { handle: `i${n}`, claims, config: { commit } });
      return;
    }
    case 2:
    case 3:
    case 4:
    case 5: {
      if (row === undefined) return;
      const record = readRow(state, row);
      const legs = legsOf(record);
      if (legs.length === 0) return prove({ action: amount % 2 === 0 ? 'commit' : 'abort', n });
      const leg = other % legs.length;
      const handle = legHandle(record.entry.luid, legs[leg]!, leg);
      return prove({ handle, status: REPORTS[amount % REPORTS.length], n });
    }
    case 6:
      if (row !== undefined) prove({ action: amount % 2 === 0 ? 'commit' : 'abort', n });
      return;
    case 7: {
      if (row === undefined) return;
      const { luid } = readRow(state, row).entry;
      const leg = other % Math.max(1, state.open.get(row)!.legs.length);
      const at = LEG_STATES[state.open.get(row)!.legs[leg] ?? 0]!;
      const result = amount % 2 === 0 ? 'told' : 'lost';
      books.do({ op: 'leg', ...base, kind: Kind.intent, luid, leg, state: at, result, detail: 'gone' });
      return;
    }
    case 8: {
      const feeds = [...state.feeds];
      const [receiver, { seq }] = feeds[one % feeds.length]!;
      const { luid } = readRow(state, receiver).entry;
      const kind = state.rows.kind.get(receiver) as Kind;
      const event = { seq: Math.min(seq + other, state.log.length), index: amount % 3, attempts: 1 };
      const note = { receiver: luid, ...event, isDelivered: amount % 2 === 0, detail: '' };
      books.do({ op: 'delivery', ...base, kind, luid: `$evd.${String(n).padStart(17, '0')}`, ...note });
      return;
    }
    default:
      books.moment += amount * 60_000;
      for (const step of stepsDue(state, books.moment)) books.settle(step);
  }
}

/** A snapshot of now, through its bytes, as it would lie on a disk. */
function snapshotOf(state: State): () => State {
  return lateSnapshotOf(state)();
}

/** The same, and what is read while a server goes on is read when it is asked for. */
function lateSnapshotOf(state: State): () => () => State {
  const { extra, parts } = dumpState(state);
  const bytes = packValue(extra);
  return () => {
    const copies = new Map(parts.map((part) => [part.name, bytesOf(part)]));
    return () => loadState(entryCodec, unpackValue(bytes) as typeof extra, copies);
  };
}

function applyAll(state: State, entries: readonly Uint8Array[]): State {
  for (const bytes of entries) apply(state, entryCodec.decode(bytes, 0, bytes.length), bytes, 0, bytes.length);
  return state;
}

const steps = fc.array(
  fc.tuple(fc.nat(9), fc.nat(30), fc.nat(30), fc.integer({ min: 1, max: 40 })) as fc.Arbitrary<Step>,
  { minLength: 1, maxLength: 60, size: 'max' },
);

test('a snapshot that is read when things have gone on is of its moment', () => {
  fc.assert(
    fc.property(steps, fc.nat(59), (all, moment) => {
      const books = town();
      const cut = moment % all.length;
      for (const step of all.slice(0, cut)) act(books, step);
      const early = snapshotOf(books.state);
      const late = lateSnapshotOf(books.state);
      for (const step of all.slice(cut)) act(books, step);
      expect(differencesOf(late()(), early())).toEqual([]);
    }),
    { numRuns: often(12, 600) },
  );
});

test('a snapshot copies nothing of what may be very many when it begins', () => {
  const { state } = town();
  const sizeOf = () => {
    const { extra, parts } = dumpState(state);
    dropParts(parts);
    return packValue(extra).length;
  };
  const before = sizeOf();
  for (let n = 0; n < 1000; n++) {
    state.supply.set(100 + n, 7n);
    state.counts.set(1000 + n, 1);
    state.labels.set(`1 2 label-${n}`, 1);
    state.feeds.set(100 + n, { seq: 1, index: 0, last: 0 });
  }
  expect(sizeOf()).toBe(before);
});

test('the same live, replayed, and from a snapshot of any moment', () => {
  fc.assert(
    fc.property(steps, fc.nat(59), (all, moment) => {
      const books = town();
      const cut = moment % all.length;
      for (const step of all.slice(0, cut)) act(books, step);
      const load = snapshotOf(books.state);
      const length = books.entries.length;
      for (const step of all.slice(cut)) act(books, step);
      const replayed = applyAll(emptyState(entryCodec, 5), books.entries);
      expect(differencesOf(books.state, replayed)).toEqual([]);
      const loaded = applyAll(load(), books.entries.slice(length));
      expect(differencesOf(books.state, loaded)).toEqual([]);
      // And whatever is decided next is decided alike.
      const due = (state: State) => [...stepsDue(state, books.moment + 3_600_000)];
      expect(due(loaded)).toEqual(due(books.state));
      expect([passingIn(replayed), passingIn(loaded)]).toEqual([passingIn(books.state), passingIn(books.state)]);
    }),
    // The first snapshot is of the town as it begins, whatever chance brings later.
    { numRuns: often(12, 600), examples: [[[[0, 0, 1, 1]], 0]] },
  );
});

/** What passes through each balance; it is in no snapshot. */
function passingIn({ balances }: State): number[] {
  return Array.from({ length: balances.size }, (_, slot) => balances.passing(slot));
}

test('the town begins in the middle of things', () => {
  const { state } = town();
  const intents = [...state.open].map(([row, { legs }]) => ({ legs, entry: readRow(state, row).entry as IntentEntry }));
  expect(state.threads.size).toBe(1);
  expect(intents.some(({ legs }) => legs.length > 0)).toBe(true);
  expect(intents.some(({ entry }) => (entry.outcome.links?.through.length ?? 0) > 0)).toBe(true);
  expect(passingIn(state).filter((amount) => amount > 0)).toEqual([5]);
  expect([...state.feeds].some(([, { last }]) => last !== 0)).toBe(true);
});
