/**
 * The audit against lies told by somebody who holds the server's key and rewrites the books so that CRC, chain and
 * signatures fit; and against books of another key.
 */
import { cpSync, readFileSync, rmSync, unlinkSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { EntryAudit } from '../../src/cli/audit/entries.ts';
import { heapEntries } from '../../src/cli/audit/heap-entries.ts';
import { reseeded } from '../../src/cli/audit/indexes.ts';
import { KnownTokens } from '../../src/cli/audit/known-tokens.ts';
import { Signatures } from '../../src/cli/audit/signatures.ts';
import { apply } from '../../src/core/apply.ts';
import { hex } from '../../src/core/bytes.ts';
import { bytesOf, dropParts, dumpState, type StateExtra } from '../../src/core/dump.ts';
import {
  type CreateEntry,
  type Entry,
  EntryType,
  type IntentEntry,
  type StepEntry,
  type StoredProof,
  type TokenEntry,
  type UpdateEntry,
} from '../../src/core/entry.ts';
import { findHandle } from '../../src/core/finding.ts';
import { Kind } from '../../src/core/kinds.ts';
import { makeLuid } from '../../src/core/luid.ts';
import { sealCustom } from '../../src/core/proofs.ts';
import { emptyState, SERVER_LEDGER, type State } from '../../src/core/state.ts';
import { UsedTokens } from '../../src/core/used-tokens.ts';
import type { Table } from '../../src/memory/index.ts';
import { ownCustom } from '../../src/own-records.ts';
import { canon } from '../../src/proof/canon.ts';
import { proofDigest, sha256 } from '../../src/proof/digest.ts';
import { createKeyPair, encodeBase64 } from '../../src/proof/keys.ts';
import { sign, verifyBy } from '../../src/proof/verify.ts';
import { encode, entryCodec } from '../../src/storage/codec.ts';
import { realDisk } from '../../src/storage/disk.ts';
import { segmentSeq } from '../../src/storage/format.ts';
import { FrameBuffer } from '../../src/storage/frame-buffer.ts';
import { JOURNAL_START, type JournalPosition } from '../../src/storage/journal.ts';
import { readJournal } from '../../src/storage/journal-reader.ts';
import { END_FILE, noteEnd } from '../../src/storage/known-end.ts';
import { journalStart } from '../../src/storage/segments.ts';
import { takeSnapshot } from '../../src/storage/snapshot.ts';
import { snapshotName } from '../../src/storage/snapshot-format.ts';
import { packValue } from '../../src/storage/values.ts';
import { bearer, connect, makeKeys, record } from '../support/client.ts';
import { freshDirectory } from '../support/directory.ts';
import { FIRST_FORMAT } from '../support/first-format.ts';
import { issue, makeKit, openLedger, transfer } from '../support/kit.ts';
import { SECOND_FORMAT } from '../support/second-format.ts';
import { startServer } from '../support/server.ts';
import {
  ayni,
  copyOf,
  filesIn,
  framesOf,
  keyIn,
  look,
  plainBooks,
  prunedBooks,
  reportOf,
  resnapped,
  rewritten,
  tokenBooks,
} from './books.ts';
import { type Frames, flipped, isSystem, isTransfer, pick, pickTransfer, pickWallet, replaceData } from './lies.ts';

const plain = await plainBooks();
const pruned = await prunedBooks();
const tokens = await tokenBooks();

describe("lies that the server's key signs", () => {
  test.each<[string, (frames: Frames) => void, 'lie' | 'decided', RegExp]>([
    [
      'a larger transfer, balanced',
      (frames) => {
        const { postings } = pickTransfer(frames).outcome;
        postings[2]! -= 1;
        postings[6]! += 1;
      },
      'decided',
      /outcome\.postings\.2/,
    ],
    [
      'a posting that makes money',
      (frames) => void pickTransfer(frames).outcome.postings[6]!++,
      'decided',
      /postings\.6/,
    ],
    ['another wallet', (frames) => void pickTransfer(frames).outcome.postings[4]!++, 'decided', /postings\.4/],
    ['the proof of a client', (frames) => forgeProof(pickTransfer(frames)), 'lie', /proof 0 is not a signature of/],
    ['the proof of a client over custom', (frames) => forgeCustom(pickTransfer(frames)), 'lie', /proof 0 is not/],
    ['no proof', (frames) => void pickTransfer(frames).proofs.pop(), 'lie', /nobody signed/],
    ['the seal', (frames) => forgeSeal(pickWallet(frames)), 'lie', /did not seal/],
    ['a moment', (frames) => void pickTransfer(frames).moment--, 'lie', /time goes back|luid|seal/],
    ['two records in another order', (frames) => turnRound(frames), 'lie', /time goes back/],
    [
      'a later moment',
      (frames) => void Object.assign(pickTransfer(frames), { moment: Date.now() + 60_000 }),
      'lie',
      /after it was written/,
    ],
    [
      'a moment of clearing',
      (frames) => void pickTransfer(frames).outcome.moment--,
      'lie',
      /of another moment than its frame/,
    ],
    [
      'the data',
      (frames) => void Object.assign(pickWallet(frames), { data: '{"handle":"mine"}' }),
      'lie',
      /hash is not that/,
    ],
    [
      'the data and its hash',
      (frames) => replaceData(pickWallet(frames), '{"handle":"mine"}'),
      'lie',
      /proof 0|did not seal/,
    ],
    [
      'what a client says in a proof, out of order',
      (frames) => void Object.assign(pickTransfer(frames).proofs[0]!, { custom: '{"b":1,"a":2}' }),
      'lie',
      /custom of proof 0 is not canonical/,
    ],
    [
      'what a client says in a proof, no object',
      (frames) => void Object.assign(pickTransfer(frames).proofs[0]!, { custom: '[]' }),
      'lie',
      /custom of proof 0 is not canonical/,
    ],
    ['data out of order', (frames) => unsorted(pickTransfer(frames)), 'lie', /not canonical/],
    [
      'a handle beside its data',
      (frames) => void Object.assign(pickWallet(frames), { handle: 'mine' }),
      'decided',
      /handle would be/,
    ],
    [
      'a refusal instead of a transfer',
      (frames) => {
        Object.assign(pickTransfer(frames).outcome, {
          steps: ['failed', 'aborted', 'rejected'],
          reason: 'core.insufficient-balance',
          detail: 'none',
          postings: [],
        });
      },
      'decided',
      /outcome\.steps\.0 would be/,
    ],
    [
      'a transfer instead of a refusal',
      (frames) => {
        const done = pickTransfer(frames).outcome;
        const refused = pick<IntentEntry>(frames, (entry) => 'outcome' in entry && entry.outcome.reason !== '');
        refused.outcome = { ...done, moment: refused.outcome.moment };
      },
      'decided',
      /outcome\./,
    ],
    [
      'a reason',
      (frames) => {
        pick<IntentEntry>(frames, (entry) => 'outcome' in entry && entry.outcome.reason !== '').outcome.reason =
          'core.other';
      },
      'decided',
      /outcome\.reason/,
    ],
    [
      'a commit instead of an abort',
      (frames) => {
        const step = pick<IntentEntry>(frames, (e) => e.type === EntryType.step && e.outcome.steps[0] === 'aborted');
        step.outcome.steps = ['committed', 'completed'];
      },
      'decided',
      /outcome\.steps\.0/,
    ],
    [
      'a step left out',
      (frames) => void drop(frames, (entry) => entry.type === EntryType.step && entry.outcome.steps[0] === 'aborted'),
      'decided',
      /should follow/,
    ],
    [
      'a step out of turn',
      (frames) => {
        const step = pick<Entry>(frames, (entry) => entry.type === EntryType.step);
        frames.at(-1)!.entries.push({ ...step });
      },
      'lie',
      /outcome is of another moment/,
    ],
    ['an entry left out', (frames) => void drop(frames, (entry) => isTransfer(entry)), 'decided', /would be/],
    [
      'an entry twice',
      (frames) => twice(frames, (entry) => isTransfer(entry)),
      'lie',
      /luid is that of another record/,
    ],
    ['a luid of another kind', (frames) => reluid(pickTransfer(frames), 'wlt'), 'lie', /another kind or moment/],
    [
      'no luid',
      (frames) => void Object.assign(pickTransfer(frames), { luid: '$int.!!!!!!!!!!!!!!!!!' }),
      'lie',
      /luid is none/,
    ],
    [
      'a ledger without its first signer',
      (frames) => void drop(frames, isSystem),
      'decided',
      /first signer|should follow/,
    ],
    ["another key as the server's", (frames) => rekey(frames), 'lie', /another key/],
    [
      'a record nobody would let in',
      (frames) => replaceData(pickWallet(frames), '{"handle":"a b"}'),
      'decided',
      /not let in/,
    ],
  ])('%s', async (_, lie, kind, what) => {
    const directory = await rewritten(plain, lie);
    const { finding } = await look(directory, { key: keyIn(plain).public });
    expect(finding?.what).toMatch(what);
    expect(finding?.kind).toBe(kind);
    expect(finding?.file).toContain('journal-');
    expect(finding?.seq).toBeGreaterThan(0);
    expect(finding?.byte).toBeGreaterThan(0);
  });

  test('a step of another moment than its outcome is found among what other rules decided', async () => {
    const directory = await rewritten(plain, (frames) => {
      pick<StepEntry>(frames, ({ type }) => type === EntryType.step).moment--;
    });
    const what = 'its moment is not that of its outcome';
    expect((await look(directory, { otherRules: true })).finding).toMatchObject({ kind: 'lie', what });
  });

  test('a ledger whose first record has the name of its signer, and is a wallet', async () => {
    const directory = await rewritten(plain, (frames) => {
      const signer = frames.flatMap(({ entries }) => entries).filter(isSystem)[1] as CreateEntry;
      signer.kind = Kind.wallet;
      reluid(signer, 'wlt');
      replaceData(signer, canon({ handle: 'system' }));
      const { custom } = signer.proofs[0]!;
      const key = keyIn(plain);
      signer.proofs = [{ public: key.public, result: sign(proofDigest(hex(signer.hash), custom), key), custom }];
      signer.seal = sign(proofDigest(hex(signer.hash), sealCustom(signer)), key);
    });
    const what = 'the server would be its first signer';
    expect((await look(directory)).finding).toMatchObject({ kind: 'decided', what });
  });

  test('are found in books of version 1 as well, where an intent states its hash', async () => {
    const key = keyIn(plain);
    const honest = await rewritten(plain, () => {}, key, FIRST_FORMAT);
    expect((await look(honest)).finding).toBeNull();
    const lying = await rewritten(
      plain,
      (frames) => {
        const entry = pickTransfer(frames);
        entry.hash = flipped(entry.hash, 5);
      },
      key,
      FIRST_FORMAT,
    );
    const what = expect.stringMatching(/hash is not that of its data/);
    expect((await look(lying)).finding).toMatchObject({ kind: 'lie', what });
  });

  test('end the command with 1, the lie as its last line', async () => {
    const directory = await rewritten(plain, (frames) => forgeProof(pickTransfer(frames)));
    const ran = await ayni('verify', directory);
    expect(ran.code).toBe(1);
    expect(ran.out).toMatch(/\nLIE: .*journal-\d{20}\.ayj, byte \d+, entry \d+, \$int\..{17}: proof 0 .*\n$/);
    const json = reportOf(await ayni('verify', directory, '--json'));
    expect(json).toMatchObject({ ok: false, finding: { kind: 'lie', seq: expect.any(Number) } });
  });

  test('the finding names file, byte, entry and luid', async () => {
    let luid = '';
    const directory = await rewritten(plain, (frames) => {
      const entry = pickTransfer(frames);
      forgeProof(entry);
      luid = entry.luid;
    });
    const entries = framesOf(plain).flatMap((frame) => frame.entries);
    const seq = entries.findIndex((entry) => entry.luid === luid) + 1;
    const { finding } = await look(directory);
    expect(finding).toMatchObject({ seq, luid });
    const bytes = readFileSync(finding!.file);
    expect(bytes.toString('latin1', finding!.byte! + 2, finding!.byte! + 24)).toBe(luid);
  });

  test('the first of several lies is told', async () => {
    const directory = await rewritten(plain, (frames) => {
      const all = frames.flatMap((frame) => frame.entries).filter((entry) => isTransfer(entry)) as IntentEntry[];
      forgeProof(all[2]!);
      all[5]!.outcome.postings[2]!--;
      forgeProof(all[7]!);
    });
    expect((await look(directory)).finding?.what).toMatch(/proof 0 is not/);
  });

  test('what other rules decided is counted where that is asked for, other lies still end it', async () => {
    const reason = (frames: Frames) => {
      pick<IntentEntry>(frames, (entry) => 'outcome' in entry && entry.outcome.reason !== '').outcome.detail = 'no';
    };
    const report = await look(await rewritten(plain, reason), { otherRules: true });
    expect(report.finding).toBeNull();
    expect(report.counts.otherwise).toBe(1);
    const both = await rewritten(plain, (frames) => {
      reason(frames);
      pickTransfer(frames).outcome.postings[6]!++;
    });
    expect((await look(both, { otherRules: true })).finding).toMatchObject({
      kind: 'lie',
      what: expect.stringContaining('postings of an intent add up'),
    });
  });
});

describe('books by another key', () => {
  test('are told apart from the ones with the key that is known', async () => {
    const forger = createKeyPair();
    const directory = await rewritten(plain, () => {}, forger);
    const { finding } = await look(directory, { key: keyIn(plain).public });
    expect(finding).toMatchObject({ kind: 'lie', what: 'this frame is not signed by the server' });
    expect((await look(directory, { key: forger.public })).finding).toMatchObject({ kind: 'lie' });
  });

  test('a snapshot of another server', async () => {
    const directory = await resnapped(pruned, () => {}, createKeyPair());
    expect((await look(directory)).finding).toMatchObject({ kind: 'lie', what: expect.stringContaining('not signed') });
  });
});

describe('books on which a server has stopped, and which have gone on since', () => {
  const ends = (directory: string) => {
    const found: JournalPosition[] = [];
    const [first] = filesIn(directory, /^journal/);
    const after = journalStart(realDisk, directory);
    readJournal(realDisk, directory, after, {
      verifyFrame: () => null,
      onEntry() {},
      onFrame: (end) => found.push(end),
    });
    expect(segmentSeq(first!)).toBe(after.seq + 1);
    return [after, ...found.map(({ seq, chain, moment }) => ({ seq, chain, moment }))];
  };
  /** A copy with a note that a server stopped there. */
  const stopped = (directory: string, end: JournalPosition) => {
    const copy = copyOf(directory);
    noteEnd(realDisk, copy, end, (hash) => sign(hash, keyIn(directory)));
    return copy;
  };

  test('go on with the frame that was the last then', async () => {
    for (const directory of [plain, pruned]) {
      const all = ends(directory);
      for (const end of [all[0]!, all[1]!, all.at(-2)!, all.at(-1)!]) {
        expect((await look(stopped(directory, end))).finding).toBeNull();
      }
    }
    const [first] = ends(pruned);
    const gone = stopped(pruned, { ...first!, seq: first!.seq - 1, chain: sha256('what is gone') });
    expect((await look(gone)).finding).toBeNull();
  });

  test('or are others, of which the journal was put in the place of theirs', async () => {
    const all = ends(plain);
    const end = all.at(-5)!;
    // A server that had the same books as far as there, and another payment then.
    const other = await rewritten(plain, (frames) => void frames.splice(all.length - 8, 1));
    noteEnd(realDisk, other, { ...end, seq: end.seq - 1 }, (hash) => sign(hash, keyIn(plain)));
    const found = (await look(other)).finding;
    expect(found).toMatchObject({ kind: 'lie', file: join(other, END_FILE), seq: end.seq - 1 });
    expect(found!.what).toContain(`a server stopped properly where it led to ${hex(end.chain)}, here it leads to `);
    const [before] = ends(pruned);
    const first = await look(stopped(pruned, { ...before!, chain: sha256('others') }));
    expect(first.finding).toMatchObject({ kind: 'lie', seq: before!.seq });
  });

  test('or have no frame that ends there', async () => {
    const whole = ends(plain);
    const at = whole.findIndex(({ seq }, index) => index > 0 && seq - whole[index - 1]!.seq > 1);
    const inside = { ...whole[at]!, seq: whole[at]!.seq - 1 };
    const { finding } = await look(stopped(plain, inside));
    expect(finding).toMatchObject({
      kind: 'lie',
      seq: inside.seq,
      what: expect.stringContaining('here no frame ends there'),
    });
  });
});

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
      verifyFrame: () => null,
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

describe('what no server does', () => {
  /** The number of a record's row. */
  const rowOf = (frames: Frames, luid: string) =>
    frames
      .flatMap(({ entries }) => entries)
      .filter(({ type }) => type === EntryType.create || type === EntryType.intent)
      .findIndex((entry) => entry.luid === luid);
  const first = (frames: Frames, kind: Kind) =>
    pick<CreateEntry>(frames, (entry) => entry.kind === kind && 'seal' in entry && entry.ledger <= 1);
  const signed = (hash: Uint8Array, key = keyIn(plain)) => {
    const custom = '{"moment":"2026-11-20T10:00:00.000Z"}';
    return { public: key.public, result: sign(proofDigest(hex(hash), custom), key), custom };
  };
  const client = createKeyPair();

  test.each(['ledger', 'signer', 'symbol', 'intent'] as const)('to drop a record of kind %s', async (name) => {
    const kind = Kind[name];
    const directory = await rewritten(plain, (frames) => {
      const { ledger, luid, handle, hash: parent } = first(frames, kind);
      const { moment, entries } = frames.at(-1)!;
      const data = canon({ parent: hex(parent) });
      const [hash, row] = [sha256(data), rowOf(frames, luid)];
      const proofs = [signed(hash, client)];
      entries.push({ type: EntryType.drop, ledger, kind, luid, handle, moment, row, hash, data, proofs });
    });
    const what = `a record of kind ${name} is never dropped`;
    expect((await look(directory)).finding).toMatchObject({ kind: 'lie', what });
  });

  test('to change an intent', async () => {
    const directory = await rewritten(plain, (frames) => {
      const before = pickTransfer(frames);
      const { ledger, kind, luid, handle } = before;
      const { moment, entries } = frames.at(-1)!;
      const data = canon({ ...JSON.parse(before.data), parent: hex(before.hash) });
      const [hash, row] = [sha256(data), rowOf(frames, luid)];
      const entry = { type: EntryType.update, ledger, kind, luid, handle, moment, row, hash, data };
      const [proofs, seal] = [[signed(hash, client)], new Uint8Array(64)];
      const update: UpdateEntry = { ...entry, proofs, seal };
      update.seal = sign(proofDigest(hex(hash), sealCustom(update)), keyIn(plain));
      entries.push(update);
    });
    const what = 'a record of kind intent is never changed';
    expect((await look(directory)).finding).toMatchObject({ kind: 'lie', what });
  });

  test('to take a proof of who is in a circle, which has no address', async () => {
    const directory = await rewritten(plain, (frames) => {
      const { ledger, luid, handle, hash } = pickWallet(frames);
      const { moment, entries } = frames.at(-1)!;
      const [row, proof] = [rowOf(frames, luid), signed(hash, client)];
      entries.push({
        type: EntryType.proof,
        ledger,
        kind: Kind['circle-signer'],
        luid,
        handle,
        moment,
        row,
        proof,
        status: null,
      });
    });
    const what = 'a record of kind circle-signer is never signed again';
    expect((await look(directory)).finding).toMatchObject({ kind: 'lie', what });
  });

  test("to sign for a client: its own key is the default ledger's owner", async () => {
    const what = 'the server signed it as a client, which it never does';
    const lies: ((frames: Frames) => void)[] = [
      (frames) => {
        const entry = pickTransfer(frames);
        entry.proofs = [signed(entry.hash)];
      },
      (frames) => {
        const { ledger, kind, luid, handle, hash } = pickWallet(frames);
        const { moment, entries } = frames.at(-1)!;
        const [row, proof] = [rowOf(frames, luid), signed(hash)];
        entries.push({ type: EntryType.proof, ledger, kind, luid, handle, moment, row, proof, status: null });
      },
    ];
    for (const lie of lies) {
      expect((await look(await rewritten(plain, lie))).finding).toMatchObject({ kind: 'lie', what });
    }
  });

  describe('to make otherwise what it makes by itself:', () => {
    const key = keyIn(plain);
    const stranger = createKeyPair();
    /** Has it say and sign something else. */
    const remake = (entry: CreateEntry, more: Record<string, unknown>, by = key, custom = entry.proofs[0]!.custom) => {
      replaceData(entry, canon({ ...JSON.parse(entry.data), ...more }));
      const result = sign(proofDigest(hex(entry.hash), custom), by);
      entry.proofs = [{ public: by.public, result, custom }];
      entry.seal = sign(proofDigest(hex(entry.hash), sealCustom(entry)), key);
    };
    const SAYS_MORE = 'it says more of the server than any server says of itself';
    const SAYS_ELSE = 'it says something else than the first ledger of any server';
    const SIGNED_OTHERWISE = 'it is not signed as the server signs what it makes by itself';
    const closed = '{"moment":"2026-11-20T10:00:00.000Z","status":"closed"}';
    const systems = (frames: Frames) => frames.flatMap(({ entries }) => entries).filter(isSystem) as CreateEntry[];
    const begun = (frames: Frames) => frames[0]!.entries[0] as CreateEntry;

    test.each<[string, (frames: Frames) => void, string]>([
      ['its signer in the first ledger has rules', (frames) => giveRules(systems(frames)[0]!), SAYS_MORE],
      ['its signer in another ledger has rules', (frames) => giveRules(systems(frames)[1]!), SAYS_MORE],
      ['its signer is signed by a stranger', (frames) => remake(systems(frames)[1]!, {}, stranger), SIGNED_OTHERWISE],
      [
        'its signer is signed with another status',
        (frames) => remake(systems(frames)[1]!, {}, key, closed),
        SIGNED_OTHERWISE,
      ],
      ['its signer is signed twice', (frames) => signTwice(systems(frames)[1]!), SIGNED_OTHERWISE],
      ['the first ledger is signed by a stranger', (frames) => remake(begun(frames), {}, stranger), SIGNED_OTHERWISE],
      [
        'the first ledger is signed with another status',
        (frames) => remake(begun(frames), {}, key, closed),
        SIGNED_OTHERWISE,
      ],
      [
        'the first ledger lets somebody else in',
        (frames) =>
          remake(begun(frames), {
            access: [
              { action: 'any', record: 'any' },
              { action: 'read', record: 'any' },
            ],
          }),
        SAYS_ELSE,
      ],
      ['the first ledger has more to say', (frames) => remake(begun(frames), { custom: { by: 'nobody' } }), SAYS_ELSE],
      ['the first ledger is signed without a word', (frames) => remake(begun(frames), {}, key, null), SIGNED_OTHERWISE],
    ])('%s', async (_, lie, what) => {
      expect((await look(await rewritten(plain, lie))).finding).toMatchObject({ kind: 'lie', what });
    });

    test('its signer is made later than its ledger', async () => {
      const late = await rewritten(plain, (frames) => {
        const signer = systems(frames)[1]!;
        const frame = frames.find(({ entries }) => entries.includes(signer))!;
        // In the same second, by which it is named.
        signer.moment += signer.moment % 1000 === 999 ? -1 : 1;
        frame.moment = Math.max(frame.moment, signer.moment);
        remake(signer, {}, key, ownCustom(signer.moment));
      });
      const { finding } = await look(late);
      expect(finding).not.toBeNull();
      expect(finding!.what).toMatch(/^moment would be|^time goes back/);
    });

    function giveRules(signer: CreateEntry): void {
      remake(signer, { access: [{ action: 'any', record: 'any' }] });
    }

    function signTwice(signer: CreateEntry): void {
      signer.proofs.push(signer.proofs[0]!);
      signer.seal = sign(proofDigest(hex(signer.hash), sealCustom(signer)), key);
    }
  });

  test('to sign for a client, but before 0.3.0: then a client could send its proofs back', async () => {
    const lie = (frames: Frames) => {
      const entry = pickTransfer(frames);
      entry.proofs.push(signed(entry.hash));
    };
    expect((await look(await rewritten(plain, lie, keyIn(plain), SECOND_FORMAT))).finding).toBeNull();
  });
});

test("what only the server's key may is not excused by its proof, where older builds let a client send that back", async () => {
  const directory = freshDirectory();
  const server = await startServer({ directory });
  const keys = makeKeys();
  const client = connect(server, bearer(keys));
  const kit = makeKit(client, keys);
  const { body: ledger } = await client.get('/ledger');
  const all = { action: 'any', record: 'any' };
  const access = [
    { ...all, signer: { public: keys.public } },
    { ...all, bearer: { $signer: { public: keys.public } } },
    // Of the first ledger that is the server.
    { ...all, signer: { $ledger: 'owner' } },
  ];
  const { parent: _, ...data } = ledger.data;
  const changed = await client.put('/ledger', record({ ...data, access, parent: ledger.hash }, keys));
  expect(changed.status, changed.text).toBe(200);
  const symbol = await kit.symbol();
  const [from, to] = [await kit.wallet(), await kit.wallet()];
  await kit.send([issue(from, symbol, 9)]);
  const { luid } = await kit.done([transfer(from, to, symbol, 7)]);
  await server.stop();
  expect((await look(directory, { signedOnly: true })).finding).toBeNull();
  const stolen = await rewritten(
    directory,
    (frames) => {
      const paid = frames.flatMap(({ entries }) => entries).find((entry) => entry.luid === luid) as IntentEntry;
      const own = keyIn(directory);
      const custom = '{"moment":"2026-01-01T00:00:00.000Z"}';
      paid.proofs = [{ public: own.public, result: sign(proofDigest(hex(paid.hash), custom), own), custom }];
    },
    keyIn(directory),
    SECOND_FORMAT,
  );
  const { finding, counts } = await look(stolen);
  expect([finding, counts.permitted]).toEqual([null, 1]);
  expect((await look(stolen, { signedOnly: true })).finding).toMatchObject({ kind: 'decided' });
});

describe('a transfer that somebody else signed than the ledger asks for', async () => {
  const directory = freshDirectory();
  const server = await startServer({ directory });
  const keys = makeKeys();
  const access = [
    { action: { $in: ['access', 'create', 'read', 'issue'] }, record: 'any' },
    { action: 'any', record: 'any', signer: { public: keys.public } },
  ];
  const ledger = await openLedger(connect(server), keys, { access });
  const kit = makeKit(connect(server, { 'x-ledger': ledger.data.handle }), keys);
  const symbol = await kit.symbol();
  const { body } = await kit.send([transfer(await kit.funded(symbol, 9), await kit.wallet(), symbol, 7)]);
  await server.stop();

  test('is told to rest on what the books do not hold, and which it is', async () => {
    expect((await look(directory, { signedOnly: true })).finding).toBeNull();
    let seq = 0;
    const stolen = await rewritten(directory, (frames) => {
      const thief = createKeyPair();
      const entries = frames.flatMap((frame) => frame.entries);
      seq = entries.findIndex(({ luid }) => luid === body.luid) + 1;
      const { hash, proofs } = entries[seq - 1] as IntentEntry;
      const [{ custom }] = proofs as [StoredProof];
      proofs[0] = { public: thief.public, result: sign(proofDigest(hex(hash), custom), thief), custom };
    });
    const { finding, notes, counts } = await look(stolen);
    expect([finding, counts.permitted]).toEqual([null, 1]);
    expect(notes.join()).toContain(`the first is entry ${seq}, ${body.luid}.`);
    const what = 'no signature in the books permits it';
    expect((await look(stolen, { signedOnly: true })).finding).toMatchObject({ kind: 'decided', seq, what });
    const ran = await ayni('verify', '--signed-only', stolen);
    expect([ran.code, ran.out]).toEqual([1, expect.stringContaining(what)]);
    expect(ran.out).toContain('Without --signed-only');
  });
});

describe('a token that was used', () => {
  /** The books with one more entry, of a token, changed by `lie`. */
  const withToken = (lie: (entry: TokenEntry) => void) =>
    rewritten(plain, (frames) => {
      const { entries, moment } = frames.at(-1)!;
      const id = hex(sha256('once'));
      const luid = makeLuid('tkn', moment, Buffer.from(id, 'hex'));
      const exp = Math.floor(moment / 1000) + 300;
      const token: TokenEntry = { type: EntryType.token, ledger: 1, kind: Kind.ledger, luid, handle: id, moment, exp };
      lie(token);
      entries.push(token);
    });

  test('is in honest books', async () => {
    const { finding, counts } = await look(await withToken(() => {}));
    expect(finding).toBeNull();
    expect(counts.entries).toBe(framesOf(plain).flatMap(({ entries }) => entries).length + 1);
  });

  test.each<[string, (entry: TokenEntry) => void]>([
    ['in no ledger', (entry) => Object.assign(entry, { ledger: 77 })],
    ['in the server itself', (entry) => Object.assign(entry, { ledger: SERVER_LEDGER })],
    ['of another kind', (entry) => Object.assign(entry, { kind: Kind.wallet })],
    ['of another id', (entry) => Object.assign(entry, { handle: hex(sha256('other')) })],
    ['of no id', (entry) => Object.assign(entry, { handle: 'once' })],
    ['of another luid', (entry) => Object.assign(entry, { luid: makeLuid('tkn', entry.moment, new Uint8Array(11)) })],
    ['with the luid of a record', (entry) => Object.assign(entry, { luid: pickWallet(framesOf(plain)).luid })],
  ])('%s', async (_, lie) => {
    const what = 'it is of no token: ledger, id and luid do not belong together';
    expect((await look(await withToken(lie))).finding).toMatchObject({ kind: 'lie', what });
  });
});

describe('where frames are gone', () => {
  /** What an audit of these entries finds that knows of no frames. */
  const findingOf = (entries: readonly Entry[]) => {
    const signatures = new Signatures(0);
    const audit = new EntryAudit({
      serverKey: keyIn(plain).public,
      signatures,
      hashSeed: 1,
      otherRules: false,
      signedOnly: false,
    });
    for (const [index, entry] of entries.entries()) {
      const buffer = new FrameBuffer();
      encode(entry, buffer);
      const bytes = buffer.bytes.slice(0, buffer.end);
      audit.add({ entry, bytes, place: { file: '', seq: index + 1 } }, entries[index + 1] ?? null, null);
    }
    return signatures.close();
  };

  test('a schema from times when patterns might weigh more is none', () => {
    const options = { serverKey: keyIn(plain).public, signatures: new Signatures(0), hashSeed: 1 };
    const { state } = new EntryAudit({ ...options, otherRules: false, signedOnly: false });
    const patterns = Array.from({ length: 9 }, (_, i) => [`^${i}\\p{L}{300}`, {}]);
    const data = JSON.stringify({ schema: { patternProperties: Object.fromEntries(patterns) } });
    expect(state.compileSchema(data, true)).toHaveProperty('check');
  });

  test('nothing is wrong with honest entries', async () => {
    await findingOf(framesOf(plain).flatMap(({ entries }) => entries));
  });

  test.each([
    ['before it was received', -1],
    ['before what is before it', 999],
  ])('an intent that was decided %s', (_, later) => {
    const entries = framesOf(plain).flatMap((frame) => frame.entries);
    const [before, entry] = entries.filter((each) => isTransfer(each)).slice(3) as [IntentEntry, IntentEntry];
    before.outcome.moment = entry.moment + (later < 0 ? later : 1000);
    entry.outcome.moment = entry.moment + later;
    expect(() => findingOf(entries)).toThrow('time goes back: it was decided before what is before it');
  });
});

function forgetTokens(state: State): void {
  Object.assign(state, { tokens: new UsedTokens(state.hashSeed) });
}

function forgeProof(entry: IntentEntry): void {
  entry.proofs[0]!.result = flipped(entry.proofs[0]!.result, 5);
}

function forgeCustom(entry: IntentEntry): void {
  entry.proofs[0]!.custom = canon({ ...JSON.parse(entry.proofs[0]!.custom!), status: 'approved' });
}

function forgeSeal(entry: CreateEntry): void {
  entry.seal = flipped(entry.seal, 40);
}

function unsorted(entry: IntentEntry): void {
  replaceData(entry, JSON.stringify(Object.fromEntries(Object.entries(JSON.parse(entry.data)).reverse())));
}

function reluid(entry: CreateEntry | IntentEntry, prefix: string): void {
  entry.luid = makeLuid(prefix, entry.moment, new Uint8Array(11));
}

function drop(frames: Frames, passes: (entry: Entry) => boolean): void {
  const at = frames.findIndex((frame) => frame.entries.some(passes));
  const frame = frames[at]!;
  frame.entries = frame.entries.filter((entry) => !passes(entry));
  if (frame.entries.length === 0) frames.splice(at, 1);
}

/** The later of two records comes first, in the frame of the later one. */
function turnRound(frames: Frames): void {
  const isMade = (entry: Entry | undefined) => entry?.type === EntryType.create && entry.kind === Kind.wallet;
  const at = frames.findIndex(({ entries: [one] }, index) => {
    const other = frames[index + 1]?.entries[0];
    return isMade(one) && isMade(other) && one!.moment < other!.moment;
  });
  frames[at + 1]!.entries.push(...frames[at]!.entries);
  frames.splice(at, 1);
}

function twice(frames: Frames, passes: (entry: Entry) => boolean): void {
  const frame = frames.find((each) => each.entries.some(passes))!;
  frame.entries.push(frame.entries.find(passes)!);
}

function rekey(frames: Frames): void {
  const signer = pick<CreateEntry>(frames, isSystem);
  const value = { ...JSON.parse(signer.data), public: encodeBase64(createKeyPair().public) };
  replaceData(signer, canon(value));
  const signed = (custom: string | null) => sign(proofDigest(hex(signer.hash), custom), keyIn(plain));
  signer.proofs[0]!.result = signed(signer.proofs[0]!.custom);
  signer.seal = signed(sealCustom(signer));
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
