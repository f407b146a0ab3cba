/** Caches keep the share of their size that they are given, and what they gave goes on holding for who has it. */
import { expect, test } from 'vitest';
import { GRANTED, isGranted } from '../../src/core/access/index.ts';
import { KeyMap } from '../../src/core/access/key-map.ts';
import { findHandle } from '../../src/core/finding.ts';
import { Kind } from '../../src/core/kinds.ts';
import { LONG_ENTRIES_MIN } from '../../src/core/long-versions.ts';
import { emptyState } from '../../src/core/state.ts';
import { Shelf } from '../../src/event-members.ts';
import { compileUserSchema, keepSchemas } from '../../src/http/user-schemas.ts';
import { entryCodec } from '../../src/storage/codec.ts';
import { Books } from './books.ts';

const MB = 1_000_000;

/** How many of so many megabytes, each of another ledger, are kept that are remembered one after the other. */
function normsKept(cacheShare: number): number {
  const { remembered } = emptyState(entryCodec, 1, { cacheShare }).norms;
  let made = 0;
  const remember = (n: number) =>
    remembered.get(n, n, () => {
      made++;
      return { value: n, held: MB };
    });
  for (let n = 1; n <= 60; n++) expect(remember(n)).toBe(n);
  made = 0;
  for (let n = 1; n <= 60; n++) expect(remember(n)).toBe(n);
  return 60 - made;
}

test('what is made of policies', () => {
  expect(normsKept(1)).toBe(60);
  expect(normsKept(1 / 32)).toBeLessThan(5);
});

test('what is known of records', () => {
  for (const [cacheShare, isKept] of [
    [1, true],
    [1 / 32, false],
  ] as const) {
    const { memo, longVersions } = emptyState(entryCodec, 1, { cacheShare });
    const first = memo.record(1);
    for (let at = 2; at < 10_000; at++) memo.record(at);
    expect(memo.record(1) === first).toBe(isKept);
    for (let at = 1; at < 10_000; at++) longVersions.keepFirst(`luid ${at}`, at, LONG_ENTRIES_MIN);
    expect(longVersions.first('luid 1')).toBe(isKept ? 1 : undefined);
  }
});

test('what is known of people', () => {
  for (const [cacheShare, isKept] of [
    [1, true],
    [1 / 32, false],
  ] as const) {
    const { memo } = emptyState(entryCodec, 1, { cacheShare });
    const people = { epoch: 0, byKey: new KeyMap<never>(), circles: new Map(), signers: new Map() };
    for (let ledger = 1; ledger < 1000; ledger++) memo.setPeople(ledger, people);
    expect(memo.people(1) === people).toBe(isKept);
  }
});

test('what events show', () => {
  for (const [cacheShare, isKept] of [
    [1, true],
    [1 / 32, false],
  ] as const) {
    const { texts } = new Shelf(cacheShare);
    const [entry, other] = [{}, {}];
    const keys = Array.from({ length: 100 }, () => ({}));
    for (const key of keys) texts.set(entry, key, 'x'.repeat(50_000));
    expect(texts.get(entry, keys[0]!) !== undefined).toBe(isKept);
    expect(texts.get(other, keys[0]!)).toBeUndefined();
  }
});

test('schemas that were compiled', () => {
  const compile = (n: number) => compileUserSchema(JSON.stringify({ schema: { type: 'object', minProperties: n } }));
  try {
    const first = compile(0);
    for (let n = 1; n < 100; n++) compile(n);
    expect(compile(0)).toBe(first);
    keepSchemas(1 / 32);
    for (let n = 1; n < 100; n++) compile(n);
    expect(compile(0)).not.toBe(first);
  } finally {
    keepSchemas(1);
  }
});

test('books with hardly any caches decide the same', () => {
  const lives = [1, 1 / 1_000_000].map((cacheShare) => {
    const books = new Books(emptyState(entryCodec, 1, { chunkBytes: 1 << 20, cacheShare }));
    books.create(Kind.ledger, { handle: 'main', access: [{ action: 'any', record: 'any' }] }, 0);
    books.wallets('a', 'b').symbols('usd');
    for (let n = 0; n < 50; n++) books.update(Kind.wallet, 'a', { handle: 'a', custom: { n } });
    return books.entries.map((bytes) => Buffer.from(bytes).toString('hex'));
  });
  expect(lives[1]).toEqual(lives[0]);
});

test('a signer that is read takes its effort once, though it was forgotten meanwhile: a decision hung on what was known', () => {
  const books = new Books(emptyState(entryCodec, 1, { chunkBytes: 1 << 20, cacheShare: 1 / 1_000_000 }));
  books.create(Kind.ledger, { handle: 'main', access: [{ action: 'access', record: 'any' }] }, 0);
  const key = new Uint8Array(32).fill(1);
  const others = Array.from({ length: 250 }, (_, n) => ({ action: 'spend', signer: { $circle: `circle${n}` } }));
  const access = [...others, { action: 'spend', signer: { custom: { role: 'bank' } } }];
  books.create(Kind.wallet, { handle: 'w', access }, 1, GRANTED);
  for (const [handle, role] of [['bank', 'bank'], ...Array.from({ length: 20 }, (_, n) => [`x${n}`, 'none'])] as [
    string,
    string,
  ][]) {
    const custom = { role, pad: 'x'.repeat(20_000) };
    const signer = { handle, format: 'ed25519-raw', public: Buffer.from(key).toString('base64'), custom };
    books.create(Kind.signer, signer, 1, GRANTED);
  }
  const row = findHandle(books.state, 1, Kind.wallet, 'w');
  expect(isGranted(books.state, 1, 'spend', Kind.wallet, row, { keys: [key], bearer: null })).toBe(true);
});
