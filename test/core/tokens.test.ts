/** Tokens that are good only once: used up by the first use, forgotten when they hold no longer, never before. */
import { createHash } from 'node:crypto';
import { describe, expect, test, vi } from 'vitest';
import { NOBODY } from '../../src/core/access/index.ts';
import { apply } from '../../src/core/apply.ts';
import type { TokenCommand } from '../../src/core/command.ts';
import type { StateExtra } from '../../src/core/dump.ts';
import { bytesOf, dumpState, loadState } from '../../src/core/dump.ts';
import { Kind } from '../../src/core/kinds.ts';
import { makeLuid } from '../../src/core/luid.ts';
import { isRefusal } from '../../src/core/refusal.ts';
import { emptyState } from '../../src/core/state.ts';
import { TOKEN_LIFE_SECONDS_MAX, TOKEN_SKEW_SECONDS, UsedTokens } from '../../src/core/used-tokens.ts';
import { entryCodec } from '../../src/storage/codec.ts';
import { differencesOf } from '../../src/storage/state-digest.ts';
import { packValue, unpackValue } from '../../src/storage/values.ts';
import { Books, MIDNIGHT } from './books.ts';

const SECOND = 1000;
/** From a token's use to its end at most. */
const SPAN = TOKEN_LIFE_SECONDS_MAX + TOKEN_SKEW_SECONDS;
const idOf = (name: string) => createHash('sha256').update(name).digest('hex');

/** Uses the token that ends so many seconds after midnight, whatever the clock of the books says. */
function use(books: Books, name: string, seconds: number): 'used' | 'refused' | 'api.rate-limit-exceeded' {
  const { moment } = books;
  const exp = MIDNIGHT / SECOND + seconds;
  const luid = makeLuid('tkn', moment, new Uint8Array(32));
  const id = idOf(name);
  const command: TokenCommand = { op: 'token', ledger: 1, kind: Kind.ledger, moment, caller: NOBODY, luid, id, exp };
  const outcome = books.do(command);
  if (!isRefusal(outcome)) return 'used';
  if (outcome.reason === 'api.rate-limit-exceeded') return outcome.reason;
  expect(outcome.reason).toBe('auth.unauthorized');
  return 'refused';
}

const knows = (books: Books, name: string) => books.state.tokens.has(idOf(name));

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
  test('is remembered while any clock that takes another could take it', () => {
    const books = Books.open();
    use(books, 'x', 60);
    expect([use(books, 'y', 60 + SPAN), use(books, 'x', 60)]).toEqual(['used', 'refused']);
    expect(knows(books, 'x')).toBe(true);
  });
  test('is forgotten after that, so that memory has an end, and its room is used again', () => {
    const books = Books.open();
    for (let n = 0; n < 100; n++) use(books, `old-${n}`, 60);
    use(books, 'new', 61 + SPAN);
    expect(books.state.tokens.size, 'not all at once').toBeGreaterThan(80);
    expect(use(books, 'old-7', 60), 'forgotten or not').toBe('refused');
    for (let n = 0; n < 20; n++) use(books, `more-${n}`, 61 + SPAN);
    expect([books.state.tokens.size, knows(books, 'old-7'), knows(books, 'new')]).toEqual([21, false, true]);
    expect(books.state.tokens.extra().chains).toHaveLength(1);
    const slots = (books: Books) =>
      bytesOf(dumpState(books.state).parts.find(({ name }) => name === 'token-next.head')!);
    const before = Buffer.from(slots(books));
    for (let n = 0; n < 60; n++) use(books, `next-${n}`, 61 + SPAN);
    expect(Buffer.from(slots(books))).toEqual(before);
    for (let n = 0; n < 60; n++) expect(knows(books, `next-${n}`)).toBe(true);
  });
  test('one that lasts longer keeps no others', () => {
    const books = Books.open();
    use(books, 'long', 300);
    use(books, 'short', 10);
    use(books, 'new', 11 + SPAN);
    expect([knows(books, 'long'), knows(books, 'short'), knows(books, 'new')]).toEqual([true, false, true]);
  });
});

describe('a clock that jumps', () => {
  test('ahead and back: what was used before is still used, and what is new still works', () => {
    const books = Books.open();
    use(books, 'before', 200);
    // A day ahead: somebody whose clock jumped too uses tokens of that day. The books' own clock never goes back.
    books.moment = MIDNIGHT + 86_400 * SECOND;
    expect(use(books, 'during', 86_460)).toBe('used');
    // Back: the door takes what holds by its own clock again.
    expect([use(books, 'before', 200), use(books, 'after', 210), use(books, 'after', 210)]).toEqual([
      'refused',
      'used',
      'refused',
    ]);
    expect([use(books, 'later', 5_000), use(books, 'after', 210), use(books, 'during', 86_460)]).toEqual([
      'used',
      'refused',
      'refused',
    ]);
  });
  test('back behind what was forgotten: what may have been used is refused', () => {
    const books = Books.open();
    use(books, 'x', 60);
    use(books, 'much later', 3_600);
    expect(knows(books, 'x')).toBe(false);
    expect([use(books, 'x', 60), use(books, 'never seen', 60), use(books, 'never seen', 61)]).toEqual([
      'refused',
      'refused',
      'used',
    ]);
  });
});

test('what was forgotten stays refused, though what ended before it is forgotten after it', () => {
  const books = Books.open();
  use(books, 'long', 300);
  use(books, 'short', 10);
  use(books, 'much later', 3_600);
  expect([knows(books, 'long'), knows(books, 'short')]).toEqual([false, false]);
  expect([use(books, 'short', 10), use(books, 'long', 300), use(books, 'new', 301)]).toEqual([
    'refused',
    'refused',
    'used',
  ]);
});

describe('memory for so many', () => {
  test('is full until some of them are over', () => {
    const tokens = new UsedTokens(1);
    for (let n = 0; n < 5; n++) tokens.use(idOf(`${n}`), 1000 + n);
    expect([tokens.hasRoom(1004, 6), tokens.hasRoom(1004, 5), tokens.hasRoom(1001 + SPAN, 5)]).toEqual([
      true,
      false,
      true,
    ]);
  });
});

test('tokens are remembered by replay and by a snapshot', () => {
  const books = new Books(emptyState(entryCodec, 1));
  use(books, 'gone', 1);
  for (let n = 0; n < 20; n++) use(books, `${n}`, 2 + SPAN + (n % 3));
  const again = new Books(emptyState(entryCodec, 1));
  for (const bytes of books.entries)
    apply(again.state, entryCodec.decode(bytes, 0, bytes.length), bytes, 0, bytes.length);
  expect(differencesOf(books.state, again.state)).toEqual([]);
  const { extra, parts } = dumpState(books.state);
  const kept = unpackValue(packValue(extra)) as StateExtra;
  const loaded = new Books(loadState(entryCodec, kept, new Map(parts.map((part) => [part.name, bytesOf(part)]))));
  expect(differencesOf(books.state, loaded.state)).toEqual([]);
  for (const each of [again, loaded]) {
    expect([use(each, '7', 2 + SPAN), use(each, 'gone', 1), use(each, 'more', 5 + SPAN)]).toEqual([
      'refused',
      'refused',
      'used',
    ]);
  }
  use(books, 'more', 5 + SPAN);
  expect(differencesOf(loaded.state, books.state)).toEqual([]);
});

test('where there is no room for one more it is refused for now, and not used up', () => {
  const books = Books.open();
  use(books, 'old', 60);
  const room = vi.spyOn(books.state.tokens, 'hasRoom').mockReturnValue(false);
  const entries = books.entries.length;
  expect(use(books, 'new', 60)).toBe('api.rate-limit-exceeded');
  expect([books.entries.length, knows(books, 'new')]).toEqual([entries, false]);
  expect(use(books, 'old', 60), 'what is known is told as that').toBe('refused');
  room.mockRestore();
  expect(use(books, 'new', 60)).toBe('used');
});

test('what a snapshot remembers is forgotten once it is over', () => {
  const tokens = new UsedTokens(1);
  for (let n = 0; n < 5; n++) tokens.use(idOf(`${n}`), 1000 + n);
  const loaded = new UsedTokens(1);
  loaded.load(new Map(tokens.dump().map((part) => [part.name, bytesOf(part)])), tokens.extra());
  for (const each of [loaded.withSeed(2), tokens, loaded]) {
    each.use(idOf('later'), 1003 + SPAN);
    expect([each.size, each.hasRoom(1003 + SPAN, 3), each.hasRoom(1004 + SPAN, 3)]).toEqual([3, false, true]);
  }
});

test('a snapshot whose chains have more tokens than it remembers is refused: where one leads into itself, that had no end', () => {
  const tokens = new UsedTokens(1);
  tokens.use(idOf('x'), 1000);
  const { chains, ...rest } = tokens.extra();
  const loaded = new UsedTokens(1);
  const lying = { ...rest, chains: [...chains, [1001, chains[0]![1]] as [number, number]] };
  loaded.load(new Map(tokens.dump().map((part) => [part.name, bytesOf(part)])), lying);
  expect(() => loaded.withSeed(2)).toThrow('chained');
});
