/** The signers of a key are those that a look through all of them finds, and a change has nobody look through all of them. */
import fc from 'fast-check';
import { expect, test, vi } from 'vitest';
import { GRANTED, isGranted } from '../../src/core/access/index.ts';
import { signersOf } from '../../src/core/access/people.ts';
import { bytesOf, dumpState, loadState } from '../../src/core/dump.ts';
import { findHandle } from '../../src/core/finding.ts';
import { Kind } from '../../src/core/kinds.ts';
import type { State } from '../../src/core/state.ts';
import { rowsUnder } from '../../src/core/terms.ts';
import { Heap } from '../../src/memory/index.ts';
import { entryCodec } from '../../src/storage/codec.ts';
import { often } from '../support/long.ts';
import { keyOf, textOf } from './access-world.ts';
import { Books } from './books.ts';

const KEYS = ['a', 'b', 'c'];

/** A ledger of signers, each of whose keys somebody may give to another one. */
class Signers {
  books = Books.open();
  /** By number, the key of the signer of that handle, and when it came to have that. */
  readonly keys: string[] = [];
  readonly since: number[] = [];
  #changes = 0;

  make(key: string, long = 0): void {
    const handle = `s${this.keys.push(key) - 1}`;
    this.since.push(this.#changes++);
    this.books.create(Kind.signer, { ...this.#value(handle, key), ...this.#longer(long) }, 1, GRANTED);
  }

  give(n: number, key: string, long = 0): void {
    const handle = `s${n}`;
    if (this.keys[n] !== key) this.since[n] = this.#changes++;
    this.keys[n] = key;
    this.books.update(Kind.signer, handle, { ...this.#value(handle, key), ...this.#longer(long) });
  }

  /** Numbers of the first signers of a key. */
  firstOf(key: string, count: number): number[] {
    return [...this.keys.keys()].filter((n) => this.keys[n] === key).slice(0, count);
  }

  #value(handle: string, key: string) {
    return { handle, public: textOf(key), format: 'ed25519-raw' };
  }

  #longer(kilobytes: number) {
    return kilobytes === 0 ? {} : { custom: { text: 'x'.repeat(1000 * kilobytes) } };
  }
}

/** Addresses of the signers of a key that count, and of all that carry it, by looking through all of them. */
function plain(state: State, { keys, since }: Signers, key: string) {
  const numbers = [...keys.keys()].filter((n) => keys[n] === key).sort((one, other) => since[one]! - since[other]!);
  const all = numbers.map((n) => findHandle(state, 1, Kind.signer, `s${n}`));
  expect([...rowsUnder(state, 1, Kind.signer, 'public', textOf(key))].sort()).toEqual([...all].sort());
  const addressOf = (row: number) => state.rows.at.get(row);
  let weight = 0;
  const counted = all
    .slice(0, 50)
    .map(addressOf)
    .filter((address) => {
      const own = 256 * Math.floor(state.heap.length(address) / 4096);
      const fits = weight + own <= 4096;
      if (fits) weight += own;
      return fits;
    });
  return { counted, named: new Set(all.map(addressOf)) };
}

function expectPlain(state: State, signers: Signers, handles: readonly string[]): void {
  for (const key of KEYS) {
    const { counted, named } = plain(state, signers, key);
    const found = signersOf(state, 1, keyOf(key));
    expect(found.counted.map(({ address }) => address)).toEqual(counted);
    const isNamed = handles.map((handle) => found.named(handle)?.address ?? -1);
    const rows = handles.map((handle) => state.rows.at.get(findHandle(state, 1, Kind.signer, handle)));
    expect(isNamed).toEqual(rows.map((address) => (named.has(address) ? address : -1)));
  }
}

const key = fc.constantFrom(...KEYS);
const change = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.record({ what: fc.constant('make'), key, other: key, count: fc.integer({ min: 1, max: 90 }) }),
  },
  // Of those that are remembered all can go at once.
  {
    weight: 2,
    arbitrary: fc.record({ what: fc.constant('give'), key, other: key, count: fc.integer({ min: 1, max: 1100 }) }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ what: fc.constant('longer'), key, other: key, count: fc.integer({ min: 1, max: 30 }) }),
  },
);

test('whatever signers become of, those of a key are the ones that a look through all of them finds', () => {
  fc.assert(
    fc.property(
      fc.array(change, { minLength: 5, maxLength: 12, size: 'max' }),
      fc.infiniteStream(fc.nat()),
      (changes, dice) => {
        const signers = new Signers();
        const { state } = signers.books;
        for (let n = 0; n < 1200; n++) signers.make('a');
        for (const { what, key, other, count } of changes) {
          if (what === 'make') for (let n = 0; n < count; n++) signers.make(key);
          else if (what === 'give') for (const n of signers.firstOf(key, count)) signers.give(n, other);
          else {
            for (let n = 0; n < count; n++) {
              const one = dice.next().value! % signers.keys.length;
              signers.give(one, n % 2 === 0 ? other : signers.keys[one]!, n % 5);
            }
          }
          expectPlain(
            state,
            signers,
            signers.keys.map((_, n) => `s${n}`),
          );
        }
        const { extra, parts } = dumpState(state);
        const bytes = new Map(parts.map((part) => [part.name, bytesOf(part)]));
        const loaded = loadState(entryCodec, structuredClone(extra), bytes, { chunkBytes: 1 << 20 });
        expectPlain(
          loaded,
          signers,
          signers.keys.map((_, n) => `s${n}`),
        );
      },
    ),
    { numRuns: often(4, 200) },
  );
});

test('where hundreds of the first have gone those behind them are found, and whoever came or came back meanwhile', () => {
  const signers = new Signers();
  const { state } = signers.books;
  const make = (count: number) => {
    for (let n = 0; n < count; n++) signers.make('a');
  };
  const giveFirst = (count: number) => {
    for (const n of signers.firstOf('a', count)) signers.give(n, 'b');
  };
  const steps: (() => void)[] = [
    () => make(2300),
    // Of those that are remembered half have gone, which leaves room for others, but none that come behind the rest.
    () => giveFirst(500),
    () => make(60),
    () => giveFirst(480),
    () => make(3),
    () => signers.give(3, 'a'),
    () => giveFirst(985),
    () => make(2),
    () => giveFirst(360),
    () => make(40),
    () => signers.give(5, 'a'),
  ];
  for (const step of steps) {
    step();
    expectPlain(state, signers, ['s0', 's3', 's5', 's1500', `s${signers.keys.length - 1}`]);
  }
  expect(signers.firstOf('a', 100).length).toBeLessThan(100);
});

test('whoever may change signers that were made before takes nothing from one that had its key first', () => {
  const signers = new Signers();
  for (let n = 0; n < 60; n++) signers.make('b');
  signers.make('a');
  const { state } = signers.books;
  const own = () => state.rows.at.get(findHandle(state, 1, Kind.signer, 's60'));
  for (let n = 0; n < 60; n++) {
    signers.give(n, 'a');
    // A new version with the same key is as old as the one before.
    if (n % 20 === 5) signers.give(60, 'a', 1);
    expect(signersOf(state, 1, keyOf('a')).counted[0]!.address).toBe(own());
  }
  // Somebody else has it now.
  signers.give(60, 'b');
  signers.give(60, 'a');
  expect(signersOf(state, 1, keyOf('a')).counted.map(({ address }) => address)).not.toContain(own());
  expectPlain(state, signers, ['s0', 's60']);
});

test('of more than are remembered, all of whom came to it the last first, one that is changed stays where it was', () => {
  const signers = new Signers();
  const { state } = signers.books;
  for (let n = 0; n < 1100; n++) signers.make('b');
  for (let n = 1099; n >= 0; n--) signers.give(n, 'a');
  for (const n of [1099, 1060, 5]) {
    expectPlain(state, signers, ['s1099', 's5']);
    signers.give(n, 'a', 1);
  }
  expectPlain(state, signers, ['s1099', 's5']);
});

test('the last of those that are remembered lets nobody else in once it has another key', () => {
  const signers = new Signers();
  const { state } = signers.books;
  for (let n = 0; n < 1100; n++) signers.make('a');
  expectPlain(state, signers, ['s999']);
  // Room for some, and the last of a thousand goes: it has the other key since later than any of the rest has this one.
  for (let n = 0; n < 100; n++) signers.give(n, 'b');
  signers.give(999, 'b');
  for (let n = 1050; n < 1100; n++) signers.give(n, 'a', 1);
  expectPlain(state, signers, ['s999']);
  for (let n = 100; n < 999; n++) signers.give(n, 'b');
  expectPlain(state, signers, ['s999']);
});

test.each<[string, (signers: Signers, count: number) => void]>([
  [
    'each was given it, the last first',
    (signers, count) => {
      for (let n = 0; n < count; n++) signers.make('b');
      for (let n = count - 1; n >= 0; n--) signers.give(n, 'a');
    },
  ],
  [
    'each was changed since, the last first, and one was given another',
    (signers, count) => {
      for (let n = 0; n < count; n++) signers.make('a');
      for (let n = count - 1; n >= 0; n--) signers.give(n, 'a');
      signers.give(7, 'b');
    },
  ],
])('of thousands that carry one key nobody sorts all, where %s', (_, make) => {
  const signers = new Signers();
  const { state } = signers.books;
  make(signers, 4000);
  const looks = vi.spyOn(state.rekeyed, 'get');
  signersOf(state, 1, keyOf('a'));
  expect(looks.mock.calls.length).toBeLessThan(6000);
  expectPlain(state, signers, ['s0', 's7', 's3999']);
});

test('one that is too long to count takes nothing from those behind it', () => {
  const signers = new Signers();
  for (const long of [0, 20, 0, 5, 0]) signers.make('a', long);
  expect(signersOf(signers.books.state, 1, keyOf('a')).counted).toHaveLength(5);
  signers.give(1, 'a', 90);
  expect(signersOf(signers.books.state, 1, keyOf('a')).counted).toHaveLength(4);
  expectPlain(signers.books.state, signers, ['s0', 's1', 's4']);
});

/** A ledger where who is in a circle may do everything, as may the key `a`, by the first of its signers. */
function crowd(count: number) {
  const signers = new Signers();
  const { books } = signers;
  const access = [{ action: 'update', record: 'wallet', signer: { handle: 's0' } }];
  books.wallets('mine');
  books.update(Kind.ledger, 'main', { handle: 'main', access }, 0);
  for (let n = 0; n < count; n++) signers.make('a');
  const row = findHandle(books.state, 1, Kind.wallet, 'mine');
  const ask = () => isGranted(books.state, 1, 'update', Kind.wallet, row, { keys: [keyOf('a')], bearer: null });
  expect(ask()).toBe(true);
  const looks = vi.spyOn(books.state.terms, 'value');
  return { signers, ask, looks };
}

test('a change of signers has nobody look through thousands that carry one key', () => {
  const { signers, ask, looks } = crowd(3000);
  signers.make('b');
  expect(ask()).toBe(true);
  signers.make('a');
  expect(ask()).toBe(true);
  expect(looks.mock.calls.length).toBeLessThan(300);
});

test('nor do so many others that signed meanwhile that all that is known of signers is forgotten', () => {
  const { signers, ask, looks } = crowd(10_500);
  const { memo } = signers.books.state;
  expect(memo.people(1)).toBeDefined();
  memo.holdPeople(1e9);
  expect(memo.people(1)).toBeUndefined();
  expect(ask()).toBe(true);
  expect(looks.mock.calls.length).toBeLessThan(300);
  expectPlain(signers.books.state, signers, ['s0', 's10499']);
});

test('nor do those that gave it up one by one, with each that goes', () => {
  const { signers, ask, looks } = crowd(3000);
  for (let n = 1; n < 900; n++) {
    signers.give(n, 'b');
    signersOf(signers.books.state, 1, keyOf('a'));
  }
  expect(ask()).toBe(true);
  expect(looks.mock.calls.length).toBeLessThan(20_000);
});

test('a start goes through a record with very many entries once, however many keys were changed after it', () => {
  const signers = new Signers();
  const { books } = signers;
  for (let n = 0; n < 100; n++) signers.make('a');
  // All of them ask whether it was there before.
  books.wallets('long');
  for (let n = 0; n < 1000; n++) books.update(Kind.wallet, 'long', { handle: 'long', custom: { n } });
  for (let n = 0; n < 100; n++) signers.give(n, 'b');
  const { extra, parts } = dumpState(books.state);
  const bytes = new Map(parts.map((part) => [part.name, bytesOf(part)]));
  const steps = vi.spyOn(Heap.prototype, 'prev');
  try {
    loadState(entryCodec, structuredClone(extra), bytes, { chunkBytes: 1 << 20 });
    expect(steps.mock.calls.length).toBeLessThan(10_000);
  } finally {
    steps.mockRestore();
  }
});
