/** A list that reads contents looks at the clock after each, since one content can be a megabyte. */
import { beforeAll, describe, expect, test } from 'vitest';
import type { Claim } from '../../src/core/claims/index.ts';
import { bytesOf, dumpState, loadState } from '../../src/core/dump.ts';
import type { Filter } from '../../src/core/filters.ts';
import { Kind } from '../../src/core/kinds.ts';
import { Listing } from '../../src/core/lists.ts';
import { emptyState, readRow, type State } from '../../src/core/state.ts';
import { entryCodec } from '../../src/storage/codec.ts';
import { Books, issue, transfer } from './books.ts';

const REQUEST = { ledger: 1, kind: Kind.wallet, order: 'newest', skip: 0, limit: 10 } as const;

function stepsOf(listing: Listing): number {
  for (let steps = 1; steps < 1000; steps++) if (listing.step(() => true)) return steps;
  return Number.POSITIVE_INFINITY;
}

test('walks stop where the time is over: after each content, or after some rows', () => {
  const { state } = Books.open().wallets('a', 'b', 'c', 'd', 'e');
  const filters = [{ path: ['data', 'custom', 'x'], operator: 'eq', value: '1' }] as const;
  expect(stepsOf(new Listing(state, { ...REQUEST, filters }))).toBe(6);
  expect(stepsOf(new Listing(state, { ...REQUEST, filters: [], isVisible: () => false }))).toBe(6);
  expect(stepsOf(new Listing(state, { ...REQUEST, filters: [] }))).toBe(1);
});

test('oldest first is no longer a walk for what other ledgers do', () => {
  const books = new Books(emptyState(entryCodec, 1, { chunkBytes: 1 << 20 }));
  const access = [{ action: 'any', record: 'any' }];
  for (const handle of ['main', 'other']) books.create(Kind.ledger, { handle, access }, 0);
  for (const handle of ['a', 'b', 'c']) books.create(Kind.wallet, { handle }, 2);
  for (let n = 0; n < 1000; n++) books.create(Kind.wallet, { handle: `w${n}` }, 1);
  books.create(Kind.wallet, { handle: 'd' }, 2);
  books.update(Kind.wallet, 'a', { handle: 'a', custom: { n: 1 } }, 2);
  const listing = new Listing(books.state, { ...REQUEST, ledger: 2, order: 'oldest', filters: [] });
  let looks = 0;
  listing.step(() => ++looks < 0);
  expect(listing.rows.map((row) => readRow(books.state, row).entry.handle)).toEqual(['b', 'c', 'd', 'a']);
  expect(looks, 'looks at the clock, one in 64 candidates').toBeLessThan(2);
});

describe('equality is answered from an index, whatever stands beside it', () => {
  const eq = (path: string, value: string): Filter => ({ path: path.split('.'), operator: 'eq', value });
  const FIRST = eq('data.claims.source.handle', 'a');
  const MANY = 600;
  const books = Books.open().symbols('usd').wallets('a', 'b', 'c', 'd');
  const make = (handle: string, claim: Claim, more = {}) =>
    books.create(Kind.intent, { handle, schema: 'usual', claims: [claim], ...more });

  beforeAll(() => {
    make('issued', issue('a', 10_000));
    make('rare', transfer('a', 'c', 1));
    make('refused', transfer('nobody', 'a', 1));
    make('held', transfer('a', 'b', 1), { config: { commit: 'manual' } });
    for (let n = 0; n < MANY; n++) {
      make(`to-b-${n}`, transfer('a', 'b', 1));
      make(`to-d-${n}`, transfer('b', 'd', 1));
    }
    make('between', transfer('a', 'd', 1));
  });

  /** What the list holds, and how many contents were read for it, each followed by a look at the clock. */
  function list(order: 'newest' | 'oldest', ...filters: Filter[]): { handles: string[]; looks: number } {
    const { state } = books;
    const listing = new Listing(state, { ledger: 1, kind: Kind.intent, filters, order, skip: 0, limit: 10 });
    let looks = 0;
    while (!listing.step(() => ++looks > 0));
    return { handles: listing.rows.map((row) => readRow(state, row).entry.handle), looks };
  }

  for (const order of ['newest', 'oldest'] as const) {
    test(`the shorter of two chains is walked, ${order} first`, () => {
      for (const other of [FIRST, eq('data.schema', 'usual')]) {
        for (const filters of [
          [other, eq('data.claims.target.handle', 'c')],
          [eq('data.claims.target.handle', 'c'), other],
        ]) {
          const { handles, looks } = list(order, ...filters);
          expect(handles).toEqual(['rare']);
          expect(looks).toBeLessThan(10);
        }
      }
    });

    test(`of two long chains only what stands on both is read, ${order} first`, () => {
      const { handles, looks } = list(order, FIRST, eq('data.claims.target.handle', 'd'));
      expect(handles).toEqual(['between']);
      // One in 64 of the places passed, of which there are as many as both chains have.
      expect(looks).toBeLessThan(100);
    });

    test(`an intent on its way is found by its status alone, ${order} first`, () => {
      for (const filters of [[], [FIRST], [eq('data.schema', 'usual')]]) {
        const { handles, looks } = list(order, eq('meta.status', 'prepared'), ...filters);
        expect(handles).toEqual(['held']);
        expect(looks).toBeLessThan(10);
      }
    });
  }

  test('a value that nobody has ends the walk before it begins', () => {
    const { handles, looks } = list('newest', FIRST, eq('data.schema', 'none'));
    expect([handles, looks]).toEqual([[], 0]);
  });
});

describe('pages are what walking the whole list gives, however deep', () => {
  const MADE = 900;
  const OPEN = [{ action: 'any', record: 'any' }];
  /** Handles in the order they were made, by ledger. */
  const intents: string[][] = [[], [], []];
  const wallets = ['a', 'b', 'c'];
  let state: State;

  beforeAll(() => {
    const books = new Books(emptyState(entryCodec, 1));
    books.create(Kind.ledger, { handle: 'main', access: OPEN }, 0);
    books.symbols('usd', 'eur').wallets(...wallets);
    books.create(Kind.ledger, { handle: 'other', access: OPEN }, 0);
    for (let n = 0; n < MADE; n++) {
      // Another ledger's intents, new wallets and new versions of old ones lie between them.
      const ledger = n % 3 === 0 ? 2 : 1;
      const handle = `intent-${n}`;
      books.create(Kind.intent, { handle, claims: [issue('a', 1)] }, ledger);
      intents[ledger]!.push(handle);
      if (n % 50 === 0) books.create(Kind.wallet, { handle: `w${n}` });
      if (n % 50 === 0) wallets.push(`w${n}`);
      if (n % 7 === 0) books.update(Kind.wallet, 'b', { handle: 'b', custom: { n } });
      if (n % 300 === 0) books.update(Kind.symbol, 'usd', { handle: 'usd', factor: 100, custom: { n } });
    }
    books.drop(Kind.wallet, 'c');
    wallets.splice(wallets.indexOf('c'), 1);
    wallets.push(...wallets.splice(wallets.indexOf('b'), 1));
    state = books.state;
  });

  function page(
    of: State,
    ledger: number,
    kind: Kind,
    order: 'newest' | 'oldest',
    skip: number,
    limit: number,
  ): string[] {
    const listing = new Listing(of, { ledger, kind, filters: [], order, skip, limit });
    while (!listing.step(() => true));
    return listing.rows.map((row) => readRow(of, row).entry.handle);
  }

  function expectPages(of: State): void {
    for (const [ledger, kind, handles] of [
      [1, Kind.intent, intents[1]!],
      [2, Kind.intent, intents[2]!],
      [1, Kind.wallet, wallets],
      [1, Kind.symbol, ['eur', 'usd']],
      [2, Kind.wallet, []],
    ] as const) {
      for (const order of ['newest', 'oldest'] as const) {
        const all = order === 'oldest' ? handles : [...handles].reverse();
        for (const limit of [1, 20, 100]) {
          for (const skip of [0, 1, 19, 100, 255, 256, 257, 511, 512, 580, 599, 600, 601, 100_000]) {
            expect(page(of, ledger, kind, order, skip, limit), `${order} ${skip} ${limit}`).toEqual(
              all.slice(skip, skip + limit),
            );
          }
        }
      }
    }
  }

  test('as the books grew', () => expectPages(state));
  test('as they were read from a snapshot', () => {
    const { extra, parts } = dumpState(state);
    expectPages(
      loadState(entryCodec, structuredClone(extra), new Map(parts.map((part) => [part.name, bytesOf(part)]))),
    );
  });
  test('without walking there', () => {
    for (const order of ['newest', 'oldest'] as const) {
      for (const skip of [0, 300, 590]) {
        const listing = new Listing(state, { ledger: 1, kind: Kind.intent, filters: [], order, skip, limit: 10 });
        let looks = 0;
        while (!listing.step(() => true)) looks++;
        // Sixty-four rows between two looks.
        expect(looks, `${order} ${skip}`).toBeLessThan(6);
      }
    }
  });
});
