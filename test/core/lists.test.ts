/** A list that reads contents looks at the clock after each, since one content can be a megabyte. */
import { expect, test } from 'vitest';
import { Kind } from '../../src/core/kinds.ts';
import { Listing } from '../../src/core/lists.ts';
import { Books } from './books.ts';

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
