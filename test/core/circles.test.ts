/** Circles whose names move while a request is on its way: the door found the membership, the sequence judges it. */
import { expect, test } from 'vitest';
import { memberHandle } from '../../src/core/access/index.ts';
import { findHandle } from '../../src/core/finding.ts';
import { Kind } from '../../src/core/kinds.ts';
import { namesOf } from '../../src/core/records.ts';
import { isRefusal } from '../../src/core/refusal.ts';
import { Books } from './books.ts';

const MEMBER = Kind['circle-signer'];

test('a signer is taken out of the circle that has the name by now, and of no other', () => {
  const books = Books.open();
  const luidOf = (kind: Kind, handle: string) => namesOf(books.state, findHandle(books.state, 1, kind, handle)).luid;
  books.create(Kind.signer, { handle: 'anna', public: 'key', format: 'ed25519-raw' });
  books.create(Kind.circle, { handle: 'tellers' });
  books.create(MEMBER, { circle: 'tellers', signer: 'anna' });
  const member = memberHandle(luidOf(Kind.circle, 'tellers'), luidOf(Kind.signer, 'anna'));
  const luid = luidOf(MEMBER, member);
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
