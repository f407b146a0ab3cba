/**
 * The audit over books in the middle of things: intents that banks take part in, in every phase, threads, effects that are
 * behind. Honest ones are believed; whoever changes what ties an intent to others is found, though he holds the key.
 */
import { beforeAll, describe, expect, test, vi } from 'vitest';
import { hex } from '../../src/core/bytes.ts';
import {
  type DeliveryEntry,
  type Entry,
  EntryType,
  type IntentEntry,
  LEG_STATES,
  type Links,
  links,
  type StepEntry,
} from '../../src/core/entry.ts';
import { luidOfDelivery } from '../../src/effects/deliveries.ts';
import { proofDigest, sha256 } from '../../src/proof/digest.ts';
import { createKeyPair } from '../../src/proof/keys.ts';
import { sign } from '../../src/proof/verify.ts';
import { entryCodec } from '../../src/storage/codec.ts';
import { Bank, inStatus, report, type Town } from '../support/bank.ts';
import { connect, type Json, makeKeys } from '../support/client.ts';
import { freshDirectory } from '../support/directory.ts';
import { openHook } from '../support/hook.ts';
import { issue, makeKit, openLedger, proofFor, segment, transfer, unique, until } from '../support/kit.ts';
import { startServer } from '../support/server.ts';
import { slow } from '../support/slow.ts';
import { filesIn, framesOf, keyIn, look, rewritten } from './books.ts';
import type { Frames } from './lies.ts';

const shortHash = (text: string) => Buffer.from(sha256(text)).toString('base64url').slice(0, 17);

const [plain, snapped] = [freshDirectory(), freshDirectory()];

beforeAll(async () => {
  await fill(plain, []);
  await fill(snapped, ['--snapshot-every', '15']);
});

/** Books that end in the middle of everything, by a kill. */
async function fill(directory: string, flags: string[]): Promise<void> {
  const keys = makeKeys();
  const hook = await openHook();
  const server = await startServer({ directory, flags: [...flags, '--bridge-attempts-max', '1'] });
  const client = connect(server);
  const kit = makeKit(client, keys);
  const town: Town = { client, kit, hook, symbol: await kit.symbol() };
  const { symbol } = town;
  await openLedger(client, keys);
  hook.answer = ({ path }) => (path.startsWith('/down') ? 503 : 202);
  for (const [path, signal] of [
    ['/up', 'intent-updated'],
    ['/down', 'balance-received'],
  ]) {
    const action = { schema: 'webhook', endpoint: hook.url + path };
    await kit.make('effects', { handle: unique('effect'), signal, action });
  }
  const [from, into] = [await Bank.open(town), await Bank.open(town, { traits: ['statuses'] })];
  const [x, y, a] = [await from.wallet(), await into.wallet(), await kit.funded(symbol, 500)];
  const c = await kit.wallet({ routes: [{ action: 'forward', target: y }] });
  const s = await kit.wallet({ routes: [{ action: 'credit', target: a }] });
  const say = (bank: Bank, intent: Json, entry: string, status: string) =>
    report(client, intent, entry, bank.keys, status, { reason: 'bridge.no', detail: 'no' });
  /** Goes on as far as there are words; the last one may be a failure. */
  const go = async (intent: Json, ...words: string[]): Promise<void> => {
    for (const word of words) {
      const [what, status] = word.split(' ') as ['debits' | 'credits', string];
      const bank = what === 'debits' ? from : into;
      await say(bank, intent, await bank.entry(intent, what), status);
    }
  };
  const send = async (claims: Json[], data: Json = {}): Promise<Json> => (await kit.send(claims, { data })).body;
  const both = ['debits prepared', 'credits prepared'];
  for (const words of [[], [both[0]!], both, [...both, 'debits committed', 'credits committed']]) {
    await go(await send([transfer(x, y, symbol, 3), transfer(x, y, symbol, 4)]), ...words);
  }
  await go(await send([transfer(x, y, symbol, 5)]), both[0]!, 'credits failed', 'debits aborted');
  for (const action of ['commit', 'abort']) {
    const held = await send([transfer(x, y, symbol, 6)], { config: { commit: 'manual' } });
    await go(held, ...both);
    await client.post(`/intents/${segment(held.luid)}/proofs`, proofFor(held, keys, { action }));
  }
  // Threads: one that waits for the bank of its second, one that happened, one that failed.
  for (const status of ['', 'prepared', 'failed']) {
    const first = await send([transfer(a, c, symbol, 7)]);
    const { data } = (await client.get(`/intents?meta.thread=${segment(first.meta.thread)}`)).body;
    const second = data.find(({ luid }: Json) => luid !== first.luid);
    if (status === '') continue;
    await go(second, `credits ${status}`);
    if (status === 'prepared') await inStatus(client, first, 'completed');
  }
  await kit.done([transfer(a, s, symbol, 1)]);
  const lost = await Bank.open(town, { config: { server: `${hook.url}/down` } });
  await send([transfer(await lost.wallet(), a, symbol, 2)]);
  const areTold = () => {
    const entries = framesOf(directory).flatMap((frame) => frame.entries);
    return deliveriesIn(entries) > DELIVERIES_MIN && entries.some(isGivenUp);
  };
  await until(areTold, 'a bank that is given up, and effects that have heard');
  await server.kill();
  await hook.close();
}

/** So many and more are in the books. */
const DELIVERIES_MIN = 5;
const deliveriesIn = (entries: readonly Entry[]) => entries.filter(({ type }) => type === EntryType.delivery).length;
const isGivenUp = (entry: Entry) => entry.type === EntryType.step && entry.outcome.steps[0] === 'error';

/**
 * Whether an entry of a frame is a step that follows from a proof or an intent of its thread before it in the frame. What
 * the server noted by itself does not, though it may share the frame: nobody can tell that such a note was left out.
 */
function followingIn(all: readonly Entry[]): (entries: readonly Entry[], at: number) => boolean {
  const threads = new Map<string, string>();
  for (const entry of all) if (entry.type === EntryType.intent) threads.set(entry.luid, entry.thread);
  return (entries, at) => {
    const step = entries[at]!;
    if (step.type !== EntryType.step || step.outcome.reason === 'core.bridge-unreachable') return false;
    for (let before = at - 1; before >= 0; before--) {
      const { type, luid } = entries[before]!;
      // Of one proof an intent goes on once: what comes after that may be such a note.
      if (type === EntryType.step && luid === step.luid) return false;
      const isCause = type === EntryType.proof || type === EntryType.intent;
      if (isCause && threads.get(luid) === threads.get(step.luid)) return true;
    }
    return false;
  };
}

describe('honest books', () => {
  test('are believed, every decision, from the journal and with snapshots of the middle', async () => {
    const entries = framesOf(plain).flatMap((frame) => frame.entries);
    const all = linksIn(entries);
    for (const member of ['legs', 'marks', 'forwards', 'routed', 'through'] as const) {
      expect(all.filter((links) => links[member].length > 0).length, member).toBeGreaterThan(0);
    }
    expect(deliveriesIn(entries)).toBeGreaterThan(DELIVERIES_MIN);
    expect(entries.some(isGivenUp)).toBe(true);
    for (const directory of [plain, snapped]) {
      const { finding, counts } = await look(directory);
      expect(finding).toBeNull();
      expect(counts.otherwise).toBe(0);
    }
    expect(filesIn(snapped, /^snapshot/).length).toBeGreaterThan(0);
    expect((await look(snapped)).snapshots).toBeGreaterThan(0);
  });
});

const isLinked = (entry: Entry): entry is IntentEntry | StepEntry =>
  'outcome' in entry && entry.outcome.links !== undefined;

function linksIn(entries: readonly Entry[]): Links[] {
  return entries.filter(isLinked).map(({ outcome }) => outcome.links!);
}

/** Changes the first, or with `nth` another, of the links that have this member. */
function change(member: keyof Links, lie: (links: Links) => unknown, nth = 0) {
  return (entries: Entry[]): void => {
    const found = entries.filter(isLinked).filter(({ outcome }) => {
      const value = outcome.links![member];
      return Array.isArray(value) ? value.length > 0 : value !== '' && value !== -1;
    });
    lie(found[nth]!.outcome.links!);
  };
}

const state = (name: (typeof LEG_STATES)[number]) => LEG_STATES.indexOf(name);

const LIES: [string, (entries: Entry[]) => void][] = [
  ["a leg's amount", change('legs', ({ legs }) => void legs[0]!.amount++)],
  ["a leg's wallet", change('legs', ({ legs }) => Object.assign(legs[0]!, { wallet: legs[1]!.wallet }))],
  ["a leg's bridge", change('legs', ({ legs }) => Object.assign(legs[0]!, { bridge: legs[1]!.bridge }))],
  ["a leg's side", change('legs', ({ legs }) => Object.assign(legs[0]!, { side: legs[1]!.side }))],
  ["a leg's claims", change('legs', ({ legs }) => void legs[0]!.claims.pop())],
  ['a leg left out', change('legs', ({ legs }) => void legs.pop())],
  [
    'a leg asked that was not',
    change('legs', (links) => Object.assign(links, { marks: [0, state('preparing'), 1, state('preparing')] })),
  ],
  ['a leg prepared that nobody reported', change('marks', (links) => links.marks.splice(1, 1, state('prepared')), 1)],
  ['a commit that a bank is not told of', change('marks', (links) => void links.marks.splice(-2), 4)],
  [
    'where money is passed on to',
    change('forwards', ({ forwards }) => Object.assign(forwards[0]!, { target: 'elsewhere' })),
  ],
  ['how much is passed on', change('forwards', ({ forwards }) => void forwards[0]!.amount++)],
  ['that money is passed on', change('forwards', (links) => Object.assign(links, { forwards: [] }))],
  ['what comes with the thread', change('through', (links) => void links.through[1]!--)],
  ['that it comes with the thread', change('through', (links) => Object.assign(links, { through: [] }))],
  ['whom a route gave it to', change('routed', ({ routed }) => void routed[2]!--)],
  ['that a route had a say', change('routed', (links) => Object.assign(links, { routed: [] }))],
  ['the reason a bank gave', change('failId', (links) => Object.assign(links, { failId: 'bridge.other' }))],
  ['which leg an error speaks of', change('leg', (links) => Object.assign(links, { leg: 1 }))],
  [
    'a report that moved nothing',
    (entries) => {
      const at = entries.findIndex((entry) => entry.type === EntryType.step && entry.outcome.links !== undefined);
      (entries[at] as StepEntry).outcome.links!.marks = [];
    },
  ],
  [
    'an intent of a thread that belongs to none',
    (entries) => {
      const child = entries.find((entry) => entry.type === EntryType.intent && entry.handle.startsWith('fwd_'));
      (child as IntentEntry).thread = (child as IntentEntry).luid.slice(5);
    },
  ],
];

describe('changed by somebody who holds the key', () => {
  test.each(LIES)('%s', async (_, lie) => {
    const directory = await rewritten(plain, (frames) => {
      const entries = frames.flatMap((frame) => frame.entries);
      const before = JSON.stringify(entries.filter(isLinked));
      lie(entries);
      expect(JSON.stringify(entries.filter(isLinked))).not.toBe(before);
    });
    const { finding } = await look(directory);
    expect(finding).not.toBeNull();
  });

  test.each([
    ['with another status', '{"moment":"2026-11-20T10:00:00.000Z","status":"completed"}'],
    ['without a word', null],
  ])('an intent that a route made, signed by the server as a client would, %s', async (_, custom) => {
    const directory = await rewritten(plain, (frames) => {
      const made = frames
        .flatMap(({ entries }) => entries)
        .find(({ handle }) => handle.startsWith('fwd_')) as IntentEntry;
      const key = keyIn(plain);
      made.proofs = [{ public: key.public, result: sign(proofDigest(hex(made.hash), custom), key), custom }];
    });
    const what = expect.stringMatching(
      /^proofs\.0\.custom would be "{\\"moment\\":\\".*\\",\\"status\\":\\"created\\"}", not /,
    );
    expect((await look(directory)).finding).toMatchObject({ kind: 'decided', what });
  });

  test.each<[string, (entry: DeliveryEntry, seqIn: (ledger: number) => number) => void]>([
    ['that is still to come', (entry) => Object.assign(entry, { seq: entry.seq + 1_000_000 })],
    ['of no entry', (entry) => Object.assign(entry, { seq: 0 })],
    ['that its entry has not', (entry) => Object.assign(entry, { index: entry.index + 1000 })],
    ['of another ledger', (entry, seqIn) => Object.assign(entry, { seq: seqIn(2), index: 0 })],
  ])('a delivery of an event %s', async (_, lie) => {
    const directory = await rewritten(plain, (frames) => {
      const entries = frames.flatMap((frame) => frame.entries);
      const seqIn = (ledger: number) => entries.findIndex((entry) => entry.ledger === ledger) + 1;
      lie(entries.find(({ type }) => type === EntryType.delivery) as DeliveryEntry, seqIn);
    });
    expect((await look(directory)).finding).toMatchObject({
      kind: 'decided',
      what: expect.stringMatching(/^entry \d+ has no event \d+ in this ledger$/),
    });
  });

  test('a delivery of what was delivered before, be it by its name or by that of another round', async () => {
    const isTaken = (entry: Entry): entry is DeliveryEntry => entry.type === EntryType.delivery && entry.isDelivered;
    for (const isNext of [false, true]) {
      const directory = await rewritten(plain, (frames) => {
        const entries = frames.flatMap((frame) => frame.entries);
        const taken = entries.find(isTaken)!;
        const made = entries.filter(({ type }) => type === EntryType.create || type === EntryType.intent);
        const next = luidOfDelivery(made[taken.row]!.luid, taken.luid, entries[taken.seq - 1]!.moment);
        const luid = isNext ? next : taken.luid;
        const last = frames.at(-1)!;
        last.entries.push({ ...taken, luid, moment: last.moment });
      });
      const what = 'the event was delivered before';
      expect((await look(directory)).finding).toMatchObject({ kind: 'decided', what });
    }
  });

  test('a delivery of what was given up before, by the name of that round', async () => {
    for (const isNext of [false, true]) {
      const directory = await rewritten(plain, (frames) => {
        const { lost, last, behind } = giveUp(frames);
        const luid = isNext ? behind(lost.luid) : lost.luid;
        last.entries.push({ ...lost, isDelivered: true, detail: '', moment: last.moment, luid });
      });
      const { finding } = await look(directory);
      if (isNext) expect(finding).toBeNull();
      else expect(finding).toMatchObject({ what: 'its luid is of another event, or of another receiver' });
    }
  });

  test('a delivery of what was given up again, by the name of a round before the last', async () => {
    for (const isNext of [false, true]) {
      const directory = await rewritten(plain, (frames) => {
        const { lost, last, behind } = giveUp(frames);
        const second = behind(lost.luid);
        for (const luid of [second, isNext ? behind(second) : second])
          last.entries.push({ ...lost, moment: last.moment, luid });
      });
      const { finding } = await look(directory);
      if (isNext) expect(finding).toBeNull();
      else expect(finding).toMatchObject({ what: 'its luid is of another event, or of another receiver' });
    }
  });

  test('a delivery of what was given up before another event of the same entry is the next round of that', async () => {
    const directory = await rewritten(plain, (frames) => {
      const { lost, last, behind } = giveUp(frames);
      const entries = frames.flatMap((frame) => frame.entries);
      const { luid: told, moment } = entries[lost.seq - 1]!;
      const made = entries.filter(({ type }) => type === EntryType.create || type === EntryType.intent);
      const index = 1 - lost.index;
      const event = `evt_${shortHash(`${told} ${lost.seq} ${index}`)}`;
      const other = { ...lost, index, luid: luidOfDelivery(made[lost.row]!.luid, event, moment) };
      for (const note of [other, { ...lost, luid: behind(lost.luid) }])
        last.entries.push({ ...note, moment: last.moment });
    });
    expect((await look(directory)).finding).toBeNull();
  });

  test('a delivery by the name that builds up to 0.3.0 gave it, behind one by a name of today', async () => {
    for (const isOld of [true, false]) {
      const directory = await rewritten(plain, (frames) => {
        const entries = frames.flatMap((frame) => frame.entries);
        const { moment, entries: last } = frames.at(-1)!;
        const notes = entries.filter((entry): entry is DeliveryEntry => entry.type === EntryType.delivery);
        const made = entries.filter(({ type }) => type === EntryType.create || type === EntryType.intent);
        const old = ({ row, seq, index }: DeliveryEntry) => {
          const event = `evt_${shortHash(`${entries[seq - 1]!.luid} ${seq} ${index}`)}`;
          return `$evd.${shortHash(`${made[row]!.luid} ${event}`)}`;
        };
        // Of those builds a round had the name of the one before.
        for (const note of isOld ? notes : []) note.luid = old(note);
        const [lost] = notes as [DeliveryEntry];
        Object.assign(lost, { isDelivered: false, detail: 'status 503' });
        last.push({ ...lost, moment, luid: old(lost) });
      });
      const { finding } = await look(directory);
      if (isOld) expect(finding).toBeNull();
      else expect(finding).toMatchObject({ what: 'its luid is of another event, or of another receiver' });
    }
  });

  test('a delivery that is listed as what happened to an intent', async () => {
    const directory = await rewritten(plain, (frames) => {
      const entries = frames.flatMap((frame) => frame.entries);
      const { luid } = entries.find(({ type }) => type === EntryType.intent)!;
      entries.find(({ type }) => type === EntryType.delivery)!.luid = luid;
    });
    const what = 'its luid is of another event, or of another receiver';
    expect((await look(directory)).finding).toMatchObject({ kind: 'decided', what });
  });

  test.each([
    ['is called', 1, null],
    ['has long said that it is prepared', 0, { what: 'it has no leg whose bridge is called' }],
  ])('a call that was given up, of a leg whose bridge %s', async (_, leg, finding) => {
    const directory = await rewritten(plain, (frames) => {
      const step = calledStep(frames.flatMap((frame) => frame.entries));
      const { moment, entries: last } = frames.at(-1)!;
      last.push(uncalled(step, leg, moment));
    });
    const found = (await look(directory)).finding;
    if (finding === null) expect(found).toBeNull();
    else expect(found).toMatchObject(finding);
  });

  test('a call that was given up right behind a proof that moved nothing: neither rests on what the books do not hold', async () => {
    const keys = createKeyPair();
    const directory = await rewritten(plain, (frames) => {
      const entries = frames.flatMap((frame) => frame.entries);
      const step = calledStep(entries);
      const { hash } = entries.find(({ type, luid }) => type === EntryType.intent && luid === step.luid) as IntentEntry;
      const { moment, entries: last } = frames.at(-1)!;
      const { ledger, kind, luid, handle, row } = step;
      const custom = `{"moment":"${new Date(moment).toISOString()}","note":"go on"}`;
      const proof = { public: keys.public, result: sign(proofDigest(hex(hash), custom), keys), custom };
      last.push({ type: EntryType.proof, ledger, kind, luid, handle, moment, row, proof, status: null });
      last.push(uncalled(step, 1, moment));
    });
    const { finding, counts } = await look(directory, { signedOnly: true });
    expect([finding, counts.permitted]).toEqual([null, 0]);
  });

  test.each([
    ['left out', (entries: Entry[], at: number) => entries.splice(at, 1)],
    ['told twice', (entries: Entry[], at: number) => entries.splice(at, 0, entries[at]!)],
  ])('a step that follows from a proof or an intent, %s', async (_, lie) => {
    const frames = framesOf(plain);
    const follows = followingIn(frames.flatMap(({ entries }) => entries));
    const places = frames.flatMap(({ entries }, frame) =>
      entries.flatMap((_entry, at) => (follows(entries, at) ? [[frame, at] as const] : [])),
    );
    expect(places.length).toBeGreaterThan(15);
    for (const [frame, at] of places.filter((__, n) => n % 4 === 0)) {
      const directory = await rewritten(plain, (all) => void lie(all[frame]!.entries, at));
      expect((await look(directory)).finding, `step ${at} of frame ${frame}`).not.toBeNull();
    }
  });
});

slow('a large intent is read once, not for each of its events that was delivered', async () => {
  const [directory, hook, claims] = [freshDirectory(), await openHook(), 200];
  const server = await startServer({ directory });
  const kit = makeKit(connect(server), makeKeys());
  const [symbol, wallet] = [await kit.symbol(), await kit.wallet()];
  const action = { schema: 'webhook', endpoint: hook.url };
  await kit.make('effects', { handle: unique('effect'), signal: 'balance-received', action });
  await kit.done(Array.from({ length: claims }, () => issue(wallet, symbol, 1)));
  await hook.waitFor(() => true, claims);
  await server.stop();
  await hook.close();
  const decode = vi.spyOn(entryCodec, 'decode');
  const { finding, counts } = await look(directory);
  const large = decode.mock.calls.filter(([, from, to]) => to - from > 50 * claims);
  decode.mockRestore();
  expect(finding).toBeNull();
  expect(counts.entries).toBeGreaterThan(claims);
  expect(large.length).toBeLessThan(10);
});

/** The last step of an intent of which one leg is prepared, and the bridge of the other is called. */
function calledStep(entries: readonly Entry[]): StepEntry {
  const steps = entries.filter((entry): entry is StepEntry => entry.type === EntryType.step);
  const called = `${[0, state('prepared'), 1, state('preparing')]}`;
  const isLast = (step: StepEntry) => steps.findLast(({ luid }) => luid === step.luid) === step;
  return steps.find((each) => `${each.outcome.links?.marks}` === called && isLast(each))!;
}

/** A step of the same intent: the call of this leg was given up. */
function uncalled(step: StepEntry, leg: number, moment: number): StepEntry {
  const lost = { reason: 'core.bridge-unreachable', detail: 'gone', links: links({ leg }) };
  return { ...step, moment, outcome: { ...step.outcome, moment, steps: ['error'], ...lost } };
}

/** The first delivery is given up; and what the luid is of the round behind one. */
function giveUp(frames: Frames) {
  const entries = frames.flatMap((frame) => frame.entries);
  const lost = entries.find((entry) => entry.type === EntryType.delivery) as DeliveryEntry;
  Object.assign(lost, { isDelivered: false, detail: 'status 503' });
  const made = entries.filter(({ type }) => type === EntryType.create || type === EntryType.intent);
  const behind = (luid: string) => luidOfDelivery(made[lost.row]!.luid, luid, entries[lost.seq - 1]!.moment);
  return { lost, last: frames.at(-1)!, behind };
}
