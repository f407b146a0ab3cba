/**
 * Circles whose names move while a request is on its way: the door found the membership, the sequence judges it. And who is
 * in a circle, among the memberships of many.
 */
import { expect, test } from 'vitest';
import { bytesOf, dumpState, loadState } from '../../src/core/dump.ts';
import { findHandle } from '../../src/core/finding.ts';
import { Kind } from '../../src/core/kinds.ts';
import { Listing } from '../../src/core/lists.ts';
import { isOfCircle, memberHandle } from '../../src/core/memberships.ts';
import { dataOf, namesOf, readRow } from '../../src/core/records.ts';
import { isRefusal } from '../../src/core/refusal.ts';
import type { State } from '../../src/core/state.ts';
import { entryCodec } from '../../src/storage/codec.ts';
import { Books } from './books.ts';

const MEMBER = Kind['circle-signer'];

test('a signer is taken out of the circle that has the name by now, and of no other', () => {
  const books = Books.open();
  books.create(Kind.signer, { handle: 'anna', public: 'key', format: 'ed25519-raw' });
  books.create(Kind.circle, { handle: 'tellers' });
  books.create(MEMBER, { circle: 'tellers', signer: 'anna' });
  const member = memberHandle(luidOf(books.state, Kind.circle, 'tellers'), luidOf(books.state, Kind.signer, 'anna'));
  const luid = luidOf(books.state, MEMBER, member);
  const leave = { ...books.command(MEMBER, { circle: 'tellers', signer: 'anna' }), op: 'drop' as const, luid };

  books.update(Kind.circle, 'tellers', { handle: 'cashiers' });
  books.create(Kind.circle, { handle: 'tellers' });
  const outcome = books.do(leave);
  expect(isRefusal(outcome) && outcome.reason).toBe('record.not-found');
  expect(findHandle(books.state, 1, MEMBER, member)).toBeGreaterThanOrEqual(0);

  const cashiers = books.command(MEMBER, { circle: 'cashiers', signer: 'anna' });
  expect(isRefusal(books.do({ ...cashiers, op: 'drop', luid }))).toBe(false);
  expect(findHandle(books.state, 1, MEMBER, member)).toBe(-1);
});

test('members of a circle are found without a look at those of others, also in books that were read from a snapshot', () => {
  const books = Books.open();
  const circles = ['front', 'back', 'nobodys'];
  for (const handle of circles) books.create(Kind.circle, { handle });
  const members: Record<string, string[]> = { front: [], back: [], nobodys: [] };
  for (let n = 0; n < 60; n++) {
    const signer = `s${n}`;
    books.create(Kind.signer, { handle: signer, public: `key ${n}`, format: 'ed25519-raw' });
    const circle = n % 3 === 0 ? 'front' : 'back';
    books.create(MEMBER, { circle, signer });
    members[circle]!.push(signer);
  }
  const leave = (signer: string) => {
    const { luid } = namesOf(books.state, memberRow(books.state, 'front', signer));
    expect(isRefusal(books.do({ ...books.command(MEMBER, { circle: 'front', signer }), op: 'drop', luid }))).toBe(
      false,
    );
  };
  // One leaves, another leaves and comes back as the newest; a circle goes by another name.
  leave('s0');
  leave('s3');
  books.create(MEMBER, { circle: 'front', signer: 's3' });
  members.front = [...members.front!.slice(2), 's3'];
  books.update(Kind.circle, 'back', { handle: 'rear' });

  const { extra, parts } = dumpState(books.state);
  const read = loadState(entryCodec, extra, new Map(parts.map((part) => [part.name, bytesOf(part)])), {
    chunkBytes: 1 << 20,
  });
  const named = { front: 'front', rear: 'back', nobodys: 'nobodys' } as const;
  for (const state of [books.state, read]) {
    for (const [handle, first] of Object.entries(named)) {
      const circle = luidOf(state, Kind.circle, handle);
      for (const order of ['newest', 'oldest'] as const) {
        let looks = 0;
        const isVisible = (row: number) => {
          looks++;
          return isOfCircle(state, row, circle);
        };
        const request = { ledger: 1, kind: MEMBER, filters: [], order, skip: 0, limit: 1000, circle, isVisible };
        const listing = new Listing(state, request);
        expect(listing.step(() => false)).toBe(true);
        const found = listing.rows.map((row) => dataOf(readRow(state, row).entry).signer);
        expect(found).toEqual(order === 'oldest' ? members[first] : members[first]!.toReversed());
        expect(looks).toBe(found.length);
      }
    }
  }
});

function luidOf(state: State, kind: Kind, handle: string): string {
  return namesOf(state, findHandle(state, 1, kind, handle)).luid;
}

function memberRow(state: State, circle: string, signer: string): number {
  return findHandle(
    state,
    1,
    MEMBER,
    memberHandle(luidOf(state, Kind.circle, circle), luidOf(state, Kind.signer, signer)),
  );
}
