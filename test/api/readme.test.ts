/** The examples of the READMEs, run as they are written there: whoever begins, begins with them. */
import { createRequire } from 'node:module';
import { compileFunction } from 'node:vm';
import { expect, onTestFinished, test } from 'vitest';
import { startBridge } from '../../src/cli/server-process.ts';
import { bearer, connect, type Json, type Keys, makeKeys, record } from '../support/client.ts';
import { freshDirectory } from '../support/directory.ts';
import { until } from '../support/kit.ts';
import { serverOfTest } from '../support/of-test.ts';
import { blocksOf, readPages } from '../support/pages.ts';
import type { Server } from '../support/server.ts';

const require = createRequire(import.meta.url);
const pages = readPages();
const blocks = blocksOf(pages, 'js');
const commands = blocksOf(pages, 'sh').join('');
/** Examples that a test has run. */
const ran = new Set<string>();

/** The example in which this stands, at this server. */
function example(holds: string, { url }: Server): string {
  const those = blocks.filter((code) => code.includes(holds));
  expect(those, `examples with ${holds}`).toHaveLength(1);
  ran.add(those[0]!);
  return those[0]!.replaceAll('http://127.0.0.1:4000/v2', url);
}

/** `transfer.js` with this example in place of what follows `make`. */
function afterMake(server: Server, holds: string): string {
  const [head] = example('async function main', server).split("  await make(sdk.symbol, { handle: 'usd'");
  return `${head}${example(holds, server)}}\nreturn main();`;
}

/** Runs code among these names; resolves with what it printed. */
async function run(code: string, names: Record<string, unknown> = {}): Promise<unknown[]> {
  const printed: unknown[] = [];
  const known = { require, fetch, console: { log: (value: unknown) => printed.push(value) }, ...names };
  await compileFunction(code, Object.keys(known))(...Object.values(known));
  return printed;
}

test('a first transfer prints what luz has, the second time it is refused; then an effect, and what curl asks for', async () => {
  const server = await serverOfTest();
  const first = example('async function main', server);
  expect(first).toMatch(/\nmain\(\);\n$/);
  expect(await run(first.replace(/main\(\);\n$/, 'return main();'))).toEqual([
    [expect.objectContaining({ wallet: 'luz', symbol: 'usd', amount: 250 })],
  ]);
  // The second time there is a symbol usd already.
  const again = run(first.replace(/main\(\);\n$/, 'return main();'));
  await expect(again).rejects.toMatchObject({ reason: 'record.duplicated' });

  await run(afterMake(server, "handle: 'tell-me'"));
  expect((await connect(server).get('/effects/tell-me')).body.meta.status).toBe('active');

  const asked = [...commands.matchAll(/^curl '(http:\/\/127\.0\.0\.1:4000\/v2\S*)'/gm)].map(([, url]) => url!);
  expect(asked.length).toBeGreaterThan(2);
  for (const url of asked) {
    const path = url.slice('http://127.0.0.1:4000/v2'.length).replace('wait=10', 'wait=0');
    const { status, body } = await connect(server).get(path);
    expect([path, status, body.data.length]).toEqual([path, 200, 1]);
  }
});

test('locking it down: the app pays from the till alone, the auditor reads, a stranger does nothing', async () => {
  const pairOf = ({ public: open, secret }: Keys) => ({ format: 'ed25519-raw', public: open, secret });
  const owner = makeKeys();
  const [bank, app, auditor] = [pairOf(owner), pairOf(makeKeys()), pairOf(makeKeys())];
  const { LedgerSdk } = require('@minka/ledger-sdk') as Json;
  const token = { iss: 'me', aud: 'main', keyPair: bank, exp: 60 };
  const server = await serverOfTest({ flags: ['--owner', owner.public], headers: bearer(owner) });
  const names = { server: server.url, LedgerSdk, bank, app, auditor };
  await run(`return (async () => {\n${example('.ledger.read(', server)}})();`, names);

  const as = (keyPair: Json) => new LedgerSdk({ server: server.url, secure: { ...token, keyPair } });
  const make = (keyPair: Json, kind: string, data: Json) =>
    as(keyPair)[kind].init().data(data).hash().sign([{ keyPair }]).send();
  const statusOf = async (handle: string) => (await as(app).intent.read(handle)).meta.status;
  const pay = (source: string) => ({
    handle: as(app).handle.unique(),
    claims: [
      {
        action: 'transfer',
        source: { handle: source },
        target: { handle: 'shop' },
        symbol: { handle: 'usd' },
        amount: 5,
      },
    ],
  });
  await make(bank, 'symbol', { handle: 'usd', factor: 100 });
  for (const handle of ['shop', 'safe']) await make(bank, 'wallet', { handle });
  const issue = (handle: string) => ({ action: 'issue', target: { handle }, symbol: { handle: 'usd' }, amount: 5 });
  await make(bank, 'intent', { handle: 'issued', claims: [issue('till'), issue('safe')] });

  const [mine, other] = [pay('till'), pay('safe')];
  await make(app, 'intent', mine);
  const waiting = await make(app, 'intent', other);
  await until(async () => (await statusOf(mine.handle)) === 'completed');
  expect(await statusOf(other.handle)).toBe('pending');
  await as(bank)
    .intent.from(waiting.response.data)
    .hash()
    .sign([{ keyPair: bank }])
    .send();
  expect(await statusOf(other.handle)).toBe('completed');
  expect((await as(app).wallet.list()).wallets).toEqual([]);
  await expect(make(app, 'wallet', { handle: 'own' })).rejects.toMatchObject({ reason: 'auth.forbidden' });
  expect((await as(auditor).wallet.getBalances('shop')).balances).toMatchObject([{ amount: 10 }]);
  await expect(make(auditor, 'wallet', { handle: 'own' })).rejects.toMatchObject({ reason: 'auth.forbidden' });
  const client = connect(server);
  for (const path of ['/wallets', '/ledger', '/signers/system', '/events']) {
    expect([path, (await client.get(path)).status]).toEqual([path, 403]);
  }
  for (const path of ['', '/head']) expect([path, (await client.get(path)).status]).toEqual([path, 200]);
});

test('two banks: money goes from the one to the other', async () => {
  const server = await serverOfTest();
  const starts = [...commands.matchAll(/^npm run bridge -- --port \d+ --data \S+ (.*)$/gm)].map(([, flags]) => flags!);
  expect(starts).toHaveLength(2);
  const banks = starts.map((flags) =>
    startBridge(freshDirectory(), { flags: [...flags.split(' '), '--ledger', server.url] }),
  );
  for (const bank of banks) onTestFinished(async () => void (await (await bank).stop('SIGKILL')));
  const urls = (await Promise.all(banks)).map(({ url }) => url);
  const has = async (url: string) =>
    ((await (await fetch(`${url}/accounts`)).json()) as Json).data.accounts[0].available;
  // The last that a bank makes at the ledger is how much it may owe.
  const joined = async () => (await connect(server).get('/intents?meta.status=completed')).body.data.length;
  await until(async () => (await joined()) === 2);
  await run(afterMake(server, "account('bank-a', 'ana')"));
  await until(async () => (await has(urls[1]!)) === 250);
  expect(await has(urls[0]!)).toBe(750);
});

test('rules of the server itself: its owner makes ledgers, nobody else does', async () => {
  const owner = makeKeys();
  const [, rules] = /--access-rules '([^']*)'/.exec(commands)!;
  const given = rules!.replaceAll('<key>', owner.public);
  const flags = ['--owner', owner.public, '--access-rules', given];
  const server = await serverOfTest({ flags, headers: bearer(owner) });
  const client = connect(server);
  const makeLedger = async (keys: Keys, handle: string) =>
    (await client.post('/ledgers', record({ handle }, keys))).status;
  expect(await makeLedger(makeKeys(), 'theirs')).toBe(403);
  expect(await makeLedger(owner, 'ours')).toBe(201);
});

test('an example was not run', () => {
  expect(blocks.filter((code) => !ran.has(code))).toEqual([]);
});
