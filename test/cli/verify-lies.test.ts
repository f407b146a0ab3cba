/**
 * The audit against lies in the journal, told by somebody who holds the server's key and rewrites the books so that CRC, chain
 * and signatures fit; and against books of another key.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { EntryAudit } from '../../src/cli/audit/entries.ts';
import { Signatures } from '../../src/cli/audit/signatures.ts';
import { hex } from '../../src/core/bytes.ts';
import {
  type CreateEntry,
  type Entry,
  EntryType,
  type IntentEntry,
  type StepEntry,
  type StoredProof,
  type TokenEntry,
} from '../../src/core/entry.ts';
import { Kind } from '../../src/core/kinds.ts';
import { makeLuid } from '../../src/core/luid.ts';
import { sealCustom } from '../../src/core/proofs.ts';
import { SERVER_LEDGER } from '../../src/core/state.ts';
import { canon } from '../../src/proof/canon.ts';
import { proofDigest, sha256 } from '../../src/proof/digest.ts';
import { createKeyPair, encodeBase64 } from '../../src/proof/keys.ts';
import { sign } from '../../src/proof/verify.ts';
import { realDisk } from '../../src/storage/disk.ts';
import { segmentSeq } from '../../src/storage/format.ts';
import type { JournalPosition } from '../../src/storage/journal.ts';
import { readJournal } from '../../src/storage/journal-reader.ts';
import { END_FILE, noteEnd } from '../../src/storage/known-end.ts';
import { journalStart } from '../../src/storage/segments.ts';
import { makeKeys } from '../support/client.ts';
import { freshDirectory } from '../support/directory.ts';
import { FIRST_FORMAT } from '../support/first-format.ts';
import { freshLedger, transfer } from '../support/kit.ts';
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
  withoutFrames,
} from './books.ts';
import { type Frames, flipped, isSystem, isTransfer, pick, pickTransfer, pickWallet, replaceData } from './lies.ts';

const plain = await plainBooks();
const pruned = await prunedBooks();

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
      'a moment of clearing, later',
      (frames) => void pickTransfer(frames).outcome.moment++,
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
      'what a client says in a proof, a list',
      (frames) => void Object.assign(pickTransfer(frames).proofs[0]!, { custom: '[]' }),
      'lie',
      /custom of proof 0 is not canonical/,
    ],
    [
      'what a client says in a proof, a number',
      (frames) => void Object.assign(pickTransfer(frames).proofs[0]!, { custom: '7' }),
      'lie',
      /custom of proof 0 is not canonical/,
    ],
    [
      'what a client says in a proof, nothing',
      (frames) => void Object.assign(pickTransfer(frames).proofs[0]!, { custom: 'null' }),
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
    ['a luid of the next second', (frames) => ofNextSecond(pickTransfer(frames)), 'lie', /another kind or moment/],
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
      verifyFrame: () => true,
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

describe('a transfer that somebody else signed than the ledger asks for', async () => {
  const directory = freshDirectory();
  const server = await startServer({ directory });
  const keys = makeKeys();
  const access = [
    { action: { $in: ['access', 'create', 'read', 'issue'] }, record: 'any' },
    { action: 'any', record: 'any', signer: { public: keys.public } },
  ];
  const { kit } = await freshLedger(server, keys, { access });
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
    ['in the ledger that would be the next', (entry) => Object.assign(entry, { ledger: 1 + ledgersIn(plain) })],
    ['in the server itself', (entry) => Object.assign(entry, { ledger: SERVER_LEDGER })],
    ['of another kind', (entry) => Object.assign(entry, { kind: Kind.wallet })],
    ['of another id', (entry) => Object.assign(entry, { handle: hex(sha256('other')) })],
    ['of no id', (entry) => Object.assign(entry, { handle: 'once' })],
    // Of which there would be another text then, by which it was used again.
    ['of its id in capitals', (entry) => Object.assign(entry, { handle: entry.handle.toUpperCase() })],
    ['of its id with more behind it', (entry) => Object.assign(entry, { handle: `${entry.handle}00` })],
    ['of another luid', (entry) => Object.assign(entry, { luid: makeLuid('tkn', entry.moment, new Uint8Array(11)) })],
    ['with the luid of a record', (entry) => Object.assign(entry, { luid: pickWallet(framesOf(plain)).luid })],
  ])('%s', async (_, lie) => {
    const what = 'it is of no token: ledger, id and luid do not belong together';
    expect((await look(await withToken(lie))).finding).toMatchObject({ kind: 'lie', what });
  });
});

describe('where frames are gone', () => {
  test('a schema from times when patterns might weigh more is none', () => {
    const options = { serverKey: keyIn(plain).public, signatures: new Signatures(0), hashSeed: 1 };
    const { state } = new EntryAudit({ ...options, otherRules: false, signedOnly: false });
    const patterns = Array.from({ length: 9 }, (_, i) => [`^${i}\\p{L}{300}`, {}]);
    const data = JSON.stringify({ schema: { patternProperties: Object.fromEntries(patterns) } });
    expect(state.compileSchema(data, true)).toHaveProperty('check');
  });

  test('nothing is wrong with honest entries', async () => {
    const counts = await withoutFrames(
      framesOf(plain).flatMap(({ entries }) => entries),
      keyIn(plain),
    );
    expect(counts.permitted).toBe(0);
  });

  test('nothing more can have been written before the last intent was decided', async () => {
    const entries = framesOf(plain).flatMap((frame) => frame.entries);
    const last = entries.findLast((entry) => isTransfer(entry)) as IntentEntry;
    last.outcome.moment = last.moment + 5;
    const { lastMoment } = await withoutFrames(entries.slice(0, entries.indexOf(last) + 1), keyIn(plain));
    expect(lastMoment).toBe(last.moment + 5);
  });

  test.each([
    ['before it was received', -1],
    ['before what is before it', 999],
  ])('an intent that was decided %s', async (_, later) => {
    const entries = framesOf(plain).flatMap((frame) => frame.entries);
    const [before, entry] = entries.filter((each) => isTransfer(each)).slice(3) as [IntentEntry, IntentEntry];
    before.outcome.moment = entry.moment + (later < 0 ? later : 1000);
    entry.outcome.moment = entry.moment + later;
    await expect(withoutFrames(entries, keyIn(plain))).rejects.toThrow(
      'time goes back: it was decided before what is before it',
    );
  });
});

/** All but that of the server itself. */
function ledgersIn(directory: string): number {
  const entries = framesOf(directory).flatMap((frame) => frame.entries);
  return entries.filter(({ type, kind }) => type === EntryType.create && kind === Kind.ledger).length;
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

/** The second is told by six digits of it. */
function ofNextSecond(entry: IntentEntry): void {
  const next = makeLuid('int', entry.moment + 1000, new Uint8Array(11));
  entry.luid = next.slice(0, 11) + entry.luid.slice(11);
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

/** Its columns have all of them, and nothing leads there. */
