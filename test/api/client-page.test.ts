/** What src/http/README.md tells whoever writes a client: what it says of lists, intents and the public package holds. */
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import { createRequire } from 'node:module';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { expect, onTestFinished, test } from 'vitest';
import { connect, type Json, makeKeys, record } from '../support/client.ts';
import { issue, ledgerWith, proofFor, transfer, unique } from '../support/kit.ts';
import { serverOfFile } from '../support/of-file.ts';
import { blocksOf, readPages } from '../support/pages.ts';

const { LedgerSdk } = createRequire(import.meta.url)('@minka/ledger-sdk') as Json;
const owner = makeKeys();
const keyPair = { format: 'ed25519-raw', public: owner.public, secret: owner.secret };
const { client, kit, server } = await serverOfFile(owner);
const pages = readPages();
const page = pages.find(({ file }) => file === 'src/http/README.md')!.text;
const hasCryptography = spawnSync('python3', ['-c', 'import cryptography']).status === 0;
if (!hasCryptography) process.stderr.write('note: cryptography of python3 is not there; its example is left out\n');

test('the page names a kind, or a filter, that there is not', async () => {
  const [, lists] = /\n## Lists\n(.*?)\n## /s.exec(page)!;
  const filters = [...lists!.matchAll(/`((?:data|meta|sort)\.[^`]*=[^`]*)`/g)].map(([, filter]) => filter!);
  expect(filters).toHaveLength(7);
  for (const filter of filters)
    expect([filter, (await client.get(`/intents?${filter}`)).status]).toEqual([filter, 200]);
  const [, named] = /`\{kind\}` is (.*?), `\{id\}`/s.exec(page)!;
  const kinds = [...named!.matchAll(/`(\w+)`/g)].map(([, kind]) => kind!);
  expect(kinds).toHaveLength(11);
  for (const kind of kinds) expect([kind, (await client.get(`/${kind}`)).status]).toEqual([kind, 200]);
});

test('the page names a path that there is not', async () => {
  const [, paths] = /\n## Paths\n(.*?)\n## /s.exec(page)!;
  const rows = paths!.split('\n').filter((line) => line.startsWith('| `'));
  const named = rows.flatMap((row) =>
    [...row.split(' | ')[0]!.matchAll(/`(?:[A-Z]+ )?(\/[^`]*)`/g)].map(([, path]) => path!),
  );
  expect(named.length).toBeGreaterThan(15);
  const wallet = await kit.wallet();
  for (const path of named) {
    const whole = /^\/(?:limits|anchors)$/.test(path) ? `/wallets/{id}${path}` : path;
    const there = whole
      .replace(/^\/v2$/, '')
      .replace('{kind}', 'wallets')
      .replace('{id}', wallet);
    const { status, body } = await client.get(there);
    expect([path, status === 404 && body.data.reason === 'api.route-not-found']).toEqual([path, false]);
  }
});

test('a payment to a longer address is in the list of the wallet that it led to; it is found by the address as it was written', async () => {
  const [symbol, wallet] = [await kit.symbol(), await kit.wallet()];
  await kit.send([issue(`door:1@${wallet}`, symbol, 5)]);
  expect((await client.get(`/wallets/${wallet}/balances`)).body.data[0].data.amount).toBe(5);
  const found = async (wish: string) => (await client.get(`/intents?data.claims.target${wish}`)).body.data.length;
  expect([await found(`=${wallet}`), await found(`.$regex=@${wallet}$`)]).toEqual([0, 1]);
});

test('the page says of a ledger without rules that somebody may come in', async () => {
  expect(page).toContain('without any nobody may ever come in, who made it neither');
  const handle = unique('bare');
  expect((await client.post('/ledgers', record({ handle }, owner))).status).toBe(201);
  const inside = connect(server, { 'x-ledger': handle });
  const { hash } = record({ handle }, owner);
  for (const answer of [
    await inside.get('/ledger'),
    await inside.post('/wallets', record({ handle: 'mine' }, owner)),
    await inside.put('/ledger', record({ handle, access: [{ action: 'any', record: 'any' }], parent: hash }, owner)),
  ])
    expect(answer.body.data.reason).toBe('auth.forbidden');
});

test('a key that no list knows changes what it shows', async () => {
  const [plain, limited] = [await client.get('/wallets'), await client.get('/wallets?limit=1&status=none')];
  expect(limited.body.data).toEqual(plain.body.data);
});

test('somebody ends by a word what is pending', async () => {
  const shy = makeKeys();
  const rule = { action: { $in: ['access', 'create'] }, record: 'any', signer: { public: shy.public } };
  const { there, kit } = await ledgerWith(server, owner, [rule]);
  const [symbol, one, other] = [await kit.symbol(), await kit.wallet(), await kit.wallet()];
  await kit.send([issue(one, symbol, 5)]);
  const data = { handle: 'waits', claims: [transfer(one, other, symbol, 5)] };
  const made = (await there.post('/intents', record(data, shy))).body;
  for (const custom of [{ action: 'abort' }, { status: 'aborted' }, { status: 'rejected' }]) {
    const reply = await there.post('/intents/waits/proofs', proofFor(made, owner, custom));
    expect([custom, reply.body.meta.status]).toEqual([custom, 'pending']);
  }
  const reply = await there.post('/intents/waits/proofs', proofFor(made, owner, { action: 'commit' }));
  expect(reply.body.meta.status).toBe('completed');
});

test('the package takes a rule away with a shorter list; what replaces leaves it in', async () => {
  const sdk = new LedgerSdk({ server: server.url });
  const [spend, read] = [{ action: 'spend' }, { action: 'read' }];
  await sdk.wallet
    .init()
    .data({ handle: 'ruled', access: [spend, read] })
    .hash()
    .sign([{ keyPair }])
    .send();
  const change = async (access: Json[], isWhole: boolean) => {
    const { response } = await sdk.wallet.read('ruled');
    const data = isWhole ? { ...response.data.data, access } : { access };
    await sdk.wallet.from(response.data).data(data, isWhole).hash().sign([{ keyPair }]).send();
    return (await sdk.wallet.read('ruled')).wallet.access;
  };
  expect(await change([spend], false)).toEqual([spend, read]);
  expect(await change([spend], true)).toEqual([spend]);
  const list = await sdk.wallet.list({ page: { index: 0, limit: 50 }, 'data.handle': 'ruled' });
  expect(list.wallets).toHaveLength(1);
});

/** The program of the page, at this place, down to where it begins to ask; with what follows it. */
function python(place: string, then: string | null = null): string {
  const [code, ...others] = blocksOf(pages, 'python');
  expect(others).toEqual([]);
  const here = code!.replaceAll('http://127.0.0.1:4000/v2', place);
  expect(here).not.toBe(code);
  return then === null ? here : here.slice(0, here.indexOf('key = Ed25519PrivateKey.generate()')) + then;
}

async function runPython(program: string): Promise<string> {
  const child = spawn('python3', ['-c', program], { env: { ...process.env, no_proxy: '*' } });
  const [out, err] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'exit')]);
  return out + err;
}

test.runIf(hasCryptography)(
  'a program in Python that signs as the page says is refused, or the second time; or believes what is forged',
  async () => {
    const here = python(server.url);
    const said = "completed ['pending', 'prepared', 'committed', 'completed']\n";
    expect(await runPython(here)).toBe(said);
    expect(await runPython(here)).toBe(said);
    const SYSTEM = "call('GET', '/signers/system')[1]['data']['public']";
    const checks = (path: string) => python(server.url, `print(len(check(call('GET', '${path}')[1], ${SYSTEM})))`);
    expect(await runPython(checks('/wallets'))).toBe('1\n');
    const numbers = await kit.make('wallets', {
      handle: unique('odd'),
      custom: { all: [1e-7, 0.00001, 1e21, -0, 0.1 + 0.2, -1.5e300, Number.MAX_VALUE] },
    });
    expect(await runPython(checks(`/wallets/${numbers.data.handle}`))).toBe('1\n');
    const forged = python(
      server.url,
      `answer = call('GET', '/signers/system')[1]; answer['meta']['proofs'][0]['custom']['status'] = 'x'; check(answer, '')`,
    );
    expect(await runPython(forged)).toContain('InvalidSignature');
    const beyond = ['1e400', '-1e400', '2**1024', '2**1024 - 2**970', '2**1024 - 2**970 - 1', '1e308'];
    const written = python(server.url, `print([number(value) for value in (${beyond.join()})])`);
    const whole = '1.7976931348623157e+308';
    expect(await runPython(written.replaceAll('1e400', "float('inf')"))).toBe(
      `['null', 'null', 'null', 'null', '${whole}', '1e+308']\n`,
    );
  },
);

test.runIf(hasCryptography)(
  'a program in Python takes for signed what it reads otherwise than others: Infinity for the null that was signed, a member twice',
  async () => {
    const handle = unique('none');
    await kit.make('wallets', { handle, custom: { n: null } });
    const honest = (await client.get(`/wallets/${handle}`)).text;
    const last = `"handle":"${handle}"`;
    const texts = [
      honest,
      ...['Infinity', '-Infinity', 'NaN', '1e400'].map((beyond) => honest.replace('"n":null', `"n":${beyond}`)),
      honest.replace(last, `"handle":"another",${last}`),
      honest.replace('"meta":{', '"meta":{"status":"completed",'),
    ];
    expect(new Set(texts).size).toBe(texts.length);
    const asks = `
for text in json.loads(${JSON.stringify(JSON.stringify(texts))}):
    try: print(len(check(read(text), '${server.publicKey}')))
    except (ArithmeticError, ValueError) as error: print('refused')
`;
    const refused = 'refused\n'.repeat(texts.length - 1);
    expect(await runPython(python(server.url, asks))).toBe(`1\n${refused}`);
  },
);

test.runIf(hasCryptography)(
  'a program in Python, in a ledger with rules, is told that what it made is nowhere when it makes it again',
  async () => {
    const ledger = unique('ruled');
    const again = `
key = Ed25519PrivateKey.generate()
public = base64.b64encode(key.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)).decode()
rules = [{'action': 'any', 'record': 'any', 'signer': {'public': public}}, {'action': 'any', 'record': 'any', 'bearer': {'$signer': {'public': public}}}]
make('ledgers', {'handle': '${ledger}', 'access': rules}, key)
part = lambda value: base64.urlsafe_b64encode(json.dumps(value).encode()).rstrip(b'=')
now = int(time.time())
said = part({'alg': 'EdDSA', 'kid': public}) + b'.' + part({'iss': 'me', 'sub': public, 'aud': '${ledger}', 'iat': now, 'exp': now + 60})
token = (said + b'.' + base64.urlsafe_b64encode(key.sign(said)).rstrip(b'=')).decode()
there = {'x-ledger': '${ledger}', 'authorization': 'Bearer ' + token}
print([make('symbols', {'handle': 'eur', 'factor': 100}, key, **there)['luid'] for turn in (1, 2)])
`;
    expect(await runPython(python(server.url, again))).toMatch(/^\['(\$sym\.[\w-]+)', '\1'\]\n$/);
  },
);

test.runIf(hasCryptography)(
  'a program in Python gives up on an answer that was cut off, or that a proxy gave in place of the ledger',
  async () => {
    const front = createServer((_request, response) => answers.shift()!(response)).listen(0, '127.0.0.1');
    await once(front, 'listening');
    onTestFinished(() => void front.close());
    const { port } = front.address() as AddressInfo;
    const type = { 'content-type': 'application/json' };
    const whole = (response: ServerResponse) => void response.writeHead(200, type).end('{"data":"whole"}');
    const cut = (response: ServerResponse) =>
      void response.writeHead(200, { ...type, 'content-length': 500 }).write('{"data":', () => response.destroy());
    const html = (response: ServerResponse) =>
      void response.writeHead(502, { 'content-type': 'text/html' }).end('<html>Bad Gateway</html>');
    const dated = (response: ServerResponse) =>
      void response.writeHead(429, { ...type, 'retry-after': 'Sun, 29 Nov 2026 12:00:00 GMT' }).end('{}');
    const bare = (response: ServerResponse) => void response.writeHead(431).end();
    const broken = (response: ServerResponse) => void response.writeHead(200, type).end('{"data":');
    const page = (response: ServerResponse) =>
      void response.writeHead(200, { 'content-type': 'text/html' }).end('<html>');
    const conflict = (response: ServerResponse) => void response.writeHead(409).end('<html>');
    const away = (response: ServerResponse) =>
      void response.writeHead(301, { location: `${server.url}/wallets` }).end();
    const gone = (response: ServerResponse) => void response.destroy();
    const answers = [cut, html, dated, gone, whole, bare];
    const asked = (asks: string) =>
      runPython(python(`http://127.0.0.1:${port}`, `time.sleep = lambda seconds: None\n${asks}`));
    expect(await asked("print(call('GET', '/'), call('GET', '/'))")).toBe("(200, {'data': 'whole'}) (431, None)\n");
    answers.push(broken, whole);
    expect(await asked("print(call('GET', '/'))")).toBe("(200, {'data': 'whole'})\n");
    // None of these says that something was made: of a redirect a list of all there is came back.
    for (const [answer, status] of [
      [page, 200],
      [conflict, 409],
      [away, 301],
    ] as const) {
      answers.push(answer);
      const made = "make('wallets', {'handle': 'never-made'}, Ed25519PrivateKey.generate())";
      expect(await asked(made)).toContain(`Exception: ${status} None`);
    }
    expect(answers).toEqual([]);
  },
);
