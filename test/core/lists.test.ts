/** A list that reads contents looks at the clock after each, since one content can be a megabyte. */
import { beforeAll, describe, expect, test } from 'vitest';
import type { Claim } from '../../src/core/claims/index.ts';
import { bytesOf, dumpState, loadState } from '../../src/core/dump.ts';
import type { Filter } from '../../src/core/filters.ts';
import { Kind } from '../../src/core/kinds.ts';
import { Listing } from '../../src/core/lists.ts';
import { readRow } from '../../src/core/records.ts';
import { emptyState, type State } from '../../src/core/state.ts';
import { rowAtPlace } from '../../src/core/terms.ts';
import { entryCodec } from '../../src/storage/codec.ts';
import { Books, issue, transfer } from './books.ts';
import { prove } from './proof-world.ts';

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

test('no filter is asked of a hidden record, so a right guess of what it says is as quick as a wrong one', () => {
  const books = Books.open();
  const note = 'a long text';
  for (const handle of ['seen', 'hidden']) books.create(Kind.wallet, { handle, custom: { pin: 4711, note } });
  prove(books, Kind.wallet, 'hidden', 'a', { status: 'frozen' });
  const { state } = books;
  const nameOf = (row: number) => readRow(state, row).entry.handle;
  for (const order of ['newest', 'oldest'] as const) {
    const asked = (guess: Filter): [found: string[], visible: string[], texts: string[]] => {
      const [visible, texts] = [[] as string[], [] as string[]];
      const test = (text: string) => texts.push(text) > 0;
      const pattern: Filter = { path: ['data', 'custom', 'note'], operator: 'regex', value: 'long', test };
      const isVisible = (row: number) => visible.push(nameOf(row)) > 0 && nameOf(row) !== 'hidden';
      const listing = new Listing(state, { ...REQUEST, order, filters: [guess, pattern], isVisible });
      listing.step(() => false);
      return [listing.rows.map(nameOf), visible.sort(), texts];
    };
    const pin = (value: string): Filter => ({ path: ['data', 'custom', 'pin'], operator: 'eq', value });
    const frozen = (operator: 'gte' | 'lt'): Filter => ({ path: ['meta', 'status'], operator, value: 'frozen' });
    const both = ['hidden', 'seen'];
    expect(asked(pin('4711'))).toEqual([['seen'], both, [note]]);
    expect(asked(pin('4712'))).toEqual([[], both, []]);
    expect([asked(frozen('lt')), asked(frozen('gte'))]).toEqual([
      [['seen'], both, [note]],
      [[], both, []],
    ]);
  }
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
  /** With two claims, so that it stands twice in the index of each of its wallets; a list has it once. */
  const makeTwice = (handle: string, claim: Claim) => make(handle, claim, { claims: [claim, claim] });

  beforeAll(() => {
    make('issued', issue('a', 10_000));
    makeTwice('rare', transfer('a', 'c', 1));
    make('refused', transfer('nobody', 'a', 1));
    make('held', transfer('a', 'b', 1), { config: { commit: 'manual' } });
    for (let n = 0; n < MANY; n++) {
      make(`to-b-${n}`, transfer('a', 'b', 1));
      make(`to-d-${n}`, transfer('b', 'd', 1));
    }
    makeTwice('between', transfer('a', 'd', 1));
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

    test(`of the many that have come to an end the few with one status are found, ${order} first`, () => {
      for (const filters of [[], [FIRST], [eq('data.schema', 'usual')]]) {
        const { handles, looks } = list(order, eq('meta.status', 'rejected'), ...filters);
        expect(handles).toEqual(filters.includes(FIRST) ? [] : ['refused']);
        // One at each of a block, or at every 64th where there is nothing to read; of all there were five times as many.
        expect(looks).toBeLessThan(filters.length === 0 ? 12 : 400);
      }
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

describe('lists of one status are what looking at everybody gives', () => {
  const MADE = 1100;
  const STATUSES = ['created', 'kyc-ok', 'blocked', 'pending', 'prepared', 'completed', 'rejected', 'never'];
  const books = new Books(emptyState(entryCodec, 1));

  beforeAll(() => {
    const access = [{ action: 'any', record: 'any' }];
    for (const handle of ['main', 'other']) books.create(Kind.ledger, { handle, access }, 0);
    for (const ledger of [1, 2]) {
      books.create(Kind.symbol, { handle: 'usd', factor: 100 }, ledger);
      const gone = new Set<number>();
      for (let n = 0; n < MADE; n++) {
        books.create(Kind.wallet, { handle: `w${n}` }, ledger);
        const claim = n % 301 === 7 ? transfer('nobody', 'w0', 1) : issue('w0', 1);
        const config = { commit: n % 17 === 0 ? 'manual' : 'auto' };
        books.create(Kind.intent, { handle: `i${n}`, claims: [claim], config }, ledger);
        // What lies far back changes: its status alone, or it moves to the front with the one it has.
        const old = (Math.imul(n, 0x9e3779b1) >>> 0) % (n + 1);
        if (n % 13 === 0 && !gone.has(old))
          prove(books, Kind.wallet, `w${old}`, 'a', { status: n % 3 === 0 ? 'blocked' : 'kyc-ok' }, ledger);
        if (n % 29 === 0 && !gone.has(old))
          books.update(Kind.wallet, `w${old}`, { handle: `w${old}`, custom: { n } }, ledger);
        if (n % 97 === 0 && !gone.has(n >> 1)) {
          books.drop(Kind.wallet, `w${n >> 1}`, {}, ledger);
          gone.add(n >> 1);
        }
        if (n % 34 === 0)
          prove(books, Kind.intent, `i${n >> 1}`, 'a', { action: n % 4 === 0 ? 'abort' : 'commit' }, ledger);
      }
    }
  });

  function expectLists(of: State): void {
    const { rows, order: places } = of;
    for (const [ledger, kind] of [
      [1, Kind.wallet],
      [2, Kind.wallet],
      [1, Kind.intent],
      [2, Kind.intent],
    ] as const) {
      const seen = Array.from({ length: places.length }, (_, place) => rowAtPlace(of, ledger, kind, place));
      for (const status of STATUSES) {
        const having = seen.filter((row) => row >= 0 && of.statuses[rows.status.get(row)] === status);
        for (const order of ['newest', 'oldest'] as const) {
          const all = order === 'oldest' ? having : [...having].reverse();
          for (const skip of [0, 3, 250]) {
            const filters: Filter[] = [{ path: ['meta', 'status'], operator: 'eq', value: status }];
            const listing = new Listing(of, { ledger, kind, filters, order, skip, limit: 300 });
            while (!listing.step(() => true));
            expect(listing.rows, `${kind} ${status} ${order} ${skip}`).toEqual(all.slice(skip, skip + 300));
          }
        }
      }
    }
  }

  test('as the books grew, and as they were read from a snapshot', () => {
    const { state } = books;
    expect(state.open.size).toBeGreaterThan(10);
    for (const status of STATUSES.slice(0, -1)) {
      if (status !== 'pending') expect(state.statuses).toContain(status);
    }
    expectLists(state);
    const { extra, parts } = dumpState(state);
    const pieces = new Map(parts.map((part) => [part.name, bytesOf(part)]));
    expectLists(loadState(entryCodec, structuredClone(extra), pieces));
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
