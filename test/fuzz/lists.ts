/**
 * Lists with every combination of filters, orders and pages, over records that came, changed, were renamed and went by
 * chance, against a plain scan: each record as the server last showed it to whoever wrote it, judged by an evaluator
 * that shares no line with the server's. Three ledgers hold the same handles; in one of them most records are not for
 * everybody, and never show.
 */
import assert from 'node:assert/strict';
import { type Json, makeKeys, proof, record } from '../support/client.ts';
import { Dice } from '../support/dice.ts';
import { Desk } from './desk.ts';

const STEPS = 60;
const QUERIES = 60;
const keys = makeKeys(Buffer.alloc(32, 3));

const READABLE = [{ action: 'read' }];
const LEDGERS: Record<string, Json[]> = {
  main: [],
  open: [{ action: 'any', record: 'any' }],
  veiled: ['access', 'create', 'update', 'drop'].map((action) => ({ action, record: 'any' })),
};
const KINDS = ['wallets', 'anchors', 'intents', 'signers', 'effects'];
const HANDLES = ['a', 'b', 'c', 'd', 'tel:+57300', 's:a@b', 'A', 'a.1'];
const SCHEMAS = ['person', 'tel', 'a', 'Z'];
const CUSTOMS = [
  1,
  1.5,
  10,
  -3,
  0,
  '10',
  '1',
  '',
  'a',
  'B',
  'é',
  '😀',
  true,
  false,
  'true',
  null,
  { handle: 'x' },
  [1, 'a'],
  [[1], 2],
  [{ n: 1 }, { n: [2, 3] }],
  { deep: { n: 10 } },
  { handle: 5 },
  '__proto__',
  '010',
  '1e1',
];
const TEXTS = [
  '1',
  '10',
  '010',
  '1e1',
  '10.0',
  '-3',
  '0',
  'true',
  'false',
  'a',
  'b',
  'B',
  'é',
  '😀',
  'x',
  '',
  'null',
  'NaN',
  'z',
  'person',
  'tel',
  '[1]',
  '2',
];
const CUSTOM_PATHS = ['c', 'c.n', 'c.deep.n', 'c.handle', 'd', 'c.0', '__proto__', 'constructor.name'];

/** A record as it was last shown, and the number of its latest change. */
interface Known {
  body: Json;
  change: number;
}

/** A server, some sixty changes and as many questions; returns how much was found. */
export async function fuzzLists(seed: number): Promise<string[]> {
  const dice = new Dice(seed);
  const desk = await Desk.open();
  const town = new Town(dice, desk);
  await town.open();
  for (let step = 0; step < STEPS; step++) await town.change();
  const found = new Set<string>();
  for (let asked = 0; asked < QUERIES; asked++) found.add(await town.question());
  await desk.close();
  return [...found];
}

class Town {
  readonly #dice: Dice;
  readonly #desk: Desk;
  readonly #known = new Map<string, Known[]>();
  #changes = 0;

  constructor(dice: Dice, desk: Desk) {
    this.#dice = dice;
    this.#desk = desk;
  }

  async open(): Promise<void> {
    for (const [ledger, access] of Object.entries(LEDGERS)) {
      const made = ledger === 'main' ? 409 : 201;
      const reply = await this.#desk.post('ledgers', { handle: ledger, access }, keys);
      assert.equal(reply.status, made, reply.text);
      const labels = { handle: 'labels', schema: 'labels', record: 'wallet', values: ['vip', 'old'] };
      await this.#write('POST', ledger, '/v2/policies', record(labels, keys));
      // The server's own signer came with the ledger, before all others.
      const system = await this.#desk.get('/v2/signers/system', { 'x-ledger': ledger });
      if (system.status === 200) this.#of(ledger, 'signers').push({ body: system.body, change: -1 });
      for (const symbol of ['usd', 'eur'])
        await this.#write('POST', ledger, '/v2/symbols', record({ handle: symbol, factor: 1 }, keys));
    }
  }

  /** One record comes, changes, gets a proof or goes; what is refused changes nothing. */
  async change(): Promise<void> {
    const dice = this.#dice;
    const ledger = dice.pick(Object.keys(LEDGERS));
    const kind = dice.pick([...KINDS, 'wallets']);
    const list = this.#of(ledger, kind);
    if (dice.chance(0.5)) this.#desk.world.now += dice.below(3) * 500;
    const what = dice.roll();
    if (what < 0.55 || list.length === 0) {
      const body = await this.#write('POST', ledger, `/v2/${kind}`, record(this.#data(kind, dice.pick(HANDLES)), keys));
      if (body === null) return;
      const stored =
        kind === 'intents' ? { ...body, meta: { ...body.meta, status: await this.#statusOf(ledger, body) } } : body;
      list.push({ body: stored, change: this.#changes++ });
      return;
    }
    const known = dice.pick(list);
    if (known.body.data.handle === 'system') return;
    const { luid, hash, data } = known.body;
    const path = `/v2/${kind}/${encodeURIComponent(luid)}`;
    if (what < 0.8 && kind !== 'intents') {
      const next = { ...this.#data(kind, dice.chance(0.5) ? data.handle : dice.pick(HANDLES)), parent: hash };
      const body = await this.#write('PUT', ledger, path, { luid, ...record(next, keys) });
      if (body !== null) Object.assign(known, { body, change: this.#changes++ });
    } else if (what < 0.9) {
      const custom = dice.pick([
        { labels: ['vip'] },
        { labels: ['old', '-vip'] },
        { status: dice.pick(['active', 'closed']) },
      ]);
      const body = await this.#write(
        'POST',
        ledger,
        `${path}/proofs`,
        proof(hash, keys, { ...custom, n: this.#changes }),
      );
      if (body !== null) known.body = body;
    } else if (kind !== 'intents' && kind !== 'signers') {
      const gone = await this.#write('POST', ledger, `${path}/drop`, record({ parent: hash }, keys));
      if (gone !== null) list.splice(list.indexOf(known), 1);
    }
  }

  /** The body of an answer that says yes ('' where it has none), or null. */
  async #write(method: string, ledger: string, path: string, body: Json): Promise<Json> {
    const ask = { method, path, headers: { 'x-ledger': ledger }, body: Buffer.from(JSON.stringify(body)) };
    const reply = await this.#desk.ask(ask, false);
    return reply.status < 300 ? (reply.body ?? '') : null;
  }

  /** Where it may not be read, the status is what clearing makes of it: these claims all go through. */
  async #statusOf(ledger: string, { luid }: Json): Promise<string> {
    const reply = await this.#desk.get(`/v2/intents/${encodeURIComponent(luid)}`, { 'x-ledger': ledger });
    return reply.status === 200 ? reply.body.meta.status : 'unknown';
  }

  #of(ledger: string, kind: string): Known[] {
    const name = `${ledger} ${kind}`;
    const list = this.#known.get(name) ?? [];
    this.#known.set(name, list);
    return list;
  }

  #data(kind: string, handle: string): Json {
    const dice = this.#dice;
    const custom = {
      ...(dice.chance(0.8) ? { c: dice.pick(CUSTOMS) } : {}),
      ...(dice.chance(0.3) ? { d: dice.pick(CUSTOMS) } : {}),
    };
    const common = {
      handle,
      ...(dice.chance(0.5) ? { schema: dice.pick(SCHEMAS) } : {}),
      ...(dice.chance(0.7) ? { custom } : {}),
      ...(dice.chance(0.4) ? { access: READABLE } : {}),
    };
    const wallet = () => dice.pick(HANDLES.slice(0, 5));
    if (kind === 'anchors')
      return { ...common, wallet: wallet(), target: wallet(), ...(dice.chance(0.5) ? { symbol: 'usd' } : {}) };
    if (kind === 'signers')
      return { ...common, public: makeKeys(Buffer.alloc(32, 50 + dice.below(4))).public, format: 'ed25519-raw' };
    if (kind === 'effects') {
      const action = { schema: 'webhook', endpoint: 'http://127.0.0.1:9/x' };
      return { ...common, signal: dice.pick(['wallet-created', 'anchor-dropped']), action };
    }
    if (kind !== 'intents') return common;
    const named = (text: string) => (dice.chance(0.5) ? text : { handle: text });
    const claims = Array.from({ length: 1 + dice.few(3) }, () => {
      const symbol = named(dice.pick(['usd', 'eur']));
      const amount = dice.pick([1, 5, 10]);
      return dice.pick<Json>([
        { action: 'issue', target: named(wallet()), symbol, amount },
        { action: 'transfer', source: named(wallet()), target: named(wallet()), symbol, amount },
        { action: 'limit', wallet: named(wallet()), symbol, metric: 'maxBalance', amount: 1000 },
      ]);
    });
    // An intent's handle is its own: others of the kind cannot be dropped to make room.
    return { ...common, handle: `${handle}-${this.#changes}`, claims };
  }

  /** One list, asked for and scanned; how many were found. */
  async question(): Promise<string> {
    const dice = this.#dice;
    const ledger = dice.pick(Object.keys(LEDGERS));
    const kind = dice.pick(KINDS);
    const all = this.#of(ledger, kind);
    const wishes = Array.from({ length: dice.below(4) }, () => this.#condition(kind, all));
    // Two lists of values for one member are one list, as a query is written.
    const conditions = wishes.filter(
      ({ list }, at) => list === '' || wishes.findIndex((one) => one.list === list) === at,
    );
    const isOldest = dice.chance(0.4);
    const limit = dice.chance(0.5) ? 100 : 1 + dice.below(6);
    const index = dice.few(3);
    const parts = [
      ...conditions.map((one) => one.text),
      ...(isOldest ? [dice.pick(['sort.meta.moment=1', 'sort[meta][moment]=1'])] : []),
      `page.limit=${limit}`,
      ...(index > 0 ? [`page[index]=${index}`] : []),
    ];
    const query = dice.shuffled(parts).join('&');
    const ask = { method: 'GET', path: `/v2/${kind}?${query}`, headers: { 'x-ledger': ledger } };
    const reply = await this.#desk.ask(ask, false);
    const told = `${ledger} /${kind}?${decodeURIComponent(query)}`;
    assert.equal(reply.status, 200, `${told}: ${reply.text.slice(0, 300)}`);
    const passing = all
      .filter(({ body }) => ledger !== 'veiled' || body.data.access !== undefined)
      .filter(({ body }) => conditions.every((one) => one.holds(body)))
      .sort((one, two) => (isOldest ? one.change - two.change : two.change - one.change));
    const expected = passing.slice(index * limit, (index + 1) * limit).map(({ body }) => body.data.handle);
    assert.deepEqual(
      reply.body.data.map((one: Json) => one.data.handle),
      expected,
      told,
    );
    const { total } = reply.body.page;
    if (total !== undefined) assert.equal(total, passing.length, `${told}: total`);
    return expected.length === 0 ? 'none' : expected.length === all.length ? 'all' : 'some';
  }

  #condition(kind: string, all: readonly Known[]): Condition {
    const dice = this.#dice;
    const path = dice.pick(pathsOf(kind));
    const operator = dice.pick(['eq', 'eq', 'eq', 'ne', 'gt', 'gte', 'lt', 'lte', 'in', 'nin', 'regex']);
    const value = () => this.#value(path, all);
    const values =
      operator === 'in' || operator === 'nin' ? Array.from({ length: 1 + dice.below(3) }, value) : [value()];
    if (operator === 'regex') values[0] = dice.pick(['^a', 'a$', '.', '[0-9]+', '^$', 'per|tel', 'é', '^true$']);
    return condition(dice, path, operator, values);
  }

  #value(path: string, all: readonly Known[]): string {
    const dice = this.#dice;
    if (path === 'meta.moment') {
      const moment =
        all.length > 0 && dice.chance(0.8) ? Date.parse(dice.pick(all).body.meta.moment) : this.#desk.world.now;
      return new Date(moment + dice.pick([0, 0, 0, 1, -1, 3_600_000])).toISOString();
    }
    if (path === 'data.public') return makeKeys(Buffer.alloc(32, 50 + dice.below(5))).public;
    const members = all.flatMap(({ body }) => collect(body, path.split('.')));
    const seen = dice.chance(0.6) ? dice.pick(members) : undefined;
    if (['string', 'number', 'boolean'].includes(typeof seen)) return String(seen);
    if (path.startsWith('data.custom')) return dice.pick(TEXTS);
    return dice.pick([
      ...HANDLES,
      ...SCHEMAS,
      'created',
      'completed',
      'active',
      'vip',
      'old',
      'issue',
      '5',
      'usd',
      'wallet-created',
    ]);
  }
}

function pathsOf(kind: string): string[] {
  const own: Record<string, string[]> = {
    anchors: ['data.wallet', 'data.target', 'data.symbol'],
    signers: ['data.public'],
    effects: ['data.signal'],
    intents: ['action', 'amount', 'metric', 'source', 'target', 'wallet', 'symbol', 'target.handle']
      .map((name) => `data.claims.${name}`)
      .concat('meta.thread'),
    wallets: ['meta.labels'],
  };
  const common = ['data.handle', 'data.schema', 'meta.status', 'meta.moment'];
  return [
    ...common,
    ...common,
    ...CUSTOM_PATHS.map((path) => `data.custom.${path}`),
    ...own[kind]!,
    ...own[kind]!,
    ...own[kind]!,
  ];
}

// ---------------------------------------------------------------- the plain scan

interface Condition {
  /** As it stands in the query. */
  text: string;
  /** Of a list of values, whose it is. */
  list: string;
  holds(body: Json): boolean;
}

function condition(dice: Dice, path: string, operator: string, values: string[]): Condition {
  const segments = path.split('.');
  const spell = (more: string) =>
    dice.pick([
      `${path}${more}`,
      `filter.${path}${more}`,
      `filter[${path}]${more.replace(/\.([^.[]+)/g, '[$1]')}`,
      `filter[${segments.join('][')}]${more.replace(/\.([^.[]+)/g, '[$1]')}`,
    ]);
  const isList = operator === 'in' || operator === 'nin';
  const name = operator === 'eq' && dice.chance(0.7) ? '' : `.$${operator}`;
  const text = values
    .map((value, n) => `${spell(isList ? `${name}[${n}]` : name)}=${encodeURIComponent(value)}`)
    .join('&');
  // In claims a bare handle and {handle} are one thing, however they are asked for.
  const plain = path.startsWith('data.claims.') && segments.length === 4 ? segments.slice(0, 3) : segments;
  const list = isList ? `${operator} ${plain.join('.')}` : '';
  return { text, list, holds: (body) => holds(collect(body, plain), operator, values) };
}

/** Every value at the end of a path. Arrays on the way, and one at its end, stand for each of their elements. */
function collect(value: Json, path: string[]): Json[] {
  let found: Json[] = [value];
  for (const name of path) {
    found = found
      .flatMap((at) => (Array.isArray(at) ? at : [at]))
      .flatMap((at) => (isMember(at, name) ? [at[name]] : []));
  }
  return found.flatMap((at) => (Array.isArray(at) ? at : [at])).map((at) => (isMember(at, 'handle') ? at.handle : at));
}

function isMember(at: Json, name: string): boolean {
  return at !== null && typeof at === 'object' && !Array.isArray(at) && Object.hasOwn(at, name);
}

function holds(members: Json[], operator: string, values: string[]): boolean {
  const any = (test: (member: Json, value: string) => boolean) =>
    members.some((member) => values.some((value) => test(member, value)));
  switch (operator) {
    case 'eq':
    case 'in':
      return any(equal);
    case 'ne':
    case 'nin':
      return !any(equal);
    case 'gt':
      return any((member, value) => below(value, member));
    case 'lt':
      return any((member, value) => above(value, member));
    case 'gte':
      return any((member, value) => equal(member, value) || below(value, member));
    case 'lte':
      return any((member, value) => equal(member, value) || above(value, member));
    default:
      return any((member, value) => typeof member === 'string' && new RegExp(value, 'u').test(member));
  }
}

function equal(member: Json, value: string): boolean {
  if (typeof member === 'number') return numberIn(value) === member;
  return (typeof member === 'string' || typeof member === 'boolean') && String(member) === value;
}

/** Whether the value comes before the member; texts in the order of their UTF-16 units. */
function below(value: string, member: Json): boolean {
  if (typeof member === 'number') return numberIn(value) < member;
  return typeof member === 'string' && value < member;
}

function above(value: string, member: Json): boolean {
  if (typeof member === 'number') return numberIn(value) > member;
  return typeof member === 'string' && value > member;
}

/** The number that a text is in JSON, or NaN. */
function numberIn(text: string): number {
  try {
    const value: unknown = text.trim() === text ? JSON.parse(text) : undefined;
    return typeof value === 'number' ? value : Number.NaN;
  } catch {
    return Number.NaN;
  }
}
