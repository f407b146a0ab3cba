/** Tokens that are good only once: used up by the first use, forgotten when they would no longer hold, never before. */
import { describe, expect, test } from 'vitest';
import { NOBODY } from '../../src/core/access/index.ts';
import { apply } from '../../src/core/apply.ts';
import type { TokenCommand } from '../../src/core/command.ts';
import { Kind } from '../../src/core/kinds.ts';
import { makeLuid } from '../../src/core/luid.ts';
import { isRefusal } from '../../src/core/refusal.ts';
import type { StateExtra } from '../../src/core/state.ts';
import { dumpState, emptyState, loadState } from '../../src/core/state.ts';
import { entryCodec, packValue, unpackValue } from '../../src/storage/codec.ts';
import { Books, MIDNIGHT } from './books.ts';

const SECOND = 1000;

function use(books: Books, id: string, seconds: number): 'used' | 'refused' {
  const { moment } = books;
  const exp = Math.floor(MIDNIGHT / SECOND) + seconds;
  const luid = makeLuid('tkn', moment, new Uint8Array(32));
  const command: TokenCommand = { op: 'token', ledger: 1, kind: Kind.ledger, moment, caller: NOBODY, luid, id, exp };
  const outcome = books.do(command);
  if (!isRefusal(outcome)) return 'used';
  expect(outcome.reason).toBe('auth.unauthorized');
  return 'refused';
}

describe('a token good only once', () => {
  test('is refused the second time, another is not', () => {
    const books = Books.open();
    expect([use(books, 'x', 60), use(books, 'x', 60), use(books, 'y', 60), use(books, 'x', 60)]).toEqual([
      'used',
      'refused',
      'used',
      'refused',
    ]);
  });
  test('is remembered through the whole last second in which it holds', () => {
    const books = Books.open();
    use(books, 'x', 60);
    books.moment = MIDNIGHT + 60 * SECOND + 999;
    expect([use(books, 'y', 120), use(books, 'x', 60)]).toEqual(['used', 'refused']);
  });
  test('is forgotten after that, so that memory has an end', () => {
    const books = Books.open();
    for (let n = 0; n < 100; n++) use(books, `old-${n}`, 60);
    books.moment = MIDNIGHT + 61 * SECOND;
    use(books, 'new', 120);
    expect([...books.state.tokens.keys()]).toEqual(['new']);
  });
  test('one that lasts longer keeps those behind it no longer than itself', () => {
    const books = Books.open();
    use(books, 'long', 300);
    use(books, 'short', 10);
    books.moment = MIDNIGHT + 301 * SECOND;
    use(books, 'new', 400);
    expect([...books.state.tokens.keys()]).toEqual(['new']);
  });
  test('is remembered by replay and by a snapshot', () => {
    const books = Books.open();
    use(books, 'x', 60);
    const again = new Books();
    for (const bytes of books.entries)
      apply(again.state, entryCodec.decode(bytes, 0, bytes.length), bytes, 0, bytes.length);
    again.moment = books.moment;
    expect(use(again, 'x', 60)).toBe('refused');
    const other = new Books(emptyState(entryCodec, 1));
    use(other, 'x', 60);
    const { extra, parts } = dumpState(other.state);
    const kept = unpackValue(packValue(extra)) as StateExtra;
    const loaded = loadState(entryCodec, kept, new Map(parts.map(({ name, bytes }) => [name, bytes.slice()])));
    expect([...loaded.tokens]).toEqual([['x', MIDNIGHT / SECOND + 60]]);
  });
});
