/**
 * The description of the interface: what it tells is what the server goes by. Whether its answers are as described is
 * tested with a server: test/api/openapi.test.ts.
 */
import { Validator } from '@seriousme/openapi-schema-validator';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { Kind } from '../../src/core/kinds.ts';
import { REASONS } from '../../src/http/errors.ts';
import { describeInterface } from '../../src/http/openapi/index.ts';
import { DATA_MEMBERS, MEMBERS, SHAPES } from '../../src/http/openapi/shape-texts.ts';
import { allRoutes, findRoute } from '../../src/http/paths.ts';
import { type ListQuery, PAGE_BYTES_MAX, parseQuery } from '../../src/http/query.ts';
import { compileSchemas, type Operation } from '../../src/http/schemas.ts';
import { Desk } from '../fuzz/desk.ts';
import type { Json } from '../support/client.ts';

const limits = { claimsMax: 5, proofsMax: 3 };
const text = describeInterface({ limits, pageLimitMax: 50, publicUrl: '' });
const document: Json = JSON.parse(text);
const { paths, components } = document;

/** Every operation, with its path and method. */
const operations = Object.entries<Json>(paths).flatMap(([path, item]) =>
  Object.entries<Json>(item).map(([method, operation]) => ({ path, method: method.toUpperCase(), operation })),
);

describe('routes', () => {
  const told = operations.map(({ method, path }) => `${method} ${path}`).sort();

  test('one that is answered is not described, or the other way round', () => {
    expect(told).toEqual(
      allRoutes()
        .map(({ method, path }) => `${method} ${path}`)
        .sort(),
    );
    expect(new Set(told).size).toBe(told.length);
  });

  const words = allRoutes().map(({ path }) => path.split('/').slice(1));
  const FIRST = new Set(words.map(([first]) => first!));
  /** What stands for any text is `x`; a kind may be one. */
  const REST = new Set([
    'x',
    'wallets',
    ...words.flatMap(([, ...rest]) => rest.filter((word) => !word.startsWith('{'))),
  ]);

  /** Every path of so many words out of those that paths are made of. */
  function* wordPaths(length: number): Generator<string[]> {
    if (length === 0) yield [];
    else
      for (const start of wordPaths(length - 1)) for (const word of length === 1 ? FIRST : REST) yield [...start, word];
  }

  test('what the server finds and what is described differ', () => {
    const known = Object.keys(paths).map(
      (path) => [path, new RegExp(`^${path.replaceAll(/\{\w+\}/g, '[^/]+')}$`)] as const,
    );
    for (const length of [0, 1, 2, 3, 4]) {
      for (const words of wordPaths(length)) {
        const path = `/${words.join('/')}`;
        const [template] = known.find(([, pattern]) => pattern.test(path)) ?? [];
        for (const method of ['GET', 'POST', 'PUT', 'DELETE', 'PATCH']) {
          const isFound = 'action' in findRoute(method, `/v2${path}`);
          const isTold = template !== undefined && method.toLowerCase() in paths[template];
          if (isFound !== isTold) expect.fail(`${method} ${path}: found ${isFound}, described ${isTold}`);
        }
      }
    }
  });
});

test('it is no valid OpenAPI 3.1', async () => {
  const validator = new Validator();
  const { valid, errors } = await validator.validate(document);
  expect(errors).toBeUndefined();
  expect(valid).toBe(true);
  expect(validator.version).toBe('3.1');
});

test('two operations have one name, or one has none', () => {
  const names = operations.map(({ operation }) => operation.operationId);
  expect(names.filter((name, at) => names.indexOf(name) !== at || !/^[a-z][A-Za-z]+$/.test(name))).toEqual([]);
});

test('a reference leads nowhere, or nothing leads to a component', () => {
  const referred = new Set([...text.matchAll(/"(#\/components\/[^"]+)"/g)].map(([, path]) => path!));
  const there = Object.entries<Json>(components)
    .filter(([group]) => group !== 'securitySchemes')
    .flatMap(([group, members]) => Object.keys(members).map((name) => `#/components/${group}/${name}`));
  expect([...referred].sort()).toEqual(there.sort());
});

test('a member of data is not explained, or an explanation is of nothing', () => {
  const { schemas } = components;
  const bare = Object.entries<Json>(schemas)
    .filter(([name]) => name.endsWith('Data'))
    .flatMap(([name, { properties = {} }]) =>
      Object.entries<Json>(properties).flatMap(([member, { description }]) =>
        description ? [] : [`${name}.${member}`],
      ),
    );
  expect(bare).toEqual([]);
  expect(Object.keys(SHAPES).filter((name) => schemas[name]?.description === undefined)).toEqual([]);
  const lost = Object.entries(MEMBERS).flatMap(([name, members]) =>
    Object.keys(members).filter((member) => schemas[name]?.properties[member]?.description === undefined),
  );
  expect(lost).toEqual([]);
  for (const member of Object.keys(DATA_MEMBERS))
    expect(schemas.WalletData.properties[member].description).toBeDefined();
});

test('a reason is not told with its status', () => {
  for (const [reason, status] of Object.entries(REASONS)) {
    const row = document.info.description.split('\n').find((line: string) => line.startsWith(`| ${status} |`));
    expect(row).toContain(`\`${reason}\``);
  }
});

test('limits of the server are not those that are told', () => {
  expect(components.parameters.PageLimit.schema.maximum).toBe(50);
  expect(components.parameters.PageLimit.description).toContain(`${PAGE_BYTES_MAX / 2 ** 20} MiB`);
  const { maximum } = components.parameters.PageIndex.schema;
  expect(parseQuery(`page.index=${maximum}&page.limit=50`, Kind.wallet, 50)).toMatchObject({
    page: { index: maximum },
  });
  expect(components.schemas.IntentData.properties.claims.maxItems).toBe(5);
  expect(components.schemas.RecordBodyMeta.properties.proofs.maxItems).toBe(3);
});

test.each([
  ['', '/v2'],
  ['https://ledger.example', 'https://ledger.example/v2'],
  ['https://ledger.example/v2/', 'https://ledger.example/v2'],
  ['https://example.com/ayni/', 'https://example.com/ayni/v2'],
])('with the public URL %j the server is not %s', (publicUrl, url) => {
  expect(JSON.parse(describeInterface({ limits, pageLimitMax: 1, publicUrl })).servers).toEqual([{ url }]);
});

// ---------------------------------------------------------------- what is sent

const ajv = new Ajv2020({ strict: false, validateFormats: false });
ajv.addSchema(document, 'ayni');

/** What a tool thinks of a body that goes by the description. */
function fits(schema: string, value: unknown): boolean {
  return ajv.getSchema(`ayni#/components/schemas/${schema}`)!(value) as boolean;
}

const validate = compileSchemas(limits);

/** Bodies that are sent, each with its schema and how the server checks it. */
const bodies = operations.flatMap(({ path, method, operation }) => {
  const content = operation.requestBody?.content['application/json'];
  if (content === undefined) return [];
  const found = findRoute(method, `/v2${path.replaceAll(/\{\w+\}/g, 'x')}`);
  if (!('action' in found)) throw new Error(`${method} ${path} is not found`);
  const { action, kind } = found;
  const ways: Partial<Record<string, Operation>> = {
    update: 'update',
    drop: 'drop',
    remove: 'drop',
    proof: 'proof',
    check: 'check',
    retry: 'check',
    activate: 'check',
  };
  const about = action === 'assign' || action === 'remove' ? Kind['circle-signer'] : kind;
  const isRight = (body: unknown) => validate(about, ways[action] ?? 'create', body) === null;
  const examples = Object.values<Json>(content.examples ?? {}).map(({ value }) => value);
  const schema: string = content.schema.$ref.split('/').pop();
  return examples.map((example) => ({ name: operation.operationId as string, schema, isRight, example }));
});

test.each(bodies)('$name: its example has not the shape that it tells of', ({ schema, isRight, example }) => {
  expect(fits(schema, example)).toBe(true);
  expect(isRight(example)).toBe(true);
});

test('an operation that takes a body has no example', () => {
  const without = operations.filter(({ operation }) => {
    const content = operation.requestBody?.content['application/json'];
    return content !== undefined && content.examples === undefined;
  });
  // What may be sent to the selected ledger hangs on which one that is.
  expect(without.map(({ operation }) => operation.operationId)).toEqual([
    'updateSelectedLedger',
    'addSelectedLedgerProof',
  ]);
});

/** Members of a body and of what is in it, each by the way to it. */
function places(value: unknown, at: readonly string[] = []): (readonly string[])[] {
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([name, member]) => [[...at, name], ...places(member, [...at, name])]);
}

/** The body with another value at a place, or without one. */
function changed(body: Json, [name, ...rest]: readonly string[], value: unknown): Json {
  const copy = Array.isArray(body) ? [...body] : { ...body };
  if (rest.length > 0) copy[name!] = changed(body[name!], rest, value);
  else if (value !== undefined) copy[name!] = value;
  else if (Array.isArray(copy)) copy.splice(Number(name), 1);
  else delete copy[name!];
  return copy;
}

/** Richer than the examples: all that data may have. */
const RICH: Partial<Record<string, Json>> = {
  createWallet: {
    bridge: 'bank',
    routes: [
      { action: 'forward', target: 'luz', filter: { amount: { $gte: 1, $in: [1, 'a'] }, 'symbol.handle': 'usd' } },
    ],
  },
  createIntent: {
    config: { commit: 'manual' },
    claims: [
      { action: 'limit', wallet: { handle: 'ana', custom: {} }, symbol: 'usd', metric: 'minBalance', amount: -5 },
      { action: 'destroy', source: 'ana', symbol: 'usd', amount: 5 },
    ],
  },
  createLedger: {
    signer: 'system',
    config: { 'intent.expiryThresholdMinutes': 5, 'anchor.walletRequired': true, 'access.strategy': 'policy-based' },
    access: [
      { action: { $in: ['read'] }, record: 'wallet-proof', signer: { $record: 'owner' }, bearer: { hsh: true } },
    ],
  },
  createBridge: {
    config: { server: 'http://a', 'debits.claims.groupBy': ['source'], more: 1 },
    secure: [
      { schema: 'header', key: 'a', value: 'b' },
      { schema: 'oauth2', clientId: 'a', clientSecret: 'b', tokenUrl: 'http://a', more: 1 },
    ],
    traits: ['statuses'],
  },
  createPolicy: {
    schema: 'status',
    record: 'any',
    values: [{ status: 'vip', from: ['a'], quorum: [{ signer: {}, count: 2 }] }],
  },
};

test('a tool that goes by it and the server think otherwise of a body', () => {
  const firsts = bodies.filter(({ schema }, at) => bodies.findIndex((each) => each.schema === schema) === at);
  const all = firsts.flatMap((body) => {
    const rich = RICH[body.name];
    const data = { ...body.example.data, ...rich };
    return rich === undefined ? [body] : [body, { ...body, example: { ...body.example, data } }];
  });
  for (const { name, isRight, example } of all)
    if (!isRight(example)) expect.fail(`${name} is not right to begin with`);
  const values = [
    undefined,
    null,
    0,
    1,
    -1,
    1.5,
    10,
    2 ** 53,
    '',
    'ana',
    'a b',
    'wallet',
    true,
    [],
    {},
    ['ana'],
    { handle: 'ana' },
    { $in: ['ana'] },
  ];
  const wrong = all.flatMap(({ name, schema, isRight, example }) =>
    [
      ...places(example),
      ['more'],
      ['data', 'more'],
      ['data', 'custom'],
      ['data', 'schema'],
      ['data', 'access'],
      ['data', 'filter'],
      ['meta', 'more'],
    ].flatMap((place) => {
      if (place.length > 1 && example[place[0]!] === undefined) return [];
      return values.flatMap((value) => {
        const body = changed(example, place, value);
        const [server, tool] = [isRight(body), fits(schema, body)];
        return server === tool
          ? []
          : [`${name} ${place.join('.')} = ${JSON.stringify(value)}: server ${server}, tool ${tool}`];
      });
    }),
  );
  expect(wrong).toEqual([]);
});

// ---------------------------------------------------------------- asked for

afterEach(() => void vi.restoreAllMocks());

test('a hundred who ask for it at once hold up whoever asks for something else', async () => {
  const desk = await Desk.open();
  const told: string[] = [];
  const ask = async (path: string) => {
    expect((await desk.ask({ method: 'GET', path }, false)).status).toBe(200);
    told.push(path);
  };
  await ask('/openapi.json');
  let now = 0;
  // By this clock each step takes long.
  vi.spyOn(performance, 'now').mockImplementation(() => {
    now += 3;
    return now;
  });
  const flood = Array.from({ length: 100 }, () => ask('/openapi.json'));
  await Promise.race(flood);
  await ask('/v2/wallets');
  expect(told.indexOf('/v2/wallets')).toBeLessThan(10);
  await Promise.all(flood);
  expect(told).toHaveLength(102);
  await desk.close();
});

describe('a filter of intents that the server takes is not described, or the other way round', () => {
  const ajv = new Ajv2020({ strict: false });
  const isTold = ajv.addSchema(document, 'api').compile({ $ref: 'api#/components/schemas/IntentFilter' });
  const names = paths['/intents'].get.parameters.map((parameter: Json) => parameter.name);
  const isTaken = (query: string) => 'filters' in (parseQuery(query, Kind.intent, 50) as ListQuery);

  test.each([
    ...['source', 'target', 'wallet', 'symbol'].flatMap((name) => [
      `data.claims.${name}`,
      `data.claims.${name}.handle`,
    ]),
    ...['data.claims.action', 'data.claims.amount', 'data.claims.action.handle', 'data.claims.source.custom.x'],
    ...['data.claims.0.amount', 'data.claims', 'meta.thread', 'data.wallet', 'data.handle.handle'],
  ])('%s', (path) => {
    const taken = isTaken(`${path}=1`);
    expect([isTold({ [path]: 1 }), names.includes(path)]).toEqual([taken, taken]);
    expect(isTaken(`filter=${JSON.stringify({ [path]: 1 })}`)).toBe(taken);
  });

  test.each([
    { 'data.custom.x': [1] },
    { 'data.custom.x.0': 1 },
    { 'data.claims.source.handle': { $in: ['a', 'b'] } },
    { 'data.claims.source.handle': ['a'] },
  ])('%j', (filter) => expect(isTold(filter)).toBe(isTaken(`filter=${JSON.stringify(filter)}`)));
});
