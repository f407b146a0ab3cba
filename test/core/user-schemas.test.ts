/** Which of a ledger's schemas a record must satisfy: decided in sequence, told in the form of all errors of shape. */
import { describe, expect, test } from 'vitest';
import { decide } from '../../src/core/decide.ts';
import { Kind, type KindName } from '../../src/core/kinds.ts';
import { isRefusal } from '../../src/core/refusal.ts';
import { compileUserSchema } from '../../src/http/user-schemas.ts';
import type { Books } from './books.ts';
import { make, openBooks, recovered, said } from './proof-world.ts';

const INVALID = 'record.schema-invalid';
const NAMED = { type: 'object', required: ['custom'], properties: { custom: { required: ['name'] } } };

function schema(books: Books, handle: string, record: string, json: object = NAMED): string {
  return said(make(books, Kind.schema, { handle, record, format: 'json-schema', schema: json }));
}

const wallet = (books: Books, more: object): string =>
  said(make(books, Kind.wallet, { handle: `w${books.entries.length}`, ...more }));

/** A new record of this kind; it is a usual one but for `more`. */
const add = (books: Books, name: KindName, more: object): string =>
  said(make(books, Kind[name], { handle: `r${books.entries.length}`, ...DATA[name], ...more }));

const DATA: Partial<Record<KindName, Record<string, unknown>>> = {
  signer: { format: 'ed25519-raw', public: 'x' },
  symbol: { factor: 1 },
  wallet: {},
  anchor: { wallet: 'w', target: 'w' },
  circle: {},
  effect: { signal: 'wallet-created', action: { schema: 'webhook', endpoint: 'http://x' } },
  bridge: { config: { server: 'http://x' } },
  policy: { record: 'wallet', values: [], schema: 'access' },
  intent: { claims: [{ action: 'issue', target: 'w', symbol: 's', amount: 1 }] },
};

describe('a record of a kind that has schemas', () => {
  test.each(['signer', 'symbol', 'wallet', 'anchor', 'circle'] as const)('%s names one and satisfies it', (name) => {
    const books = openBooks().wallets('w').symbols('s');
    expect(add(books, name, { schema: 'whatever' })).toBe('ok');
    expect(schema(books, 'named', name)).toBe('ok');
    expect(schema(books, 'other', 'effect')).toBe('ok');
    expect(add(books, name, { schema: 'named', custom: { name: 'x' } })).toBe('ok');
    expect(add(books, name, { schema: 'named', custom: {} })).toBe(INVALID);
    const others = [{}, { schema: 'whatever' }, { schema: 'other' }].map((more) =>
      add(books, name, { ...more, custom: { name: 'x' } }),
    );
    expect(others).toEqual([INVALID, INVALID, INVALID]);
  });

  test.each(['effect', 'bridge', 'policy', 'intent'] as const)(
    '%s keeps words of its own, and is bound by one it names',
    (name) => {
      const books = openBooks().wallets('w').symbols('s');
      const word = name === 'policy' ? 'access' : 'word';
      expect(schema(books, 'named', name)).toBe('ok');
      expect(add(books, name, { schema: word })).toBe('ok');
      if (name !== 'policy') expect(add(books, name, {})).toBe('ok');
      expect(add(books, name, { schema: 'named', custom: {} })).toBe(INVALID);
      expect(schema(books, word, name)).toBe('ok');
      expect(add(books, name, { schema: word })).toBe(INVALID);
      expect(add(books, name, { schema: word, custom: { name: 'x' } })).toBe('ok');
    },
  );

  test('of before stays, and must satisfy one when it is changed', () => {
    const books = openBooks().wallets('w');
    schema(books, 'named', 'wallet');
    const change = (value: object) => said(books.update(Kind.wallet, 'w', { handle: 'w', ...value }));
    expect([change({}), change({ schema: 'named' })]).toEqual([INVALID, INVALID]);
    expect(change({ schema: 'named', custom: { name: 'x' } })).toBe('ok');
  });

  test('is held to the version of its schema that is there when it comes', () => {
    const books = openBooks();
    const record = { handle: 'named', record: 'wallet', format: 'json-schema', schema: NAMED };
    make(books, Kind.schema, record);
    expect(wallet(books, { schema: 'named' })).toBe(INVALID);
    books.update(Kind.schema, 'named', { ...record, schema: { required: ['bridge'] } });
    expect(wallet(books, { schema: 'named', custom: { name: 'x' } })).toBe(INVALID);
    books.update(Kind.schema, 'named', { ...record, schema: {} });
    expect(wallet(books, { schema: 'named' })).toBe('ok');
    books.update(Kind.schema, 'named', { ...record, handle: 'renamed', schema: {} });
    expect([wallet(books, { schema: 'named' }), wallet(books, { schema: 'renamed' })]).toEqual([INVALID, 'ok']);
    books.update(Kind.schema, 'renamed', { ...record, handle: 'renamed', record: 'anchor' });
    expect(wallet(books, { schema: 'renamed' })).toBe('ok');
    expect(wallet(books, {})).toBe('ok');
  });

  test('of another ledger is none', () => {
    const books = openBooks();
    make(books, Kind.ledger, { handle: 'other', access: [{ action: 'any', record: 'any' }] }, 0);
    schema(books, 'named', 'wallet');
    schema(books, 'ledgers', 'ledger');
    expect(said(make(books, Kind.wallet, { handle: 'w', schema: 'named' }, 2))).toBe('ok');
    expect(said(make(books, Kind.ledger, { handle: 'third' }, 0))).toBe('ok');
  });

  test('is checked after what it relates to and before its duplicate, but for one that is in already', () => {
    const books = openBooks().wallets('w');
    schema(books, 'named', 'wallet');
    expect(wallet(books, { bridge: 'nobody' })).toBe('record.relation-not-found');
    expect(said(make(books, Kind.wallet, { handle: 'w', access: [] }))).toBe(INVALID);
    expect(said(make(books, Kind.wallet, { handle: 'w' }))).toBe('record.duplicated');
  });

  test('that needs permission is refused before its schema is looked at', () => {
    const books = openBooks();
    books.state.compileSchema = () => expect.unreachable('asked before access');
    const command = books.command(Kind.schema, { handle: 's', record: 'wallet', format: 'json-schema', schema: {} });
    make(books, Kind.ledger, { handle: 'closed' }, 0);
    expect(decide(books.state, { ...command, ledger: 2 }, books.moment)).toMatchObject({ reason: 'auth.forbidden' });
  });
});

test('errors are told in the form of all errors of shape', () => {
  const books = openBooks();
  schema(books, 'named', 'wallet');
  const tell = (more: object) => {
    const outcome = make(books, Kind.wallet, { handle: 'w', ...more });
    return isRefusal(outcome) ? outcome.custom?.errors : outcome;
  };
  expect(tell({ schema: 'named', custom: {} })).toEqual([
    {
      instancePath: '/data/custom',
      schemaPath: '#/properties/custom/required',
      keyword: 'required',
      params: { missingProperty: 'name' },
      message: "must have required property 'name'",
    },
  ]);
  expect(tell({})).toMatchObject([
    { instancePath: '/data', keyword: 'required', params: { missingProperty: 'schema' } },
  ]);
  expect(tell({ schema: 'x' })).toMatchObject([{ instancePath: '/data/schema', keyword: 'enum' }]);
});

test('a schema that is none is not stored, created or updated', () => {
  const books = openBooks();
  expect(schema(books, 'bad', 'wallet', { type: 'nothing' })).toBe(INVALID);
  expect(wallet(books, {})).toBe('ok');
  expect(schema(books, 'good', 'wallet', {})).toBe('ok');
  const bad = { handle: 'good', record: 'wallet', format: 'json-schema', schema: { minLength: -1 } };
  expect(said(books.update(Kind.schema, 'good', bad))).toBe(INVALID);
  expect(wallet(books, { schema: 'good' })).toBe('ok');
});

test('a schema that cannot be used any more lets nothing in', () => {
  const books = openBooks();
  schema(books, 'named', 'wallet', {});
  books.state.compileSchema = () => ({ errors: [] });
  expect(wallet(books, { schema: 'named' })).toBe(INVALID);
});

test('schemas hold after replay and out of a snapshot, which never ask what compiles them', () => {
  const books = openBooks();
  schema(books, 'named', 'wallet');
  expect(wallet(books, { schema: 'named', custom: { name: 'x' } })).toBe('ok');
  for (const state of recovered(books)) {
    expect(() => state.compileSchema('{}')).toThrow();
    const twin = Object.assign(openBooks(), { state });
    state.compileSchema = compileUserSchema;
    expect(wallet(twin, { schema: 'named' })).toBe(INVALID);
    expect(wallet(twin, { schema: 'none' })).toBe(INVALID);
  }
});

test('a schema is compiled once per version, however many records it checks', () => {
  const books = openBooks();
  schema(books, 'named', 'wallet', {});
  let compiled = 0;
  books.state.compileSchema = (data) => {
    compiled++;
    return compileUserSchema(data);
  };
  for (let i = 0; i < 5; i++) expect(wallet(books, { schema: 'named' })).toBe('ok');
  expect(compiled).toBe(1);
});

test('a schema is new where it is made or changed, and not where it is one of the books: those must be checked by what they have', () => {
  const books = openBooks();
  const asked: (boolean | undefined)[] = [];
  books.state.compileSchema = (data, isNew) => {
    asked.push(isNew);
    return compileUserSchema(data, isNew);
  };
  schema(books, 'named', 'wallet', {});
  expect(wallet(books, { schema: 'named' })).toBe('ok');
  const next = { handle: 'named', record: 'wallet', format: 'json-schema', schema: {}, custom: {} };
  expect(said(books.update(Kind.schema, 'named', next))).toBe('ok');
  expect(wallet(books, { schema: 'named' })).toBe('ok');
  expect(asked.map(Boolean)).toEqual([true, false, true, false]);
});

test('compiled schemas are remembered as far as there is room for what they take, not for their texts', () => {
  const books = openBooks();
  const handles = ['one', 'two', 'three'];
  for (const handle of handles) schema(books, handle, 'wallet', {});
  let compiled = 0;
  const holding = (held: number) => {
    books.state.compileSchema = () => {
      compiled++;
      return { check: () => null, held };
    };
    compiled = 0;
    for (const handle of [...handles, ...handles]) expect(wallet(books, { schema: handle })).toBe('ok');
    return compiled;
  };
  expect(holding(60_000_000)).toBe(6);
  for (const handle of handles) {
    const next = { handle, record: 'wallet', format: 'json-schema', schema: {}, custom: { version: 2 } };
    expect(said(books.update(Kind.schema, handle, next))).toBe('ok');
  }
  expect(holding(1_000_000)).toBe(3);
});
