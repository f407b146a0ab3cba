/** The audit against lies in a snapshot, told by somebody who holds the server's key. */
import { cpSync, rmSync, unlinkSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { heapEntries } from '../../src/cli/audit/heap-entries.ts';
import { reseeded } from '../../src/cli/audit/indexes.ts';
import { KnownTokens } from '../../src/cli/audit/known-tokens.ts';
import { apply } from '../../src/core/apply.ts';
import { hex } from '../../src/core/bytes.ts';
import { bytesOf, dropParts, dumpState, type StateExtra } from '../../src/core/dump.ts';
import { EntryType, type TokenEntry } from '../../src/core/entry.ts';
import { findHandle } from '../../src/core/finding.ts';
import { Kind } from '../../src/core/kinds.ts';
import { emptyState, type State } from '../../src/core/state.ts';
import { UsedTokens } from '../../src/core/used-tokens.ts';
import type { Table } from '../../src/memory/index.ts';
import { sha256 } from '../../src/proof/digest.ts';
import { sign, verifyBy } from '../../src/proof/verify.ts';
import { entryCodec } from '../../src/storage/codec.ts';
import { realDisk } from '../../src/storage/disk.ts';
import { JOURNAL_START, type JournalPosition } from '../../src/storage/journal.ts';
import { readJournal } from '../../src/storage/journal-reader.ts';
import { takeSnapshot } from '../../src/storage/snapshot.ts';
import { snapshotName } from '../../src/storage/snapshot-format.ts';
import { packValue } from '../../src/storage/values.ts';
import { connect, makeKeys } from '../support/client.ts';
import { freshDirectory } from '../support/directory.ts';
import { makeKit } from '../support/kit.ts';
import { startServer } from '../support/server.ts';
import { copyOf, filesIn, framesOf, keyIn, look, plainBooks, prunedBooks, resnapped, tokenBooks } from './books.ts';

const plain = await plainBooks();
const pruned = await prunedBooks();
const tokens = await tokenBooks();

describe("lies in a snapshot that the server's key signs", () => {
  const slotOf = (state: State) => {
    for (let slot = 0; slot < state.balances.size; slot++) if (state.balances.available(slot) > 0) return slot;
    throw new Error('no balance');
  };
  test.each<[string, (state: State, extra: StateExtra, at: JournalPosition) => void, RegExp]>([
    [
      'one balance',
      (state) => state.balances.add(slotOf(state), 1, 0),
      /has \d+ available, and its postings add up to/,
    ],
    ['the moment of a balance', (state) => state.balances.add(slotOf(state), 0, 1), /differs .* in balance-moment/],
    ['a balance more', (state) => void state.balances.create(1, 1, 0), /differs .* in balance-/],
    ['a limit', (state) => state.balances.setLimit(slotOf(state), 0, -500, 0), /balance-limit/],
    ['a supply', ({ supply }) => supply.set([...supply.keys()][0]!, 1n), /its supply is given as 1/],
    ['a count', ({ counts }) => counts.set([...counts.keys()][0]!, 77), /differs .* in counts/],
    ['a status', (state) => state.rows.status.set(3, 1 - state.rows.status.get(3)), /row-status/],
    ['a dropped record', (state) => state.rows.flags.set(3, 1), /row-flags/],
    ['a ledger less', (_, extra) => void extra.ledgerRows.pop(), /ledgerRows/],
    ['an intent less', ({ open }) => open.delete([...open].at(-1)![0]), /open/],
    ['a record that is not found', (state) => unindex(state), /its index handles/],
    ['a record of lists', (state) => state.terms.push(77, state.order.length - 1), /its index terms/],
    ['a record more', (state) => void state.rows.lines.push(), /entries|row/],
    ['a place in its log', (state) => state.log.set(3, state.log.get(4)), /its index log/],
    ['an event that nobody hears of', (state) => state.log.set(3, 0), /its index log/],
    ['what makes no state', (_, extra) => void Object.assign(extra, { ledgerRows: undefined }), /it is no state: /],
    ['the chain that leads to it', (_, __, at) => void at.chain[0]!++, /of another journal: its chain differs/],
    ['its moment', (_, __, at) => void at.moment--, /its moment is not that of its frame/],
  ])('%s', async (_, lie, what) => {
    const directory = await resnapped(pruned, lie);
    const { finding } = await look(directory);
    expect(finding?.kind).toBe('lie');
    expect(finding?.file).toContain('snapshot-');
    expect(finding?.what).toMatch(what);
  });

  test.each<[string, (state: State) => void, RegExp]>([
    ['tokens that the journal has are not in it', forgetTokens, /not among those that the first snapshot/],
    ['an entry stands as a token in its log', (state) => state.log.set(0, 0), /entry 2 lies elsewhere/],
    ['a token more than there were entries', (state) => void state.log.push(0), /its log is of \d+ entries/],
  ])('where the first segments are gone: %s', async (_, lie, what) => {
    const whole = copyOf(tokens);
    unlinkSync(join(whole, filesIn(whole, /^snapshot-/).at(-1)!));
    expect((await look(whole)).finding).toBeNull();
    const { finding } = await look(await resnapped(whole, lie));
    expect(finding?.kind).toBe('lie');
    expect(finding?.what).toMatch(what);
  });

  test('where the first segments are gone: fewer entries than it says', async () => {
    const whole = copyOf(pruned);
    unlinkSync(join(whole, filesIn(whole, /^snapshot-/).at(-1)!));
    const lying = await resnapped(whole, (state, extra) => {
      const few = emptyState(entryCodec, extra.hashSeed);
      for (const found of heapEntries(state, { file: '' })) {
        if (few.log.length === 3) break;
        apply(few, found!.entry, found!.bytes, 0, found!.bytes.length);
      }
      Object.assign(extra, dumpState(few).extra);
      Object.assign(state, few);
    });
    const what = expect.stringMatching(/^it holds 3 entries, not \d+$/);
    expect((await look(lying)).finding).toMatchObject({ kind: 'lie', what });
  });

  test('of an entry in the middle of a frame, with the chain and moment of that', async () => {
    const copy = copyOf(plain);
    const frames = framesOf(plain);
    const index = frames.findIndex(({ entries }, at) => at > 2 && entries.length > 1);
    const seq = frames.slice(0, index).reduce((sum, { entries }) => sum + entries.length, 1);
    const state = emptyState(entryCodec, 1);
    const key = keyIn(plain);
    let end: JournalPosition | null = null;
    readJournal(realDisk, plain, JOURNAL_START, {
      verifyFrame: () => true,
      onEntry(entry, bytes, from, to, at) {
        if (at <= seq) apply(state, entry, bytes, from, to);
      },
      onFrame(frame) {
        if (frame.seq >= seq) end ??= { seq: frame.seq, chain: frame.chain, moment: frame.moment };
      },
    });
    const { extra, parts } = dumpState(state);
    const content = { ...end!, seq, extra: packValue(extra), parts };
    await takeSnapshot(realDisk, copy, content, { sign: (hash) => sign(hash, key), verify: verifyBy(key.public) });
    const what = `entry ${seq} does not end a frame`;
    expect((await look(copy)).finding).toMatchObject({ kind: 'lie', file: join(copy, snapshotName(seq)), what });
  });

  test.each([
    ['after the frame behind it', 3_600_000, 'its moment is after that of the next frame'],
    ['before its last entry', -3_600_000, 'its moment is not that of its frame'],
  ])('where the journal begins right behind it: a moment %s', async (_, more, what) => {
    const directory = freshDirectory();
    const server = await startServer({ directory, flags: ['--snapshot-every', '5', '--segment-bytes-max', '4096'] });
    const kit = makeKit(connect(server), makeKeys());
    // Each fills a segment.
    const custom = { name: 'x'.repeat(5000) };
    for (let i = 0; i < 20; i++) await kit.make('wallets', { handle: `fat-${i}`, custom });
    await server.stop();
    const whole = copyOf(directory);
    unlinkSync(join(whole, filesIn(whole, /^snapshot-/).at(-1)!));
    expect((await look(await resnapped(whole, () => {}))).finding).toBeNull();
    const lying = await resnapped(whole, (_state, _extra, at) => void Object.assign(at, { moment: at.moment + more }));
    const [snapshot] = filesIn(lying, /^snapshot-/);
    expect((await look(lying)).finding).toMatchObject({ kind: 'lie', file: join(lying, snapshot!), what });
  });

  test('a token is looked for in it up to its own entry, but for what it has forgotten', () => {
    const [tokens, known] = [new UsedTokens(1), new KnownTokens(new UsedTokens(1), 1)];
    const entryOf = (name: string, exp: number) =>
      ({ type: EntryType.token, handle: hex(sha256(name)), exp }) as TokenEntry;
    // When the second is taken, the first is over by any clock.
    const [over, used] = [entryOf('over', 1000), entryOf('used', 1361)];
    for (const { handle, exp } of [over, used]) tokens.use(handle, exp);
    known.take(tokens, 7);
    expect([6, 7, 8].map((seq) => known.covers(used, { file: '', seq }))).toEqual([true, true, false]);
    for (const entry of [over, used]) known.check(entry, { file: '' });
    expect(() => known.check(entryOf('other', 1361), { file: '' })).toThrow('not among those that the first snapshot');
    // Nobody uses one again.
    expect(() => known.check(used, { file: '' })).toThrow('its token was used before');
  });

  test('a used token that is not found', async () => {
    const directory = await resnapped(tokens, unindexTokens);
    expect((await look(directory)).finding).toMatchObject({
      kind: 'lie',
      what: expect.stringContaining('its index tokens'),
    });
  });

  test('a table that grew in another way, as those of 0.2.0 did: that is none', async () => {
    const directory = await resnapped(pruned, ({ handles, luids, terms }) => {
      for (const table of [handles, luids, (terms as unknown as { heads: Table }).heads]) {
        const hashes = Array.from({ length: 20_000 }, (_, n) => Math.imul(n, 0x9e3779b1) >>> 0);
        for (const hash of hashes) table.insert(hash, 1);
        for (const hash of hashes) table.remove(hash, 1);
      }
    });
    expect((await look(directory)).finding).toBeNull();
  });

  test('of nothing but the seed, as where a start could use no snapshot: that is none', async () => {
    for (const books of [pruned, tokens]) {
      const directory = await resnapped(books, reseed);
      const { finding, snapshots, notes } = await look(directory);
      expect([finding, snapshots, notes.length]).toEqual([null, 2, (await look(books)).notes.length]);
    }
  });

  test.each<[string, (state: State) => void, string]>([
    ['a record that is not found', (state) => unindex(state), 'handles'],
    ['a used token that is not found', (state) => unindexTokens(state), 'tokens'],
  ])('of another seed, by which it hides %s', async (_, lie, name) => {
    const directory = await resnapped(tokens, (state, extra) => {
      reseed(state, extra);
      lie(state);
    });
    const what = expect.stringContaining(`its index ${name}`);
    expect((await look(directory)).finding).toMatchObject({ kind: 'lie', what });
  });

  test('of another seed, in which and before which the chains of tokens lead in circles', async () => {
    const [, newest] = filesIn(tokens, /^snapshot-/) as [string, string];
    const copy = copyOf(tokens);
    rmSync(join(copy, newest));
    let slots = 0;
    const older = await resnapped(copy, ({ tokens }) => {
      slots = circle(tokens);
    });
    const newer = await resnapped(tokens, (state, extra) => {
      reseed(state, extra);
      circle(state.tokens, slots);
    });
    for (const name of filesIn(newer, /^(snapshot|part)-/))
      cpSync(join(newer, name), join(older, name), { force: name === newest });
    expect((await look(older)).finding).toMatchObject({
      kind: 'lie',
      what: expect.stringContaining('no more tokens are chained than are remembered'),
    });
  });

  test('that have one seed, and the snapshot says another: a start on it would find no record', async () => {
    const directory = await resnapped(pruned, (_, extra) => void extra.hashSeed++);
    const what = expect.stringContaining('its index');
    expect((await look(directory)).finding).toMatchObject({ kind: 'lie', what });
  });
});

function forgetTokens(state: State): void {
  Object.assign(state, { tokens: new UsedTokens(state.hashSeed) });
}

function reseed(state: State, extra: StateExtra): void {
  extra.hashSeed = (state.hashSeed ^ 0x5eed) >>> 0;
  Object.assign(state, reseeded(state, extra.hashSeed));
}

/** Each of the first slots is chained to itself; how many there are. */
function circle(tokens: UsedTokens, max = Number.POSITIVE_INFINITY): number {
  const parts = tokens.dump();
  const next = parts.find(({ name }) => name.startsWith('token-next') && !name.endsWith('.head'))!;
  const bytes = bytesOf(next);
  const slots = Math.min(max, bytes.length / 4);
  for (let slot = 0; slot < slots; slot++) new DataView(bytes.buffer).setUint32(slot * 4, slot + 1, true);
  tokens.dump = () => parts.map((part) => (part === next ? { name: part.name, final: false, pieces: [bytes] } : part));
  return slots;
}

/** Its columns have all of them, and nothing leads there. */
function unindexTokens(state: State): void {
  const parts = state.tokens.dump();
  const pieces = new Map(parts.map((part) => [part.name, bytesOf(part)]));
  dropParts(parts);
  const empty = new UsedTokens(state.hashSeed).dump();
  for (const part of empty) if (part.name.startsWith('tokens')) pieces.set(part.name, bytesOf(part));
  dropParts(empty);
  const spoilt = new UsedTokens(state.hashSeed);
  spoilt.load(pieces, state.tokens.extra());
  Object.assign(state, { tokens: spoilt });
}

function unindex(state: State): void {
  const row = 3;
  const handle = findHandle(state, 1, Kind.wallet, 'x');
  expect(handle).toBe(-1);
  state.handles.insert(0x12345678, row);
}
