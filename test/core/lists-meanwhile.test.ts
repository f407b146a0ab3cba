/** Pages of lists that are looked for while records change, move and go: what stands on one is right when it is told. */
import { describe, expect, test, vi } from 'vitest';
import type { Filter } from '../../src/core/filters.ts';
import { Kind } from '../../src/core/kinds.ts';
import { Listing } from '../../src/core/lists.ts';
import { dataOf, readRow } from '../../src/core/records.ts';
import { isRefusal } from '../../src/core/refusal.ts';
import type { State } from '../../src/core/state.ts';
import { Dice } from '../support/dice.ts';
import { often } from '../support/long.ts';
import { Books } from './books.ts';
import { prove } from './proof-world.ts';

const eq = (path: string, value: string): Filter => ({ path: path.split('.'), operator: 'eq', value });
const ne = (path: string, value: string): Filter => ({ ...eq(path, value), operator: 'ne' });

const FILTERS: [string, Filter[]][] = [
  ['all', []],
  ['by content', [eq('data.custom.kind', 'hold')]],
  ['by status', [eq('meta.status', 'kyc-ok')]],
  ['by content, and not by status', [eq('data.custom.kind', 'hold'), ne('meta.status', 'created')]],
  ['by content and by status', [eq('data.custom.kind', 'hold'), eq('meta.status', 'kyc-ok')]],
  ['by an index', [eq('data.schema', 'usual')]],
];

/** Wallets of which some change, and what became of each. */
class Crowd {
  readonly books = Books.open();
  readonly #dice: Dice;
  readonly #live: string[] = [];
  #made = 0;

  constructor(seed: number) {
    this.#dice = new Dice(seed);
    for (let n = 0; n < 60; n++) this.#make();
    for (let n = 0; n < 90; n++) this.change();
  }

  #data(handle: string) {
    const schema = this.#dice.pick([{ schema: 'usual' }, { schema: 'usual' }, {}]);
    return { handle, ...schema, custom: { kind: this.#dice.pick(['hold', 'hold', 'free']), n: this.#made } };
  }

  #make(): void {
    const handle = `w${this.#made++}`;
    this.books.create(Kind.wallet, this.#data(handle));
    this.#live.push(handle);
  }

  /** One change of any kind. */
  change(): void {
    const at = this.#dice.below(this.#live.length);
    const handle = this.#live[at]!;
    const what = this.#dice.below(10);
    if (what === 0) this.#make();
    else if (what === 1) {
      const dropped = this.books.drop(Kind.wallet, handle);
      if (isRefusal(dropped)) throw new Error(JSON.stringify(dropped));
      this.#live.splice(at, 1);
    } else if (what < 6) this.books.update(Kind.wallet, handle, this.#data(handle));
    else prove(this.books, Kind.wallet, handle, 'a', { status: this.#dice.pick(['kyc-ok', 'blocked']) });
  }

  /** Rows that pass now, in order of their latest change. */
  passing(filters: readonly Filter[]): number[] {
    const { rows, order } = this.books.state;
    const all = Array.from({ length: order.length }, (_, place) => place)
      .filter((place) => rows.place.get(order.get(place)) === place)
      .map((place) => order.get(place))
      .filter((row) => rows.kind.get(row) === Kind.wallet && !this.#isGone(row));
    return all.filter((row) => filters.every((filter) => this.#passes(row, filter)));
  }

  #isGone(row: number): boolean {
    return !this.#live.includes(readRow(this.books.state, row).entry.handle);
  }

  #passes(row: number, { path, operator, value }: Filter): boolean {
    const { entry, status } = readRow(this.books.state, row);
    const data = dataOf(entry) as { schema?: string; custom: { kind: string } };
    const has = path[0] === 'meta' ? status : path[1] === 'schema' ? data.schema : data.custom.kind;
    return (has === value) === (operator === 'eq');
  }
}

describe.each(FILTERS)('a list of %s', (_name, filters) => {
  test.each(['newest', 'oldest'] as const)('%s first, while what it is of changes', (order) => {
    for (let seed = 1; seed <= often(6, 3000); seed++) {
      const crowd = new Crowd(seed);
      const dice = new Dice(seed + 1_000_000);
      const [skip, limit, changes] = [dice.pick([0, 0, 7]), dice.pick([5, 20, 500]), dice.pick([0, 1, 3])];
      const request = { ledger: 1, kind: Kind.wallet, filters, order, skip, limit };
      const listing = new Listing(crowd.books.state, request);
      let always = new Set(crowd.passing(filters));
      for (let step = 0; !listing.step(() => true); step++) {
        // For as long as more changes than is looked at, no list comes to its end.
        for (let n = 0; step < 200 && n < changes; n++) {
          crowd.change();
          always = new Set(crowd.passing(filters).filter((row) => always.has(row)));
        }
      }
      const now = order === 'newest' ? crowd.passing(filters).reverse() : crowd.passing(filters);
      const { rows } = listing;
      const about = `seed ${seed}, skip ${skip}, limit ${limit}`;
      expect(rows.length, `longer than a page, ${about}`).toBeLessThanOrEqual(limit);
      expect(new Set(rows).size, `twice, ${about}`).toBe(rows.length);
      const places = rows.map((row) => now.indexOf(row));
      expect(places, `in a state that does not pass, ${about}`).not.toContain(-1);
      expect(places, `out of order, ${about}`).toEqual([...places].sort((one, other) => one - other));
      if (skip > 0) continue;
      const end = rows.length < limit ? now.length : places.at(-1)!;
      const missing = now.slice(0, end).filter((row) => always.has(row) && !rows.includes(row));
      expect(missing, `missing, ${about}`).toEqual([]);
    }
  });
});

test('what comes while a later page of the newest is looked for is not on it', () => {
  const books = Books.open().wallets('a', 'b', 'c', 'd');
  const all = { ledger: 1, kind: Kind.wallet, filters: [], order: 'newest', isVisible: () => true } as const;
  const handlesOf = (skip: number): string[] => {
    let isPaused = false;
    const listing = new Listing(books.state, { ...all, skip, limit: 2 });
    while (!listing.step(() => !isPaused)) {
      isPaused = true;
      books.wallets(`late-${skip}`);
    }
    return listing.rows.map((row) => readRow(books.state, row).entry.handle);
  };
  expect([handlesOf(0), handlesOf(2)]).toEqual([
    ['late-0', 'd'],
    ['c', 'b'],
  ]);
});

describe('what stands on a long chain, the oldest first', () => {
  const oldest = (state: State, skip: number, limit: number) => {
    let looks = 0;
    const isVisible = () => {
      looks++;
      return true;
    };
    const filters = [eq('data.schema', 'usual')];
    const request = { ledger: 1, kind: Kind.wallet, filters, order: 'oldest', skip, limit, isVisible } as const;
    const listing = new Listing(state, request);
    while (!listing.step(() => true));
    return { handles: listing.rows.map((row) => dataOf(readRow(state, row).entry).handle), looks };
  };

  test('is told as it is, however it grew, changed and shrank since it was asked for', () => {
    const books = Books.open();
    const dice = new Dice(7);
    let live: string[] = [];
    let made = 0;
    const check = (skip: number, limit: number) =>
      expect(oldest(books.state, skip, limit).handles).toEqual(live.slice(skip, skip + limit));
    for (const more of [1023, 1, 1, 1500, 3, 2048, 700]) {
      for (let n = 0; n < more; n++) {
        const handle = `w${made++}`;
        books.create(Kind.wallet, { handle, schema: 'usual' });
        books.create(Kind.wallet, { handle: `other${made}` });
        live.push(handle);
      }
      for (let n = 0; n < 40; n++) {
        const handle = live[dice.below(live.length)]!;
        live = live.filter((each) => each !== handle);
        if (n % 2 === 0) expect(isRefusal(books.drop(Kind.wallet, handle))).toBe(false);
        else {
          books.update(Kind.wallet, handle, { handle, schema: 'usual', custom: { n } });
          live.push(handle);
        }
      }
      check(0, 20);
      check(0, 10_000);
      check(live.length - 5, 20);
      for (let n = 0; n < 5; n++) check(dice.below(live.length), 1 + dice.below(1500));
    }
  });

  test('is looked through from its end, once it was asked for: a page of the oldest of a million had all of them turned round', () => {
    const books = Books.open();
    for (let n = 0; n < 5000; n++) books.create(Kind.wallet, { handle: `w${n}`, schema: 'usual' });
    const steps = (): number => {
      const next = vi.spyOn(books.state.terms, 'next');
      expect(oldest(books.state, 0, 20)).toMatchObject({ handles: Array.from({ length: 20 }, (_, n) => `w${n}`) });
      const { length } = next.mock.calls;
      next.mockRestore();
      return length;
    };
    expect(steps()).toBeGreaterThan(5000);
    expect(steps()).toBeLessThan(1100);
    for (let n = 5000; n < 5100; n++) books.create(Kind.wallet, { handle: `w${n}`, schema: 'usual' });
    expect(steps()).toBeLessThan(1200);
    expect(steps()).toBeLessThan(1100);
  });
});
