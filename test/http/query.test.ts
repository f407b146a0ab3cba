/**
 * Queries of lists, in every spelling clients use, and filters as they meet records.
 */
import { createRequire } from 'node:module';
import { describe, expect, test } from 'vitest';
import { type Filter, matches, matchesAll, memberAt } from '../../src/core/filters.ts';
import { Kind } from '../../src/core/kinds.ts';
import { isRefusal } from '../../src/core/refusal.ts';
import { BALANCE_PATHS, LIMIT_PATHS, type ListQuery, parseQuery } from '../../src/http/query.ts';
import { compileRegex } from '../../src/http/regex.ts';
import { heldBytes } from '../support/collect.ts';
import { Dice } from '../support/dice.ts';

// The public package's own axios, with the serializer its list calls use.
const sdk = createRequire(import.meta.resolve('@minka/ledger-sdk'));
const axios = sdk('axios') as { getUri(config: object): string };

function serialize(params: object, isDotted = true): string {
  const config = isDotted ? { params, paramsSerializer: { dots: true } } : { params };
  return axios.getUri({ url: '/wallets', ...config }).split('?')[1] ?? '';
}

function parse(query: string, kind: Kind | null = Kind.wallet): ListQuery {
  const parsed = parseQuery(query, kind, 100);
  if (isRefusal(parsed)) throw new Error(`${parsed.reason}: ${parsed.detail}`);
  return parsed as ListQuery;
}

function refusalOf(query: string, kind: Kind | null = Kind.wallet) {
  const parsed = parseQuery(query, kind, 100);
  if (!isRefusal(parsed)) throw new Error(`taken: ${JSON.stringify(parsed)}`);
  return parsed;
}

/** path operator value, as one line each. */
const told = (query: string, kind: Kind | null = Kind.wallet): string[] =>
  parse(query, kind).filters.map(
    ({ path, operator, value }) => `${path.join('.')} ${operator} ${JSON.stringify(value)}`,
  );

describe('page', () => {
  test.each([
    ['', 0, 20],
    ['page.index=3&page.limit=7', 3, 7],
    ['page[index]=3&page[limit]=7', 3, 7],
    ['page%5Bindex%5D=3&page%5Blimit%5D=7', 3, 7],
    ['page={"index":3,"limit":7}', 3, 7],
    ['page=%7B%22index%22%3A3%2C%22limit%22%3A7%7D', 3, 7],
    ['page=', 0, 20],
    ['page.limit=100', 0, 100],
    ['page.limit=1', 0, 1],
    ['page={"index":3,"limit":7,"total":40}', 3, 7],
    ['&&page.index=1&&', 1, 20],
    [serialize({ page: { index: 3, limit: 7 } }), 3, 7],
    [serialize({ page: { index: 3, limit: 7 } }, false), 3, 7],
  ])('%s', (query, index, limit) => {
    expect(parse(query).page).toEqual({ index, limit });
  });

  test.each([
    ['page.index=-1', '/page/index', 'minimum'],
    ['page.limit=0', '/page/limit', 'minimum'],
    ['page.limit=101', '/page/limit', 'maximum'],
    ['page[limit]=101', '/page/limit', 'maximum'],
    ['page={"limit":101}', '/page/limit', 'maximum'],
    ['page.limit=ten', '/page/limit', 'type'],
    ['page.limit=', '/page/limit', 'type'],
    ['page.limit=1.5', '/page/limit', 'type'],
    ['page.limit=1e1', '/page/limit', 'type'],
    ['page.limit=0x10', '/page/limit', 'type'],
    ['page.index=99999999999999999999', '/page/index', 'maximum'],
    ['page.index=9007199254740991&page.limit=2', '/page/index', 'maximum'],
  ])('%s is outside', (query, instancePath, keyword) => {
    const refusal = refusalOf(query);
    expect(refusal.reason).toBe('record.schema-invalid');
    expect(refusal.custom).toMatchObject({ errors: [{ instancePath, keyword }] });
    const [error] = (refusal.custom as { errors: object[] }).errors;
    expect(Object.keys(error!).sort()).toEqual(['instancePath', 'keyword', 'message', 'params', 'schemaPath']);
  });

  test('the largest index that is told is one that is taken', () => {
    expect(refusalOf('page.index=9007199254740991&page.limit=2').custom).toMatchObject({
      errors: [{ params: { comparison: '<=', limit: 4503599627370495 } }],
    });
    expect(parse('page.index=4503599627370495&page.limit=2').page).toEqual({ index: 4503599627370495, limit: 2 });
  });

  test('a server of short pages gives no more of its own accord than it may be asked for', () => {
    expect(parseQuery('', Kind.wallet, 5)).toMatchObject({ page: { index: 0, limit: 5 } });
  });

  test('both members wrong: both told', () => {
    expect(refusalOf('page.index=x&page.limit=0').custom).toMatchObject({
      errors: [{ instancePath: '/page/index' }, { instancePath: '/page/limit' }],
    });
  });
});

describe('filters, however they are spelled', () => {
  test.each([
    ['data.schema=x', ['data.schema eq "x"']],
    ['filter.data.schema=x', ['data.schema eq "x"']],
    ['filter[data.schema]=x', ['data.schema eq "x"']],
    ['filter[data][schema]=x', ['data.schema eq "x"']],
    ['filter%5Bdata.schema%5D=x', ['data.schema eq "x"']],
    ['data[schema]=x', ['data.schema eq "x"']],
    ['filter={"data.schema":"x"}', ['data.schema eq "x"']],
    ['filter={"data":{"schema":"x"}}', ['data.schema eq "x"']],
    ['filter=%7B%22data.schema%22%3A%22x%22%7D', ['data.schema eq "x"']],
    ['filter={}', []],
    ['filter=', []],
    ['data.schema.$eq=x', ['data.schema eq "x"']],
    ['data.schema.%24ne=x', ['data.schema ne "x"']],
    ['filter[data.schema][$ne]=x', ['data.schema ne "x"']],
    ['filter[data.schema.$ne]=x', ['data.schema ne "x"']],
    ['filter={"data.custom.n":{"$gt":1,"$lte":5}}', ['data.custom.n gt "1"', 'data.custom.n lte "5"']],
    ['data.schema.$in[0]=a&data.schema.$in[1]=b', ['data.schema in ["a","b"]']],
    ['filter[data.schema][$in][0]=a&filter[data.schema][$in][1]=b', ['data.schema in ["a","b"]']],
    ['data.schema.$in.0=a&data.schema.$in.1=b', ['data.schema in ["a","b"]']],
    ['data.schema.$in[]=a&data.schema.$in[]=b', ['data.schema in ["a","b"]']],
    ['data.schema.$in=a', ['data.schema in ["a"]']],
    ['data.schema.$nin[0]=a', ['data.schema nin ["a"]']],
    [
      'data.schema.$in=a&data.schema.$nin=b&data.handle.$in=c&data.schema.$in=d&data.schema.$nin=e',
      ['data.schema in ["a","d"]', 'data.schema nin ["b","e"]', 'data.handle in ["c"]'],
    ],
    ['filter={"data.schema":{"$in":["a","b"]}}', ['data.schema in ["a","b"]']],
    ['data.schema=x&meta.status=created', ['data.schema eq "x"', 'meta.status eq "created"']],
    ['data.custom.city=S%C3%A3o+Paulo', ['data.custom.city eq "São Paulo"']],
    ['data.custom.city=a+b+c', ['data.custom.city eq "a b c"']],
    ['data.custom.a.b.c=1', ['data.custom.a.b.c eq "1"']],
    ['data.custom.__proto__=1', ['data.custom.__proto__ eq "1"']],
    ['data.custom.flag=true', ['data.custom.flag eq "true"']],
    ['data.custom.name=', ['data.custom.name eq ""']],
    ['data.custom.name', ['data.custom.name eq ""']],
    ['data.handle=tel:%2B57300', ['data.handle eq "tel:+57300"']],
    ['data.handle=tel:+57300', ['data.handle eq "tel:+57300"']],
    ['data.handle=a=b', ['data.handle eq "a=b"']],
    ['data.handle.$regex=^a b', ['data.handle regex "^a b"']],
    ['meta.labels=one', ['meta.labels eq "one"']],
    ['meta.labels=new+old+older', ['meta.labels eq "new+old+older"']],
    ['meta.moment.$gte=2030-01-02T03:04:05.678Z', ['meta.moment gte "2030-01-02T03:04:05.678Z"']],
    ['meta.moment.$gte=2030-01-02', ['meta.moment gte "2030-01-02T00:00:00.000Z"']],
    ['meta.moment.$gte=2028-02-29', ['meta.moment gte "2028-02-29T00:00:00.000Z"']],
    ['meta.moment.$lt=2030-03-01T00:30%2B02:00', ['meta.moment lt "2030-02-28T22:30:00.000Z"']],
    ['meta.moment.$gte=2030-01-02T03:04', ['meta.moment gte "2030-01-02T03:04:00.000Z"']],
    ['meta.moment.$lt=2030-01-02T03:04:05+02:00', ['meta.moment lt "2030-01-02T01:04:05.000Z"']],
    ['meta.moment.$lt=2030-01-02T03:04:05+0200', ['meta.moment lt "2030-01-02T01:04:05.000Z"']],
    ['meta.moment.$lt=2030-01-02T03:04:05-05:00', ['meta.moment lt "2030-01-02T08:04:05.000Z"']],
    ['meta.moment.$lt=2030-01-02T03:04:05.678000Z', ['meta.moment lt "2030-01-02T03:04:05.678Z"']],
    // Of a year with five digits all moments that records carry would come after it.
    ['meta.moment.$lt=9999-12-31T23:59:59-05:00', ['meta.moment lt "9999-12-31T23:59:59.999Z"']],
    ['meta.moment.$lt=9999-12-31T24:00', ['meta.moment lt "9999-12-31T23:59:59.999Z"']],
    ['meta.moment.$gt=0', ['meta.moment gt "1970-01-01T00:00:00.000Z"']],
    ['meta.moment.$lt=1893553445678', ['meta.moment lt "2030-01-02T03:04:05.678Z"']],
    [serialize({ filter: { 'data.schema': 'x' } }), ['data.schema eq "x"']],
    [serialize({ filter: { data: { schema: 'x' } } }), ['data.schema eq "x"']],
    [serialize({ filter: { 'data.schema': 'x' } }, false), ['data.schema eq "x"']],
    [serialize({ filter: { data: { schema: 'x' } } }, false), ['data.schema eq "x"']],
    [serialize({ filter: { 'data.schema': { $in: ['a', 'b'] } } }), ['data.schema in ["a","b"]']],
    [serialize({ filter: { 'data.schema': { $in: ['a', 'b'] } } }, false), ['data.schema in ["a","b"]']],
    [serialize({ 'data.schema.$in': ['a', 'b'] }), ['data.schema in ["a","b"]']],
    [serialize({ filter: { 'data.handle': 'tel:+57' } }), ['data.handle eq "tel:+57"']],
    [serialize({ filter: { 'meta.moment': { $lt: new Date(0) } } }), ['meta.moment lt "1970-01-01T00:00:00.000Z"']],
    ['luid=x&authParams.keyPair.secret=s&foo=1&data=1&meta=2&databases.x=1', []],
  ])('%s', (query, expected) => {
    expect(told(query)).toEqual(expected);
  });
});

describe('a moment between two milliseconds is neither of them, for records carry no other', () => {
  test.each([
    // What a record of 678 is: before it, not at it, not after it.
    ['$lt', 'lt "2030-01-02T03:04:05.679Z"'],
    ['$gte', 'gte "2030-01-02T03:04:05.679Z"'],
    ['$lte', 'lte "2030-01-02T03:04:05.678Z"'],
    ['$gt', 'gt "2030-01-02T03:04:05.678Z"'],
    ['$eq', 'eq "2030-01-02T03:04:05.678900001Z"'],
    ['$ne', 'ne "2030-01-02T03:04:05.678900001Z"'],
    ['$in.0', 'in ["2030-01-02T03:04:05.678900001Z"]'],
    ['$nin.0', 'nin ["2030-01-02T03:04:05.678900001Z"]'],
  ])('%s', (operator, expected) => {
    expect(told(`meta.moment.${operator}=2030-01-02T03:04:05.678900001Z`)).toEqual([`meta.moment ${expected}`]);
    expect(told(`meta.moment.${operator}=2030-01-01T22:04:05.678900001-0500`)).toEqual([`meta.moment ${expected}`]);
  });

  test('the last one that four digits of a year can name stays the last', () => {
    expect(told('meta.moment.$lt=9999-12-31T23:59:59.9999Z')).toEqual(['meta.moment lt "9999-12-31T23:59:59.999Z"']);
  });
});

test('a moment without a zone is one of UTC, wherever the server stands', () => {
  const zone = process.env.TZ;
  process.env.TZ = 'America/Bogota';
  try {
    expect(new Date(0).getHours()).toBe(19);
    expect(told('meta.moment.$gte=2030-01-02T03:04')).toEqual(['meta.moment gte "2030-01-02T03:04:00.000Z"']);
  } finally {
    if (zone === undefined) delete process.env.TZ;
    else process.env.TZ = zone;
  }
});

describe('paths by kind', () => {
  const COMMON = ['data.handle', 'data.schema', 'data.custom.x', 'meta.status', 'meta.labels'];
  const OWN: [string, Kind, string[]][] = [
    ['anchor', Kind.anchor, ['data.wallet', 'data.target', 'data.symbol']],
    ['signer', Kind.signer, ['data.public']],
    ['policy', Kind.policy, ['data.record']],
    ['schema', Kind.schema, ['data.record']],
    ['effect', Kind.effect, ['data.signal']],
    ['intent', Kind.intent, ['meta.thread', 'data.claims.action', 'data.claims.amount', 'data.claims.metric']],
    ['wallet', Kind.wallet, []],
    ['ledger', Kind.ledger, []],
  ];
  const all = OWN.flatMap(([, , paths]) => paths);
  test.each(OWN)('%s', (_, kind, own) => {
    for (const path of [...COMMON, ...own]) expect(told(`${path}=x`, kind)).toEqual([`${path} eq "x"`]);
    for (const path of all.filter((path) => !own.includes(path))) {
      expect([path, refusalOf(`${path}=x`, kind).reason]).toEqual([path, 'api.query-malformed']);
    }
  });

  test.each(['source', 'target', 'wallet', 'symbol'])('claims.%s with and without handle is one path', (member) => {
    for (const end of ['', '.handle']) {
      expect(told(`data.claims.${member}${end}=x`, Kind.intent)).toEqual([`data.claims.${member} eq "x"`]);
    }
  });

  test.each([
    ['balances', BALANCE_PATHS, ['data.symbol', 'data.schema', 'data.amount']],
    ['limits', LIMIT_PATHS, ['data.symbol', 'data.metric', 'data.amount']],
  ])('%s, by moment too', (_, of, paths) => {
    const query = [...paths.map((path) => `${path}=x`), 'meta.moment.$lt=2030-01-02'].join('&');
    const parsed = parseQuery(query, of, 100) as ListQuery;
    expect(parsed.filters.map(({ path }) => path.join('.'))).toEqual([...paths, 'meta.moment']);
  });

  test('lists that have no filters refuse them, and take a page', () => {
    expect(refusalOf('data.handle=x', null).reason).toBe('api.query-malformed');
    expect(parse('page.limit=3', null).page.limit).toBe(3);
  });
});

describe('refused as malformed', () => {
  test.each([
    'data.nope=x',
    'data.claims.source.custom=x',
    'data.claims=x',
    'data.custom=x',
    'data.custom.=x',
    'data.custom.a.b.c.d.e.f.g.h.i=x',
    'filter.nope=x',
    'filter.hash=x',
    'meta.owners=x',
    'meta.custom.x=1',
    // No page, though a page of nothing would be refused as one.
    'data.limit=0',
    'data.constructor=x',
    'data.__proto__.x=1',
    'data.schema.$or=x',
    'data.schema.$exists=true',
    'data.schema.$where=1',
    'data.schema.$=x',
    'data.schema.$constructor=x',
    'data.schema.$eq.x=1',
    'data.schema.$eq[0]=1',
    'data.schema.$in.a=1',
    'data.schema.$in[0][1]=1',
    'filter=x',
    'filter=[1]',
    'filter={"data.handle":["a"]}',
    // It asked for a member of the name 0.
    'filter={"data.custom.x":["a"]}',
    'filter={"data":{"custom":{"x":{"y":["a","b"]}}}}',
    'filter={"data.schema":null}',
    // Of these nothing was left, so that all there is was listed.
    'filter={"data.schema":{"$in":[]}}',
    'filter={"data":{"schema":{}}}',
    `filter=${'{"a":'.repeat(9)}1${'}'.repeat(9)}`,
    'page=5',
    // They gave the first page, whichever was asked for.
    'page.number=2&page.limit=7',
    'page[offset]=20',
    'page={"limit":7,"after":3}',
    'page.limit.most=7',
    // Whichever came last counted.
    'page.limit=5&page[limit]=7',
    'page={"index":1}&page.index=0',
    'sort.meta.moment=1&sort[meta][moment]=-1',
    'data.handle=%ff',
    'data.handle=%',
    '%zz=1',
    'sort.data.handle=1',
    'sort.meta.moment=2',
    'sort=1',
    'meta.moment=yesterday',
    // They were milliseconds since 1970: before all there is, or after it.
    'meta.moment.$gte=2027',
    'meta.moment.$lt=20270101',
    'meta.moment.$gt=2030-13-01',
    // A day that there is not was taken for one in the month after.
    'meta.moment.$gte=2030-02-29',
    'meta.moment.$lt=2030-04-31T00:00:00Z',
    'meta.moment.$gte=2030-02-30T10:00%2B02:00',
    'meta.moment.$gte=2030-01-00',
    'meta.moment.$gte=2030-01-02,10:00',
    'data.handle.$regex=(',
    'data.handle.$regex=(a)\\1',
    'data.handle.$regex=',
    `data.handle.$regex=${'a'.repeat(257)}`,
    `data.handle.$regex=[${'\\pL'.repeat(65)}]`,
    `data.handle.$regex=[${'\\pL'.repeat(40)}]&data.schema.$regex=${'\\PN'.repeat(25)}`,
    // Written out it is compiled for twenty milliseconds.
    'data.handle.$regex=^\\p{L}{1,400}$',
    'data.handle.$regex=^\\p{L}{1,150}$&data.schema.$regex=^\\p{L}{1,150}$',
    `data.handle=${'a'.repeat(1025)}`,
    Array.from({ length: 33 }, (_, i) => `data.custom.a${i}=1`).join('&'),
    Array.from({ length: 129 }, (_, i) => `data.handle.$in[${i}]=${i}`).join('&'),
    `filter=${JSON.stringify({ 'data.handle': { $in: Array.from({ length: 300 }, String) } })}`,
    // Lists, and objects, of so many members, each of which would be copied with all of its path.
    `page=${JSON.stringify({ index: Array.from({ length: 300 }, () => 0) })}`,
    `page=${JSON.stringify(Object.fromEntries(Array.from({ length: 257 }, (_, i) => [`a${i}`, 1])))}`,
    'a=1&'.repeat(257),
    'a'.repeat(16_384 + 1),
  ])('%s', (query) => {
    expect(refusalOf(query).reason).toBe('api.query-malformed');
  });

  test.each([
    `filter=${'{"data":{"custom":'}${'{"a":'.repeat(6)}1${'}'.repeat(8)}`,
    'data.custom.a.b.c.d.e.f.g.h=x',
    `data.handle.$regex=${'a'.repeat(256)}`,
    'data.handle.$regex=^\\p{L}{1,150}$',
    'data.handle.$regex=^[a-z0-9]{1,500}$',
    `data.handle=${'a'.repeat(1024)}`,
    Array.from({ length: 32 }, (_, i) => `data.custom.a${i}=1`).join('&'),
    Array.from({ length: 128 }, (_, i) => `data.handle.$in[${i}]=${i}`).join('&'),
    `filter=${JSON.stringify({ 'data.handle': { $in: Array.from({ length: 128 }, String) } })}`,
    'a=1&'.repeat(256),
    'a'.repeat(16_384),
  ])('as much as there may be is taken: %s', (query) => {
    expect(told(query).length).toBeLessThanOrEqual(32);
  });

  test.each([
    ['data.claims.0.amount=5', ['elements of a list are asked for without an index']],
    ['data.claims[0].source.handle=a', ['elements of a list are asked for without an index']],
    ['data.handle.0=a', ['several values take $in']],
    ['data.handle[]=a', ['several values take $in']],
    ['data.claims.0.amount.0=5', ['elements of a list are asked for without an index', 'several values take $in']],
    ['filter={"data.custom.x":["a"]}', ['several values take $in']],
    ['data.nope=a', []],
  ])('%s, with what would do', (query, hints) => {
    expect(
      refusalOf(query, Kind.intent)
        .detail.split('; ')
        .filter((part) => !part.startsWith('here')),
    ).toEqual([expect.stringMatching(/^filter has /), ...hints]);
  });

  test('a refusal never repeats the query', () => {
    expect(JSON.stringify(refusalOf('data.s3cr3t=s3cr3t'))).not.toContain('s3cr3t');
  });
});

test.each([
  ['', 'newest'],
  ['sort.meta.moment=1', 'oldest'],
  ['sort.meta.moment=1&sort={"meta.moment":1}', 'oldest'],
  ['sort.meta.moment=-1', 'newest'],
  ['sort[meta.moment]=1', 'oldest'],
  ['sort[meta][moment]=1', 'oldest'],
  ['sort={"meta.moment":1}', 'oldest'],
  [serialize({ sort: { 'meta.moment': 1 } }), 'oldest'],
])('order of %s', (query, order) => {
  expect(parse(query).order).toBe(order);
});

describe('a filter meets a member', () => {
  const filter = (operator: Filter['operator'], value: Filter['value']): Filter => ({ path: [], operator, value });
  test.each<[unknown, Filter['operator'], Filter['value'], boolean]>([
    ['a', 'eq', 'a', true],
    ['a', 'eq', 'b', false],
    ['10', 'eq', '10.0', false],
    [10, 'eq', '10', true],
    [10, 'eq', '10.0', true],
    [10, 'eq', '1e1', true],
    [10, 'eq', '0xa', false],
    [10, 'eq', '010', false],
    [0, 'eq', '', false],
    [0, 'eq', ' ', false],
    [10, 'eq', 10, true],
    [true, 'eq', 'true', true],
    [true, 'eq', '1', false],
    [false, 'eq', 'false', true],
    [null, 'eq', 'null', false],
    [undefined, 'eq', 'undefined', false],
    [{}, 'eq', '[object Object]', false],
    ['a', 'ne', 'b', true],
    ['a', 'ne', 'a', false],
    [undefined, 'ne', 'a', true],
    [10, 'ne', '10', false],
    [9, 'gt', '10', false],
    ['9', 'gt', '10', true],
    [11, 'gt', '10', true],
    [10, 'gt', '10', false],
    [10, 'gte', '10', true],
    [10, 'lte', '10', true],
    [-1, 'lt', '0', true],
    [10, 'lt', 'abc', false],
    [10, 'gte', 'abc', false],
    [undefined, 'lt', '1', false],
    [undefined, 'gte', '1', false],
    [true, 'gte', 'true', true],
    [true, 'gt', 'false', false],
    ['2030-01-01T00:00:00.000Z', 'lt', '2031-01-01T00:00:00.000Z', true],
    ['a', 'in', ['b', 'a'], true],
    ['c', 'in', ['b', 'a'], false],
    [2, 'in', ['1', '2'], true],
    ['c', 'nin', ['b', 'a'], true],
    ['a', 'nin', ['b', 'a'], false],
    [undefined, 'nin', ['a'], true],
    [['x', 'y'], 'eq', 'y', true],
    [['x', 'y'], 'eq', 'z', false],
    [['x', 'y'], 'ne', 'y', false],
    [['x', 'y'], 'ne', 'z', true],
    [['x', 'y'], 'in', ['y', 'q'], true],
    [['x', 'y'], 'nin', ['q'], true],
    [[], 'eq', 'x', false],
    [[], 'ne', 'x', true],
    [{ handle: 'w' }, 'eq', 'w', true],
    [[{ handle: 'v' }, 'w'], 'eq', 'w', true],
    [[{ handle: 'v' }, 'w'], 'eq', 'v', true],
  ])('%j %s %j is %s', (member, operator, value, expected) => {
    expect(matches(member, filter(operator, value))).toBe(expected);
  });

  test('every claim is looked at, whichever form its reference has', () => {
    const data = { claims: [{ source: 'a', amount: 1 }, { source: { handle: 'b' }, amount: 5 }, { target: 'c' }] };
    const passes = (query: string) => matchesAll({ data, meta: {} }, parse(query, Kind.intent).filters);
    expect(passes('data.claims.source=a&data.claims.source.handle=b')).toBe(true);
    expect(passes('data.claims.source=c')).toBe(false);
    expect(passes('data.claims.target.handle=c&data.claims.amount.$gt=4')).toBe(true);
    expect(passes('data.claims.amount.$gt=5')).toBe(false);
    expect(passes('data.claims.source.$ne=a')).toBe(false);
  });

  test('an array under an element of an array stands for its elements', () => {
    const data = { custom: { list: [{ n: 1 }, { n: [2, 3] }, {}] } };
    expect(memberAt({ data }, ['data', 'custom', 'list', 'n'])).toEqual([1, 2, 3]);
  });

  test('arrays within arrays, in any order with objects, give what each of their elements gives', () => {
    const dice = new Dice(11);
    const value = (depth: number): unknown => {
      const kind = dice.below(depth === 0 ? 1 : 5);
      if (kind === 0) return dice.pick([1, 'x', null, true]);
      if (kind < 3) return Array.from({ length: dice.below(4) }, () => value(depth - 1));
      return Object.fromEntries(['a', 'b'].filter(() => dice.chance(0.8)).map((name) => [name, value(depth - 1)]));
    };
    /** As it is said: the path leads through an array to that member of each, and an array there stands for its elements. */
    const said = (at: unknown, [name, ...rest]: readonly string[]): unknown => {
      if (name === undefined) return at;
      if (Array.isArray(at)) return at.flatMap((one) => said(one, [name, ...rest])).filter((one) => one !== undefined);
      const isThere = typeof at === 'object' && at !== null && Object.hasOwn(at, name);
      return isThere ? said((at as Record<string, unknown>)[name], rest) : undefined;
    };
    let lists = 0;
    for (let round = 0; round < 3000; round++) {
      const record = { a: value(6) };
      const path = ['a', ...Array.from({ length: dice.below(4) }, () => dice.pick(['a', 'b']))];
      const expected = said(record, path);
      if (Array.isArray(expected) && expected.length > 1) lists++;
      expect(memberAt(record, path), JSON.stringify({ record, path })).toEqual(expected);
      expect(memberAt(record, path, { left: 10_000 })).toEqual(expected);
    }
    expect(lists).toBeGreaterThan(300);
  });

  test('paths are blind to prototypes', () => {
    expect(memberAt({ a: {} }, ['a', 'constructor'])).toBeUndefined();
    expect(memberAt({ a: {} }, ['a', '__proto__', 'toString'])).toBeUndefined();
    expect(memberAt({ a: 'text' }, ['a', 'length'])).toBeUndefined();
    expect(memberAt({ a: [1] }, ['a', 'length'])).toEqual([]);
    expect(memberAt(JSON.parse('{"__proto__":{"x":1}}'), ['__proto__', 'x'])).toBe(1);
  });

  test('$regex with as many classes as one request may name', () => {
    const query = `data.handle.$regex=[${'\\pL'.repeat(40)}]&data.schema.$regex=${'\\PN'.repeat(24)}`;
    expect(parse(query).filters).toHaveLength(2);
  });

  test('$regex', () => {
    const [filter] = parse('data.handle.$regex=^tel:.*7$').filters;
    expect(matches('tel:+57', filter!)).toBe(true);
    expect(matches('tel:+58', filter!)).toBe(false);
    expect(matches(7, filter!)).toBe(false);
    expect(matches(undefined, filter!)).toBe(false);
  });

  test('a pattern that backtracks for ever elsewhere is answered at once here', () => {
    const { test } = compileRegex('^(a+)+$')!;
    expect(test(`${'a'.repeat(10_000)}b`)).toBe(false);
    expect(compileRegex('((((a{1,100}){1,100}){1,100}){1,100})')).toBeNull();
  });

  test.each([
    '\\Q[\\E(?:a?){1000}]',
    '\\Q[\\E(?:a?b?c?){1000}(?:a?b?c?){1000}(?:a?b?c?){1000}]',
    '[\\\n[](?:a?b?c?){1000}]',
    '(?:aaaaaaaaaaaaaaaaaaaa)\\Q\\E{30}',
    '(?:aaaaaaaaaaaaaaaaaaaa)(?i){30}',
    '(?:a{20})?(?-i){30}',
    '\\Q\\E\\Q[\\E(a{30}){30}]',
  ])('%j is not let in for a class, or a small pattern, that it is not: it took a second to compile', (pattern) => {
    expect(compileRegex(pattern)).toBeNull();
  });

  test('a pattern is refused by what it comes to once it is compiled', () => {
    const parts = [
      'a',
      '\n',
      '\\',
      '\\\n',
      '\\Q',
      '\\E',
      '[',
      '[^',
      ']',
      '(',
      '(?:',
      '(?i)',
      '(?i:',
      ')',
      '{9}',
      '{0,20}',
    ];
    const more = [
      '{3,}',
      '*',
      '+',
      '?',
      '|',
      '.',
      '^',
      '\\b',
      '\\pL',
      '\\d',
      '\\x{41}',
      '[:alpha:]',
      '\\]',
      '\\[',
      '-',
      '{',
      '}',
    ];
    const { RE2JS } = createRequire(import.meta.url)('re2js') as typeof import('re2js');
    const dice = new Dice(17);
    let compiled = 0;
    for (let round = 0; round < 4000; round++) {
      const pattern = Array.from({ length: 1 + dice.below(14) }, () => dice.pick([...parts, ...more, '(a{20})'])).join(
        '',
      );
      const size = compileRegex(pattern)?.size;
      if (size === undefined) continue;
      compiled++;
      expect(RE2JS.compile(pattern).programSize(), JSON.stringify(pattern)).toBeLessThan(5 * (size + 4));
    }
    expect(compiled).toBeGreaterThan(400);
  });

  test('what is quoted, and flags, are let in as what they are', () => {
    expect(compileRegex('^\\Qa.b[c\\E$')!.test('a.b[c')).toBe(true);
    expect(compileRegex('^\\Q(ab\\E{3}$')!.test('(abbb')).toBe(true);
    expect(compileRegex('(?i)^qu')!.test('Quito')).toBe(true);
    expect(compileRegex('\\Qa{1000}')!.test('a{1000}')).toBe(true);
  });

  test.each([
    ['(?i)[B-\u{1e942}]', null],
    ['(?i)[^b-\\x{1E942}]', null],
    ['(?i)\\[[]B-\u{1e942}]', null],
    ['(?i)\\Q[\\E[]B-\u{1e942}]', null],
    ['(?i)[[:alpha:]B-\u{1e942}]', null],
    ['(?i)[B-\\x{0000000001e942}]', null],
    ['(?i)[[:alpha:]b-d]', 'C'],
    ['x(?-i)(?si:[\\x41-\\x{ffff}])', null],
    ['(?i)[a-z0-9_]+[\u0400-\u04ff]', 'Ж'],
    ['(?i)[]b-]', '-'],
    ['[B-\u{1e942}]', '\u{1e000}'],
  ])(
    'classes whose case is folded name so many characters in ranges: %s froze all others, one for a third of a second',
    (pattern, text) => {
      const query = `data.custom.text.$regex=${encodeURIComponent(pattern)}`;
      const parsed = parseQuery(query, Kind.wallet, 100);
      if (text === null) expect(parsed).toMatchObject({ reason: 'api.query-malformed' });
      else expect(matches([`a${text}`], parse(query).filters[0]!)).toBe(true);
    },
  );

  test('what a pattern keeps of the states it was in has an end: each took 8 MiB of all there is', () => {
    const pattern = compileRegex('x[xy]{100}[^xy]')!;
    let [text, random] = ['', 1];
    for (let n = 0; n < 6000; n++) {
      random = (random * 48271) % 2147483647;
      text += random % 2 === 0 ? 'x' : 'y';
    }
    const before = heldBytes();
    expect(pattern.testAny(text)).toBe(false);
    expect(heldBytes() - before).toBeLessThan(2 * pattern.held);
    expect(pattern.testAny(`x${'xy'.repeat(50)}z`)).toBe(true);
  });

  test('patterns are run over so many characters of one record, fewer where they are larger', () => {
    const filters = (...patterns: string[]) =>
      parse(patterns.map((pattern) => `data.custom.texts.$regex=${encodeURIComponent(pattern)}`).join('&')).filters;
    const texts = (count: number) => [...Array.from({ length: count }, () => 'a'.repeat(4000)), 'z'];
    const passes = (count: number, ...patterns: string[]) =>
      filters(...patterns).every((filter) => matches(texts(count), filter));
    const large = 'z|[ab]{230}[xy]';
    expect([passes(1, large), passes(2, large)]).toEqual([true, false]);
    expect([passes(0, large, large), passes(1, large, large)]).toEqual([true, false]);
    expect(passes(50, 'z|y')).toBe(true);
    expect(passes(0, 'z|x{480}')).toBe(true);
    for (const patterns of [['x{600}'], ['x{300}', 'y{300}']]) {
      const query = patterns.map((pattern) => `data.custom.texts.$regex=${pattern}`).join('&');
      expect(parseQuery(query, Kind.wallet, 100)).toMatchObject({ reason: 'api.query-malformed' });
    }
  });
});
