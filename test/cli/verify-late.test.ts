/**
 * The audit of what came when an intent's time was over: it ends the intent, where it would have moved it, also by a
 * permission that stands in no entry. An earlier build still let it count.
 */
import { beforeAll, describe, expect, test } from 'vitest';
import { hex } from '../../src/core/bytes.ts';
import {
  type Entry,
  EntryType,
  type IntentEntry,
  type Outcome,
  type ProofEntry,
  type StepEntry,
} from '../../src/core/entry.ts';
import { proofDigest } from '../../src/proof/digest.ts';
import { createKeyPair } from '../../src/proof/keys.ts';
import { sign } from '../../src/proof/verify.ts';
import { bearer, connect, type Json, makeKeys, record } from '../support/client.ts';
import { freshDirectory } from '../support/directory.ts';
import { issue, openLedger, proofFor, transfer } from '../support/kit.ts';
import { startServer } from '../support/server.ts';
import { framesOf, keyIn, look, rewritten, withoutFrames } from './books.ts';
import { type Frames, pick } from './lies.ts';

const [owner, spender] = [makeKeys(), makeKeys()];
const [byToken, byKey] = [freshDirectory(), freshDirectory()];
const MINUTE_MS = 60_000;

beforeAll(async () => {
  await fill(byToken, { bearer: { $signer: { public: spender.public } } });
  await fill(byKey, { signer: { public: spender.public } });
});

/**
 * Books that end with a proof by which an intent comes to its end, made by whoever may spend: anybody may add proofs.
 * Another intent has waited longer than that one.
 */
async function fill(directory: string, whoSpends: Json): Promise<void> {
  const server = await startServer({ directory });
  const client = connect(server);
  const { data: ledger } = await openLedger(client, owner, {
    config: { 'intent.expiryThresholdMinutes': 1 },
    access: [{ action: { $in: ['access', 'create', 'read', 'issue'] }, record: 'any', signer: {} }],
  });
  const headers = { 'x-ledger': ledger.handle };
  const post = async (path: string, body: Json, more = {}): Promise<Json> => {
    const reply = await client.post(path, body, { ...headers, ...more });
    expect(reply.status, reply.text).toBeLessThan(300);
    return reply.body;
  };
  await post('/symbols', record({ handle: 'inti', factor: 1 }, owner));
  await post('/wallets', record({ handle: 'a', access: [{ action: 'spend', ...whoSpends }] }, owner));
  await post('/wallets', record({ handle: 'b' }, owner));
  await post('/intents', record({ handle: 'seed', claims: [issue('a', 'inti', 50)] }, owner));
  await post('/intents', record({ handle: 'older', claims: [transfer('a', 'b', 'inti', 3)] }, owner));
  const waits = await post('/intents', record({ handle: 'waits', claims: [transfer('a', 'b', 'inti', 5)] }, owner));
  const proof = proofFor(waits, spender, { moment: new Date().toISOString() });
  const paid = await post('/intents/waits/proofs', proof, bearer(spender, ledger.handle));
  expect(paid.meta.status).toBe('completed');
  await server.stop();
}

const OVER: Partial<Outcome> = {
  steps: ['failed', 'aborted', 'rejected'],
  reason: 'core.intent-expired',
  detail: 'The intent has been pending for more than 1 minutes',
  postings: [],
};

/** The last frame, of a proof and what it brought about, comes two minutes later. */
function late(frames: Frames): { proof: ProofEntry; step: StepEntry } {
  const frame = frames.at(-1)!;
  const [proof, step] = frame.entries as [ProofEntry, StepEntry];
  expect([proof.type, step.type, frame.entries.length]).toEqual([EntryType.proof, EntryType.step, 2]);
  frame.moment += 2 * MINUTE_MS;
  for (const entry of [proof, step]) entry.moment = frame.moment;
  step.outcome.moment = frame.moment;
  return { proof, step };
}

function tooLate(frames: Frames): { proof: ProofEntry; step: StepEntry } {
  const both = late(frames);
  Object.assign(both.step.outcome, OVER);
  return both;
}

const entriesIn = (directory: string): Entry[] => framesOf(directory).flatMap(({ entries }) => entries);

describe.each([
  ['by a token', () => byToken, 1],
  ['by a key', () => byKey, 0],
])('a consent %s', (_, directory, permitted) => {
  test.each([
    ['that came in time', () => {}, permitted],
    ['that came too late ends the intent, though an older one is still to be ended', tooLate, permitted],
    ['that came too late counted by older rules', late, 1],
  ])('%s', async (__, change, rests) => {
    const books = await rewritten(directory(), change);
    const { finding, counts } = await look(books);
    expect([finding, counts.permitted]).toEqual([null, rests]);
    expect((await withoutFrames(entriesIn(books), keyIn(books))).permitted).toBe(rests);
  });

  test('that came in time, and was decided too late', async () => {
    const books = await rewritten(directory(), (frames) => {
      const { proof } = tooLate(frames);
      proof.moment -= 2 * MINUTE_MS;
    });
    expect((await look(books)).finding).toBeNull();
    expect((await withoutFrames(entriesIn(books), keyIn(books))).permitted).toBe(permitted);
  });

  test('that came too late: of what ends the intent is told what is wrong with it', async () => {
    const books = await rewritten(directory(), (frames) => {
      tooLate(frames).step.outcome.detail = 'It was dull';
    });
    const { detail } = OVER;
    const what = `outcome.detail would be "${detail}", not "It was dull"`;
    expect((await look(books)).finding).toMatchObject({ kind: 'decided', what });
  });

  test('that came too late, with no older one left: that it was no end by time alone is told by the frame', async () => {
    const books = await rewritten(directory(), (frames) => {
      const { step } = tooLate(frames);
      frames.splice(-1, 0, { moment: step.moment, entries: [endOfOlder(frames, step)] });
    });
    const { finding, counts } = await look(books);
    expect([finding, counts.permitted]).toEqual([null, permitted]);
    await withoutFrames(entriesIn(books), keyIn(books), { signedOnly: true });
  });

  test.each([
    ['before it ends first', 'older'],
    ['before another ends', 'waits'],
  ])('of a stranger moves nothing: the intent %s by time alone, where frames are gone', async (__, handle) => {
    const books = await rewritten(directory(), (frames) => {
      const { moment } = frames.at(-1)!;
      const { proof, step } = tooLate(frames);
      const older = endOfOlder(frames, step);
      signByStranger(proof, intentIn(frames, handle), handle === 'older' ? older : step, moment);
      frames.splice(-1, 1, { moment, entries: [proof] }, { moment: step.moment, entries: [older, step] });
    });
    expect((await look(books, { signedOnly: true })).finding).toBeNull();
    const counts = await withoutFrames(entriesIn(books), keyIn(books), { signedOnly: true });
    expect(counts.permitted).toBe(0);
  });

  test('of a stranger to one intent does not end another out of turn', async () => {
    const books = await rewritten(directory(), (frames) => {
      const { proof, step } = tooLate(frames);
      signByStranger(proof, intentIn(frames, 'seed'), { ...step, row: endOfOlder(frames, step).row - 1 }, proof.moment);
    });
    expect((await look(books)).finding).toMatchObject({
      kind: 'decided',
      what: expect.stringMatching(/^luid would be /),
    });
  });
});

function intentIn(frames: Frames, handle: string): IntentEntry {
  return pick(frames, (entry) => entry.type === EntryType.intent && entry.handle === handle);
}

/** Of the one that was made right before. */
function endOfOlder(frames: Frames, step: StepEntry): StepEntry {
  const { luid, handle } = intentIn(frames, 'older');
  return { ...step, row: step.row - 1, luid, handle };
}

function signByStranger(
  entry: ProofEntry,
  { luid, handle, hash }: IntentEntry,
  { row }: StepEntry,
  moment: number,
): void {
  const stranger = createKeyPair();
  const custom = `{"moment":"${new Date(moment).toISOString()}"}`;
  const proof = { public: stranger.public, result: sign(proofDigest(hex(hash), custom), stranger), custom };
  Object.assign(entry, { luid, handle, row, moment, proof });
}
