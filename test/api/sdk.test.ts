/**
 * The public package, unmodified, as its users use it: every answer verified by it, records made, read, listed
 * and changed through its builders, its errors by reason, its tokens.
 */
import { createRequire } from 'node:module';
import { describe, expect, test } from 'vitest';
import { connect, type Json, makeKeys, verifyRecord } from '../support/client.ts';
import { makeKit, openLedger, unique } from '../support/kit.ts';
import { serverOfFile } from '../support/of-file.ts';
import { NOWHERE } from '../support/samples.ts';

const require = createRequire(import.meta.url);
const { LedgerSdk, LedgerSdkError } = require('@minka/ledger-sdk') as typeof import('@minka/ledger-sdk');
type Sdk = InstanceType<typeof LedgerSdk>;
type Options = ConstructorParameters<typeof LedgerSdk>[0];

function makePair(): { format: 'ed25519-raw'; public: string; secret: string } {
  const { public: open, secret } = makeKeys();
  return { format: 'ed25519-raw', public: open, secret };
}
const keyPair = makePair();
const sign = [{ keyPair }];

const { server } = await serverOfFile();
const makeSdk = (more: Partial<Options> = {}): Sdk =>
  new LedgerSdk({
    server: server.url,
    signer: { format: 'ed25519-raw', public: server.publicKey },
    verifyResponseProofs: true,
    ...more,
  });

async function makeWallet(own: Sdk = sdk): Promise<string> {
  const handle = unique('wallet');
  await own.wallet.init().data({ handle }).hash().sign(sign).send();
  return handle;
}
async function makeSymbol(): Promise<string> {
  const handle = unique('symbol');
  await sdk.symbol.init().data({ handle, factor: 100 }).hash().sign(sign).send();
  return handle;
}
function sendIntent(claims: Json[], own: Sdk = sdk, data: Json = {}): Promise<Json> {
  const handle = own.handle.unique();
  return own.intent
    .init()
    .data({ handle: `i${handle}`, claims, ...data })
    .hash()
    .sign(sign)
    .send();
}

/** The reason of the LedgerSdkError a call must end in. */
async function reasonOf(call: Promise<unknown>): Promise<string> {
  try {
    await call;
  } catch (error) {
    expect(error).toBeInstanceOf(LedgerSdkError);
    return (error as Json).reason;
  }
  throw new Error('it did not fail');
}

const sdk = makeSdk();
const symbol = await makeSymbol();

test('status', async () => {
  const { status } = await sdk.status();
  expect(status).toMatchObject({ ledger: 'main', status: 'UP' });
});

test('it would notice a false key', async () => {
  const signer = { format: 'ed25519-raw', public: makeKeys().public } as const;
  expect(await reasonOf(makeSdk({ signer }).wallet.list())).toBe('crypto.signature-missing');
});

const kinds: [string, (handle: string) => Json][] = [
  ['signer', (handle) => ({ handle, format: 'ed25519-raw', public: makeKeys().public })],
  ['symbol', (handle) => ({ handle, factor: 100 })],
  ['wallet', (handle) => ({ handle })],
  ['effect', (handle) => ({ handle, signal: 'bridge-updated', action: { schema: 'webhook', endpoint: NOWHERE } })],
  ['bridge', (handle) => ({ handle, schema: 'rest', config: { server: NOWHERE }, secure: [] })],
  ['ledger', (handle) => ({ handle, access: [{ action: 'any', record: 'any' }] })],
];
describe.each(kinds)('%s', (kind, data) => {
  const clientOf = (): Json => (sdk as Json)[kind];
  const make = (handle: string, more: Json = {}): Promise<Json> =>
    clientOf()
      .init()
      .data({ ...data(handle), ...more })
      .hash()
      .sign(sign)
      .send();

  test('create and read', async () => {
    const handle = unique(kind);
    const made = await make(handle, { custom: { note: 'ñandú' } });
    expect(made[kind]).toMatchObject({ handle, custom: { note: 'ñandú' } });
    const read = await clientOf().read(handle);
    expect(read.hash).toBe(made.hash);
    expect(read[kind]).toEqual(made[kind]);
    expect(read.meta.proofs).toEqual(made.meta.proofs);
    await sdk.proofs.ledger().length(2).expect({ public: keyPair.public }).verify(read.response.data);
  });
  test('list with pages', async () => {
    const handles = [unique(kind), unique(kind), unique(kind)];
    for (const handle of handles) await make(handle);
    const first = await clientOf().list({ page: { index: 0, limit: 2 } });
    const second = await clientOf().list({ page: { index: 1, limit: 2 } });
    expect(first.page).toMatchObject({ index: 0, limit: 2 });
    expect(second.page).toMatchObject({ index: 1, limit: 2 });
    const rows: Json[] = [...first.response.data.data, ...second.response.data.data];
    const found = rows.map((row) => row.data.handle);
    for (const handle of handles) expect(found).toContain(handle);
    for (const row of rows) verifyRecord(row, server.publicKey);
    expect((await clientOf().list()).page).toMatchObject({ index: 0, limit: 20 });
  });
  test('update via from', async () => {
    const made = await make(unique(kind));
    const { handle } = made[kind];
    const next = await clientOf()
      .from(made.response.data)
      .data({ custom: { version: 2 } })
      .hash()
      .sign(sign)
      .send();
    expect(next[kind]).toMatchObject({ handle, parent: made.hash, custom: { version: 2 } });
    const read = await clientOf().read(handle);
    expect(read.hash).toBe(next.hash);
    const again = clientOf().from(made.response.data).data({ custom: {} }).hash().sign(sign).send();
    expect(await reasonOf(again)).toBe('crypto.parent-hash-invalid');
    const third = await clientOf()
      .from(read.response.data)
      .data({ custom: { version: 3 } })
      .hash()
      .sign(sign)
      .send();
    expect(third[kind].parent).toBe(next.hash);
  });
  test('errors by reason', async () => {
    const handle = unique(kind);
    await make(handle);
    expect(await reasonOf(make(handle))).toBe('record.duplicated');
    expect(await reasonOf(clientOf().read('nobody'))).toBe('record.not-found');
    expect(await reasonOf(make('not a handle'))).toBe('record.schema-invalid');
    expect(
      await reasonOf(
        clientOf()
          .init()
          .data(data(unique(kind)))
          .hash('00'.repeat(32))
          .sign(sign)
          .send(),
      ),
    ).toBe('crypto.hash-invalid');
  });
});

test('handles that need encoding', async () => {
  const handle = `svgs:+57.300@${unique('bank')}`;
  await sdk.wallet.init().data({ handle }).hash().sign(sign).send();
  expect((await sdk.wallet.read(handle)).wallet.handle).toBe(handle);
  expect((await sdk.wallet.getBalances(handle)).balances).toEqual([]);
});

/** The package knows a locked key by its length, and what it locks on Node 22 and newer is longer: it cannot open it itself. */
const canUnlock = Number.parseInt(process.versions.node, 10) < 22;

test.skipIf(!canUnlock)('a signer with a locked key', async () => {
  const handle = unique('signer');
  const made = await sdk.signer.init().data({ handle }).keys(keyPair).code('password').hash().sign(sign).send();
  expect(made.signer.public).toBe(keyPair.public);
  const read = await sdk.signer.read(handle);
  const open = await sdk.signer.init(read.response.data).code('password').read({ plain: true });
  expect(open.data.secret).toBe(keyPair.secret);
});

describe('intents', () => {
  test('issue and transfer with bare handles; balances', async () => {
    const [a, b] = [await makeWallet(), await makeWallet()];
    const issued = await sendIntent([{ action: 'issue', target: a, symbol, amount: 100 }]);
    expect(issued.meta.status).toBe('pending');
    expect(typeof issued.meta.thread).toBe('string');
    await sendIntent([{ action: 'transfer', source: a, target: b, symbol, amount: 30 }]);
    await sendIntent([{ action: 'destroy', source: { handle: b }, symbol: { handle: symbol }, amount: 10 }]);
    const { balances } = await sdk.wallet.getBalances(a, { page: { index: 0, limit: 20 } });
    expect(balances).toMatchObject([{ wallet: a, symbol, amount: 70 }]);
    expect((await sdk.wallet.getBalances(b)).balances).toMatchObject([{ wallet: b, symbol, amount: 20 }]);
    const read = await sdk.intent.read(issued.intent.handle);
    expect(read.meta.status).toBe('completed');
    expect(read.intent.claims).toEqual(issued.intent.claims);
    const { intents } = await sdk.intent.list({ page: { index: 0, limit: 3 } });
    expect(intents.map((one) => one.claims[0]?.action)).toEqual(['destroy', 'transfer', 'issue']);
  });
  test('sign an intent via from', async () => {
    const made = await sendIntent([{ action: 'issue', target: await makeWallet(), symbol, amount: 1 }]);
    const second = makePair();
    const read = await sdk.intent.read(made.intent.handle);
    const signed = await sdk.intent
      .from(read.response.data)
      .hash()
      .sign([{ keyPair: second, custom: { note: 'seen' } }])
      .send();
    const proofs: Json[] = signed.meta.proofs;
    expect(proofs.filter((one) => one.public === second.public)).toMatchObject([{ custom: { note: 'seen' } }]);
    expect(signed.response.data.meta.status).toBe('completed');
  });
  test('a failed intent speaks through its proofs', async () => {
    const [a, b] = [await makeWallet(), await makeWallet()];
    const made = await sendIntent([{ action: 'transfer', source: a, target: b, symbol, amount: 1 }]);
    const read = await sdk.intent.read(made.intent.handle);
    expect(read.meta.status).toBe('rejected');
    const error = sdk.proofs.error(read.response.data);
    expect(error?.reason).toBe('core.insufficient-balance');
    expect(error?.detail).toMatch(/./);
  });
  test('errors by reason', async () => {
    const target = await makeWallet();
    const claims = [{ action: 'issue', target, symbol, amount: 1 }];
    const made = await sendIntent(claims);
    expect(await reasonOf(sendIntent(claims, sdk, { handle: made.intent.handle }))).toBe('record.duplicated');
    expect(await reasonOf(sendIntent([]))).toBe('record.schema-invalid');
    expect(await reasonOf(sdk.intent.read('nobody'))).toBe('record.not-found');
    const unsigned = sdk.intent
      .init()
      .data({ handle: unique('intent'), claims: claims as Json })
      .hash()
      .send();
    expect(['crypto.signature-missing', 'record.schema-invalid']).toContain(await reasonOf(unsigned));
  });
});

describe('another ledger', () => {
  test('by option and by setActiveLedger', async () => {
    const ledger = unique('ledger');
    const access = [{ action: 'any', record: 'any' }] as Json;
    await sdk.ledger.init().data({ handle: ledger, access }).hash().sign(sign).send();
    const there = makeSdk({ ledger });
    const wallet = await makeWallet(there);
    expect((await there.wallet.read(wallet)).wallet.handle).toBe(wallet);
    expect(await reasonOf(sdk.wallet.read(wallet))).toBe('record.not-found');
    const switched = makeSdk();
    switched.setActiveLedger(ledger);
    expect((await switched.wallet.read(wallet)).wallet.handle).toBe(wallet);
    expect((await there.status()).status.ledger).toBe(ledger);
  });
  test('one that is not hosted', async () => {
    expect(await reasonOf(makeSdk({ ledger: 'nowhere' }).wallet.list())).toBe('api.route-not-found');
  });
});

describe('tokens through secure', () => {
  const secure = (more: Json = {}): Json => ({
    iss: 'judge',
    sub: keyPair.public,
    aud: 'main',
    exp: 60,
    keyPair,
    ...more,
  });

  test.each<[string, () => Json]>([
    ['with a request hash', () => ({ secure: secure() })],
    ['without one', () => ({ secure: secure({ createHsh: false }) })],
    ['with the ledger as protected header', () => ({ secure: secure(), ledger: 'main' })],
    ['named by the handle of a signer', () => ({ secure: secure({ kid: 'token-signer' }) })],
  ])('%s, every kind of call', async (_name, options) => {
    const named = { handle: 'token-signer', format: 'ed25519-raw' as const, public: keyPair.public };
    await sdk.signer
      .init()
      .data(named)
      .hash()
      .sign(sign)
      .send()
      .catch(() => undefined);
    const own = makeSdk(options());
    const wallet = await makeWallet(own);
    const read = await own.wallet.read(wallet);
    await own.wallet
      .from(read.response.data)
      .data({ custom: { n: 1 } })
      .hash()
      .sign(sign)
      .send();
    await own.wallet.list({ page: { index: 0, limit: 2 } });
    await own.wallet.getBalances(wallet);
    const made = await sendIntent([{ action: 'issue', target: wallet, symbol, amount: 1 }], own);
    await own.intent.from(made.response.data).hash().sign(sign).send();
    expect((await own.status()).status.status).toBe('UP');
  });
  test('refused: expired, for another ledger, a kid nobody has', async () => {
    expect(await reasonOf(makeSdk({ secure: secure({ exp: -10 }) }).wallet.list())).toBe('auth.unauthorized');
    expect(await reasonOf(makeSdk({ secure: secure({ aud: 'other' }) }).wallet.list())).toBe('auth.unauthorized');
    expect(await reasonOf(makeSdk({ secure: secure({ kid: 'nobody' }) }).wallet.list())).toBe('record.not-found');
  });
  test('what a ledger closes to others it opens to a token', async () => {
    const access = [{ action: 'any', record: 'any', bearer: { $signer: { public: keyPair.public } } }];
    const ledger = await openLedger(connect(server), makeKeys(), { access });
    const { handle } = ledger.data;
    const wallet = await makeWallet(makeSdk({ ledger: handle, secure: secure({ aud: handle }) }));
    const stranger = makePair();
    const other = secure({ aud: handle, keyPair: stranger, sub: stranger.public });
    expect(await reasonOf(makeSdk({ ledger: handle }).wallet.read(wallet))).toBe('auth.forbidden');
    expect(await reasonOf(makeSdk({ ledger: handle, secure: other }).wallet.read(wallet))).toBe('auth.forbidden');
    const own = makeSdk({ ledger: handle, secure: secure({ aud: handle }) });
    expect((await own.wallet.read(wallet)).wallet.handle).toBe(wallet);
  });
});

test('what the package makes, the plain client reads, and the other way round', async () => {
  const client = connect(server);
  const wallet = await makeWallet();
  expect((await client.get(`/wallets/${wallet}`)).status).toBe(200);
  const kit = makeKit(client, makeKeys());
  const other = await kit.wallet();
  expect((await sdk.wallet.read(other)).wallet.handle).toBe(other);
});
