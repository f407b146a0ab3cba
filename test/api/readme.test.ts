/** The README's examples, run as they are written there: whoever begins, begins with them. */
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { compileFunction } from 'node:vm';
import { expect, test } from 'vitest';
import { bearer, connect, type Json, type Keys, makeKeys } from '../support/client.ts';
import { found, PATIENCE_MS } from '../support/kit.ts';
import { serverOfTest } from '../support/of-test.ts';
import type { Server } from '../support/server.ts';

const require = createRequire(import.meta.url);
const root = join(dirname(fileURLToPath(import.meta.url)), process.env.AYNI_DIST ? '../../../..' : '../../..');
const text = readFileSync(join(root, 'README.md'), 'utf8');
const blocks = [...text.matchAll(/^```js\n(.*?)^```/gms)].map(([, code]) => code!);

/** The example in which this stands, at this server. */
function example(holds: string, { url }: Server): string {
  const those = blocks.filter((code) => code.includes(holds));
  expect(those, `examples with ${holds}`).toHaveLength(1);
  return those[0]!.replaceAll('http://127.0.0.1:4000/v2', url);
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

  const [head] = first.split("  await make(sdk.symbol, { handle: 'usd'");
  await run(`${head}${example("handle: 'tell-me'", server)}}\nreturn main();`);
  expect((await connect(server).get('/effects/tell-me')).body.meta.status).toBe('active');

  const asked = [...text.matchAll(/^curl '(http:\/\/127\.0\.0\.1:4000\/v2\S*)'/gm)].map(([, url]) => url!);
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
  expect(await found(async () => (await statusOf(mine.handle)) === 'completed' || null, PATIENCE_MS)).toBe(true);
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
