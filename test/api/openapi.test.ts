/**
 * The description of the interface, held against a server: what its examples come to, and whether each answer is one that
 * it tells of, of every operation there is.
 */
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import { expect, onTestFinished, test } from 'vitest';
import { Bank, reportOf } from '../support/bank.ts';
import {
  bearer,
  type Client,
  connect,
  type Json,
  makeKeys,
  makeToken,
  proof,
  type Reply,
  record,
} from '../support/client.ts';
import { openHook } from '../support/hook.ts';
import { limit, makeKit, openLedger, proofFor, segment, transfer, unique } from '../support/kit.ts';
import { serverOfTest } from '../support/of-test.ts';
import { NOWHERE, SAMPLES } from '../support/samples.ts';
import type { Server } from '../support/server.ts';
import { slow } from '../support/slow.ts';

const keys = makeKeys();

async function documentOf({ port }: Server): Promise<Json> {
  return (await fetch(`http://127.0.0.1:${port}/openapi.json`)).json();
}

interface Told {
  id: string;
  path: string;
  method: string;
  operation: Json;
  pattern: RegExp;
}

/** Answers that were seen: `<operation> <status>`. */
type Seen = Set<string>;

/**
 * A client that holds each answer against the description. Objects that it leaves open are taken for closed: what a later
 * version may add must be told by that version.
 */
class Judge {
  readonly told: Told[];
  readonly seen: Seen = new Set();
  readonly refs: (path: string) => Json;
  readonly ajv = new Ajv2020({ strict: false, validateFormats: false, allErrors: true });
  /** The same as a client. */
  readonly client: Client;
  readonly #plain: Client;

  constructor(server: Server, document: Json) {
    this.refs = (path) =>
      path
        .split('/')
        .slice(1)
        .reduce((at: Json, name) => at[name], document);
    this.told = Object.entries<Json>(document.paths).flatMap(([path, item]) =>
      Object.entries<Json>(item).map(([method, operation]) => {
        const pattern = new RegExp(`^${path.replaceAll(/\{\w+\}/g, '[^/?]+')}(?:\\?|$)`);
        return { id: operation.operationId, path, method: method.toUpperCase(), operation, pattern };
      }),
    );
    this.ajv.addSchema(closed({ $id: 'ayni', components: document.components }), 'ayni');
    this.#plain = connect(server);
    this.client = {
      ...this.#plain,
      call: (method, path, body, headers) => this.ask(method, path, body, headers),
      get: (path, headers) => this.ask('GET', path, undefined, headers),
      post: (path, body, headers) => this.ask('POST', path, body, headers),
      put: (path, body, headers) => this.ask('PUT', path, body, headers),
      del: (path, body, headers) => this.ask('DELETE', path, body, headers),
    };
  }

  /** What was answered, which must be as described. */
  async ask(method: string, path: string, body?: Json, headers: Record<string, string> = {}): Promise<Reply> {
    const reply = await this.#plain.call(method, path, body, headers);
    const told = this.told.find((each) => each.method === method && each.pattern.test(path));
    const where = `${method} ${path} ${reply.status} ${reply.text.slice(0, 2000)}`;
    if (told === undefined) throw new Error(`not described: ${where}`);
    const given = told.operation.responses[reply.status];
    if (given === undefined) throw new Error(`no such answer of ${told.id}: ${where}`);
    const answer = given.$ref === undefined ? given : this.refs(given.$ref);
    this.seen.add(`${told.id} ${reply.status}`);
    const schema = answer.content?.['application/json'].schema;
    expect(reply.text === '', where).toBe(schema === undefined);
    if (schema !== undefined) this.holds(schema, reply.body, where);
    return reply;
  }

  holds(schema: Json, body: Json, where: string): void {
    const check: ValidateFunction =
      schema.$ref === undefined ? this.ajv.compile(schema) : this.ajv.getSchema(`ayni${schema.$ref}`)!;
    if (!check(body)) throw new Error(`${JSON.stringify(check.errors, null, 1)}\n${where}`);
  }

  parametersOf({ operation }: Told): Json[] {
    return operation.parameters.map((each: Json) => (each.$ref === undefined ? each : this.refs(each.$ref)));
  }

  /** Its path with the examples that are given for it, or other ids. */
  pathOf(told: Told, ids: Record<string, string> = {}): string {
    const given = new Map(this.parametersOf(told).map(({ name, example }) => [name, String(example)]));
    return told.path.replaceAll(/\{(\w+)\}/g, (_, name) => segment(ids[name] ?? given.get(name)!));
  }

  examplesOf({ operation }: Told): Json[] {
    const examples = operation.requestBody?.content['application/json'].examples ?? {};
    return Object.values<Json>(examples).map(({ value }) => value);
  }

  /** Those of the operations of which no good answer was seen. */
  unseen(): string[] {
    const isGood = ({ id, operation }: Told) =>
      Object.keys(operation.responses).some((status) => status.startsWith('2') && this.seen.has(`${id} ${status}`));
    return this.told.filter((each) => !isGood(each)).map(({ id }) => id);
  }
}

/** The same schemas, of which no object has members that they do not name; where it says that it is open, it stays so. */
function closed(value: Json): Json {
  if (Array.isArray(value)) return value.map(closed);
  if (typeof value !== 'object' || value === null) return value;
  const members = Object.fromEntries(Object.entries(value).map(([name, member]) => [name, closed(member)]));
  return value.type === 'object' && value.properties !== undefined && value.additionalProperties === undefined
    ? { ...members, additionalProperties: false }
    : members;
}

async function judged(flags: string[] = []): Promise<Judge> {
  const server = await serverOfTest({ flags });
  return new Judge(server, await documentOf(server));
}

test('it is not there', async () => {
  const server = await serverOfTest();
  const url = `http://127.0.0.1:${server.port}/openapi.json`;
  const first = await fetch(url);
  expect([first.status, first.headers.get('content-type')]).toEqual([200, 'application/json; charset=utf-8']);
  const text = await first.text();
  expect(JSON.parse(text).openapi).toBe('3.1.0');
  expect(await (await fetch(`${url}?a=1`)).text()).toBe(text);
  const head = await fetch(url, { method: 'HEAD' });
  expect([head.status, head.headers.get('content-length'), await head.text()]).toEqual([
    200,
    String(Buffer.byteLength(text)),
    '',
  ]);
  expect((await fetch(`http://127.0.0.1:${server.port}/v2/openapi.json`)).status).toBe(404);
});

test.each(['/openapi.json', '/readyz'])('the methods of %s are not told', async (path) => {
  const server = await serverOfTest();
  const url = `http://127.0.0.1:${server.port}${path}`;
  const asked = await fetch(url, { method: 'OPTIONS' });
  expect([asked.status, asked.headers.get('allow')]).toEqual([204, 'GET, HEAD, OPTIONS']);
  for (const method of ['POST', 'PUT', 'DELETE']) {
    const other = await fetch(url, { method, body: '{}' });
    expect([method, other.status, other.headers.get('allow')]).toEqual([method, 405, 'GET, HEAD, OPTIONS']);
  }
});

test('whoever may do nothing may not read it, or it tells of what is in the books', async () => {
  const owner = makeKeys();
  const mine = { bearer: { $signer: { public: owner.public } } };
  const rules = JSON.stringify([{ action: 'any', record: 'any', ...mine }]);
  const flags = ['--owner', owner.public, '--access-rules', rules];
  const shut = await serverOfTest({ flags, headers: bearer(owner) });
  expect((await connect(shut).get('/wallets')).status).toBe(403);
  expect(await documentOf(shut)).toEqual(await documentOf(await serverOfTest()));
});

// ---------------------------------------------------------------- examples

/** What is made before others that name it; kinds that stand here first come first. */
const FIRST = ['Signer', 'Symbol', 'Wallet', 'Anchor', 'Circle'];
const rankOf = ({ id }: Told): number => {
  const rank = FIRST.findIndex((name) => id.endsWith(name));
  return rank < 0 ? FIRST.length : rank;
};
const verbOf = ({ id }: Told): string => /^[a-z]+/.exec(id)![0];

/** Operations that take a body, in an order in which they can be done. */
function inOrder(judge: Judge, verbs: readonly string[]): Told[] {
  const those = judge.told.filter((each) => each.operation.requestBody !== undefined && verbs.includes(verbOf(each)));
  const places = new Map(verbs.map((verb, at) => [verb, at]));
  const place = (each: Told) => places.get(verbOf(each))! * (FIRST.length + 1) + rankOf(each);
  return those.sort((one, other) => place(one) - place(other));
}

/** Sends what is given to try them with; a ledger itself is made outside any. */
async function sendExamples(judge: Judge, those: readonly Told[], ledger: string): Promise<void> {
  for (const told of those) {
    const headers = told.path.startsWith('/ledgers') ? {} : { 'x-ledger': ledger };
    for (const example of judge.examplesOf(told)) {
      const reply = await judge.ask(told.method, judge.pathOf(told), example, headers);
      expect(reply.status, `${told.id} ${reply.text}`).toBeLessThan(300);
    }
  }
}

test.each([
  ['POST', 'drop'],
  ['DELETE', 'delete'],
])('an example is refused, or answered otherwise than is told; drops by %s', async (_, drop) => {
  const judge = await judged();
  const openOne = async () => (await openLedger(judge.client, keys)).data.handle as string;
  const sendAll = (those: readonly Told[], ledger: string) => sendExamples(judge, those, ledger);
  const ledger = await openOne();
  const made = inOrder(judge, ['create', 'assign']);
  await sendAll(made, ledger);
  const intent = await judge.client.get('/intents/rent-2026-01', { 'x-ledger': ledger });
  expect(intent.body.meta.status).toBe('completed');
  await sendAll(inOrder(judge, ['add', 'sign', 'check', 'retry', 'activate', 'update']), ledger);

  // Changed they have other hashes, and wallets with something in them stay: they are dropped as they were made.
  const other = await openOne();
  const isDropped = ({ path }: Told) => !/^\/(intents|ledgers)/.test(path);
  await sendAll(made.filter(isDropped), other);
  await sendAll(inOrder(judge, ['remove']), other);
  await sendAll(inOrder(judge, [drop]).reverse(), other);
});

// ---------------------------------------------------------------- answers

slow('an answer is not as is told, or of an operation none was tried', async () => {
  const judge = await judged();
  const { client } = judge;
  const kit = makeKit(client, keys);
  const ok = async (reply: Promise<Reply>, status = 200): Promise<Json> => {
    const { status: found, text, body } = await reply;
    expect(found, text).toBe(status);
    return body;
  };
  const signed = (data: Json) => record(data, keys);

  await ok(client.get('/'));
  await ok(client.get('/head'));
  const told = await kit.make('effects', {
    handle: 'told',
    signal: 'wallet-created',
    action: { schema: 'webhook', endpoint: `${NOWHERE}/hook` },
  });

  await kit.make('policies', { handle: 'labels', schema: 'labels', record: 'any', values: ['seen'] });
  const LEDGERS = {
    path: 'ledgers',
    drop: false,
    data: async () => ({ handle: unique('l'), access: [{ action: 'any' }] }),
  };
  for (const { path, drop, data } of [...SAMPLES, LEDGERS]) {
    for (const way of drop ? ['DELETE', 'drop', 'none'] : ['none']) {
      const made = await kit.make(path, await data(kit));
      const at = `/${path}/${segment(made.data.handle)}`;
      const more = path === 'ledgers' ? made.data : { ...made.data, custom: { a: [1, 'b', null] } };
      const now = await ok(kit.change(path, made, { ...more, access: [{ action: 'any' }] }));
      const said = proofFor(now, keys, { moment: now.meta.moment, labels: ['seen'] });
      const proved = await ok(client.post(`${at}/proofs`, said));
      // A ledger's own has no such policy in it.
      expect(proved.meta.labels).toEqual(path === 'ledgers' ? undefined : ['seen']);
      for (const read of ['', '/changes', '/changes?page.limit=1&sort.meta.moment=1', '/changes/1']) {
        await ok(client.get(`${at}${read}`));
      }
      await ok(client.get(`/${path}/${segment(made.luid)}`));
      for (const action of ['read', 'any']) await ok(client.post(`${at}/access/!check`, signed({ action })));
      await ok(client.get(`/${path}`));
      if (way === 'drop') await ok(client.post(`${at}/drop`, kit.dropBody(now)), 204);
      if (way === 'DELETE') await ok(client.del(at, kit.dropBody(now)), path === 'effects' ? 200 : 204);
    }
  }

  // Intents in all that may become of them, routed ones too.
  const usd = await kit.symbol();
  const [ana, luz] = [await kit.funded(usd, 1000), await kit.wallet()];
  const done = await kit.done([
    transfer(ana, luz, usd, 5),
    { ...limit(luz, usd, 'maxBalance', 50), wallet: luz, symbol: usd },
  ]);
  await kit.refused([transfer(ana, luz, usd, 5000)]);
  await kit.send([transfer(ana, 'nobody', usd, 5)], { headers: { Prefer: 'wait=5' } });
  const waiting = await kit.clear([transfer(ana, luz, usd, 5)], { data: { config: { commit: 'manual' } } });
  expect(waiting.meta.status).toBe('prepared');
  const reserved = await ok(client.get(`/wallets/${ana}/balances`));
  expect(reserved.data.length).toBe(2);
  await ok(client.post(`/intents/${waiting.data.handle}/sign`, proofFor(waiting, keys, { action: 'commit' })));
  await ok(client.post(`/intents/${done.luid.replace('$', '%24')}/proofs`, proofFor(done, keys, { comment: 'seen' })));
  const through = await kit.wallet({ routes: [{ action: 'forward', target: luz }] });
  const routed = await kit.done([transfer(ana, through, usd, 1)]);
  expect(routed.meta.routed).toBe(true);
  const intents = await ok(client.get('/intents?meta.status=completed'));
  expect(intents.data.some(({ data }: Json) => data.origin === routed.data.handle)).toBe(true);
  for (const read of ['', '/changes', '/changes/1']) await ok(client.get(`/intents/${done.data.handle}${read}`));
  await ok(client.post(`/intents/${done.data.handle}/access/!check`, signed({ action: 'read', record: 'intent' })));

  for (const part of ['balances', 'limits', 'anchors']) await ok(client.get(`/wallets/${luz}/${part}`));
  const circle = (await kit.make('circles', { handle: 'tellers' })).data.handle;
  const signer = (await kit.make('signers', { handle: 's', format: 'ed25519-raw', public: keys.public })).data.handle;
  await ok(client.post(`/circles/${circle}/signers`, signed({ circle, signer })));
  await ok(client.get(`/circles/${circle}/signers`));
  await ok(client.del(`/circles/${circle}/signers/${signer}`, signed({ circle, signer })), 204);

  const bank = await kit.make('bridges', { handle: 'bank', config: { server: NOWHERE } });
  await ok(client.post(`/bridges/${bank.data.handle}/activate`, {}), 202);
  await ok(client.get(`/effects/${told.data.handle}/events`));
  await ok(client.post(`/effects/${told.data.handle}/events/retry`, signed({ action: 'retry-event' })), 202);
  const page = await ok(client.get('/events?after=0&wait=0&page.limit=3'));
  for (let after = page.page.after, left = 50; left > 0; left--) {
    const next = await ok(client.get(`/events?after=${after}&page.limit=100`));
    if (next.data.length === 0) break;
    after = next.page.after;
  }
  await ok(client.get('/events?signal=balance-received&page.limit=2'));

  const main = await ok(client.get('/ledger'));
  const changed = await ok(client.put('/ledger', signed({ ...main.data, custom: { a: 1 }, parent: main.hash })));
  await ok(client.post('/ledger/proofs', proofFor(changed, keys, { comment: 'seen' })));
  await ok(client.get('/ledger/changes'));
  await ok(client.get('/ledger/changes/2'));
  await ok(client.post('/ledger/access/!check', signed({ action: 'read', record: 'wallet' })));

  expect(judge.unseen()).toEqual([]);
  // Each parameter of each question is one that the server knows: what it does not know of a filter it refuses.
  for (const one of judge.told.filter(({ method }) => method === 'GET')) {
    const kind = one.path.split('/')[1]!;
    const id = one.path.includes('{id}') ? (await ok(client.get(`/${kind}`))).data[0].luid : '';
    for (const parameter of judge.parametersOf(one).filter((each) => each.in === 'query')) {
      await ok(client.get(`${judge.pathOf(one, { id })}?${parameter.name}=${segment(someOf(parameter, judge))}`));
    }
  }
});

/** Something that a parameter may be. */
function someOf({ name, content, schema }: Json, judge: Judge): string {
  if (content !== undefined) return JSON.stringify(content['application/json'].example);
  const { enum: values, minimum, default: usual } = schema.$ref === undefined ? schema : judge.refs(schema.$ref);
  return String(values?.[0] ?? usual ?? minimum ?? (name === 'meta.moment' ? '2026-01-01' : 'x'));
}

slow('a refusal is not as is told, or is told and never comes', async () => {
  const judge = await judged(['--body-bytes-max', '20000']);
  const { client } = judge;
  const open = (await openLedger(client, keys)).data.handle;
  const shut = (await openLedger(client, keys, { access: [] })).data.handle;
  const made = inOrder(judge, ['create', 'assign']);
  await sendExamples(judge, made, open);

  const names = (told: Told) => judge.parametersOf(told).map(({ name }) => name);
  /** Where a ledger may be named it is that one. */
  const at = (told: Told, ledger: string): Record<string, string> =>
    names(told).includes('x-ledger') ? { 'x-ledger': ledger } : {};
  const OTHERS: Record<string, Json> = {
    updateSelectedLedger: record({ handle: 'a' }, keys),
    addSelectedLedgerProof: proof('0'.repeat(64), keys),
  };
  const bodyOf = (told: Told) => judge.examplesOf(told)[0] ?? OTHERS[told.id];
  const send = (told: Told, more: { query?: string; body?: Json; headers?: Record<string, string>; id?: string }) => {
    const path = judge.pathOf(told, more.id === undefined ? {} : { id: more.id });
    const body = 'body' in more ? more.body : bodyOf(told);
    return judge.ask(told.method, `${path}${more.query ?? ''}`, body, { ...at(told, open), ...more.headers });
  };
  const unknown = {
    authorization: `Bearer ${makeToken({ iss: 'a', sub: 'a', aud: open, iat: 1, exp: 2 ** 40 }, keys, { kid: 'nobody' })}`,
  };
  for (const told of judge.told) {
    const takesBody = told.operation.requestBody !== undefined;
    const isList = names(told).includes('page.limit');
    const hasId = told.path.includes('{id}');
    const isMade = made.includes(told);
    const expected: [status: number, isSo: boolean, more: Parameters<typeof send>[1]][] = [
      [400, takesBody, { body: '{' }],
      [400, isList, { query: told.id === 'listEvents' ? '?after=x' : '?data.nope=1' }],
      [401, true, { headers: { authorization: 'Bearer x' } }],
      [404, true, { headers: unknown }],
      [404, names(told).includes('x-ledger'), { headers: { 'x-ledger': 'nobodys' } }],
      [409, isMade, {}],
      [413, takesBody, { body: ' '.repeat(20_001) }],
      [422, takesBody, { body: { hash: 1 } }],
      [422, isList, { query: '?page.limit=0' }],
      [422, hasId, { id: 'a b' }],
    ];
    for (const [status, isSo, more] of expected) {
      if (!isSo) continue;
      const reply = await send(told, more);
      expect(reply.status, `${told.id} ${JSON.stringify(more)} ${reply.text}`).toBe(status);
    }
    if (hasId && !isMade && told.id !== 'removeCircleSigner')
      expect((await send(told, { id: 'nobody' })).status).toBe(404);
    await send(told, { headers: at(told, shut) });
  }

  // Ledgers are records of the server, which this one keeps to itself.
  const owner = makeKeys();
  const rules = [{ action: 'any', record: 'any', bearer: { $signer: { public: owner.public } } }];
  const own = await serverOfTest({ flags: ['--access-rules', JSON.stringify(rules)], headers: bearer(owner) });
  const there = new Judge(own, await documentOf(own));
  for (const told of there.told.filter(({ path }) => path.startsWith('/ledgers'))) {
    await there.ask(told.method, there.pathOf(told), there.examplesOf(told)[0]);
  }
  for (const each of there.seen) judge.seen.add(each);

  const known = [400, 401, 403, 404, 413, 422];
  const missed = judge.told.flatMap(({ id, operation }) =>
    known
      .filter((status) => status in operation.responses && !judge.seen.has(`${id} ${status}`))
      .map((status) => `${id} ${status}`),
  );
  expect(missed).toEqual([]);
});

// ---------------------------------------------------------------- what others are sent

test('a call of a bridge, a webhook or an effect is not as is told, or none of a sort was made', async () => {
  const hook = await openHook();
  onTestFinished(() => hook.close());
  const server = await serverOfTest();
  const document = await documentOf(server);
  const judge = new Judge(server, document);
  const kit = makeKit(connect(server), keys);
  const { client } = judge;
  const usd = await kit.symbol();

  const signals = new Set<string>();
  const tell = async (signal: string, action: Json) => {
    await kit.make('effects', { handle: signal, signal, action });
    signals.add(signal);
  };
  for (const signal of [
    'wallet-created',
    'wallet-dropped',
    'wallet-proofs-added',
    'balance-received',
    'intent-updated',
  ])
    await tell(signal, { schema: 'webhook', endpoint: `${hook.url}/hook` });
  const bank = await Bank.open({ client, kit, hook, symbol: usd }, { traits: ['statuses'] });
  await tell('wallet-limited', { schema: 'bridge', bridge: bank.bridge });

  const [ana, theirs] = [await kit.funded(usd, 100), await bank.wallet()];
  const record = (await client.get(`/wallets/${ana}`)).body;
  await client.post(`/wallets/${ana}/proofs`, proofFor(record, keys, { comment: 'seen' }));
  const empty = (await client.get(`/wallets/${await kit.wallet()}`)).body;
  await client.post(`/wallets/${empty.data.handle}/drop`, kit.dropBody(empty));
  const send = async (source: string | Json, target: string | Json) =>
    (await kit.send([{ action: 'transfer', source, target, symbol: usd, amount: 5 }])).body;
  const report = async (intent: Json, what: 'debits' | 'credits', status: string) =>
    client.post(
      `/intents/${intent.data.handle}/proofs`,
      reportOf(intent, await bank.entry(intent, what), bank.keys, { status }),
    );
  const paid = await send({ handle: ana, custom: { purpose: 'rent' } }, theirs);
  await report(paid, 'credits', 'prepared');
  await bank.asked(paid, 'credits', 'commit');
  const failed = await send(theirs, ana);
  await report(failed, 'debits', 'failed');
  await bank.asked(failed, 'debits', 'abort');

  const hooks = Object.entries<Json>(document.webhooks);
  const judged = new Set<string>();
  const WAYS: [name: string, method: string, path: RegExp][] = [
    ['prepareDebit', 'POST', /\/debits$/],
    ['prepareCredit', 'POST', /\/credits$/],
    ['commitEntry', 'POST', /\/commit$/],
    ['abortEntry', 'POST', /\/abort$/],
    ['tellIntent', 'PUT', /\/intents\/[^/]+$/],
    ['tellEvent', 'POST', /^\/hook$|\/effects\/[^/]+$/],
  ];
  expect(hooks.map(([name]) => name)).toEqual(WAYS.map(([name]) => name));
  const isAll = () => judged.size === WAYS.length && signals.size === 0;
  for (let at = 0; !isAll(); at++) {
    const call = (await hook.waitFor(() => true, at + 1))[at]!;
    const [name, method] = WAYS.find(([, method, path]) => call.method === method && path.test(call.path))!;
    const { [method.toLowerCase()]: told } = document.webhooks[name];
    judge.holds(told.requestBody.content['application/json'].schema, call.body, `${name} ${call.path} ${call.text}`);
    judged.add(name);
    if (name === 'tellEvent') signals.delete(call.body.data.signal);
  }
});
