/**
 * The audit of threads: what follows from one entry is written with it, in its order, and each is expected once the one
 * before it was applied. Where something is left out or changed, that is one thing that is wrong. What the server notes of
 * calls to a bridge follows from nothing, and may come in between.
 */
import { beforeAll, describe, expect, test } from 'vitest';
import { hex } from '../../src/core/bytes.ts';
import { type Entry, EntryType, type IntentEntry, links, type StepEntry } from '../../src/core/entry.ts';
import { sealCustom } from '../../src/core/proofs.ts';
import { proofDigest } from '../../src/proof/digest.ts';
import { sign } from '../../src/proof/verify.ts';
import { Bank, inStatus } from '../support/bank.ts';
import { connect, type Json, makeKeys } from '../support/client.ts';
import { freshDirectory } from '../support/directory.ts';
import { openHook } from '../support/hook.ts';
import { freshLedger, issue, makeKit, proofFor, transfer, until } from '../support/kit.ts';
import { startServer } from '../support/server.ts';
import { framesOf, keyIn, look, rewritten, withoutFrames } from './books.ts';
import type { Frames } from './lies.ts';

const [settled, overdue, allowed] = [freshDirectory(), freshDirectory(), freshDirectory()];

beforeAll(async () => {
  const server = await startServer({ directory: settled });
  const kit = makeKit(connect(server), makeKeys());
  const symbol = await kit.symbol();
  const [from, to] = [await kit.funded(symbol, 100), await kit.wallet()];
  const passesOn = () => kit.wallet({ routes: [{ action: 'forward', target: to }] });
  const [one, other] = [await passesOn(), await passesOn()];
  await kit.done([transfer(from, one, symbol, 5)]);
  await kit.done([transfer(from, one, symbol, 3), transfer(from, other, symbol, 4)]);
  await kit.wallet();
  await server.stop();
});

/** Books in which two threads were too old in one frame, each of an intent whose money a bank never took. */
beforeAll(async () => {
  const directory = overdue;
  const hook = await openHook();
  let server = await startServer({ directory });
  const config = { 'intent.expiryThresholdMinutes': 1 };
  const { there: client, kit, handle } = await freshLedger(server, makeKeys(), { config });
  const symbol = await kit.symbol();
  const bank = await Bank.open({ client, kit, hook, symbol });
  const from = await kit.wallet();
  await kit.done([issue(from, symbol, 100)]);
  const away = await kit.wallet({ bridge: bank.bridge });
  const over = await kit.wallet({ routes: [{ action: 'forward', target: away }] });
  const sent: Json[] = [];
  for (const amount of [3, 4]) sent.push((await kit.send([transfer(from, over, symbol, amount)])).body);
  for (const intent of sent) await inStatus(client, intent, 'prepared');
  await server.stop();
  // Two minutes go by.
  const later = 'const%20now=Date.now.bind(Date);Date.now=()=>now()+120000';
  // On a busy machine the end of one may take as long as a frame may take.
  const flags = ['--batch-ms-max', '1000'];
  server = await startServer({ directory, flags, env: { NODE_OPTIONS: `--import=data:text/javascript,${later}` } });
  const again = connect(server, { 'x-ledger': handle });
  await until(async () => {
    const replies = await Promise.all(sent.map(({ luid }) => again.get(`/intents/${luid}`)));
    return replies.every(({ body }) => body.meta.status === 'rejected');
  }, 'the end of both');
  await server.stop();
  await hook.close();
});

/** Books that end with a thread that waited for the word of whoever may spend. */
beforeAll(async () => {
  const server = await startServer({ directory: allowed });
  const [owner, spender] = [makeKeys(), makeKeys()];
  const access = [{ action: { $in: ['access', 'create', 'read', 'issue'] }, record: 'any' }];
  const { there: client, kit } = await freshLedger(server, owner, { access });
  const symbol = await kit.symbol();
  const from = await kit.wallet({ access: [{ action: 'spend', signer: { public: spender.public } }] });
  await kit.done([issue(from, symbol, 100)]);
  const over = await kit.wallet({ routes: [{ action: 'forward', target: await kit.wallet() }] });
  const { body: waits } = await kit.send([transfer(from, over, symbol, 5)]);
  expect(waits.meta.status).toBe('pending');
  const proof = proofFor(waits, spender, { moment: new Date().toISOString() });
  const { body: paid } = await client.post(`/intents/${waits.data.handle}/proofs`, proof);
  expect(paid.meta.status).toBe('completed');
  await server.stop();
});

const isChild = (entry: Entry): entry is IntentEntry =>
  entry.type === EntryType.intent && entry.handle.startsWith('fwd_');
const threadsIn = (frames: Frames) => frames.filter(({ entries }) => entries.some(isChild));

test.each([
  ['that one intent began with two, each after the other', () => settled],
  ['that end because the time of one intent is over', () => overdue],
])('threads %s are believed', async (_, directory) => {
  const entries = framesOf(directory()).flatMap((frame) => frame.entries);
  expect(threadsIn(framesOf(directory())).map((frame) => frame.entries.filter(isChild).length)).toEqual(
    directory() === settled ? [1, 2] : [1, 1],
  );
  expect((await look(directory())).finding).toBeNull();
  expect((await withoutFrames(entries, keyIn(directory()))).permitted).toBe(0);
});

test('an intent that a route made is signed by the server once', async () => {
  const books = await rewritten(settled, (frames) => {
    const child = threadsIn(frames)[0]!.entries.find(isChild)!;
    const key = keyIn(settled);
    child.proofs.push(child.proofs[0]!);
    child.seal = sign(proofDigest(hex(child.hash), sealCustom(child)), key);
  });
  const what = expect.stringMatching(/^proofs would be /);
  expect((await look(books)).finding).toMatchObject({ kind: 'decided', what });
});

test('an intent that a route made bears the moment at which the proof came that it follows from, whenever that was decided', async () => {
  const books = await rewritten(allowed, (frames) => {
    const frame = threadsIn(frames).at(-1)!;
    frame.moment += 5;
    for (const entry of frame.entries) {
      if ('outcome' in entry) entry.outcome.moment = frame.moment;
      if (entry.type === EntryType.step) entry.moment = frame.moment;
    }
  });
  const entries = framesOf(books).flatMap((frame) => frame.entries);
  expect((await look(books)).finding).toBeNull();
  expect((await withoutFrames(entries, keyIn(books))).permitted).toBe(0);
});

describe('what other rules decided is one thing', () => {
  /** All of the last thread but the intent that began it. */
  const cutOff = (frames: Frames) => {
    const frame = threadsIn(frames).at(-1)!;
    frame.entries = frame.entries.slice(0, 1);
    return frame;
  };

  test.each<[string, (frames: Frames) => void]>([
    ['the rest of a thread left out', cutOff],
    [
      'the rest of a thread left out, before another entry of its frame',
      (frames) => {
        const { entries } = cutOff(frames);
        const at = frames.findIndex((frame) => frame.entries === entries);
        const { moment } = frames[at + 1]!;
        (entries[0] as IntentEntry).outcome.moment = moment;
        frames.splice(at, 2, { moment, entries: [...entries, ...frames[at + 1]!.entries] });
      },
    ],
    [
      'an intent of a thread, whose rest comes as it does of that',
      (frames) => {
        threadsIn(frames)[0]!.entries.find(isChild)!.outcome.detail = 'by other rules';
      },
    ],
  ])('%s', async (_, lie) => {
    const books = await rewritten(settled, lie);
    expect((await look(books)).finding).toMatchObject({ kind: 'decided' });
    const { finding, counts } = await look(books, { otherRules: true });
    expect([finding, counts.otherwise]).toEqual([null, 1]);
  });
});

describe('a call that was given up', () => {
  /** Of an intent that has one leg, or none any more. */
  const givenUp = ({ ledger, kind, luid, handle, row }: StepEntry, moment: number): StepEntry => {
    const outcome = { moment, steps: ['error' as const], reason: 'core.bridge-unreachable', detail: 'gone' };
    const whole = { ...outcome, postings: [], limits: [], links: links({ leg: 0 }) };
    return { type: EntryType.step, ledger, kind, luid, handle, moment, row, outcome: whole };
  };
  /** The frame in which both threads end. */
  const endIn = (frames: Frames) => {
    const at = frames.findIndex(({ entries }) => entries.filter(isExpired).length === 2);
    const { moment, entries } = frames[at]!;
    expect(entries.map(({ type }) => type)).toEqual(Array(4).fill(EntryType.step));
    return { at, moment, entries: entries as StepEntry[] };
  };
  const isExpired = ({ handle, ...entry }: Entry) => entry.type === EntryType.step && handle.startsWith('fwd_');

  test('comes where a frame had no room for the end of its intent', async () => {
    const books = await rewritten(overdue, (frames) => {
      const { at, moment, entries } = endIn(frames);
      const rest = entries.slice(2);
      for (const step of rest) step.moment = step.outcome.moment = moment + 1;
      const now = [...entries.slice(0, 2), givenUp(rest[0]!, moment)];
      frames.splice(at, 1, { moment, entries: now }, { moment: moment + 1, entries: rest });
    });
    const { finding, counts } = await look(books, { signedOnly: true });
    expect([finding, counts.permitted]).toEqual([null, 0]);
    const entries = framesOf(books).flatMap((frame) => frame.entries);
    expect((await withoutFrames(entries, keyIn(books), { signedOnly: true })).permitted).toBe(0);
  });

  test('of an intent that is at its end', async () => {
    const books = await rewritten(overdue, (frames) => {
      const { moment, entries } = endIn(frames);
      frames.at(-1)!.entries.push(givenUp(entries[1]!, Math.max(moment, frames.at(-1)!.moment)));
    });
    const what = 'it has no leg whose bridge is called';
    expect((await look(books)).finding).toMatchObject({ kind: 'decided', what });
  });
});
