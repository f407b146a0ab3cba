/** A ledger's own schemas, as clients meet them: what they refuse and how it is told, in order with all other checks. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Client, connect, type Json, makeKeys, record } from '../support/client.ts';
import { freshDirectory } from '../support/directory.ts';
import { freshLedger, issue, type Kit, reasonOf, unique } from '../support/kit.ts';
import { startServer } from '../support/server.ts';

const keys = makeKeys();
const directory = freshDirectory();
let server = await startServer({ directory });
afterAll(() => server.stop());
let client = connect(server);
let there: Client;
let kit: Kit;
let ledger: string;

const PERSON = {
  type: 'object',
  required: ['custom'],
  properties: {
    custom: {
      type: 'object',
      required: ['name', 'born'],
      properties: { name: { type: 'string', pattern: '^[A-Z]' }, born: { type: 'string', format: 'date' } },
      additionalProperties: false,
    },
  },
};

/** A ledger of its own with a schema `person` for wallets. */
async function open(): Promise<void> {
  ({ there, kit, handle: ledger } = await freshLedger(server, keys));
  await kit.make('schemas', schema('person', 'wallet', PERSON));
}

const schema = (handle: string, kind: string, json: Json) => ({
  handle,
  record: kind,
  format: 'json-schema',
  schema: json,
});
const wallet = (more: Json): Json => record({ handle: unique('wallet'), ...more }, keys);
const ANA = { name: 'Ana', born: '1990-01-31' };

describe('a wallet where wallets have a schema', () => {
  beforeAll(open);

  test('that satisfies it is made and shown as sent', async () => {
    const stored = await kit.make('wallets', { handle: 'ana', schema: 'person', custom: ANA });
    expect((await there.get('/wallets/ana')).body).toEqual(stored);
  });

  test('that does not is 422 with all errors by their places', async () => {
    const reply = await there.post('/wallets', wallet({ schema: 'person', custom: { name: 'ana', age: 3 } }));
    expect(reasonOf(reply)).toEqual([422, 'record.schema-invalid']);
    const { errors } = reply.body.data.custom;
    expect(errors.map((error: Json) => Object.keys(error).sort())).toEqual(
      errors.map(() => ['instancePath', 'keyword', 'message', 'params', 'schemaPath']),
    );
    expect(errors.map((error: Json) => `${error.instancePath} ${error.keyword}`).sort()).toEqual([
      '/data/custom additionalProperties',
      '/data/custom required',
      '/data/custom/name pattern',
    ]);
  });

  test.each<[string, Json]>([
    ['names none', {}],
    ['names one that is not there', { schema: 'nobody', custom: ANA }],
  ])('that %s is 422', async (_, more) => {
    expect(reasonOf(await there.post('/wallets', wallet(more)))).toEqual([422, 'record.schema-invalid']);
  });

  test('is held to it on update, and the record stays as it was', async () => {
    const stored = await kit.make('wallets', { handle: unique(), schema: 'person', custom: ANA });
    const { handle } = stored.data;
    const refused = await kit.change('wallets', stored, {
      handle,
      schema: 'person',
      custom: { ...ANA, born: 'today' },
    });
    expect(reasonOf(refused)).toEqual([422, 'record.schema-invalid']);
    expect((await there.get(`/wallets/${handle}`)).body).toEqual(stored);
    const taken = await kit.change('wallets', stored, { handle, schema: 'person', custom: { ...ANA, name: 'Eva' } });
    expect(taken.status, taken.text).toBe(200);
  });

  test('is judged after relations and before duplicates', async () => {
    expect(reasonOf(await there.post('/wallets', wallet({ bridge: 'nobody' })))).toEqual([
      422,
      'record.relation-not-found',
    ]);
    await kit.make('wallets', { handle: 'twice', schema: 'person', custom: ANA });
    const bad = await there.post('/wallets', record({ handle: 'twice', schema: 'person' }, keys));
    expect(reasonOf(bad)).toEqual([422, 'record.schema-invalid']);
    const good = await there.post('/wallets', record({ handle: 'twice', schema: 'person', custom: ANA }, keys));
    expect(reasonOf(good)).toEqual([409, 'record.duplicated']);
  });

  test('other kinds and other ledgers go on as before', async () => {
    await kit.make('symbols', { handle: 'usd', factor: 100, schema: 'whatever' });
    await kit.done([issue('ana', 'usd', 5)], { data: { schema: 'issue' } });
    expect((await client.post('/wallets', wallet({ schema: 'person' }))).status).toBe(201);
  });
});

test('an intent that names a schema is held to it', async () => {
  await open();
  await kit.make('wallets', { handle: 'ana', schema: 'person', custom: ANA });
  await kit.symbol({ handle: 'usd' });
  const small = { properties: { claims: { maxItems: 1, items: { properties: { amount: { maximum: 10 } } } } } };
  await kit.make('schemas', schema('small', 'intent', small));
  await kit.done([issue('ana', 'usd', 10)], { data: { schema: 'small' } });
  expect(reasonOf(await kit.send([issue('ana', 'usd', 11)], { data: { schema: 'small' } }))).toEqual([
    422,
    'record.schema-invalid',
  ]);
  await kit.done([issue('ana', 'usd', 11)], { data: { schema: 'issue' } });
  await kit.done([issue('ana', 'usd', 11)]);
});

test.each<[string, Json]>([
  ['is no JSON Schema', { type: 'nothing' }],
  ['leads to another place', { $ref: 'https://example.com/schema.json' }],
  ['never ends', { allOf: [{ $ref: '#' }] }],
  ['has a pattern that could backtrack', { pattern: '^(?=a)' }],
  ['has a misspelt keyword', { propertees: {} }],
])('a schema that %s is 422', async (_, json) => {
  const reply = await client.post('/schemas', record(schema(unique('schema'), 'circle', json), keys));
  expect(reasonOf(reply)).toEqual([422, 'record.schema-invalid']);
  expect(reply.body.data.custom.errors[0].instancePath).toMatch(/^\/data\/schema/);
});

test('patterns that hold other servers for hours are answered at once', async () => {
  await open();
  await kit.make(
    'schemas',
    schema('slow', 'wallet', { properties: { custom: { properties: { x: { pattern: '^(a+)+$' } } } } }),
  );
  const reply = await there.post('/wallets', wallet({ schema: 'slow', custom: { x: `${'a'.repeat(5000)}!` } }));
  expect(reasonOf(reply)).toEqual([422, 'record.schema-invalid']);
  const tree = {
    properties: { custom: { $ref: '#/definitions/n' } },
    definitions: { n: { properties: { a: {} } } },
  } as Json;
  tree.definitions.n.properties.a = { anyOf: [{ $ref: '#/definitions/n' }, { $ref: '#/definitions/n' }] };
  tree.definitions.n.type = 'object';
  await kit.make('schemas', schema('deep', 'wallet', tree));
  let custom: Json = { a: 1 };
  for (let i = 0; i < 50; i++) custom = { a: custom };
  const deep = await there.post('/wallets', wallet({ schema: 'deep', custom }));
  expect(reasonOf(deep)).toEqual([422, 'record.schema-invalid']);
});

test('schemas hold on after a restart', async () => {
  await open();
  await server.stop();
  server = await startServer({ directory });
  client = connect(server);
  there = connect(server, { 'x-ledger': ledger });
  expect(reasonOf(await there.post('/wallets', wallet({ schema: 'person' })))).toEqual([422, 'record.schema-invalid']);
  expect((await there.post('/wallets', wallet({ schema: 'person', custom: ANA }))).status).toBe(201);
});
