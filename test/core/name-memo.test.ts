/** Names lead where the index of handles leads, whatever was remembered of them. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { findHandle } from '../../src/core/finding.ts';
import { Kind } from '../../src/core/kinds.ts';
import { Listing } from '../../src/core/lists.ts';
import { NameMemo } from '../../src/core/name-memo.ts';
import { namesOf } from '../../src/core/records.ts';
import { DROPPED, type State } from '../../src/core/state.ts';
import { hashText } from '../../src/memory/index.ts';
import { heldBytes } from '../support/collect.ts';
import { Books } from './books.ts';

const KINDS = [Kind.wallet, Kind.symbol] as const;
/** Pairs that have one place: of one length, with one end. */
const NAMES = ['a-000001', 'b-000001', 'a-000002', 'b-000002', ''];

test('names of one place keep their own hashes and rows', () => {
  const memo = new NameMemo(5);
  for (const name of [...NAMES, ...NAMES]) {
    const place = memo.place(name);
    expect(memo.row(place, 1), name).toBe(-1);
    expect(memo.hash(place), name).toBe(hashText(5, name));
    memo.keepRow(place, 1, 77);
    expect([memo.row(place, 1), memo.row(place, 2)], name).toEqual([77, -1]);
    memo.forgetRow(name);
  }
  const place = memo.place('a-000001');
  memo.keepRow(place, 1, 77);
  memo.forgetRow('b-000001');
  expect(memo.row(memo.place('a-000001'), 1)).toBe(77);
});

test('the hash of a name without a place is that of no other', () => {
  const memo = new NameMemo(5);
  for (const name of ['', 'a-000001', 'a-000001', 'b-000001', 'a-000001', '']) {
    expect(memo.lastHash(name), name).toBe(hashText(5, name));
  }
});

describe('what was asked for is forgotten, though its name be remembered', () => {
  const TEXTS = 500;
  const CHARS = 20_000;

  /** What memory holds more once all of them were looked for. */
  function held(look: (text: string) => void): number {
    const before = heldBytes();
    // Their ends differ as well: by those places are given.
    for (let n = 0; n < TEXTS; n++) {
      look(Buffer.from(`${`wallet-number-${n}/`.padEnd(CHARS, '1')}${n}`).toString('latin1'));
    }
    return heldBytes() - before;
  }

  test('a name that was cut out of a long path keeps nothing of that', () => {
    const memo = new NameMemo(5);
    const places = new Set<number>();
    expect(held((text) => places.add(memo.place(text.slice(0, text.indexOf('/')))))).toBeLessThan((TEXTS * CHARS) / 10);
    expect(places.size).toBeGreaterThan(TEXTS / 2);
  });

  test('a name that is longer than any record has is not remembered', () => {
    const { state } = Books.open();
    expect(held((text) => expect(findHandle(state, 1, Kind.wallet, text)).toBe(-1))).toBeLessThan((TEXTS * CHARS) / 10);
    const filters = (text: string) => [{ path: ['data', 'schema'], operator: 'eq' as const, value: text }];
    const look = (text: string) => {
      const asked = {
        ledger: 1,
        kind: Kind.wallet,
        filters: filters(text),
        order: 'newest' as const,
        skip: 0,
        limit: 1,
      };
      const listing = new Listing(state, { ...asked, isVisible: undefined });
      while (!listing.step(() => false));
      expect(listing.page).toEqual([]);
    };
    expect(held(look)).toBeLessThan((TEXTS * CHARS) / 10);
  });
});

/** The live row with this handle, by looking at all of them. */
function scan(state: State, ledger: number, kind: Kind, handle: string): number {
  const { rows } = state;
  for (let row = 0; row < rows.kind.length; row++) {
    const isLive = (rows.flags.get(row) & DROPPED) === 0;
    const isThere = rows.kind.get(row) === kind && rows.ledger.get(row) === ledger;
    if (isLive && isThere && namesOf(state, row).handle === handle) return row;
  }
  return -1;
}

test('a life of names that are taken, changed and given up', () => {
  const name = fc.constantFrom(...NAMES.slice(0, 4));
  const step = fc.record({
    op: fc.constantFrom('create', 'rename', 'drop'),
    ledger: fc.constantFrom(1, 2),
    kind: fc.constantFrom(...KINDS),
    name,
    next: name,
  });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 30, size: 'max' }), (steps) => {
      const books = Books.open();
      books.create(Kind.ledger, { handle: 'other', access: [{ action: 'any', record: 'any' }] }, 0);
      for (const { op, ledger, kind, name, next } of steps) {
        const value = kind === Kind.symbol ? { factor: 100 } : {};
        const isThere = findHandle(books.state, ledger, kind, name) >= 0;
        if (op === 'create') books.create(kind, { ...value, handle: name }, ledger);
        else if (isThere && op === 'rename') books.update(kind, name, { ...value, handle: next }, ledger);
        else if (isThere) books.drop(kind, name, {}, ledger);
        for (const each of NAMES) {
          for (const where of [1, 2]) {
            for (const what of KINDS) {
              const found = findHandle(books.state, where, what, each);
              expect(found).toBe(scan(books.state, where, what, each));
            }
          }
        }
      }
    }),
    { numRuns: 60 },
  );
});
