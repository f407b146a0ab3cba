/**
 * Requests by chance, from what clients really send to bytes that mean nothing, against a whole server. Each is
 * answered, once, with something that is listed; what is accepted comes back as it was sent; and the parser takes
 * exactly the JSON that JSON.parse takes, within the bounds.
 */
import assert from 'node:assert/strict';
import { isDeepStrictEqual } from 'node:util';
import { parseJson } from '../../src/http/json.ts';
import {
  canon,
  hashOf,
  type Json,
  type Keys,
  makeKeys,
  makeToken,
  proof,
  type Reply,
  record,
} from '../support/client.ts';
import { Dice } from '../support/dice.ts';
import { mutate } from './bytes.ts';
import { type Ask, Desk } from './desk.ts';
import { anyText, anyValue, bent } from './values.ts';

const ASKS = 40;
const DEPTH_MAX = 64;
const KEYS_MAX = 200_000;
const BRACKETS_MAX = 100_000;
const KINDS = [
  'signers',
  'symbols',
  'wallets',
  'anchors',
  'effects',
  'bridges',
  'circles',
  'policies',
  'schemas',
  'intents',
  'ledgers',
];
const owner = makeKeys(Buffer.alloc(32, 3));
const other = makeKeys(Buffer.alloc(32, 4));

/** Members every realm has; a request must not add to them. */
const PROTOTYPE = Object.getOwnPropertyNames(Object.prototype).join();

/** A server and some forty requests; returns what was answered. */
export async function fuzzRequests(seed: number): Promise<string[]> {
  const dice = new Dice(seed);
  const desk = await Desk.open();
  const scene = new Scene(dice, desk);
  await scene.open();
  const reasons = new Set<string>();
  for (let asked = 0; asked < ASKS; asked++) {
    const wish = scene.wish();
    if (wish.ask.body !== undefined) {
      checkParser(wish.ask.body, DEPTH_MAX, KEYS_MAX);
      checkParser(wish.ask.body, 1 + dice.below(5), dice.below(16));
    }
    const reply = await desk.ask(wish.ask);
    reasons.add(reply.status < 400 ? `${reply.status} ${wish.ask.method}` : reply.body.data.reason);
    if (reply.status < 300) scene.learn(wish, reply);
    if (dice.chance(0.2)) desk.world.now += dice.below(2) * 60_000 - 20_000;
  }
  await desk.close();
  assert.equal(
    Object.getOwnPropertyNames(Object.prototype).join(),
    PROTOTYPE,
    'the prototype of everything was changed',
  );
  return [...reasons];
}

interface Wish {
  ask: Ask;
  /** The data as it was signed, where the body still carries it. */
  data?: Json;
}

class Scene {
  readonly #dice: Dice;
  readonly #desk: Desk;
  /** Records that were made, by path. */
  readonly #made = new Map<string, Json[]>(KINDS.map((kind) => [kind, []]));
  #count = 0;

  constructor(dice: Dice, desk: Desk) {
    this.#dice = dice;
    this.#desk = desk;
  }

  async open(): Promise<void> {
    for (const [path, data] of [
      ['symbols', { handle: 'usd', factor: 100 }],
      ['wallets', { handle: 'ana' }],
      ['wallets', { handle: 'luz' }],
      ['signers', { handle: 'owner', public: owner.public, format: 'ed25519-raw' }],
      ['circles', { handle: 'ring' }],
      ['bridges', { handle: 'core', config: { server: 'http://127.0.0.1:9' }, traits: ['statuses'] }],
      ['wallets', { handle: 'eva', bridge: 'core' }],
      ['wallets', { handle: 'via', routes: [{ action: 'forward', target: 'luz' }] }],
      ['effects', { handle: 'watch', signal: 'intent-created', action: { schema: 'bridge', bridge: 'core' } }],
      ['intents', { handle: 'first', claims: [{ action: 'issue', target: 'ana', symbol: 'usd', amount: 1000 }] }],
    ] as const) {
      const reply = await this.#desk.post(path, data, owner);
      assert.equal(reply.status, 201, reply.text);
      this.#made.get(path)!.push(reply.body);
    }
  }

  wish(): Wish {
    const dice = this.#dice;
    const wish = this.#anyWish();
    if (dice.chance(0.15)) wish.ask.headers = { ...wish.ask.headers, ...this.#anyHeaders(wish.ask) };
    if (dice.chance(0.05))
      wish.ask.path = mutate(dice, Buffer.from(wish.ask.path), Buffer.from('%[]=&')).toString('latin1');
    if (dice.chance(0.03)) wish.ask.method = dice.pick(['PATCH', 'constructor', 'post', 'PUT', 'DELETE', 'GET', '']);
    return wish;
  }

  #anyWish(): Wish {
    const dice = this.#dice;
    const kind = dice.pick(KINDS);
    const known = dice.pick([...this.#made.get(kind)!, ...this.#made.get('wallets')!]);
    const id = encodeURIComponent(dice.chance(0.5) ? known.data.handle : dice.pick([known.luid, 'nobody', '@', 'ana']));
    const what = dice.below(12);
    if (what < 5) return this.#signed('POST', `/v2/${kind}`, this.#data(kind));
    if (what === 5)
      return this.#signed('PUT', `/v2/${kind}/${id}`, { ...known.data, parent: known.hash }, { luid: known.luid });
    if (what === 6)
      return this.#signed(dice.pick(['DELETE', 'POST']), `/v2/${kind}/${id}${dice.pick(['', '/drop'])}`, {
        parent: known.hash,
      });
    if (what === 7) return this.#proof(kind, known, id);
    if (what === 8)
      return this.#signed('POST', `/v2/${kind}/${id}/access/!check`, { action: dice.pick(['read', 'any', 'spend']) });
    if (what === 9)
      return this.#signed('POST', '/v2/circles/ring/signers', {
        circle: 'ring',
        signer: dice.pick(['owner', 'system', 'x']),
      });
    const tail = dice.pick([
      '',
      '',
      '/changes',
      '/changes/1',
      '/balances',
      '/limits',
      '/anchors',
      '/signers',
      '/events',
      '/access/!check',
    ]);
    const query = this.#anyQuery();
    if (dice.chance(0.1)) {
      const path = dice.pick(['/v2', '/v2/head', '/v2/ledger', '/v2/events', '/v2/events']);
      return { ask: { method: 'GET', path: `${path}?after=${dice.pick(['0', '3', '-1', '99999', 'x'])}&${query}` } };
    }
    if (dice.chance(0.1)) {
      const path = dice.pick([
        `/v2/bridges/${id}/activate`,
        '/v2/bridges/core/activate',
        '/v2/effects/watch/events/retry',
      ]);
      return this.#signed('POST', path, { action: path.endsWith('retry') ? 'retry-event' : 'activate' });
    }
    const path = dice.chance(0.3) ? `/v2/${kind}?${query}` : `/v2/${kind}/${id}${tail}?${query}`;
    return { ask: { method: 'GET', path } };
  }

  #proof(kind: string, known: Json, id: string): Wish {
    const dice = this.#dice;
    const status = dice.pick(['active', 'committed', 'aborted', 'prepared', 'x', 1, null]);
    const entry = { handle: dice.pick(['deb_x', 'cre_x']), status: dice.pick(['prepared', 'failed']) };
    const custom = dice.pick<Json>([{ status }, { action: dice.pick(['commit', 'abort']), moment: 'now' }, entry]);
    const body = proof(
      dice.chance(0.9) ? known.hash : hashOf('x'),
      this.#keys(),
      dice.chance(0.8) ? custom : undefined,
    );
    return this.#written('POST', `/v2/${kind}/${id}/proofs`, body);
  }

  #keys(): Keys {
    return this.#dice.chance(0.8) ? owner : other;
  }

  /** A signed body, now and then with something wrong in it, before or after it was signed. */
  #signed(method: string, path: string, data: Json, more: Json = {}): Wish {
    const dice = this.#dice;
    const signedData = dice.chance(0.3) ? bent(dice, data) : data;
    const keys = dice.chance(0.1) ? [owner, other] : this.#keys();
    const body = {
      ...more,
      ...record(signedData, keys, dice.chance(0.3) ? [{ status: 'created', x: anyValue(dice) }] : []),
    };
    const isBent = dice.chance(0.25);
    const wish = this.#written(method, path, isBent ? bent(dice, body) : body);
    return isBent ? wish : { ...wish, data: signedData };
  }

  /** A body as bytes: as JSON.stringify writes it, or by somebody else, or spoilt on the way. */
  #written(method: string, path: string, body: Json): Wish {
    const dice = this.#dice;
    if (dice.chance(0.03)) return { ask: { method, path, body: Buffer.from(anyText(dice, anyValue(dice))) } };
    const text = dice.chance(0.3) ? anyText(dice, body) : JSON.stringify(body);
    const bytes = Buffer.from(text);
    if (dice.chance(0.15)) return { ask: { method, path, body: mutate(dice, bytes, bytes) } };
    if (dice.chance(0.01)) return { ask: { method, path, body: Buffer.from('['.repeat(1 + dice.below(200))) } };
    return { ask: { method, path, body: bytes } };
  }

  #data(kind: string): Json {
    const dice = this.#dice;
    const handle = dice.chance(0.9) ? `${kind}-${this.#count++}` : dice.pick(['ana', 'usd', 'system', 'a:b@c']);
    const access = dice.chance(0.1)
      ? { access: [{ action: dice.pick(['any', 'spend']), signer: { public: owner.public } }] }
      : {};
    const common = { handle, ...access, ...(dice.chance(0.4) ? { custom: { any: anyValue(dice) } } : {}) };
    return { ...common, ...this.#own(kind) };
  }

  #own(kind: string): Json {
    const dice = this.#dice;
    const wallet = () =>
      dice.pick(['ana', 'luz', { handle: 'ana' }, { handle: 'luz', custom: {} }, 'eva', 'via', 'nobody']);
    switch (kind) {
      case 'signers':
        return { public: dice.pick([owner, other]).public, format: 'ed25519-raw' };
      case 'symbols':
        return { factor: dice.pick([1, 100, 1e15]) };
      case 'anchors':
        return { wallet: 'ana', target: 'luz', symbol: 'usd' };
      case 'effects':
        return {
          signal: dice.pick(['wallet-created', 'intent-updated', 'balance-received', 'anchor-dropped']),
          action: dice.pick<Json>([
            { schema: 'webhook', endpoint: 'http://127.0.0.1:9/x' },
            { schema: 'bridge', bridge: 'core' },
          ]),
          ...(dice.chance(0.3) ? { filter: { 'wallet.data.handle': dice.pick(['ana', { $ne: 'ana' }]) } } : {}),
        };
      case 'bridges':
        return { config: { server: 'http://127.0.0.1:9' } };
      case 'policies':
        return this.#policy();
      case 'schemas':
        return {
          record: 'bridge',
          format: 'json-schema',
          schema: dice.pick([{ type: 'object' }, { pattern: '(a+)+' }, { $ref: '#' }]),
        };
      case 'intents':
        return {
          claims: Array.from({ length: 1 + dice.few(3) }, () => this.#claim(wallet)),
          ...(dice.chance(0.2) ? { config: { commit: dice.pick(['manual', 'auto']) } } : {}),
        };
      case 'wallets':
        return dice.pick<Json>([
          {},
          {},
          { bridge: dice.pick(['core', 'nobody']) },
          {
            routes: [
              { action: dice.pick(['forward', 'debit', 'credit', 'accept']), target: dice.pick(['ana', 'via', 'x']) },
            ],
          },
        ]);
      default:
        return {};
    }
  }

  #policy(): Json {
    return this.#dice.pick([
      { schema: 'access', record: 'wallet', values: [{ action: 'any' }] },
      { schema: 'status', record: 'wallet', values: [{ status: 'active', signer: { public: owner.public } }] },
      { schema: 'labels', record: 'wallet', values: [{ label: 'vip' }] },
    ]);
  }

  #claim(wallet: () => Json): Json {
    const dice = this.#dice;
    const symbol = dice.pick(['usd', { handle: 'usd' }, 'eur']);
    const amount = dice.pick([1, 10, 2000, 2 ** 53 - 1]);
    return dice.pick([
      { action: 'issue', target: wallet(), symbol, amount },
      { action: 'transfer', source: wallet(), target: wallet(), symbol, amount },
      { action: 'destroy', source: wallet(), symbol, amount },
      {
        action: 'limit',
        wallet: wallet(),
        symbol,
        metric: dice.pick(['minBalance', 'maxBalance', 'dailyCount']),
        amount: -5,
      },
    ]);
  }

  #anyQuery(): string {
    const dice = this.#dice;
    const keys = [
      'page.index',
      'page[limit]',
      'data.handle',
      'data.custom.any',
      'filter',
      'sort.meta.moment',
      'meta.status',
      'x',
      'data.claims.source.handle',
    ];
    const operators = ['', '', '.$ne', '.$in[0]', '.$regex', '.$gt', '.$x', '[$nin][]'];
    const values = [
      '1',
      '-1',
      'ana',
      '',
      '%',
      '%7B%7D',
      '{"a":1}',
      '(a*)*',
      '%F0%9F',
      '99999999999999999999',
      'created',
    ];
    return Array.from(
      { length: dice.few(4) },
      () => `${dice.pick(keys)}${dice.pick(operators)}=${dice.pick(values)}`,
    ).join('&');
  }

  #anyHeaders({ method }: Ask): Record<string, string> {
    const dice = this.#dice;
    const now = Math.floor(this.#desk.world.now / 1000);
    const claims = {
      iss: 'me',
      sub: 'me',
      aud: 'main',
      iat: now,
      exp: now + 60,
      ...(dice.chance(0.5) ? { jti: `j${dice.below(3)}` } : {}),
    };
    const token = makeToken(
      dice.chance(0.7) ? claims : bent(dice, claims),
      this.#keys(),
      dice.chance(0.3) ? { kid: 'owner' } : {},
    );
    return dice.pick<Record<string, string>>([
      { authorization: `Bearer ${token}` },
      {
        authorization: `Bearer ${dice.chance(0.5) ? token.slice(0, -2) : mutate(dice, Buffer.from(token), Buffer.from(token)).toString('latin1')}`,
      },
      { authorization: dice.pick(['Bearer', 'Basic x', 'Bearer a.b.c', 'x']) },
      { 'x-ledger': dice.pick(['main', 'nobody', 'main ', '__proto__', '$ldg.AAAAAAAAAAAAAAAAA']) },
      { prefer: dice.pick(['wait=1', 'wait="0"', 'respond-async, wait=99', 'wait=x']) },
      { 'x-forwarded-proto': 'https', host: method === 'GET' ? '' : 'a"b' },
    ]);
  }

  /** What was accepted is as it was sent, and is remembered. */
  learn({ ask, data }: Wish, { body }: Reply): void {
    if (
      data === undefined ||
      ask.method === 'GET' ||
      typeof body?.luid !== 'string' ||
      !/^\/v2\/[a-z]+(\/|$)/.test(ask.path)
    )
      return;
    const made = this.#made.get(ask.path.split('/')[2]!);
    if (made === undefined) return;
    assert.equal(canon(body.data), canon(data), 'other data than was sent');
    const sent = (JSON.parse(Buffer.from(ask.body!).toString()) as Json).meta.proofs;
    assert.equal(canon(body.meta.proofs.slice(0, sent.length)), canon(sent), 'other proofs than were sent');
    const before = made.findIndex((one) => one.luid === body.luid);
    if (before >= 0) made[before] = body;
    else made.push(body);
  }
}

/** The parser takes what JSON.parse takes, if it is UTF-8, not too deep, and has not too many members, objects and arrays. */
function checkParser(bytes: Uint8Array, depthMax: number, keysMax: number): void {
  const given = parseJson(bytes, depthMax, keysMax);
  // Where JSON.parse misreads others after such a name, it is refused.
  if (given.refusal?.detail.includes('backslash')) return;
  const text = textOf(bytes);
  const value = text === null ? undefined : parsed(text);
  const isTaken = text !== null && value !== undefined && isWithin(text, depthMax, keysMax);
  assert.equal(given.refusal === undefined, isTaken, `parsed otherwise than it should be: ${text?.slice(0, 200)}`);
  if (given.refusal === undefined) assert.ok(isDeepStrictEqual(given.value, value));
}

/** The text, or null where the bytes are none. A byte order mark stays in it. */
function textOf(bytes: Uint8Array): string | null {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return null;
  }
}

function parsed(text: string): Json {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Of well-formed JSON: brackets and colons count where they stand outside strings. */
function isWithin(text: string, depthMax: number, keysMax: number): boolean {
  const bare = text.replace(/"(?:[^"\\]|\\.)*"/gs, '');
  let depth = 0;
  let deepest = 0;
  let brackets = 0;
  for (const mark of bare.replace(/[^[\]{}]/g, '')) {
    const isOpen = mark === '[' || mark === '{';
    if (isOpen) brackets++;
    depth += isOpen ? 1 : -1;
    deepest = Math.max(deepest, depth);
  }
  return deepest <= depthMax && brackets <= BRACKETS_MAX && bare.split(':').length - 1 <= keysMax;
}
