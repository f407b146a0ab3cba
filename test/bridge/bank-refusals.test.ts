/** What is forged, and what the ledger did not say, changes nothing at a bank. */
import { Socket } from 'node:net';
import { describe, expect, onTestFinished, test } from 'vitest';
import { CALM } from '../../src/bridge/chaos.ts';
import { startServer } from '../../src/bridge/server.ts';
import { type Json, makeKeys, proof, verifyRecord } from '../support/client.ts';
import { PATIENCE_MS, pause, until } from '../support/kit.ts';
import { housesOf, START } from './houses.ts';
import { BANK_KEYS, entryOf, FILE, openLedger, resigned, signed } from './kit.ts';

const ledger = await openLedger();
const { open } = housesOf(ledger);

describe('a forged body changes nothing', () => {
  const stranger = makeKeys();
  const turned = (text: string): string => (text.startsWith('A') ? 'B' : 'A') + text.slice(1);
  type Change = (body: Json) => Json;
  /** Changes the data and signs it as the ledger would: what is wrong then is inside. */
  const inside =
    (more: (data: Json) => Json): Change =>
    (body) =>
      signed({ ...body.data, ...more(body.data) }, ledger.keys);
  const withIntent = (change: Change): Change => inside(({ intent }) => ({ intent: change(intent) }));
  const FORGERIES: [what: string, status: number, change: Change][] = [
    ['amount changed', 422, (body) => ({ ...body, data: { ...body.data, amount: 1 } })],
    ['a hash of something else', 401, (body) => ({ ...body, hash: 'a'.repeat(64) })],
    ['no hash', 422, ({ data, meta }) => ({ data, meta })],
    ['no proof', 401, (body) => ({ ...body, meta: { proofs: [] } })],
    ['no meta', 422, ({ hash, data }) => ({ hash, data })],
    ["a stranger's signature", 401, (body) => resigned(body, stranger)],
    ["the bank's own signature", 401, (body) => resigned(body, BANK_KEYS)],
    [
      "a stranger's signature under the ledger's key",
      401,
      (body) => {
        const [given] = resigned(body, stranger).meta.proofs;
        return { ...body, meta: { proofs: [{ ...given, public: ledger.keys.public }] } };
      },
    ],
    [
      'one bit of the signature turned',
      401,
      (body) => {
        const [given] = body.meta.proofs;
        return { ...body, meta: { proofs: [{ ...given, result: turned(given.result) }] } };
      },
    ],
    [
      'a digest of something else',
      401,
      (body) => ({ ...body, meta: { proofs: [{ ...body.meta.proofs[0], digest: 'a'.repeat(64) }] } }),
    ],
    [
      'a proof by another method',
      401,
      (body) => ({ ...body, meta: { proofs: [{ ...body.meta.proofs[0], method: 'ed25519-v1' }] } }),
    ],
    [
      'a custom that was not signed',
      401,
      (body) => ({ ...body, meta: { proofs: [{ ...body.meta.proofs[0], custom: { moment: 'now' } }] } }),
    ],
    [
      'a proof of another record beside the right one',
      401,
      (body) => ({ ...body, meta: { proofs: [...body.meta.proofs, proof('b'.repeat(64), ledger.keys)] } }),
    ],
    ['an intent with other claims', 422, withIntent((intent) => ({ ...intent, data: { ...intent.data, claims: [] } }))],
    ['an intent the ledger has not signed', 401, withIntent((intent) => resigned(intent, stranger))],
    ['no intent', 422, inside(() => ({ intent: undefined }))],
    ['more than the claim', 422, inside(() => ({ amount: 301 }))],
    ['another symbol than the claim', 422, inside(() => ({ symbol: { handle: 'eur' } }))],
    ['a claim that is not there', 422, inside(() => ({ inputs: [1] }))],
    [
      'a claim that takes from nobody',
      422,
      withIntent((intent) => {
        const [{ source: _, ...rest }] = intent.data.claims;
        return signed({ ...intent.data, claims: [{ ...rest, action: 'issue' }] }, ledger.keys);
      }),
    ],
    ['a claim twice', 422, inside(() => ({ inputs: [0, 0], amount: 600 }))],
    ['no claim', 422, inside(() => ({ inputs: [] }))],
    ['an amount below zero', 422, inside(() => ({ amount: -300 }))],
    ['an amount that is no number', 422, inside(() => ({ amount: '300' }))],
    ['a credit', 422, inside(() => ({ schema: 'credit' }))],
    ['a handle of no debit', 422, inside(() => ({ handle: 'cre_1' }))],
    ['no source', 422, inside(() => ({ source: undefined }))],
    [
      'no symbol, nor one in the claim',
      422,
      inside(({ intent }) => {
        const [{ symbol: _, ...claim }] = intent.data.claims;
        return { symbol: undefined, intent: signed({ ...intent.data, claims: [claim] }, ledger.keys) };
      }),
    ],
    ['an intent of no name', 422, withIntent(({ data }) => signed({ ...data, handle: '' }, ledger.keys))],
  ];
  test.each(FORGERIES)('%s: %i', async (_, status, change) => {
    const house = await open();
    const before = house.disk.bytesOf(FILE);
    const debit = entryOf(ledger, 'debit', 'ana', 300);
    const answer = await house.send('POST', '/debits', change(debit.body));
    expect(answer.status).toBe(status);
    verifyRecord(answer.body, BANK_KEYS.public);
    expect(await house.money()).toEqual(START);
    expect(house.disk.bytesOf(FILE).equals(before)).toBe(true);
    // The true one is still taken.
    expect(await house.prepare(debit)).toBe(202);
  });

  test('a hash and a digest in large letters are the same ones, and the intent is too', async () => {
    const house = await open();
    const debit = entryOf(ledger, 'debit', 'ana', 300);
    const enlarge = (body: Json): Json => ({
      ...body,
      hash: body.hash.toUpperCase(),
      meta: { proofs: body.meta.proofs.map((one: Json) => ({ ...one, digest: one.digest.toUpperCase() })) },
    });
    const large = enlarge(signed({ ...debit.body.data, intent: enlarge(debit.intent) }, ledger.keys));
    expect((await house.send('POST', '/debits', large)).status).toBe(202);
    expect(await house.prepare(debit)).toBe(202);
  });

  test.each([
    ['another entry in the path', { handle: 'deb_other' }],
    ['another action in the path', { action: 'abort' }],
    ['no intent', { intent: undefined }],
  ])('a commit with %s', async (_, more) => {
    const house = await open();
    const debit = entryOf(ledger, 'debit', 'ana', 300);
    await house.prepare(debit);
    expect(await house.go(debit, 'commit', more)).toBe(422);
    expect(await house.money()).toEqual({ ...START, ana: [700, 300, 0] });
  });

  test.each<[string, string, number]>([
    ['nothing', '', 400],
    ['no JSON', '{', 400],
    ['a list', '[]', 400],
    [
      'nested too deep',
      `{"hash":"${'a'.repeat(64)}","meta":{"proofs":[]},"data":${'{"a":'.repeat(15_000)}1${'}'.repeat(15_001)}`,
      400,
    ],
    ['more than the bank takes', `{"a":"${'a'.repeat(100_000)}"}`, 413],
  ])('a body that is %s', async (_, body, status) => {
    const house = await open();
    expect((await house.send('POST', '/debits', body)).status).toBe(status);
  });

  test('a large one while others of that size are on their way: for now, and small ones are taken', async () => {
    const house = await open({ bodyBytesMax: 600_000, largeBytesMax: 500_000 });
    const slow = new Socket().connect(Number(new URL(house.url).port), '127.0.0.1');
    slow.on('error', () => {});
    slow.write(`POST /debits HTTP/1.1\r\nhost: bank\r\ncontent-length: 550000\r\n\r\n${' '.repeat(300_000)}`);
    const debit = entryOf(ledger, 'debit', 'ana', 300);
    const large = `${' '.repeat(400_000)}${JSON.stringify(debit.body)}`;
    const status = async (body: Json): Promise<number> => (await house.send('POST', '/debits', body)).status;
    await until(async () => (await status(large)) === 503, 'a refusal');
    expect(await status(debit.body)).toBe(202);
    for (let n = 0; n < 5; n++) expect(await status(large)).toBe(503);
    slow.destroy();
    await until(async () => (await status(large)) === 202, 'the room that was left');
    // None of it is kept by those that were sent away, nor by those that were taken.
    for (let n = 0; n < 5; n++) expect(await status(large)).toBe(202);
  });

  test('a body that does not end, and is far too large by then, is cut off', async () => {
    const house = await open();
    const endless = new Socket().connect(Number(new URL(house.url).port), '127.0.0.1');
    endless.on('error', () => {});
    endless.write(`POST /debits HTTP/1.1\r\nhost: bank\r\ncontent-length: 9000000\r\n\r\n${' '.repeat(500_000)}`);
    endless.resume();
    await new Promise((resolve) => endless.once('close', resolve));
  });

  test('who reads no answers, for long: each held a connection for ever, and a thousand of them all there are', async () => {
    const limits = {
      bodyBytesMax: 1000,
      largeBytesMax: 1000,
      requestMsMax: PATIENCE_MS,
      stillMsMax: 500,
      connectionsMax: 1,
    };
    const server = await startServer({
      ...{ ...limits, host: '127.0.0.1', port: 0, header: null, chaos: CALM },
      handle: async (_, target) => ({ status: 200, body: 'x'.repeat(target === '/long' ? 30e6 : 1) }),
      defect: () => {},
    });
    const silent = new Socket().connect(server.port, '127.0.0.1').pause();
    silent.on('error', () => {});
    onTestFinished(async () => {
      silent.destroy();
      await server.close();
    });
    silent.write('GET /long HTTP/1.1\r\nhost: bank\r\n\r\n');
    const ask = () =>
      fetch(`http://127.0.0.1:${server.port}/`, { signal: AbortSignal.timeout(2_000) }).then(
        ({ status }) => status,
        () => 0,
      );
    await pause(200);
    expect(await ask()).toBe(0);
    await until(async () => (await ask()) === 200, 'a connection', 5_000);
  });

  test('nobody who does not bring the header', async () => {
    const house = await open({ header: { name: 'x-key', value: 'open sesame' } });
    const debit = entryOf(ledger, 'debit', 'ana', 300);
    const tries: [Record<string, string>, number][] = [
      [{}, 401],
      [{ 'x-key': 'open' }, 401],
      [{ 'X-Key': 'open sesame' }, 202],
    ];
    for (const [headers, status] of tries) {
      expect((await house.send('POST', '/debits', debit.body, headers)).status).toBe(status);
    }
  });

  test('paths and methods it does not know', async () => {
    const house = await open();
    for (const [method, path, status] of [
      ['GET', '/nothing', 404],
      ['GET', '//', 404],
      ['GET', '/debits', 405],
      ['POST', '/debits/deb_1/delete', 404],
      ['DELETE', '/accounts', 405],
    ] as const) {
      const answer = await house.send(method, path);
      expect([path, answer.status, answer.body.data.reason]).toEqual([path, status, 'api.route-not-found']);
    }
  });
});

test('pages that begin nowhere: none would be told for the whole list, or the same entries twice', async () => {
  const house = await open();
  for (const path of ['/entries?from=x', '/entries?from=-1', '/intents?from=1.5', '/intents?from=']) {
    const answer = await house.send('GET', path);
    expect([path, answer.status, answer.body.data.reason]).toEqual([path, 400, 'api.query-malformed']);
  }
});

describe('what the ledger tells', () => {
  test('the status of an intent is the one signed, not the one beside the proofs', async () => {
    const house = await open();
    const intent = ledger.intent('told', [], 'completed');
    const lie = { ...intent, meta: { ...intent.meta, status: 'rejected' } };
    expect((await house.send('PUT', '/intents/told', lie)).status).toBe(202);
    const { intents } = (await house.send('GET', '/intents')).body.data;
    expect(intents).toEqual([{ handle: 'told', status: 'completed' }]);
    const longest = 'h'.repeat(256);
    await house.send('PUT', `/intents/${longest}`, ledger.intent(longest, [], 'pending'));
    // Of all that it has signed the last counts.
    const later = {
      ...intent,
      meta: { proofs: [...intent.meta.proofs, proof(intent.hash, ledger.keys, { status: 'x' })] },
    };
    await house.send('PUT', '/intents/told', later);
    const inOrderOfNews = [
      [longest, 'pending'],
      ['told', 'x'],
    ];
    expect([...house.bank.books.intents]).toEqual(inOrderOfNews);
    const written = house.disk.bytesOf(FILE);
    await house.send('PUT', '/intents/told', later);
    expect(house.disk.bytesOf(FILE), 'what is no news is not written').toEqual(written);
    expect((await house.send('PUT', '/intents/other', intent)).status).toBe(422);
    expect((await house.send('PUT', '/intents/told', resigned(intent, makeKeys()))).status).toBe(401);
  });

  test.each([
    [256, 202],
    [255, 401],
  ])('of its proofs the newest count: one that does not hold, before %i that do, is %i', async (count, status) => {
    const house = await open();
    const intent = ledger.intent('told', [], 'completed');
    const given = intent.meta.proofs.at(-1);
    const proofs = [{ ...given, digest: 'a'.repeat(64) }, ...Array(count).fill(given)];
    expect((await house.send('PUT', '/intents/told', { ...intent, meta: { proofs } })).status).toBe(status);
  });

  test('what stands among the proofs and is none is passed by: it was told as a defect, and as 503', async () => {
    const house = await open({ ledgerHandles: ['main'] });
    const amid = (body: Json): Json => ({
      ...body,
      meta: { ...body.meta, proofs: [null, 'x', ...body.meta.proofs, 7] },
    });
    expect((await house.send('PUT', '/intents/told', amid(ledger.intent('told', [])))).status).toBe(202);
    const event = signed({ handle: 'evt_1', signal: 'balance-received' }, ledger.keys);
    expect((await house.send('POST', '/effects/notify', amid(event))).status).toBe(202);
    const stranger = resigned(event, makeKeys());
    expect((await house.send('POST', '/effects/notify', amid(stranger))).status).toBe(401);
  });

  test.each<[what: string, method: string, path: string, status: number, make: () => Json]>([
    ['an intent that is no JSON', 'PUT', '/intents/told', 400, () => '{'],
    [
      'an intent of whose status it has signed nothing',
      ...(['PUT', '/intents/told', 422] as const),
      () => ({ ...signed({ handle: 'told', claims: [] }, ledger.keys), status: 'completed' }),
    ],
    ['an event that is a list', 'POST', '/effects/notify', 400, () => '[]'],
    [
      'an event of another name',
      ...(['POST', '/effects/notify', 422] as const),
      () => signed({ handle: 'deb_1', signal: 'balance-received' }, ledger.keys),
    ],
    [
      'an event of no name',
      ...(['POST', '/effects/notify', 422] as const),
      () => signed({ signal: 'balance-received' }, ledger.keys),
    ],
    [
      'an event of no signal',
      ...(['POST', '/effects/notify', 422] as const),
      () => signed({ handle: 'evt_1' }, ledger.keys),
    ],
  ])('%s is not taken', async (_, method, path, status, make) => {
    const house = await open();
    const before = house.disk.bytesOf(FILE);
    const answer = await house.send(method, path, make());
    expect(answer.status).toBe(status);
    verifyRecord(answer.body, BANK_KEYS.public);
    expect(house.disk.bytesOf(FILE).equals(before)).toBe(true);
    expect((await house.send('GET', '/intents')).body.data.intents).toEqual([]);
  });

  test('an event is taken once, however often it comes', async () => {
    const house = await open();
    const event = signed({ handle: 'evt_1', signal: 'balance-received' }, ledger.keys);
    expect((await house.send('POST', '/effects/notify', event)).status).toBe(202);
    const size = house.disk.bytesOf(FILE).length;
    expect((await house.send('POST', '/effects/notify', event)).status).toBe(202);
    expect(house.disk.bytesOf(FILE).length).toBe(size);
    expect((await house.send('POST', '/effects/notify', resigned(event, makeKeys()))).status).toBe(401);
  });
});
