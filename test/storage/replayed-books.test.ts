/**
 * Books that are read back with another thread ahead, which hashes names and touches memory, and with a look at what the
 * next entries change: they are those that live traffic made, to the last byte of every index.
 */
import { createHash } from 'node:crypto';
import { beforeAll, describe, expect, test } from 'vitest';
import { lookAheadOfApply } from '../../src/core/ahead.ts';
import { apply } from '../../src/core/apply.ts';
import { bytesOf, dropParts, dumpState } from '../../src/core/dump.ts';
import { EntryType, type Facts } from '../../src/core/entry.ts';
import { Kind } from '../../src/core/kinds.ts';
import { emptyState, type State } from '../../src/core/state.ts';
import { compileUserSchema } from '../../src/http/user-schemas.ts';
import { decode, entryCodec } from '../../src/storage/codec.ts';
import { JOURNAL_START, Journal } from '../../src/storage/journal.ts';
import { type ReplayOptions, replayJournal } from '../../src/storage/journal-reader.ts';
import { Books, issue, limit, transfer } from '../core/books.ts';
import { type FakeDisk, randomFrom } from './fake-disk.ts';
import { commit, DIRECTORY, freshDisk, JOURNAL_OPTIONS, server } from './kit.ts';

const SEED = 77;
/** Chunks so small that the books fill some, and frames begin in one and end in the next. */
const empty = () => emptyState(entryCodec, SEED, { chunkBytes: 1 << 17 });

/** Names whose letters are one byte, two, four and a surrogate pair, and some that JSON writes with a backslash. */
const NAMES = ['ana', 'luz', 'ñandú', 'ÿ', '→', '🦙', 'a\\b', 'a"b', 'tab\there', '\u0001', 'x'.repeat(70), 'w'];

const access = [{ action: 'any', record: 'any' }];

/** Records of each kind, with and without what the state asks of it. */
const OTHERS: [Kind, Record<string, unknown>][] = [
  [Kind.bridge, { handle: 'bank', config: { server: 'http://127.0.0.1:1' }, traits: ['statuses'], access }],
  [Kind.bridge, { handle: 'quiet', config: { server: 'http://127.0.0.1:1' }, schema: 'rest' }],
  [
    Kind.effect,
    { handle: 'bell', signal: 'intent-created', action: { schema: 'webhook', endpoint: 'http://127.0.0.1:2' } },
  ],
  [Kind.signer, { handle: 'key', public: Buffer.alloc(32, 3).toString('base64'), schema: 'ed', access }],
  [Kind.signer, { handle: 'other', public: Buffer.alloc(32, 4).toString('base64'), access: [] }],
  [Kind.circle, { handle: 'ring', custom: { access, schema: 'no' } }],
  [Kind.wallet, { handle: 'bare', custom: { bridge: 'bank', routes: [1] } }],
  [Kind.wallet, { handle: 'routed', schema: 'short ñ', routes: [{ action: 'forward', target: 'ana' }], access }],
  [Kind.wallet, { handle: 'unrouted', schema: 'short', routes: [], access: [] }],
  [Kind.wallet, { handle: 'bank:1', bridge: 'bank', schema: 'account' }],
  [Kind.anchor, { handle: 'anchored', wallet: 'ana', target: '\u0002 "here"', schema: 'alias' }],
  [Kind.symbol, { handle: 'gold', factor: 1, access }],
];

/** What they ask of records that come later. */
const NORMS: typeof OTHERS = [
  [Kind.schema, { handle: 'short', record: 'wallet', format: 'json-schema', schema: { maxProperties: 50 } }],
  [Kind.policy, { handle: 'known', schema: 'access', record: 'intent', values: access }],
];

function filled(): Books {
  const books = new Books(empty());
  books.state.compileSchema = compileUserSchema;
  books.create(Kind.ledger, { handle: 'main', access: [{ action: 'any', record: 'any' }] }, 0);
  books.symbols('usd', 'eur').wallets(...NAMES);
  const createAll = (all: typeof OTHERS) => {
    for (const [kind, value] of all) expect(books.create(kind, value), JSON.stringify(value)).toBeInstanceOf(Array);
  };
  createAll(OTHERS);
  books.create(Kind.ledger, { handle: 'second', config: { a: 1 }, access: [{ action: 'any' }] }, 0);
  const data = { handle: 'routed again', schema: 'new', access: [] };
  expect(books.update(Kind.wallet, 'routed', data)).toBeInstanceOf(Array);
  expect(books.drop(Kind.wallet, 'bare')).toBeInstanceOf(Array);
  const random = randomFrom(9);
  const any = () => NAMES[Math.floor(random() * NAMES.length)]!;
  books.intent(...NAMES.map((name) => issue(name, 10_000)));
  for (let number = 0; number < 1500; number++) {
    const more = { handle: `${any()} ${number}`, ...(number % 5 === 0 ? { schema: 'ñ' } : {}) };
    const claims = [transfer(any(), any(), number % 3)];
    if (number % 7 === 0) claims.push(transfer(any(), any(), 1), { ...issue('w', 1), target: any() });
    if (number % 11 === 0) claims.push(limit(any(), 'maxBalance', 1_000_000));
    // One that is rejected.
    if (number % 13 === 0) claims.push(transfer('w', 'ana', 1, 'eur'));
    books.create(Kind.intent, { ...more, claims });
    if (number % 100 === 0) books.wallets(`wallet ${number}`);
  }
  createAll(NORMS);
  return books;
}

/** Every part of a state as it would go to disk. */
function dumpOf(state: State): unknown {
  const { extra, parts } = dumpState(state);
  const hashes = parts.map((part) => [part.name, createHash('sha256').update(bytesOf(part)).digest('hex')]);
  dropParts(parts);
  return { extra, hashes };
}

describe('books read back', () => {
  let live: Books;
  let disk: FakeDisk;

  beforeAll(async () => {
    live = filled();
    disk = freshDisk();
    const journal = Journal.open(disk, DIRECTORY, JOURNAL_START, { ...JOURNAL_OPTIONS, segmentBytesMax: 300_000 });
    for (let at = 0; at < live.entries.length; at += 90) {
      for (const bytes of live.entries.slice(at, at + 90)) journal.add(decode(bytes, 0, bytes.length));
      await commit(journal, at);
    }
    await journal.close();
    expect(disk.readdir(DIRECTORY).length).toBeGreaterThan(2);
    expect(live.state.heap.used).toBeGreaterThan(4 << 17);
  });

  /** The books, and of how many intents the names had been hashed. */
  function readBack(options: (state: State) => Partial<ReplayOptions>): { dump: unknown; hashed: number } {
    const state = empty();
    let hashed = 0;
    replayJournal(
      disk,
      DIRECTORY,
      JOURNAL_START,
      {
        verifyFrame: server.verify,
        onEntry(entry: Facts, bytes, from, to) {
          if (entry.type === EntryType.intent && 'outline' in entry && entry.outline.hashes !== null) hashed++;
          apply(state, entry, bytes, from, to);
        },
        ...options(state),
      },
      0,
    );
    return { dump: dumpOf(state), hashed };
  }

  test('are the same with names hashed ahead, memory touched ahead, and both', () => {
    const dump = dumpOf(live.state);
    const intents = live.entries.filter((bytes) => decode(bytes, 0, bytes.length).type === EntryType.intent).length;
    const room = (state: State) => () => state.heap.room();
    const onAhead = (state: State) => (entries: readonly Facts[], from: number) =>
      lookAheadOfApply(state, entries, from, 0);
    expect(readBack(() => ({}))).toEqual({ dump, hashed: 0 });
    expect(readBack(() => ({ hashSeed: SEED }))).toEqual({ dump, hashed: intents });
    expect(readBack((state) => ({ room: room(state) }))).toEqual({ dump, hashed: 0 });
    const all = (state: State) => ({ hashSeed: SEED, room: room(state), onAhead: onAhead(state) });
    expect(readBack(all)).toEqual({ dump, hashed: intents });
  });

  test('what is written in memory that is touched ahead stays', () => {
    const buffer = new SharedArrayBuffer(1 << 17);
    const bytes = new Uint8Array(buffer).fill(255);
    readBack(() => ({ room: () => [{ buffer, from: 0 }] }));
    // All but the last segment's frames were followed by touching before the last were looked through.
    expect(bytes.every((byte) => byte === 255)).toBe(true);
  });
});
