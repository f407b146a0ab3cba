/** Tokens whose signature is verified with those of all requests: what waits meanwhile, and what goes on afterwards. */
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { type ProofJob, ProofPool } from '../../src/proof/pool.ts';
import { Desk } from '../fuzz/desk.ts';
import { canon, type Json, makeKeys, makeToken, type Reply, record, sha256 } from '../support/client.ts';
import { reasonOf } from '../support/kit.ts';
import { turns } from '../support/turns.ts';

const keys = makeKeys();
const HOST = 'ledger.example';
const URL = `http://${HOST}/v2/intents`;
let desk: Desk;
/** Tokens that are being verified. */
let held: { go: () => void; fail: () => void }[];
let isHolding: boolean;

beforeEach(async () => {
  isHolding = false;
  held = [];
  const { submit } = ProofPool.prototype;
  vi.spyOn(ProofPool.prototype, 'submit').mockImplementation(function (this: ProofPool, job: ProofJob) {
    const go = () => submit.call(this, job);
    const fail = () =>
      job.done({ error: new Error('nothing could be verified'), bad: 0, signatures: new Uint8Array(0) });
    if (isHolding && job.text !== undefined) held.push({ go, fail });
    else go();
  });
});
afterEach(async () => {
  vi.restoreAllMocks();
  desk.house.disk.releaseSyncs();
  await turns();
  // It would wait for a turn that is never left, and the test that found one would not be heard of for minutes.
  if (desk.house.engine.waiting === 0) await desk.close();
});

async function open(options: Parameters<typeof Desk.open>[1] = {}): Promise<void> {
  desk = await Desk.open({}, options);
  await desk.post('symbols', { handle: 'usd', factor: 100 }, keys);
  await desk.post('wallets', { handle: 'w' }, keys);
}

function intent(handle: string): Json {
  const claims = [{ action: 'issue', target: { handle: 'w' }, symbol: { handle: 'usd' }, amount: 100 }];
  return record({ handle, claims, custom: { text: 'Überweisung — März' } }, keys);
}

/** A token for a request with this body, by default one that covers it. */
function tokenOf(body: Json | null, hsh: string | undefined = hashOf(body)): Record<string, string> {
  const now = Math.floor(desk.world.now / 1000);
  const claims = { iss: 'me', sub: 'me', aud: 'main', iat: now, exp: now + 60, ...(hsh !== undefined && { hsh }) };
  return { authorization: `Bearer ${makeToken(claims, keys)}`, host: HOST };
}
const hashOf = (body: Json | null) =>
  sha256(canon({ method: body === null ? 'GET' : 'POST', url: URL, headers: null, body }));

/** The same with its last character another one, which is six bits of S and two of nothing. */
function forged({ authorization, ...rest }: Record<string, string>): Record<string, string> {
  const [start, signature] = [authorization!.slice(0, -86), Buffer.from(authorization!.slice(-86), 'base64url')];
  signature[0]! ^= 1;
  return { authorization: start + signature.toString('base64url'), ...rest };
}

const post = (text: string | Buffer, headers: Record<string, string>): Promise<Reply> =>
  desk.ask({ method: 'POST', path: '/v2/intents', body: Buffer.from(text), headers });

describe('while a token is verified', () => {
  test('its request has a place, and its body is its own', async () => {
    await open();
    isHolding = true;
    const sent = intent('lent');
    const body = Buffer.from(JSON.stringify(sent));
    const answer = desk.ask({ method: 'POST', path: '/v2/intents', body, headers: tokenOf(sent) });
    // It was lent: the next request is read into the same memory.
    body.fill(0x20);
    await turns();
    expect([held.length, desk.house.engine.waiting]).toEqual([1, 1]);
    held[0]!.go();
    expect((await answer).status).toBe(201);
    expect(desk.house.engine.waiting).toBe(0);
  });

  test('who only reads takes none', async () => {
    await open();
    isHolding = true;
    const answer = desk.get('/v2/intents', tokenOf(null));
    await turns();
    expect([held.length, desk.house.engine.waiting]).toEqual([1, 0]);
    held[0]!.go();
    expect((await answer).status).toBe(200);
  });

  test.each([
    ['is let go on', 'go', [201, undefined]],
    ['is refused', 'forged', [401, 'auth.unauthorized']],
    ['cannot be verified', 'fail', [500, 'api.unexpected-error']],
  ] as const)('others wait for their turn, and have it once it %s', async (_, end, expected) => {
    await open({ pipelineMax: 1 });
    isHolding = true;
    const first = intent('first');
    const token = tokenOf(first);
    const answers = [post(JSON.stringify(first), end === 'forged' ? forged(token) : token)];
    answers[0]!.catch(() => {});
    await turns();
    let isOver = false;
    answers.push(post(JSON.stringify(intent('second')), {}));
    answers[1]!.then(() => (isOver = true)).catch(() => {});
    await turns();
    expect([held.length, isOver]).toEqual([1, false]);
    held[0]![end === 'fail' ? 'fail' : 'go']();
    if (end === 'fail') await expect(answers[0]).rejects.toThrow('/v2/intents: 500');
    else {
      const { status, body } = await answers[0]!;
      expect([status, body.data.reason]).toEqual(expected);
    }
    expect((await answers[1]!).status).toBe(201);
    expect(desk.house.engine.waiting).toBe(0);
    expect((await desk.get('/v2/intents/first')).status).toBe(end === 'go' ? 200 : 404);
  });

  test('its time may come to its end: it is refused', async () => {
    await open();
    isHolding = true;
    const sent = intent('late');
    const answer = post(JSON.stringify(sent), tokenOf(sent));
    await turns();
    desk.world.now += 61_000;
    held[0]!.go();
    expect(reasonOf(await answer)).toEqual([401, 'auth.unauthorized']);
    expect((await desk.get('/v2/intents/late')).status).toBe(404);
  });

  test('its signer may get another key: it is refused, as it would be had it come then', async () => {
    await open();
    const signer = { handle: 'ana', format: 'ed25519-raw', public: keys.public };
    const made = await desk.post('signers', signer, keys);
    expect(made.status).toBe(201);
    isHolding = true;
    const now = Math.floor(desk.world.now / 1000);
    const claims = { iss: 'ana', sub: 'ana', aud: 'main', iat: now, exp: now + 60 };
    const token = { authorization: `Bearer ${makeToken(claims, keys, { kid: 'ana' })}` };
    const answers = [desk.get('/v2/wallets/w', token)];
    await turns();
    const other = makeKeys();
    const changed = record({ ...signer, public: other.public, parent: made.body.hash }, keys);
    expect((await desk.send('PUT', '/v2/signers/ana', changed)).status).toBe(200);
    held[0]!.go();
    answers.push(desk.get('/v2/wallets/w', { authorization: `Bearer ${makeToken(claims, other, { kid: 'ana' })}` }));
    await turns();
    held[1]!.go();
    expect((await Promise.all(answers)).map(({ status }) => status)).toEqual([401, 200]);
  });

  test('its client may go: its turn is left to others, and nothing is done', async () => {
    await open();
    isHolding = true;
    const sent = intent('gone');
    const [headers, body] = [tokenOf(sent), Buffer.from(JSON.stringify(sent))];
    const hangUp = desk.askAndHangUp({ method: 'POST', path: '/v2/intents', body, headers });
    await turns();
    expect(desk.house.engine.waiting).toBe(1);
    hangUp();
    held[0]!.go();
    await turns();
    expect(desk.house.engine.waiting).toBe(0);
    expect((await desk.get('/v2/intents/gone')).status).toBe(404);
  });

  test('its signer may get another key: nothing of that is told before the disk has it', async () => {
    await open();
    const signer = { handle: 'ana', format: 'ed25519-raw', public: keys.public };
    const made = await desk.post('signers', signer, keys);
    isHolding = true;
    const now = Math.floor(desk.world.now / 1000);
    const claims = { iss: 'ana', sub: 'ana', aud: 'main', iat: now, exp: now + 60 };
    const told: number[] = [];
    const answer = desk.get('/v2/wallets/w', { authorization: `Bearer ${makeToken(claims, keys, { kid: 'ana' })}` });
    answer.then(({ status }) => told.push(status)).catch(() => {});
    await turns();
    desk.house.disk.holdSyncs();
    const changed = record({ ...signer, public: makeKeys().public, parent: made.body.hash }, keys);
    const change = desk.send('PUT', '/v2/signers/ana', changed);
    await turns();
    held[0]!.go();
    await turns();
    expect([held.length, told]).toEqual([1, []]);
    desk.house.disk.releaseSyncs();
    expect([(await answer).status, (await change).status]).toEqual([401, 200]);
  });

  test('nothing of what it comes with is looked at: a stranger is told of the token alone', async () => {
    await open();
    for (const body of ['{', '{}', JSON.stringify(intent('x'))]) {
      expect(reasonOf(await post(body, forged(tokenOf({}))))).toEqual([401, 'auth.unauthorized']);
    }
  });
});

test.each([
  ['verified', 128],
  ['verified, after its turn', 1],
])('its body is let go once it was read, though its answer may take long: %s', async (_, pipelineMax) => {
  await open({ pipelineMax });
  const { from } = Buffer;
  const bodies: WeakRef<Buffer>[] = [];
  // V8 is asked to collect: nothing else tells what is still held.
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  const sent = record({ ...intent('long').data, config: { commit: 'manual' } }, keys);
  const body = from(JSON.stringify(sent) + ' '.repeat(9000));
  isHolding = true;
  const first = pipelineMax === 1 ? post(JSON.stringify(intent('before')), tokenOf(intent('before'))) : null;
  await turns();
  Buffer.from = ((...args: Parameters<typeof from>) => {
    const made = from(...args);
    if (made.length > 9000) bodies.push(new WeakRef(made));
    return made;
  }) as typeof from;
  const answer = desk.ask({
    method: 'POST',
    path: '/v2/intents',
    body,
    headers: { ...tokenOf(sent), prefer: 'wait=20' },
  });
  answer.catch(() => {});
  await turns();
  while (held.length > 0) {
    held.shift()!.go();
    await turns();
  }
  Buffer.from = from;
  await first;
  vi.clearAllMocks();
  await turns();
  collect();
  expect(bodies.length).toBeGreaterThan(0);
  expect(bodies.filter((each) => each.deref() !== undefined)).toEqual([]);
  expect((await desk.get('/v2/intents/long')).status).toBe(200);
});

test('a token is verified once as long as it is remembered, one that is too long where it came', async () => {
  await open();
  const sent = intent('again');
  const { authorization } = tokenOf(sent);
  isHolding = true;
  const answer = post(JSON.stringify(sent), { authorization: authorization!, host: HOST });
  await turns();
  held[0]!.go();
  expect((await answer).status).toBe(201);
  expect(reasonOf(await post(JSON.stringify(sent), { authorization: authorization!, host: HOST }))).toEqual([
    409,
    'record.duplicated',
  ]);
  const now = Math.floor(desk.world.now / 1000);
  const claims = { iss: 'me', sub: 'x'.repeat(1000), aud: 'main', iat: now, exp: now + 60 };
  const long = { authorization: `Bearer ${makeToken(claims, keys)}` };
  expect((await desk.get('/v2/wallets/w', long)).status).toBe(200);
  expect(reasonOf(await desk.get('/v2/wallets/w', forged(long)))).toEqual([401, 'auth.unauthorized']);
  expect(held).toHaveLength(1);
});

describe('what a token covers', () => {
  test.each<[string, (body: Json) => string]>([
    ['as it is written by clients', (body) => JSON.stringify(body)],
    ['with spaces', (body) => JSON.stringify(body, null, 2)],
    ['in order', (body) => canon(body)],
    ['with a member twice, of which the last counts', (body) => `{"hash":"x",${JSON.stringify(body).slice(1)}`],
  ])('is the body, %s', async (_, write) => {
    await open();
    const body = intent('covered');
    expect(reasonOf(await post(write(body), tokenOf(body, hashOf({ ...body, extra: 1 }))))).toEqual([
      401,
      'auth.unauthorized',
    ]);
    expect(reasonOf(await post(write({ ...body, extra: 1 }), tokenOf(body)))).toEqual([401, 'auth.unauthorized']);
    expect((await post(write(body), tokenOf(body))).status).toBe(201);
  });
});
