/** Schemas of users' own: what they may be, and what they find. */
import { createRequire } from 'node:module';
import fc from 'fast-check';
import { describe, expect, test, vi } from 'vitest';
import { compileUserSchema } from '../../src/http/user-schemas.ts';
import { check, classes, type Json, many, named, nested } from './user-schema-kit.ts';

function unfit(schema: unknown): string[] | null {
  const made = compileUserSchema(JSON.stringify({ schema }));
  return 'errors' in made ? made.errors.map(({ instancePath, keyword }) => `${instancePath} ${keyword}`) : null;
}

describe('a schema', () => {
  test.each<[string, unknown, string[] | null]>([
    ['of nothing', {}, null],
    [
      'of draft-07, with annotations',
      { $schema: 'http://json-schema.org/draft-07/schema#', title: 'x', examples: [1] },
      null,
    ],
    ['of draft-07 by its other names', { $schema: 'https://json-schema.org/draft-07/schema' }, null],
    [
      'of a draft that is a list of one',
      { $schema: ['http://json-schema.org/draft-07/schema#'] },
      ['/data/schema/$schema const'],
    ],
    ['with a name of its own', { $id: 'https://example.com/x', type: 'object' }, null],
    ['that is no object', [], ['/data/schema type']],
    ['of another draft', { $schema: 'http://json-schema.org/draft-04/schema#' }, ['/data/schema/$schema const']],
    ['with a keyword nobody knows', { requried: [] }, ['/data/schema/requried additionalProperties']],
    [
      'with a keyword that every object has a member for',
      { constructor: {} },
      ['/data/schema/constructor additionalProperties'],
    ],
    ['that would be asynchronous', { $async: true }, ['/data/schema/$async additionalProperties']],
    ['that asks for costs of its own', { 'ayni-cost': -9 }, ['/data/schema/ayni-cost additionalProperties']],
    ['with a name within', { items: { $id: 'x' } }, ['/data/schema/items/$id additionalProperties']],
    [
      'with a keyword of a wrong form',
      { properties: { a: { minLength: -1 } } },
      ['/data/schema/properties/a/minLength minimum'],
    ],
    ['with a schema of a wrong form', { properties: { a: 1 } }, ['/data/schema/properties/a type']],
    ...['properties', 'patternProperties', 'definitions', 'dependencies'].flatMap((keyword) =>
      [7, null, [{}]].map((value): [string, unknown, string[]] => [
        `with ${JSON.stringify(value)} for ${keyword}`,
        { items: { [keyword]: value } },
        [`/data/schema/items/${keyword} type`],
      ]),
    ),
    ...['properties', 'patternProperties', 'dependencies'].map((keyword): [string, unknown, string[]] => [
      `that asks of __proto__ by ${keyword} what nobody would check`,
      { items: { [keyword]: JSON.parse('{"__proto__": {"type": "string"}}') } },
      [`/data/schema/items/${keyword}/__proto__ propertyNames`],
    ]),
    ...['valueOf', 'toString', 'constructor', '__proto__'].flatMap((name): [string, unknown, string[]][] => {
      const odd = () => JSON.parse(`{"${name}": 1}`);
      const at = '/data/schema/items';
      return [
        [`of a type that is an object with a ${name}`, { items: { type: odd() } }, [`${at}/type type`]],
        [`of types that are objects with a ${name}`, { items: { type: [odd(), odd()] } }, [`${at}/type type`]],
        [`of a format that is an object with a ${name}`, { items: { format: odd() } }, [`${at}/format format`]],
      ];
    }),
    ['of a format that every object has a member for', { format: 'constructor' }, ['/data/schema/format format']],
    ['of one of several types', { type: ['string', 'null'] }, null],
    ['of a format that is a list', { format: ['date'] }, ['/data/schema/format format']],
    [
      'that leads to a name with half a pair in it',
      { $ref: '#/definitions/\ud800', definitions: { '\ud800': {} } },
      ['/data/schema/$ref $ref'],
    ],
    ['with an empty choice', { anyOf: [] }, ['/data/schema/anyOf type']],
    ['that leads elsewhere', { $ref: 'https://example.com/x' }, ['/data/schema/$ref $ref']],
    ['that leads to another file', { $ref: 'x.json#/a' }, ['/data/schema/$ref $ref']],
    ['that leads to a part by its name', { items: { $ref: '#node' } }, ['/data/schema/items/$ref $ref']],
    ['that leads nowhere', { items: { $ref: '#/definitions/a' } }, ['/data/schema/items/$ref $ref']],
    ['that leads into what is no schema', { enum: ['a'], items: { $ref: '#/enum' } }, ['/data/schema/items/$ref $ref']],
    ['that leads to itself', { $ref: '#' }, ['/data/schema $ref']],
    ['that leads to itself by a choice', { items: { anyOf: [{ $ref: '#/items' }] } }, ['/data/schema/items $ref']],
    [
      'that leads to itself in a circle',
      { definitions: { a: { not: { $ref: '#/definitions/b' } }, b: { if: { $ref: '#/definitions/a' } } } },
      ['/data/schema/definitions/a $ref'],
    ],
    // Whatever looks at the same value would look at it for ever.
    ...['not', 'if', 'then', 'else'].map((keyword): [string, unknown, string[]] => [
      `that leads to itself by ${keyword}`,
      { [keyword]: { $ref: '#' } },
      ['/data/schema $ref'],
    ]),
    ...['allOf', 'anyOf', 'oneOf'].map((keyword): [string, unknown, string[]] => [
      `that leads to itself by ${keyword}`,
      { [keyword]: [{ $ref: '#' }] },
      ['/data/schema $ref'],
    ]),
    ['that leads to itself by dependencies', { dependencies: { a: { $ref: '#' } } }, ['/data/schema $ref']],
    ...['items', 'additionalItems', 'contains', 'additionalProperties', 'propertyNames'].map(
      (keyword): [string, unknown, null] => [
        `that leads to itself one level down, by ${keyword}`,
        { [keyword]: { $ref: '#' } },
        null,
      ],
    ),
    ...['properties', 'patternProperties', 'definitions'].map((keyword): [string, unknown, null] => [
      `that leads to itself one level down, by ${keyword}`,
      { [keyword]: { a: { $ref: '#' } } },
      null,
    ]),
    ['that leads to itself one level down, by items in a list', { items: [{ $ref: '#' }] }, null],
    [
      'that leads on and on',
      { definitions: named(40, (i) => ({ $ref: `#/definitions/p${i + 1}` })) },
      ['/data/schema/definitions/p39/$ref $ref'],
    ],
    [
      'that leads one value through too many',
      { definitions: { ...named(40, (i) => ({ $ref: `#/definitions/p${i + 1}` })), p40: {} } },
      ['/data/schema/definitions/p8 maxDepth'],
    ],
    [
      'with a name full of signs',
      { definitions: { 'a/b~c%d é': { type: 'string' } }, items: { $ref: '#/definitions/a~1b~0c%25d%20%C3%A9' } },
      null,
    ],
    [
      'with a name of signs that stand for others',
      { definitions: { '~1': {} }, items: { $ref: '#/definitions/~01' } },
      null,
    ],
    ['that names a part __proto__, which asks nothing', { definitions: JSON.parse('{"__proto__": {}}') }, null],
    ['with a pattern that looks ahead', { pattern: '(?=a)b' }, ['/data/schema schema']],
    ['with a pattern that looks back', { pattern: '(a)\\1' }, ['/data/schema schema']],
    ['with a pattern that is written out long', { pattern: '(.{1,100}){10}z' }, ['/data/schema schema']],
    ['with patterns of many classes', { properties: classes(25, 3) }, ['/data/schema schema']],
    ['with patterns of some classes', { properties: classes(16, 4) }, null],
    ['with a pattern of usual length', { pattern: '^[A-Z]{2}[0-9]{2}[A-Z0-9]{11,30}$' }, null],
    ['with a format nobody checks', { format: 'iban' }, ['/data/schema/format format']],
    ['with constants of parts', { enum: [{ a: 1 }] }, ['/data/schema/enum enum']],
    ['with a constant of parts', { const: { a: 1 } }, ['/data/schema/const const']],
    ['with constants that are null', { enum: ['a', null], items: { const: null } }, null],
    [
      'nested too deeply',
      nested(30, {}, (items) => ({ items })),
      [
        '/data/schema/items/items/items/items/items/items/items/items/items/items/items/items/items/items/items/items/items/items/items/items/items/items/items/items/items maxDepth',
      ],
    ],
    ['with too many schemas', { properties: named(200, () => ({})) }, ['/data/schema/properties/p199 maxItems']],
    ['with as many parts as there may be', { required: many(1499, (i) => `m${i}`) }, null],
    ['with too many parts', { required: many(1500, (i) => `m${i}`) }, ['/data/schema/required maxItems']],
    [
      'with too many names of members others need',
      { dependencies: { a: many(1500, (i) => `m${i}`) } },
      ['/data/schema/dependencies maxItems'],
    ],
    [
      'with too many patterns',
      { patternProperties: named(26, () => true) },
      ['/data/schema/patternProperties maxItems'],
    ],
    ['as long as it may be', { title: 'x'.repeat(32_768 - '{"title":""}'.length) }, null],
    ['that is too long', { title: 'x'.repeat(32_769 - '{"title":""}'.length) }, ['/data/schema maxLength']],
  ])('%s', (_, schema, errors) => {
    expect(unfit(schema)).toEqual(errors);
  });
});

describe('a check', () => {
  const tree = {
    properties: { custom: { $ref: '#/definitions/node' } },
    definitions: {
      node: {
        type: 'object',
        required: ['v'],
        properties: { v: { type: 'integer' }, c: { type: 'array', items: { $ref: '#/definitions/node' } } },
      },
    },
  };
  const custom = (schema: Json): Json => ({ properties: { custom: schema } });
  test.each<[string, Json, unknown, string[] | null]>([
    ['follows references into themselves', tree, { v: 1, c: [{ v: 2, c: [] }] }, null],
    [
      'heeds what stands beside a reference',
      { properties: { custom: { $ref: '#/definitions/a', required: ['b'] } }, definitions: { a: { required: ['a'] } } },
      { a: 1 },
      ['/data/custom required'],
    ],
    ['and finds the fault there', tree, { v: 1, c: [{ v: 2, c: [{}] }] }, ['/data/custom/c/0/c/0 required']],
    [
      'tells all errors',
      custom({ required: ['x', 'y'], additionalProperties: false }),
      { z: 1 },
      ['/data/custom required', '/data/custom required', '/data/custom additionalProperties'],
    ],
    [
      'knows equal items whatever their order',
      custom({ uniqueItems: true }),
      [
        { a: 1, b: [2] },
        { b: [2], a: 1 },
      ],
      ['/data/custom uniqueItems'],
    ],
    [
      'knows different items',
      custom({ uniqueItems: true }),
      [1, '1', [1], { a: 1 }, { a: '1' }, null, 'null', true],
      null,
    ],
    ['asks for nothing where items need not differ', custom({ uniqueItems: false }), [1, 1], null],
    [
      'finds nothing in a list without items: the library took what it found in the list before',
      custom({ items: { contains: { const: 1 } } }),
      [[1], []],
      ['/data/custom/1 contains'],
    ],
    [
      'nor in one of another member, and tells of each',
      custom({ additionalProperties: { contains: { type: 'string', minLength: 2 } } }),
      { a: ['x', 'yy'], b: [], c: ['yy'], d: [] },
      ['/data/custom/b contains', '/data/custom/d contains'],
    ],
    ['and finds it in each', custom({ items: { contains: { const: 1 } } }), [[2, 1], 'x', [1], [1, 2]], null],
    [
      'tells that none is there, and what is asked of all, of a long list too: what each was tried for filled the answer',
      custom({ contains: { const: 1 }, items: { type: 'number' } }),
      [...Array.from({ length: 59 }, () => 2), 'x'],
      ['/data/custom contains', '/data/custom/59 type'],
    ],
    [
      'looks for one where items are told one by one and the first is missing: the library left out what came behind',
      custom({ items: [{ type: 'number' }], contains: { const: 1 } }),
      [],
      ['/data/custom contains'],
    ],
    [
      'and asks there whether items differ',
      custom({ items: [true, true, { type: 'number' }], uniqueItems: true }),
      [1, 1],
      ['/data/custom uniqueItems'],
    ],
    ['finds any item where any will do', custom({ items: { contains: true } }), [[0], []], ['/data/custom/1 contains']],
    ['is blind to prototypes', custom({ required: ['constructor'] }), {}, ['/data/custom required']],
    [
      'asks for a member without a name: the library took it for none that is missing',
      custom({ required: ['', 'b'] }),
      { b: 1 },
      ['/data/custom required'],
    ],
    ['and finds it', custom({ required: ['b', ''] }), { '': 1, b: 1 }, null],
    [
      'and asks for it where others need it',
      custom({ dependencies: { b: [''] } }),
      { b: 1 },
      ['/data/custom required'],
    ],
    [
      'sees members of such names',
      custom({ properties: { constructor: { type: 'string' } } }),
      { constructor: 1 },
      ['/data/custom/constructor type'],
    ],
    [
      'tells two patterns apart',
      custom({ properties: { a: { pattern: '^a$' }, b: { pattern: '^b$' } } }),
      { a: 'a', b: 'a' },
      ['/data/custom/b pattern'],
    ],
    ['matches anywhere, as JSON Schema does', custom({ pattern: 'b+' }), 'abbc', null],
    ['matches any text by an empty pattern', custom({ pattern: '' }), 'abbc', null],
    [
      'matches any name by an empty pattern',
      custom({ patternProperties: { '': { type: 'string' } } }),
      { a: 1 },
      ['/data/custom/a type'],
    ],
    ['date', custom({ format: 'date' }), '2024-02-29', null],
    ['no such date', custom({ format: 'date' }), '2023-02-29', ['/data/custom format']],
    ['date-time', custom({ format: 'date-time' }), '2024-02-29T23:59:59.123Z', null],
    ['no such time', custom({ format: 'date-time' }), '2024-02-29T24:59:59Z', ['/data/custom format']],
    ['uuid', custom({ format: 'uuid' }), '123e4567-e89b-12d3-a456-426614174000', null],
    ['ipv4', custom({ format: 'ipv4' }), '10.0.0.256', ['/data/custom format']],
    ['email', custom({ format: 'email' }), 'a@b@c', ['/data/custom format']],
    ['uri', custom({ format: 'uri' }), 'no uri', ['/data/custom format']],
    ['pays no heed to formats of what is no text', custom({ format: 'uri' }), 5, null],
  ])('%s', (_, schema, value, errors) => {
    expect(check(schema, { custom: value })).toEqual(errors);
  });

  test.each<[string, Json, Json, string[] | null]>([
    [
      'what must not match',
      { properties: { a: { not: { pattern: 'b' } } } },
      { a: `b${'x'.repeat(20_000)}` },
      ['/data/a not'],
    ],
    ['what must match', { properties: { a: { pattern: 'x$' } } }, { a: 'x'.repeat(20_000) }, null],
    [
      'a name',
      { patternProperties: { '^a': { type: 'string' } } },
      { [`a${'x'.repeat(20_000)}`]: 1 },
      // So long a path is not told.
      ['/data type'],
    ],
    [
      'longer than work allows',
      { properties: { a: { not: { pattern: 'b' } } } },
      { a: 'x'.repeat(900_000) },
      ['/data maxWork'],
    ],
  ])('looks at long texts too, by a pattern: %s', (_, schema, value, errors) => {
    expect(check(schema, value)).toEqual(errors);
  });

  test.each<[number, number, boolean]>([
    [4.35, 0.01, true],
    [-4.35, 0.01, true],
    [4.355, 0.01, false],
    [0.3, 0.1, true],
    [1e21, 1, true],
    [1e22, 3, false],
    [9007199254740991, 2, false],
    [9007199254740990, 2, true],
    [1e308, 5e-324, true],
    [1.5e-323, 5e-324, true],
    [1.7e-7, 1e-8, true],
    [0, 0.7, true],
    [2.5, 2, false],
  ])('%d as a multiple of %d is told as the decimals say: %j', (value, unit, is) => {
    expect(check({ properties: { a: { multipleOf: unit } } }, { a: value })).toEqual(
      is ? null : ['/data/a multipleOf'],
    );
  });

  test('cuts what a client may have made long', () => {
    const made = compileUserSchema(JSON.stringify({ schema: custom({ additionalProperties: false }) }));
    const errors = 'check' in made ? made.check({ custom: { ['k'.repeat(100_000)]: 1 } }) : [];
    expect(JSON.stringify(errors).length).toBeLessThan(2000);
    const enums = compileUserSchema(JSON.stringify({ schema: custom({ items: { enum: many(500, String) } }) }));
    const found = 'check' in enums ? enums.check({ custom: many(1000, () => 'x') }) : [];
    expect(found!.length).toBeLessThanOrEqual(50);
    expect(JSON.stringify(found).length).toBeLessThan(30_000);
  });

  test('ends the same way every time, also after one that was broken off', () => {
    const schema = custom({ items: { pattern: '(a?){100}a{100}' } });
    const made = compileUserSchema(JSON.stringify({ schema }));
    if ('errors' in made) throw new Error('fit');
    const hostile = { custom: many(60, () => 'a'.repeat(16_000)) };
    const tell = (value: Json) => made.check(value)?.map(({ keyword }) => keyword) ?? null;
    const times = [tell(hostile), tell({ custom: ['a'.repeat(100)] }), tell(hostile), tell({ custom: ['b'] })];
    expect(times).toEqual([['maxWork'], null, ['maxWork'], ['pattern']]);
  });
});

/** It looks for the first error, and stops: what it takes then for none must not be one where the library tells all. */
test('a check lets in what the library has nothing against where it tells all errors, whatever the members are called', () => {
  const { Ajv } = createRequire(import.meta.url)('ajv') as typeof import('ajv');
  const name = fc.constantFrom('', 'a', 'b', '0', 'é', 'length', 'constructor');
  const names = fc.uniqueArray(name, { maxLength: 3 });
  const leaf = fc.oneof(
    fc.record({ required: names }),
    fc.record({ type: fc.constantFrom('string', 'object', 'array') }),
    fc.record({ enum: fc.uniqueArray(fc.constantFrom<unknown>('', 0, false, null, 'a'), { minLength: 1 }) }),
    fc.record({ minProperties: fc.nat(2), maxProperties: fc.nat(3) }),
    fc.boolean(),
  );
  const members = fc.dictionary(name, leaf, { maxKeys: 3, noNullPrototype: true });
  const schema = fc.record(
    {
      required: fc.oneof(names, fc.constant(['', ...many(8, (i) => `k${i}`)])),
      properties: members,
      dependencies: fc.dictionary(name, names, { maxKeys: 2, noNullPrototype: true }),
      additionalProperties: leaf,
      propertyNames: fc.record({ maxLength: fc.nat(2) }),
      anyOf: fc.array(leaf, { minLength: 1, maxLength: 2 }),
    },
    { requiredKeys: [] },
  );
  const scalar = fc.constantFrom<unknown>('', 'a', 0, false, null, [], {});
  const value = fc.dictionary(name, fc.oneof(scalar, fc.dictionary(name, scalar, { noNullPrototype: true })), {
    noNullPrototype: true,
  });
  fc.assert(
    fc.property(schema, fc.array(value, { minLength: 3, maxLength: 6 }), (asked, values) => {
      const library = new Ajv({ strict: false, allErrors: true, ownProperties: true }).compile(asked);
      for (const each of values) expect(check(asked, each) === null).toBe(library(each));
    }),
    { numRuns: 50 },
  );
});

test('members that others need are asked for as required ones are: of a long list the library made code for seconds', () => {
  const needs = (...names: string[]): Json => ({ properties: { custom: { dependencies: { d: names } } } });
  expect(check(needs('a', 'b'), { custom: { c: 1 } })).toBeNull();
  expect(check(needs('a', 'b'), { custom: { d: 1, a: 1, b: 1 } })).toBeNull();
  expect(check(needs('a', 'b'), { custom: { d: 1, a: 1 } })).toEqual(['/data/custom required']);
  const long = needs(...many(1400, (i) => `n${i}`));
  expect(
    check(long, { custom: { ...named(1400, () => 1), ...Object.fromEntries(many(1400, (i) => [`n${i}`, 1])) } }),
  ).toBeNull();
  expect(new Set(check(long, { custom: { d: 1 } }))).toEqual(new Set(['/data/custom required']));
});

describe('items that must differ', () => {
  const unique: Json = { properties: { custom: { uniqueItems: true } } };
  const same = fc.constantFrom<unknown>(
    0,
    -0,
    1,
    '0',
    '1',
    '-0',
    1e21,
    '1e+21',
    true,
    'true',
    null,
    'null',
    '"1"',
    [1],
    ['1'],
  );

  test('are told as their texts tell them', () => {
    const scalar = fc.oneof(same, fc.double({ noNaN: true, noDefaultInfinity: true }), fc.string());
    const told = { true: 0, false: 0 };
    fc.assert(
      fc.property(fc.array(fc.oneof(scalar, fc.array(scalar, { maxLength: 2 })), { maxLength: 7 }), (items) => {
        const is = new Set(items.map((item) => JSON.stringify(item))).size === items.length;
        told[`${is}`]++;
        // Not by `check` above, whose text has no -0: what is read may.
        const made = compileUserSchema(JSON.stringify({ schema: unique }));
        expect('check' in made && made.check({ custom: items })).toEqual(is ? null : [expect.anything()]);
      }),
      { numRuns: 5000 },
    );
    expect(Math.min(told.true, told.false)).toBeGreaterThan(500);
  });

  test('are told apart no slower where they were chosen to meet in a table: by their hash 40 000 numbers took seconds', () => {
    const took = (items: number[]) => {
      const began = performance.now();
      expect(check(unique, { custom: items })).toBeNull();
      return performance.now() - began;
    };
    const count = 38_000;
    const fastest = (item: (i: number) => number) =>
      Math.min(...Array.from({ length: 9 }, () => took(many(count, item))));
    const spread = fastest((i) => i * 54_321);
    expect(fastest((i) => numberOfHash(i << 15)) / spread).toBeLessThan(10);
  });

  /** The 32-bit number to which V8's ComputeUnseededHash gives that hash: its steps, each undone, from the last on. */
  function numberOfHash(hash: number): number {
    let x = hash;
    x ^= x >>> 16;
    x = Math.imul(x, inverse(2057));
    x ^= (x >>> 4) ^ (x >>> 8) ^ (x >>> 12) ^ (x >>> 16) ^ (x >>> 20) ^ (x >>> 24) ^ (x >>> 28);
    x = Math.imul(x, inverse(5));
    x ^= (x >>> 12) ^ (x >>> 24);
    return Math.imul(x + 1, inverse(32_767));
  }

  /** Of an odd number, modulo 2 ** 32: each of Newton's steps doubles the bits that are right. */
  function inverse(odd: number): number {
    let made = odd;
    for (let n = 0; n < 5; n++) made = Math.imul(made, 2 - Math.imul(odd, made));
    return made;
  }

  // What is accepted must be accepted wherever it is checked again: these ends may never change.
  test.each<[string, number, (i: number) => unknown]>([
    ['whole numbers', 46_537, (i) => i],
    ['numbers below nought', 45_872, (i) => -i],
    ['fractions', 44_598, (i) => i + 0.25],
    ['large numbers', 37_777, (i) => (i + 1) * 1e16],
    ['small numbers', 41_766, (i) => (i + 1) * 1e-300],
    ['texts', 45_226, (i) => `${i}`],
    ['lists', 24_143, (i) => [i]],
  ])('cost as much as ever: %s', (_, most, item) => {
    expect(check(unique, { custom: many(most, item) })).toBeNull();
    expect(check(unique, { custom: many(most + 1, item) })).toEqual(['/data maxWork']);
  });
});

describe('long lists', () => {
  const entries = (count: number) => many(count, (i) => `entry${i}`);

  test.each<[string, (names: string[]) => Json]>([
    ['of members that must be there', (required) => ({ required })],
    ['of values', (values) => ({ enum: values })],
    ['of members that others need', (a) => ({ dependencies: { a } })],
  ])('%s are walked: no code is made for each entry, of the check nor of what tells what is wrong', (_, schema) => {
    const codes: string[] = [];
    const construct = (target: FunctionConstructor, texts: string[]) => {
      codes.push(texts.join());
      return new target(...texts);
    };
    vi.stubGlobal('Function', new Proxy(Function, { construct }));
    const found = [check(schema(entries(7)), { a: 1 }), check(schema(entries(8)), { a: 1 })];
    vi.unstubAllGlobals();
    expect(found).not.toContain(null);
    const ones = codes.filter((code) => code.includes('entry'));
    expect(ones.length, 'of the short one, both').toBe(2);
    expect(ones.join()).not.toContain('entry7');
  });

  test('are asked for as short ones are, whatever the names', () => {
    const names = ['constructor', 'toString', '__proto__', "a'b", 'a"b', '', '\n', 'length', 'é', '0'];
    const all = `{${names.map((name) => `${JSON.stringify(name)}:1`).join()}}`;
    const made = compileUserSchema(JSON.stringify({ schema: { required: names } }));
    if ('errors' in made) throw new Error('it is one');
    expect(made.check(JSON.parse(all))).toBeNull();
    expect(made.check({})?.map(({ params }) => params.missingProperty)).toEqual(names);
    expect(check({ properties: { a: { enum: [...names, 0, false] } } }, { a: '0' })).toBeNull();
    expect(check({ properties: { a: { enum: [...names, 0, false] } } }, { a: null })).toEqual(['/data/a enum']);
  });
});
