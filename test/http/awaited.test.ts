/** `Prefer: wait`: what proves how an intent ended is signed while the disk takes it, and told when both are there. */
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { type ProofJob, ProofPool } from '../../src/proof/pool.ts';
import { Sealer } from '../../src/proof/sealer.ts';
import { Desk } from '../fuzz/desk.ts';
import { makeKeys, proof, type Reply, record } from '../support/client.ts';
import { turns, turnsUntil } from '../support/turns.ts';

const keys = makeKeys();
/** Digests of a job that has no signatures to verify: those of late proofs. */
const lateRows = ({ checks, seals }: ProofJob) => (checks.length > 0 ? 0 : seals.length / 32);

let desk: Desk;
let made: number;
/** Late proofs that were asked for, a number for each time. */
let late: number[];
/** Those the workers keep to themselves while they are held. */
let held: (() => void)[] | null;

beforeEach(async () => {
  desk = await Desk.open({}, {}, Number.POSITIVE_INFINITY, 10);
  await desk.post('symbols', { handle: 'usd', factor: 100 }, keys);
  for (const handle of ['a', 'b']) await desk.post('wallets', { handle }, keys);
  made = 0;
  late = [];
  held = null;
  const { submit } = ProofPool.prototype;
  vi.spyOn(ProofPool.prototype, 'submit').mockImplementation(function (this: ProofPool, job) {
    if (lateRows(job) === 0) return submit.call(this, job);
    late.push(lateRows(job));
    const go = () => submit.call(this, job);
    if (held === null) go();
    else held.push(go);
  });
});
afterEach(async () => {
  vi.restoreAllMocks();
  desk.house.disk.releaseSyncs();
  await desk.close();
});

/** Sends an intent whose client waits for its end; `told` are the answers. */
function send(action: 'issue' | 'transfer') {
  const told: Reply[] = [];
  const source = action === 'transfer' ? { source: { handle: 'a' } } : {};
  const claim = { action, ...source, target: { handle: 'b' }, symbol: { handle: 'usd' }, amount: 100 };
  const body = record({ handle: `i-${made++}`, claims: [claim] }, keys);
  const answer = desk.send('POST', '/v2/intents', body, { prefer: 'wait=5' });
  answer.then((reply) => told.push(reply)).catch(() => {});
  return { answer, told };
}

const statuses = ({ body }: Reply) =>
  body.meta.proofs.map(({ custom }: { custom?: { status: string } }) => custom?.status);
const COMPLETED = [undefined, 'pending', 'prepared', 'committed', 'completed'];

test.each([
  ['an issue', 'issue', COMPLETED],
  ['a transfer without money', 'transfer', [undefined, 'pending', 'failed', 'aborted', 'rejected']],
] as const)('the end of %s is signed before the disk has it, once, and told after', async (_, action, all) => {
  desk.house.disk.holdSyncs();
  const { answer, told } = send(action);
  await turns();
  expect([late, told]).toEqual([[3], []]);
  desk.house.disk.releaseSyncs();
  const reply = await answer;
  expect([reply.status, reply.body.meta.status]).toEqual([201, all.at(-1)]);
  expect(statuses(reply)).toEqual(all);
  expect((await desk.get(`/v2/intents/${reply.body.luid}`)).text).toBe(reply.text);
  expect(late).toEqual([3]);
});

test('what the disk has is not told before its end is signed, nor twice', async () => {
  held = [];
  const { answer, told } = send('issue');
  await turns();
  expect([late, told]).toEqual([[3], []]);
  expect(desk.house.engine.waiting).toBe(0);
  for (const go of held) go();
  expect(statuses(await answer)).toEqual(COMPLETED);
  await turns();
  expect(told).toHaveLength(1);
});

test('an intent that is not over yet has nothing signed ahead, nor has one whose client does not wait', async () => {
  const claims = [{ action: 'issue', target: { handle: 'b' }, symbol: { handle: 'usd' }, amount: 1 }];
  const open = record({ handle: 'open', claims, config: { commit: 'manual' } }, keys);
  desk.house.disk.holdSyncs();
  const answers = [
    desk.send('POST', '/v2/intents', open, { prefer: 'wait=0' }),
    desk.post('intents', { handle: 'not-awaited', claims }, keys),
  ];
  await turns();
  expect(late).toEqual([]);
  desk.house.disk.releaseSyncs();
  const [waiting, other] = await Promise.all(answers);
  expect([waiting!.body.meta.status, other!.body.meta.status]).toEqual(['prepared', 'pending']);
});

test('nothing that was signed ahead is told where the disk fails', async () => {
  desk.house.disk.holdSyncs();
  const { answer } = send('issue');
  await turns();
  expect(late).toEqual([3]);
  desk.house.engine.fail(new Error('the disk is gone'));
  await expect(answer).rejects.toThrow('/v2/intents: 503');
  desk.house.disk.releaseSyncs();
});

test('thousands who waited for the same one were told of its end in one piece, and each had it signed', async () => {
  const claims = [{ action: 'issue', target: { handle: 'b' }, symbol: { handle: 'usd' }, amount: 1 }];
  const open = record({ handle: 'open', claims, config: { commit: 'manual' } }, keys);
  const { body: intent } = await desk.send('POST', '/v2/intents', open);
  const wordOf = (custom: object) => Buffer.from(JSON.stringify(proof(intent.hash, keys, custom)));
  let turn = 0;
  let goesOn = true;
  const count = () => {
    turn++;
    if (goesOn) setImmediate(count);
  };
  count();
  /** Turns of the event loop in which somebody was told. */
  const told: number[] = [];
  const say = (body: Buffer) => {
    const head = { method: 'POST', methodSent: 'POST', path: '/v2/intents/open/proofs', query: null, body };
    const header = (name: string) => (name === 'prefer' ? 'wait=9' : '');
    const send = () => told.push(turn);
    desk.app.handle({ ...head, header, forgetHead() {} }, { aborted: false, whenGone() {}, stay() {}, send });
  };
  // Who says it again is told as well; with a proof from each it would be a long record, which is told in turns anyway.
  for (let n = 0; n < 100; n++) say(wordOf({ said: 'yes' }));
  await turns();
  expect(told).toEqual([]);
  late = [];
  let now = performance.now();
  vi.spyOn(performance, 'now').mockImplementation(() => now++);
  say(wordOf({ action: 'commit' }));
  await turnsUntil(() => told.length === 101);
  goesOn = false;
  const mostAtOnce = Math.max(...told.map((one) => told.filter((other) => other === one).length));
  expect(mostAtOnce).toBeLessThan(10);
  expect(late.length).toBeLessThan(10);
});

test.each(['hasLate', 'keepLate'] as const)(
  'a mistake of ours in it (%s) is told, and ends neither the batch nor the answer',
  async (where) => {
    let isFirst = true;
    const was = Sealer.prototype[where] as (this: Sealer, ...args: unknown[]) => never;
    vi.spyOn(Sealer.prototype, where).mockImplementation(function (this: Sealer, ...args: unknown[]) {
      if (!isFirst) return was.apply(this, args);
      isFirst = false;
      throw new TypeError('no such member');
    });
    const { answer } = send('issue');
    await expect(answer).rejects.toThrow('/v2/intents: 201');
    expect(desk.house.engine.isFailed).toBe(false);
  },
);

test('who may add a proof to an intent and not read it hears it as it was with that, though they wait for its end', async () => {
  const access = [
    { action: 'any', record: 'any', signer: { public: keys.public } },
    { action: { $in: ['access', 'create'] }, record: 'any' },
  ];
  await desk.post('ledgers', { handle: 'closed', access }, keys);
  const there = { 'x-ledger': 'closed' };
  await desk.post('symbols', { handle: 'usd', factor: 100 }, keys, there);
  await desk.post('wallets', { handle: 'b' }, keys, there);
  const claims = [{ action: 'issue', target: { handle: 'b' }, symbol: { handle: 'usd' }, amount: 100 }];
  const { body: intent } = await desk.post(
    'intents',
    { handle: 'i', claims, config: { commit: 'manual' } },
    keys,
    there,
  );
  const add = (who: typeof keys, custom: object, more = {}) =>
    desk.send('POST', '/v2/intents/i/proofs', proof(intent.hash, who, custom), { ...there, ...more });
  const heard = add(makeKeys(), { status: 'seen' }, { prefer: 'wait=5' });
  await turns();
  expect((await add(keys, { action: 'commit' })).body.meta.status).toBe('completed');
  const { status, body } = await heard;
  expect([status, body.meta.status]).toEqual([200, 'prepared']);
  expect(statuses(await heard)).toEqual([undefined, 'pending', 'prepared', 'seen']);
});
