/**
 * What can be set when the server starts, seen from outside: the default ledger and its owner, the public
 * address, the door for everybody or nobody, and that what it cannot use stops it.
 */
import { existsSync, readdirSync, statSync } from 'node:fs';
import { totalmem } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import {
  booksRoom,
  ConfigError,
  configHelp,
  memoryNote,
  readConfig,
  recordsRoom,
  strangeVariables,
  workersFor,
} from '../../src/config.ts';
import {
  bearer,
  canon,
  connect,
  type Json,
  type Keys,
  makeKeys,
  type Reply,
  record,
  sha256,
} from '../support/client.ts';
import { freshDirectory } from '../support/directory.ts';
import { issue, luidOf, makeKit, proofFor, reasonOf, unique } from '../support/kit.ts';
import { serverOfTest } from '../support/of-test.ts';
import { type Server, type ServerOptions, startRefused } from '../support/server.ts';
import { slow } from '../support/slow.ts';

const LETTERS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/';
const keys = makeKeys();
const wallet = (owner: Keys): Json => record({ handle: unique('wallet') }, owner);

const GiB = 2 ** 30;
const MiB = 2 ** 20;

describe('records take, where nobody says how much,', () => {
  test.each([
    [24 * GiB, 18.8 * GiB],
    [GiB, 0.4 * GiB],
    [GiB / 4, GiB / 16],
    [256 * GiB, 32 * GiB],
  ])('of %d bytes of memory %d', (memory, room) => {
    expect(Math.abs(recordsRoom(memory) - room)).toBeLessThan(GiB / 64);
  });

  test('no more than the machine has', () => {
    expect(readConfig([], {}).recordsBytesMax).toBeLessThan(totalmem());
  });
});

describe('records and V8 take together, with all that clients may make the server hold,', () => {
  const OTHERS = 256 * MiB;
  const given = (memory: number, more: string[] = []) => {
    const bytes = Math.min(256 * MiB, memory / 16);
    const flags = ['--workers', '2', '--texts-bytes-max', String(memory / 64)];
    for (const name of ['arriving', 'unread']) flags.push(`--${name}-bytes-max`, String(bytes));
    return readConfig([...flags, '--records-bytes-max', String(recordsRoom(memory)), ...more], {});
  };

  test.each([
    [GiB, 0.36 * GiB],
    [4 * GiB, 2.73 * GiB],
    [16 * GiB, 14.5 * GiB],
  ])('of %d bytes of memory %d', (memory, room) => {
    const told = booksRoom(given(memory), OTHERS, memory);
    expect(Math.abs(told - room)).toBeLessThan(GiB / 64);
    const { workers, arrivingBytesMax, unreadBytesMax, inboxBytesMax, textsBytesMax } = given(memory);
    const clients = 2 * arrivingBytesMax + unreadBytesMax + inboxBytesMax;
    expect(told + OTHERS + clients + textsBytesMax + workers * 32 * MiB).toBeLessThan(memory);
  });

  test('as much more as records were given more than they would take, and something wherever that is', () => {
    const more = ['--records-bytes-max', String(6 * GiB)];
    expect(booksRoom(given(4 * GiB, more), OTHERS, 4 * GiB) - booksRoom(given(4 * GiB), OTHERS, 4 * GiB)).toBe(
      6 * GiB - recordsRoom(4 * GiB),
    );
    const less = ['--records-bytes-max', String(GiB)];
    expect(booksRoom(given(4 * GiB, less), OTHERS, 4 * GiB)).toBe(booksRoom(given(4 * GiB), OTHERS, 4 * GiB));
    expect(booksRoom(given(GiB / 4, ['--records-bytes-max', String(64 * MiB)]), OTHERS, GiB / 4)).toBe(96 * MiB);
  });

  test('and of too little the start tells', () => {
    expect(memoryNote(512 * MiB)).toBeNull();
    expect(memoryNote(256 * MiB)).toMatch(/^There are 256 MiB of memory here, and ayni wants 512/);
  });
});

test.each([
  ['one core', 1, 24 * GiB, 1],
  ['two', 2, 24 * GiB, 1],
  ['sixteen', 16, 24 * GiB, 15],
  ['sixty-four, and 1 GiB: they would be killed for the memory they take together', 64, GiB, 4],
  ['sixty-four, and 128 MiB', 64, GiB / 8, 1],
  ['a thousand', 1000, 1024 * GiB, 256],
])('where nobody says how many threads verify and sign, of %s', (_what, cores, memory, workers) => {
  expect(workersFor(cores, memory)).toBe(workers);
});

test.each<[string, string[], number]>([
  ['one thread', ['--workers', '1'], 128],
  ['three threads: three were given what the machine would have had by itself', ['--workers', '3'], 384],
  ['many', ['--workers', '64'], 512],
  ['three, where somebody says how many', ['--workers', '3', '--pipeline-max', '7'], 7],
])('requests are on their way at once for %s', (_what, flags, requests) => {
  expect(readConfig(flags, {}).pipelineMax).toBe(requests);
});

describe('the default ledger', () => {
  test.each<[string, ServerOptions]>([
    ['by flag', { flags: ['--ledger', 'andes'] }],
    ['by environment', { env: { AYNI_LEDGER: 'andes' } }],
  ])('is named %s', async (_name, options) => {
    const client = connect(await serverOfTest(options));
    const ledger = (await client.get('/ledger')).body;
    expect(ledger.data.handle).toBe('andes');
    expect(ledger.luid).toMatch(luidOf('ldg'));
    expect((await client.get('')).body.data.ledger).toBe('andes');
    expect((await client.get('/ledger', { 'x-ledger': 'andes' })).body).toEqual(ledger);
    expect(reasonOf(await client.get('/ledger', { 'x-ledger': 'main' }))).toEqual([404, 'api.route-not-found']);
    expect((await client.get('/wallets', bearer(keys, 'andes'))).status).toBe(200);
    expect((await client.get('/wallets', bearer(keys))).status).toBe(401);
  });
  test('grants everything to its owner and nothing to others', async () => {
    const client = connect(await startOwned());
    expect(reasonOf(await client.post('/wallets', wallet(makeKeys())))).toEqual([403, 'auth.forbidden']);
    expect(reasonOf(await client.get('/wallets'))).toEqual([403, 'auth.forbidden']);
    expect(reasonOf(await client.get('/wallets', bearer(makeKeys())))).toEqual([403, 'auth.forbidden']);
    const made = await client.post('/wallets', wallet(keys), bearer(keys));
    expect(made.status, made.text).toBe(201);
    const read = await client.get(`/wallets/${made.body.data.handle}`, bearer(keys));
    expect([read.status, read.body]).toEqual([200, made.body]);
    expect(reasonOf(await client.get(`/wallets/${made.body.data.handle}`))).toEqual([403, 'auth.forbidden']);
    expect((await client.post('/wallets', wallet(keys))).status, 'a signature of the owner is enough to create').toBe(
      201,
    );
  });

  test('an owner named too late took an open ledger for the own', async () => {
    const directory = freshDirectory();
    await (await serverOfTest({ directory })).stop();
    const late = await serverOfTest({ directory, flags: ['--owner', keys.public] });
    expect(late.log()).toContain(
      '--owner counts when a ledger is made, and main was there already: it is open to all.',
    );
    await late.stop();
    expect((await serverOfTest({ directory })).log()).not.toContain('--owner');
  });
  test('an owner is told what is theirs no more, and nothing while all is', async () => {
    const directory = freshDirectory();
    const flags = ['--owner', keys.public];
    const first = await serverOfTest({ directory, flags, headers: bearer(keys) });
    await first.stop();
    const second = await serverOfTest({ directory, flags, headers: bearer(keys) });
    for (const server of [first, second]) expect(server.log()).not.toContain('--owner counts');
    await second.stop();
    const third = await serverOfTest({ directory, flags: ['--owner', makeKeys().public], headers: bearer(keys) });
    expect(third.log()).toMatch(/main was there already: that key may not do everything there/);
  });

  /** The support asks for the signer `system` without a token, which an owned ledger refuses: asked with one here. */
  async function startOwned(): Promise<Server> {
    return serverOfTest({ flags: ['--owner', keys.public], headers: bearer(keys) });
  }
});

describe('the public address', () => {
  test('is what request hashes are taken over', async () => {
    const server = await serverOfTest({ flags: ['--public-url', 'https://Ledger.Example:443/api/v2'] });
    const client = connect(server);
    const ask = (url: string): Promise<Reply> => {
      const hsh = sha256(canon({ method: 'GET', url: `${url}/wallets`, headers: null, body: null }));
      return client.get('/wallets', bearer(keys, 'main', { hsh }));
    };
    expect((await ask('https://ledger.example/api/v2')).status).toBe(200);
    expect((await ask(server.url)).status).toBe(401);
  });

  test('is what the server says its status is of, not the address that a proxy calls', async () => {
    const server = await serverOfTest({ flags: ['--public-url', 'https://Ledger.Example:8443/api/v2'] });
    const asked = await connect(server).get('');
    expect([asked.status, asked.body.data.server]).toEqual([200, 'ledger.example:8443']);
  });
});

/** Base64 of the same 32 bytes with an unused bit set, as nobody's proofs and tokens write it. */
const slipped = `${keys.public.slice(0, 42)}${LETTERS[LETTERS.indexOf(keys.public[42]!) + 1]}=`;

describe('the process', () => {
  test('says where it listens, is ready when the port is open, and keeps its files to itself', async () => {
    const server = await serverOfTest();
    const answer = await fetch(`http://127.0.0.1:${server.port}/readyz`);
    expect(answer.status).toBe(200);
    await makeKit(connect(server), keys).wallet();
    const names = readdirSync(server.directory, { recursive: true, encoding: 'utf8' });
    const files = names.map((name) => statSync(join(server.directory, name))).filter((stat) => stat.isFile());
    expect(files.length).toBeGreaterThan(1);
    for (const stat of files) expect(stat.mode & 0o077).toBe(0);
    expect(
      server
        .log()
        .split('\n')
        .filter((line) => line.includes(server.url)),
    ).toHaveLength(1);
    expect(server.log()).not.toContain('DURABILITY');
  });
  test('says at each start that its answers do not wait for the disk', async () => {
    const directory = freshDirectory();
    for (let start = 0; start < 2; start++) {
      const server = await serverOfTest({ directory, flags: ['--durability', 'none'] });
      expect(server.log()).toContain('DURABILITY NONE: answers do not wait for the disk.');
      await server.stop();
    }
  });
  test.each([
    ['a port that is none', ['--port', 'north']],
    ['a port out of range', ['--port', '70000']],
    ['a port that is not in decimal digits: it listened on 16', ['--port', '0x10']],
    ['a count that is not in digits alone', ['--snapshot-every', '1e6']],
    ['a count with a sign', ['--workers', '+2']],
    ['an owner that is no key', ['--owner', 'me']],
    ['a ledger handle that is none', ['--ledger', 'a b']],
    ['hosts to be called that are none', ['--calls-allow', 'localhost,10.0.0.0/33']],
    ['a host to be called with a slip in its address: it was taken for a name', ['--calls-allow', '10.0.0.256']],
    ['a host to be called on a port that is none', ['--calls-allow', 'localhost:70000']],
    ['workers that are no number', ['--workers', 'many']],
    ['a place for figures that is none', ['--metrics', 'localhost']],
    ['a place for figures with a port out of range', ['--metrics', '127.0.0.1:70000']],
    ['a public URL that is none', ['--public-url', 'ledger.example']],
    ['a public URL that nobody can call', ['--public-url', 'ftp://ledger.example/v2']],
    ['a public URL with a query: no token with a request hash fitted', ['--public-url', 'https://ledger.example/?a=1']],
    ['a public URL with a fragment, which clients do not send', ['--public-url', 'https://ledger.example/#a']],
    [
      'a public URL with a password, which clients send in place of a token',
      ['--public-url', 'https://a:b@ledger.example/'],
    ],
    ['an owner with a slip in its last letter, whom no key fits: nobody got into the ledger', ['--owner', slipped]],
    ['an owner of a variable that was not set: the ledger was made open to all', ['--owner', '']],
    ['rules of a variable that was not set: the server was open to all', ['--access-rules', '']],
  ])('refuses %s, and names the setting', (_name, flags) => {
    expect(() => readConfig(flags, {})).toThrow(new RegExp(`^${flags[0]}: `));
    expect(() => readConfig(flags, {})).toThrow(ConfigError);
  });
  test('takes of each number from the least to the most that --help tells, its default among them, and no other', () => {
    const numbers = [...configHelp().matchAll(/^ {2}(--\S+) (\d+) .*\((\d+) to (\d+)\)$/gm)];
    expect(numbers.length).toBe(Object.values(readConfig([], {})).filter((value) => typeof value === 'number').length);
    for (const [, flag, ...told] of numbers) {
      const [value, min, max] = told.map(Number) as [number, number, number];
      const takes = (given: number) => () => readConfig([`${flag}=${given}`], {});
      for (const given of [min, value, max]) expect(takes(given)).not.toThrow();
      for (const given of [min - 1, max + 1])
        expect(takes(given)).toThrow(`must be a whole number from ${min} to ${max}`);
    }
  });
  test.each(['AYNI_HOST', 'AYNI_DATA', 'AYNI_PORT'])('refuses %s where it is empty: nobody chose that', (name) => {
    expect(() => readConfig([], { [name]: '' })).toThrow(new RegExp(`^${name}: must`));
  });
  test.each([
    ['a flag nobody knows', ['--colour', 'red'], 'colour'],
    ['a setting that cannot be used', ['--port', '70000'], '--port: must be a whole number'],
    ['rules that are no JSON', ['--access-rules', '{'], '--access-rules: must be JSON'],
    ['rules that are none', ['--access-rules', '[{"action":"rule"}]'], '--access-rules: /0/action must be'],
    [
      'rules that name a signer of some ledger',
      ['--access-rules', '[{"action":"any","signer":{"handle":"x"}}]'],
      '--access-rules: rules of the server name signers by public key',
    ],
  ])('is not started with %s, and makes no directory', async (_name, flags, says) => {
    const directory = join(freshDirectory(), 'books');
    const ended = await startRefused({ directory, flags });
    expect(existsSync(directory)).toBe(false);
    expect(ended.code, 'as any command line that cannot be used: it was 1, as for a disk that fails').toBe(2);
    expect(ended.log).toContain(says);
    expect(ended.log, 'a message for a person, not a stack').not.toMatch(/\n\s+at /);
  });
  test('names variables that set nothing: a misspelt AYNI_OWNER left the ledger open without a word', async () => {
    const env = { AYNI_OWNR: keys.public, AYNI_SNAPSHOT_EVRY: '5', AYNI_BRIDGE_HEADER: 'key=secret' };
    const { log } = await serverOfTest({ env });
    const told = log()
      .split('\n')
      .filter((line) => line.includes('AYNI_OWNR'));
    expect(told).toEqual([expect.stringMatching(/AYNI_OWNR.*AYNI_SNAPSHOT_EVRY.* no setting/)]);
    expect(log()).not.toMatch(/AYNI_BRIDGE_HEADER|key=secret/);
    const other = await serverOfTest({ env: { AYNI_SNAPSHOT_EVERY: '5' } });
    expect(other.log()).not.toContain('AYNI_SNAPSHOT_EVERY');
  });
  test('names a misspelt AYNI_BRIDGE_CALLS_MAX too: it was taken for one of the bank', () => {
    const names = ['AYNI_BRIDGE_CALL_MAX', 'AYNI_BRIDGE_CALLS_MAX', 'AYNI_BRIDGE_HEADER'];
    expect(strangeVariables(Object.fromEntries(names.map((name) => [name, '1'])))).toEqual(['AYNI_BRIDGE_CALL_MAX']);
  });
});

describe('a limit that is set is the limit that holds', () => {
  test('requests on their way: the rest is told at once when to come again, and nothing of it is kept', async () => {
    const server = await serverOfTest({ flags: ['--inbox-max', '1'] });
    const client = connect(server);
    let wallets: Json[] = [];
    let replies: Reply[] = [];
    const isRefused = () => replies.some(({ status }) => status === 429);
    // Once is enough, unless this machine sends them more slowly than they are served.
    while (!isRefused()) {
      wallets = Array.from({ length: 200 }, () => wallet(keys));
      replies = await Promise.all(wallets.map((body) => client.post('/wallets', body)));
    }
    const refused = replies.filter(({ status }) => status === 429);
    expect(replies.filter(({ status }) => status === 201).length).toBe(replies.length - refused.length);
    for (const reply of refused) {
      expect([...reasonOf(reply), reply.headers.get('retry-after')]).toEqual([429, 'api.rate-limit-exceeded', '1']);
    }
    for (const [i, { status }] of replies.entries()) {
      const { handle } = wallets[i].data;
      expect((await client.get(`/wallets/${handle}`)).status).toBe(status === 201 ? 200 : 404);
    }
  });

  test('those let in at a time: the others wait, are served as they came, and another ledger is not refused', async () => {
    const server = await serverOfTest({ flags: ['--inbox-max', '50', '--pipeline-max', '2'] });
    const client = connect(server);
    const open = [{ action: 'any', record: 'any' }];
    expect((await client.post('/ledgers', record({ handle: 'other', access: open }, keys))).status).toBe(201);
    const other = connect(server, { 'x-ledger': 'other' });
    // One flood is enough, unless this machine sends it more slowly than it is served.
    for (let isRefused = false; !isRefused; ) {
      const wallets = Array.from({ length: 200 }, () => wallet(keys));
      const flood = Promise.all(wallets.map((body) => client.post('/wallets', body)));
      const guests = await Promise.all(Array.from({ length: 5 }, () => other.post('/wallets', wallet(keys))));
      expect(guests.map(({ status }) => status)).toEqual([201, 201, 201, 201, 201]);
      const replies = await flood;
      expect(replies.filter(({ status }) => status !== 201 && status !== 429)).toEqual([]);
      expect(replies.some(({ status }) => status === 201)).toBe(true);
      for (const [i, reply] of replies.entries()) {
        if (reply.status === 201) expect(reply.body.data).toEqual(wallets[i].data);
      }
      isRefused = replies.some(({ status }) => status === 429);
    }
  });

  test.each(['20', '9'.repeat(400)])(
    'how long a client may wait for the end of an intent, if it asks for %s seconds',
    async (seconds) => {
      const client = connect(await serverOfTest({ flags: ['--prefer-wait-seconds-max', '1'] }));
      const kit = makeKit(client, keys);
      const claims = [issue(await kit.wallet(), await kit.symbol(), 1)];
      const options = { data: { config: { commit: 'manual' } }, headers: { prefer: `wait=${seconds}` } };
      const { body, headers } = await kit.send(claims, options);
      expect([body.meta.status, headers.get('preference-applied')]).toEqual(['prepared', 'wait=1']);
    },
  );

  slow('a body by its canonical form too, which may be several times as long', async () => {
    // As large as may be, where it is: beyond what the journal writes as one.
    const [small, large] = [4000, 16 * 1024 * 1024];
    for (const bytesMax of [small, large]) {
      const { url } = await serverOfTest({ flags: ['--body-bytes-max', String(bytesMax)] });
      const post = (path: string, body: Json): Promise<Response> =>
        fetch(`${url}${path}`, { method: 'POST', body: JSON.stringify(body).replaceAll(String(1e20), '1e20') });
      const numbers = (chars: number): Json => ({ n: new Array(Math.floor(chars / 22)).fill(1e20) });
      const wallet = (chars: number): Json => record({ handle: 'w', custom: numbers(chars) }, keys);
      const beyond = await post('/wallets', wallet(bytesMax));
      expect(beyond.status).toBe(413);
      expect(((await beyond.json()) as Json).data).toMatchObject({
        reason: 'api.body-malformed',
        detail: expect.stringContaining('canonical form'),
      });
      const within = wallet(bytesMax - 2000);
      const taken = await post('/wallets', within);
      expect(taken.status, await taken.text()).toBe(201);
      const prove = (chars: number) => post('/wallets/w/proofs', proofFor(within, keys, numbers(chars)));
      const [longer, shorter] = [await prove(small), await prove(small - 1000)];
      expect(longer.status, await longer.text()).toBe(bytesMax === small ? 413 : 200);
      expect(shorter.status, await shorter.text()).toBe(200);
    }
  });

  test('body, depth, claims, proofs and page', async () => {
    const flags = ['--body-bytes-max', '4000', '--body-depth-max', '10', '--claims-max', '2', '--proofs-max', '2'];
    const server = await serverOfTest({ flags: [...flags, '--page-limit-max', '5'] });
    const client = connect(server);
    const deep = (depth: number): Json => (depth === 0 ? {} : { a: deep(depth - 1) });
    const intent = (claims: number): Json => {
      const claim = { action: 'issue', target: { handle: 'x' }, symbol: { handle: 'y' }, amount: 1 };
      return record(
        { handle: unique('intent'), claims: Array.from({ length: claims }, () => claim) },
        [keys],
        [{ status: 'created' }],
      );
    };
    const noted = (custom: Json): Json => record({ handle: unique('wallet'), custom }, keys);
    /** Of numbers that take 21 digits, where five bytes say the same. */
    const short = (count: number): string =>
      JSON.stringify(noted({ n: new Array(count).fill(1e20) })).replaceAll(String(1e20), '1e20');
    const asked: [string, Promise<Reply>, number, string | undefined][] = [
      ['what is kept of it within', client.post('/wallets', short(100)), 201, undefined],
      ['a body within', client.post('/wallets', noted({ text: 'x'.repeat(2000) })), 201, undefined],
      ['a body beyond', client.post('/wallets', noted({ text: 'x'.repeat(4000) })), 413, 'api.body-malformed'],
      ['what is kept of it beyond', client.post('/wallets', short(200)), 413, 'api.body-malformed'],
      ['nesting within', client.post('/wallets', noted(deep(7))), 201, undefined],
      ['nesting beyond', client.post('/wallets', noted(deep(8))), 400, 'api.body-malformed'],
      ['claims within', client.post('/intents', intent(2)), 201, undefined],
      ['claims beyond', client.post('/intents', intent(3)), 422, 'record.schema-invalid'],
      ['proofs within', client.post('/wallets', record({ handle: unique('w') }, [keys, keys])), 201, undefined],
      [
        'proofs beyond',
        client.post('/wallets', record({ handle: unique('w') }, [keys, keys, keys])),
        422,
        'record.schema-invalid',
      ],
      ['a page within', client.get('/wallets?page.limit=5'), 200, undefined],
      ['a page beyond', client.get('/wallets?page.limit=6'), 422, 'record.schema-invalid'],
    ];
    for (const [name, reply, status, reason] of asked) {
      const answer = await reply;
      expect([name, ...reasonOf(answer)]).toEqual([name, status, reason]);
    }
  });
});
