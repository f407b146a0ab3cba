/**
 * Lists against a plain scan: pages, order, every spelling of a filter and every operator, alone and together,
 * compared with what the test itself put in.
 */
import { beforeAll, describe, expect, test } from 'vitest';
import { type Client, connect, hashOf, type Json, makeKeys } from '../support/client.ts';
import { freshLedger, issue, type Kit, makeKit, pause, reasonOf, segment, transfer, unique } from '../support/kit.ts';
import { serverOfFile } from '../support/of-file.ts';
import { NOWHERE } from '../support/samples.ts';
import { startServer } from '../support/server.ts';

const keys = makeKeys();

const { server } = await serverOfFile();

/** All handles of a list, page after page. */
async function walk(there: Client, path: string, limit: number, query = ''): Promise<string[]> {
  const found: string[] = [];
  for (let index = 0; ; index += 1) {
    const reply = await there.get(`${path}?page.index=${index}&page.limit=${limit}${query}`);
    expect(reply.status, reply.text).toBe(200);
    expect(reply.body.page).toMatchObject({ index, limit });
    found.push(...reply.body.data.map((one: Json) => one.data.handle));
    if (reply.body.data.length < limit) return found;
  }
}

describe('pages', () => {
  let there: Client;
  let kit: Kit;
  const made: string[] = [];
  beforeAll(async () => {
    ({ there, kit } = await freshLedger(server, keys));
    for (let n = 0; n < 45; n += 1) {
      made.push(await kit.wallet());
      await pause(2);
    }
  });
  const newest = (): string[] => [...made].reverse();

  test('twenty, the newest first, unless asked otherwise', async () => {
    const reply = await there.get('/wallets');
    expect(reply.body.page).toMatchObject({ index: 0, limit: 20 });
    expect(reply.body.data.map((one: Json) => one.data.handle)).toEqual(newest().slice(0, 20));
  });
  test.each([1, 7, 15, 20, 44, 45, 46, 100])('pages of %i put together are the whole', async (limit) => {
    expect(await walk(there, '/wallets', limit)).toEqual(newest());
  });
  test('oldest first', async () => {
    expect(await walk(there, '/wallets', 10, '&sort.meta.moment=1')).toEqual(made);
  });
  test('past the end there is an empty page, hashed and signed', async () => {
    for (const index of [3, 5, 1000, 1_000_000]) {
      const reply = await there.get(`/wallets?page.index=${index}`);
      expect([reply.status, reply.body.data, reply.body.hash]).toEqual([200, [], hashOf([])]);
      expect(reply.body.page).toMatchObject({ index, limit: 20 });
    }
  });
  test.each([
    'page.limit=0',
    'page.limit=101',
    'page.limit=-1',
    'page.limit=x',
    'page.limit=1.5',
    'page.limit=1e9',
    'page.index=-1',
    'page.index=x',
    'page.index=0.5',
  ])('%s is refused', async (query) => {
    for (const path of ['/wallets', '/intents', '/anchors']) {
      expect((await there.get(`${path}?${query}`)).status).toBe(422);
    }
  });
  test('the total is shown', async () => {
    for (const query of ['', '?page.index=1&page.limit=10', '?page.limit=100', '?page.index=9']) {
      const { page } = (await there.get(`/wallets${query}`)).body;
      expect(page.total, query).toBe(45);
    }
  });
  test('keys that mean nothing are ignored', async () => {
    const reply = await there.get('/wallets?authParams.iss=me&authParams.keyPair.secret=s&foo=bar&page.limit=3');
    expect(reply.body.data.map((one: Json) => one.data.handle)).toEqual(newest().slice(0, 3));
  });
  test('an updated record moves to the front', async () => {
    const { there: own, kit: inside } = await freshLedger(server, keys);
    const wallets: Json[] = [];
    for (let n = 0; n < 5; n += 1) {
      wallets.push(await inside.make('wallets', { handle: unique('wallet') }));
      await pause(2);
    }
    await inside.change('wallets', wallets[1], wallets[1].data);
    await pause(2);
    await inside.change('wallets', wallets[3], wallets[3].data);
    const order = [3, 1, 4, 2, 0].map((n) => wallets[n].data.handle);
    expect(await walk(own, '/wallets', 100)).toEqual(order);
    expect(await walk(own, '/wallets', 2)).toEqual(order);
    expect(await walk(own, '/wallets', 2, '&sort.meta.moment=1')).toEqual(order.reverse());
  });
  test('a page never skips while records arrive', async () => {
    const { there: own, kit: inside } = await freshLedger(server, keys);
    const before: string[] = [];
    for (let n = 0; n < 30; n += 1) before.push(await inside.wallet());
    const arrivals = (async () => {
      for (let n = 0; n < 30; n += 1) await inside.wallet();
    })();
    const newestFirst = await walk(own, '/wallets', 5);
    await arrivals;
    for (const handle of before) expect(newestFirst).toContain(handle);
    const more = (async () => {
      for (let n = 0; n < 30; n += 1) await inside.wallet();
    })();
    const oldestFirst = await walk(own, '/wallets', 5, '&sort.meta.moment=1');
    await more;
    expect(oldestFirst.slice(0, 30)).toEqual(before);
    expect(new Set(oldestFirst).size).toBe(oldestFirst.length);
  });
});

describe('filters of wallets against a plain scan', () => {
  let there: Client;
  const records: Json[] = [];
  beforeAll(async () => {
    const fresh = await freshLedger(server, keys);
    there = fresh.there;
    for (let n = 0; n < 24; n += 1) {
      const data = {
        handle: `w${String(n).padStart(2, '0')}${n % 2 ? '@even' : '.odd'}`,
        schema: ['bank-wallet', 'user-wallet', 'tel-alias'][n % 3],
        custom: { city: ['lima', 'quito', 'la paz', 'bogotá'][n % 4], nested: { grade: ['a', 'b'][n % 2] } },
      };
      records.push(await fresh.kit.make('wallets', data));
      await pause(2);
    }
  });

  /** The n-th record's member at a path under the record. */
  function member(one: Json, path: string): string {
    return path.split('.').reduce((value, key) => value[key], one);
  }
  const scan = (keep: (one: Json) => boolean): string[] =>
    records
      .filter(keep)
      .map((one) => one.data.handle)
      .reverse();
  async function expectSame(query: string, keep: (one: Json) => boolean): Promise<void> {
    const reply = await there.get(`/wallets?page.limit=100&${query}`);
    expect(reply.status, `${query} ${reply.text}`).toBe(200);
    expect(
      reply.body.data.map((one: Json) => one.data.handle),
      query,
    ).toEqual(scan(keep));
  }

  const values: [string, string[]][] = [
    ['data.handle', ['w03@even', 'w04.odd', 'nobody']],
    ['data.schema', ['bank-wallet', 'tel-alias', 'nothing']],
    ['data.custom.city', ['lima', 'la paz', 'bogotá', 'cusco']],
    ['data.custom.nested.grade', ['a', 'c']],
    ['meta.status', ['created', 'onboarded']],
  ];
  const cases = values.flatMap(([path, list]) => list.map((value) => [path, value] as const));

  test.each(cases)('%s = %s in every spelling', async (path, value) => {
    const spelled = [path, `filter.${path}`, `filter[${path}]`, `filter%5B${path}%5D`];
    for (const key of spelled) await expectSame(`${key}=${segment(value)}`, (one) => member(one, path) === value);
    for (const key of spelled.slice(0, 2)) {
      await expectSame(`${key}.$eq=${segment(value)}`, (one) => member(one, path) === value);
      await expectSame(`${key}.%24eq=${segment(value)}`, (one) => member(one, path) === value);
    }
  });
  test.each(cases)('%s other than %s', async (path, value) => {
    await expectSame(`${path}.$ne=${segment(value)}`, (one) => member(one, path) !== value);
  });
  test.each(values)('%s one of several, none of several', async (path, list) => {
    const spell = (operator: string): string =>
      list.map((value, n) => `${path}.$${operator}[${n}]=${segment(value)}`).join('&');
    await expectSame(spell('in'), (one) => list.includes(member(one, path)));
    await expectSame(spell('nin'), (one) => !list.includes(member(one, path)));
    await expectSame(`filter.${spell('in').replaceAll('&', '&filter.')}`, (one) => list.includes(member(one, path)));
    await expectSame(`${path}.$in[0]=${segment(list[0]!)}`, (one) => member(one, path) === list[0]);
  });
  const orders: [string, (a: string, b: string) => boolean][] = [
    ['$gt', (a, b) => a > b],
    ['$gte', (a, b) => a >= b],
    ['$lt', (a, b) => a < b],
    ['$lte', (a, b) => a <= b],
  ];
  test.each(orders)('handles and moments %s', async (operator, holds) => {
    await expectSame(`data.handle.${operator}=w11@even`, (one) => holds(one.data.handle, 'w11@even'));
    for (const n of [0, 11, 23]) {
      const { moment } = records[n].meta;
      await expectSame(`meta.moment.${operator}=${segment(moment)}`, (one) => holds(one.meta.moment, moment));
    }
  });
  test('between two moments', async () => {
    const [from, to] = [records[5].meta.moment, records[9].meta.moment];
    const query = `meta.moment.$gte=${segment(from)}&meta.moment.$lt=${segment(to)}`;
    await expectSame(query, (one) => one.meta.moment >= from && one.meta.moment < to);
  });
  test.each([
    ['data.handle', '^w0[0-4]'],
    ['data.handle', '@'],
    ['data.handle', 'odd$'],
    ['data.schema', 'wallet'],
    ['data.custom.city', '^l.*a'],
    ['data.custom.city', 'nowhere'],
  ])('%s like %s', async (path, pattern) => {
    const regex = new RegExp(pattern);
    await expectSame(`${path}.$regex=${segment(pattern)}`, (one) => regex.test(member(one, path)));
    await expectSame(`filter.${path}.$regex=${segment(pattern)}`, (one) => regex.test(member(one, path)));
  });
  test('a record is looked at for as long as there are filters and elements of its lists', async () => {
    const { there, kit } = await freshLedger(server, keys);
    const long = await kit.wallet({ custom: { a: Array(300_000).fill(1) } });
    const asked = async (count: number) => {
      const query = Array.from({ length: count }, (_, n) => `data.custom.a.$ne=${n + 2}`).join('&');
      const { body } = await there.get(`/wallets?data.handle=${long}&${query}`);
      return body.data.length;
    };
    expect([await asked(3), await asked(4)]).toEqual([1, 0]);
  });
  test('a pattern made to run for ever does not', async () => {
    const reply = await there.get(`/wallets?data.handle.$regex=${segment('^(w+)+(\\w+)+$!')}`);
    expect([200, 400, 408]).toContain(reply.status);
  });
  test('every pair of conditions together', async () => {
    const [city, schema, status] = ['quito', 'user-wallet', 'created'];
    const parts: [string, (one: Json) => boolean][] = [
      [`data.schema=${schema}`, (one) => one.data.schema === schema],
      [`filter.data.schema.$ne=tel-alias`, (one) => one.data.schema !== 'tel-alias'],
      [`filter[data.custom.city]=${city}`, (one) => one.data.custom.city === city],
      [
        `data.custom.nested.grade.$in[0]=b&data.custom.nested.grade.$in[1]=c`,
        (one) => one.data.custom.nested.grade === 'b',
      ],
      [`data.handle.$gt=w10`, (one) => one.data.handle > 'w10'],
      [`data.handle.$regex=${segment('^w[01]')}`, (one) => /^w[01]/.test(one.data.handle)],
      [`meta.status=${status}`, () => true],
      [`meta.moment.$lte=${segment(records[18].meta.moment)}`, (one) => one.meta.moment <= records[18].meta.moment],
    ];
    for (const [n, [left, keepLeft]] of parts.entries()) {
      for (const [right, keepRight] of parts.slice(n + 1)) {
        await expectSame(`${left}&${right}`, (one) => keepLeft(one) && keepRight(one));
      }
    }
  });
  test('conditions and pages together', async () => {
    const expected = scan((one) => one.data.schema === 'bank-wallet');
    expect(await walk(there, '/wallets', 3, '&data.schema=bank-wallet')).toEqual(expected);
    const reversed = [...expected].reverse();
    expect(await walk(there, '/wallets', 3, '&data.schema=bank-wallet&sort.meta.moment=1')).toEqual(reversed);
    const { page } = (await there.get('/wallets?data.schema=bank-wallet&page.limit=3')).body;
    expect(page, 'it would have to be counted').toEqual({ index: 0, limit: 3 });
  });
  test('a dropped or renamed record leaves the answers of every filter', async () => {
    const fresh = await freshLedger(server, keys);
    const make = async (): Promise<Json> => fresh.kit.make('wallets', { handle: unique('wallet'), schema: 'x' });
    const [gone, moved, kept] = [await make(), await make(), await make()];
    await fresh.there.del(`/wallets/${gone.data.handle}`, fresh.kit.dropBody(gone));
    const renamed = unique('wallet');
    await fresh.kit.change('wallets', moved, { handle: renamed, schema: 'y' }, moved.data.handle);
    const ask = async (query: string): Promise<string[]> =>
      (await fresh.there.get(`/wallets?${query}`)).body.data.map((one: Json) => one.data.handle);
    expect(await ask('data.schema=x')).toEqual([kept.data.handle]);
    expect(await ask('data.schema=y')).toEqual([renamed]);
    expect(await ask(`data.handle=${moved.data.handle}`)).toEqual([]);
    expect(await ask(`data.handle=${gone.data.handle}`)).toEqual([]);
    expect((await ask('meta.status=created')).sort()).toEqual([kept.data.handle, renamed].sort());
  });

  test.each([
    'filter.data.foo=x',
    'filter.data.bridge.x=x',
    'filter[data.foo]=x',
    'data.foo=x',
    'meta.foo=x',
    'filter.foo=x',
    'data.handle.$foo=x',
    'filter.data.handle.$like=x',
    'data.target=x',
    'data.claims.source.handle=x',
    `data.handle.$regex=${segment('(')}`,
  ])('%s is not understood', async (query) => {
    expect(reasonOf(await there.get(`/wallets?${query}`))).toEqual([400, 'api.query-malformed']);
  });
});

describe('filters of the other kinds', () => {
  let there: Client;
  let kit: Kit;
  let usd: string;
  let eur: string;
  let a: string;
  let b: string;
  beforeAll(async () => {
    ({ there, kit } = await freshLedger(server, keys));
    [usd, eur, a, b] = [
      await kit.symbol(),
      await kit.symbol({ schema: 'money' }),
      await kit.wallet(),
      await kit.wallet(),
    ];
  });
  async function luids(path: string, query: string): Promise<string[]> {
    const reply = await there.get(`/${path}?page.limit=100&${query}`);
    expect(reply.status, `${query} ${reply.text}`).toBe(200);
    return reply.body.data.map((one: Json) => one.luid);
  }

  test('anchors by wallet, target, symbol, schema, custom', async () => {
    const all: Json[] = [];
    for (const [wallet, target, symbol, schema] of [
      [a, b, usd, 'x'],
      [b, a, usd, 'y'],
      [a, a, eur, 'x'],
      [b, b, eur, 'y'],
    ]) {
      all.unshift(
        await kit.make('anchors', { handle: unique('anchor'), wallet, target, symbol, schema, custom: { of: wallet } }),
      );
      await pause(2);
    }
    for (const member of ['wallet', 'target', 'symbol', 'schema']) {
      for (const value of [a, b, usd, eur, 'x', 'y']) {
        const expected = all.filter((one) => one.data[member] === value).map((one) => one.luid);
        expect(await luids('anchors', `data.${member}=${value}`)).toEqual(expected);
        expect(await luids('anchors', `filter.data.${member}.$ne=${value}`)).toEqual(
          all.filter((one) => one.data[member] !== value).map((one) => one.luid),
        );
      }
    }
    const both = all.filter((one) => one.data.wallet === a && one.data.target === b).map((one) => one.luid);
    expect(await luids('anchors', `data.wallet=${a}&data.target=${b}`)).toEqual(both);
    expect(await luids('anchors', `data.custom.of=${a}`)).toHaveLength(2);
    expect((await there.get(`/wallets/${a}/anchors`)).body.data.map((one: Json) => one.luid).sort()).toEqual(
      all
        .filter((one) => one.data.wallet === a)
        .map((one) => one.luid)
        .sort(),
    );
  });

  test('anchors of one wallet with filters, order and pages, and no page in the envelope', async () => {
    const [wallet, other] = [await kit.wallet(), await kit.wallet()];
    const made: Json[] = [];
    for (let n = 0; n < 5; n += 1) {
      const schema = n % 2 === 0 ? 'even' : 'odd';
      made.push(await kit.make('anchors', { handle: unique('anchor'), wallet, target: other, schema, custom: { n } }));
      await pause(2);
    }
    await kit.make('anchors', { handle: unique('anchor'), wallet: other, target: wallet, schema: 'odd' });
    const numbers = async (query: string): Promise<number[]> => {
      const { status, text, body } = await there.get(`/wallets/${wallet}/anchors?${query}`);
      expect(status, text).toBe(200);
      expect(Object.keys(body)).toEqual(['data', 'hash', 'meta']);
      return body.data.map((one: Json) => one.data.custom.n);
    };
    const rows: [string, number[]][] = [
      ['', [4, 3, 2, 1, 0]],
      ['filter={}', [4, 3, 2, 1, 0]],
      ['data.schema=odd', [3, 1]],
      ['filter[data.custom.n][$gte]=3', [4, 3]],
      [`data.handle=${made[2].data.handle}`, [2]],
      [`data.target=${wallet}`, []],
      [`data.wallet=${other}`, []],
      ['meta.status=closed', []],
      ['meta.moment.$lt=2000-01-01', []],
      ['sort.meta.moment=1', [0, 1, 2, 3, 4]],
      ['data.schema=even&sort.meta.moment=1&page.limit=2', [0, 2]],
      ['data.schema=even&page.limit=2&page.index=1', [0]],
    ];
    for (const [query, expected] of rows) expect(await numbers(query), query).toEqual(expected);
    expect(reasonOf(await there.get(`/wallets/${wallet}/anchors?data.signal=x`))[0]).toBe(400);
  });

  test('signers by public key, policies and schemas by record, effects by signal', async () => {
    const key = makeKeys().public;
    const signer = await kit.make('signers', { handle: unique('signer'), format: 'ed25519-raw', public: key });
    expect(await luids('signers', `data.public=${segment(key)}`)).toEqual([signer.luid]);
    const policy = await kit.make('policies', {
      handle: unique('policy'),
      schema: 'access',
      record: 'anchor',
      values: [],
    });
    await kit.make('policies', { handle: unique('policy'), schema: 'access', record: 'wallet', values: [] });
    expect(await luids('policies', 'filter.data.record=anchor')).toEqual([policy.luid]);
    const schema = { format: 'json-schema', schema: { type: 'object' } };
    const made = await kit.make('schemas', { handle: unique('schema'), record: 'bridge', ...schema });
    await kit.make('schemas', { handle: unique('schema'), record: 'effect', ...schema });
    expect(await luids('schemas', 'data.record=bridge')).toEqual([made.luid]);
    const action = { schema: 'webhook', endpoint: NOWHERE };
    const effect = await kit.make('effects', { handle: unique('effect'), signal: 'circle-dropped', action });
    await kit.make('effects', { handle: unique('effect'), signal: 'bridge-dropped', action });
    expect(await luids('effects', 'filter.data.signal=circle-dropped')).toEqual([effect.luid]);
    expect(await luids('effects', 'meta.status=active')).toHaveLength(2);
  });

  test('symbols by schema, found after an update as before', async () => {
    const stored = (await there.get(`/symbols/${eur}`)).body;
    expect(await luids('symbols', 'data.schema=money')).toEqual([stored.luid]);
    await kit.change('symbols', stored, { ...stored.data, schema: 'coin' });
    expect(await luids('symbols', 'data.schema=money')).toEqual([]);
    expect(await luids('symbols', 'data.schema=coin')).toEqual([stored.luid]);
  });

  test('intents by claims, status, thread, schema, handle', async () => {
    const c = await kit.wallet();
    const all: Json[] = [];
    const add = async (claims: Json[], schema: string): Promise<void> => {
      all.unshift(await kit.clear(claims, { data: { schema } }));
      await pause(2);
    };
    await add([issue(a, usd, 10)], 'issue');
    await add([transfer(a, b, usd, 4)], 'transfer');
    await add([transfer(b, a, eur, 4)], 'transfer');
    await add([transfer(a, c, usd, 1), transfer(a, b, usd, 1)], 'transfer');
    await add([issue(c, eur, 10)], 'issue');
    const expected = (keep: (one: Json) => boolean): string[] => all.filter(keep).map((one) => one.luid);
    const some = (member: string, value: string) => (one: Json) =>
      one.data.claims.some((claim: Json) => (claim[member]?.handle ?? claim[member]) === value);
    for (const value of [a, b, c]) {
      for (const member of ['source', 'target']) {
        expect(await luids('intents', `data.claims.${member}.handle=${value}`)).toEqual(expected(some(member, value)));
        expect(await luids('intents', `filter.data.claims.${member}=${value}`)).toEqual(expected(some(member, value)));
      }
    }
    for (const value of [usd, eur]) {
      expect(await luids('intents', `data.claims.symbol.handle=${value}`)).toEqual(expected(some('symbol', value)));
    }
    for (const value of ['issue', 'transfer', 'destroy']) {
      expect(await luids('intents', `data.claims.action=${value}`)).toEqual(expected(some('action', value)));
    }
    for (const value of ['completed', 'rejected', 'pending']) {
      expect(await luids('intents', `meta.status=${value}`)).toEqual(expected((one) => one.meta.status === value));
    }
    expect(expected((one) => one.meta.status === 'rejected')).toHaveLength(1);
    for (const one of all) {
      expect(await luids('intents', `meta.thread=${segment(one.meta.thread)}`)).toEqual([one.luid]);
      expect(await luids('intents', `data.handle=${one.data.handle}`)).toEqual([one.luid]);
    }
    expect(await luids('intents', `data.claims.source.handle=${a}&meta.status=completed&data.schema=transfer`)).toEqual(
      expected((one) => one.meta.status === 'completed' && some('source', a)(one)),
    );
    expect(await luids('intents', `data.claims.target.handle=${b}&data.claims.symbol.handle=${usd}`)).toEqual(
      expected((one) => some('target', b)(one) && some('symbol', usd)(one)),
    );
  });
});

test('lists that have no filters say so, and their pages have bounds as others have', async () => {
  const { there, kit } = await freshLedger(server, keys);
  const wallet = await kit.wallet();
  const [circle, effect] = [unique('circle'), unique('effect')];
  await kit.make('circles', { handle: circle });
  const action = { schema: 'webhook', endpoint: `${NOWHERE}/hook` };
  await kit.make('effects', { handle: effect, signal: 'policy-dropped', action });
  for (const path of [`/circles/${circle}/signers`, `/effects/${effect}/events`, `/wallets/${wallet}/changes`]) {
    const ask = async (query: string) => reasonOf(await there.get(`${path}?${query}`));
    for (const query of ['data.handle=x', 'filter.meta.status=created', 'sort[]=data.handle', '%ff=1']) {
      expect([path, query, await ask(query)]).toEqual([path, query, [400, 'api.query-malformed']]);
    }
    expect([path, await ask('page.limit=0')]).toEqual([path, [422, 'record.schema-invalid']]);
    expect([path, (await there.get(`${path}?page.limit=1`)).status]).toEqual([path, 200]);
  }
});

describe("a list's proof", () => {
  const openAt = async (flags: string[]) => {
    const apart = await startServer({ flags });
    const there = connect(apart);
    const kit = makeKit(there, keys);
    const [symbol, from, to] = [await kit.symbol(), await kit.wallet(), await kit.wallet()];
    await kit.clear([issue(from, symbol, 10)]);
    return { apart, there, kit, symbol, from, to };
  };
  /** When the server said so; what it said is checked by the client that asks. */
  const momentOf = async (there: Client, wallet: string): Promise<number> => {
    const { body } = await there.get(`/wallets/${wallet}/balances`);
    expect(body.meta.proofs[0].custom.moment).toBe(body.meta.moment);
    return Date.parse(body.meta.moment);
  };

  test('is the one given before, while the list says the same', async () => {
    const { apart, there, kit, symbol, from, to } = await openAt(['--list-proof-ms-max', '60000']);
    try {
      const first = await momentOf(there, from);
      await pause(5);
      expect(await momentOf(there, from)).toBe(first);
      const other = await momentOf(there, to);
      expect(other).toBeGreaterThan(first);
      // What is moved to and fro leaves the amounts as they were, and the list says when.
      await kit.clear([transfer(from, to, symbol, 3)]);
      const moved = await momentOf(there, from);
      await pause(5);
      await kit.clear([transfer(to, from, symbol, 3)]);
      expect([first < moved, moved < (await momentOf(there, from))]).toEqual([true, true]);
    } finally {
      await apart.stop();
    }
  });
  test.each([
    ['0', 3],
    ['20', 40],
  ])('is made anew once it is older than %s ms', async (most, wait) => {
    const { apart, there, from } = await openAt(['--list-proof-ms-max', most]);
    try {
      const first = await momentOf(there, from);
      await pause(wait);
      expect(await momentOf(there, from)).toBeGreaterThan(first);
    } finally {
      await apart.stop();
    }
  });
});
