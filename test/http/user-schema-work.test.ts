/** No schema with no data takes more than its share: of a check, of compiling, and of what is kept of it. */
import { createRequire } from 'node:module';
import { describe, expect, test, vi } from 'vitest';
import { compileUserSchema } from '../../src/http/user-schemas.ts';
import { check, type Json, many, named, nested } from './user-schema-kit.ts';

describe('work is bounded', () => {
  const list = (schema: unknown): Json => ({ properties: { custom: { items: schema } } });
  test.each<[string, Json, unknown]>([
    ['many nodes by much data', list({ allOf: many(150, (i) => ({ maximum: i + 9 })) }), many(100_000, () => 9)],
    ['choices of choices all the way down', deepChoice(), nested(50, 0)],
    ['a slow pattern', list({ pattern: '(a?){100}a{100}' }), many(60, () => 'a'.repeat(16_000))],
    [
      'many patterns',
      list({ allOf: many(25, (i) => ({ pattern: `^[a-z${i}]+$` })) }),
      many(20_000, () => 'abcdefghij'),
    ],
    [
      'keys by patterns',
      { properties: { custom: { patternProperties: named(25, () => ({ type: 'number' })) } } },
      named(50_000, () => 1),
    ],
    ['names of keys', { properties: { custom: { propertyNames: { maxLength: 99 } } } }, named(100_000, () => 1)],
    [
      'keys of one object, again and again',
      { properties: { custom: { allOf: many(100, () => ({ minProperties: 1 })) } } },
      named(20_000, () => 1),
    ],
    ['items that must differ', { properties: { custom: { uniqueItems: true } } }, many(100_000, (i) => ({ i }))],
    [
      'items within items that must differ',
      unique(),
      nested(
        50,
        many(20_000, (i) => i),
        (a) => [a],
      ),
    ],
    ['lists of constants', list({ enum: many(1000, (i) => `aaaaaaaa${i}`) }), many(50_000, () => 'aaaaaaaa1')],
    ['members that must be there', list({ dependencies: named(300, () => ['b']) }), many(50_000, () => ({ b: 1 }))],
    ['formats', list({ format: 'date' }), many(20_000, () => '2024-02-29')],
    ['long texts', list({ allOf: many(150, () => ({ maxLength: 1_000_000 })) }), many(40, () => 'é'.repeat(12_000))],
    ['tries that may fail', list({ anyOf: [{ minimum: 0 }, {}] }), many(40_000, () => 1)],
    ['choices of one that may fail', list({ oneOf: [{ minimum: 0 }, false] }), many(40_000, () => 1)],
    ['what must not be', list({ not: { maximum: 0 }, minimum: 0 }), many(40_000, () => 1)],
    ['conditions', list({ if: { minimum: 0 }, else: false }), many(40_000, () => 1)],
    ['items one of which must fit', list({ contains: { minimum: 0 } }), many(40_000, () => [1])],
    [
      'items none of which will do, again and again: a megabyte of those filled the memory with errors',
      list({ anyOf: many(20, () => ({ contains: false })) }),
      [many(20_000, () => 1)],
    ],
    ['items that may not be there', list({ not: { items: false } }), [many(60_000, () => 1)]],
    ['names that must fit', list({ propertyNames: { minLength: 1 } }), many(15_000, () => ({ a: 1 }))],
    ['tries that fail', list({ anyOf: [...many(50, () => ({ type: 'string' })), {}] }), many(50_000, () => 1)],
  ])('%s', (_, schema, value) => {
    expect(check(schema, { custom: value })).toEqual(['/data maxWork']);
  });

  test('one error is told where finding all would be too much', () => {
    expect(check(list({ type: 'string' }), { custom: many(100_000, () => 1) })).toEqual(['/data/custom/0 type']);
  });

  test('and leaves room for the largest records there usually are', () => {
    const claim = {
      type: 'object',
      required: ['action', 'amount'],
      properties: { action: { type: 'string' }, amount: { minimum: 1 } },
    };
    const schema = { properties: { custom: { type: 'array', maxItems: 10_000, items: claim } } };
    expect(
      check(schema, { custom: many(10_000, (i) => ({ action: 'transfer', amount: i + 1, symbol: 'usd' })) }),
    ).toBeNull();
  });
});

describe('what compiling a schema takes has an end: one of 17 kB took two tenths of a second where a record did not fit it', () => {
  const data = (schema: Json) => JSON.stringify({ schema });
  /** So many schemas and keywords together, in members that all must be texts. */
  const of = (code: number): Json => {
    const two = Math.floor((code - 2) / 2);
    return {
      title: `${code}`,
      properties: named(two, () => ({ type: 'string' })),
      ...(code % 2 === 1 ? { minProperties: 0 } : {}),
    };
  };
  const wrong = (code: number) => {
    const made = compileUserSchema(data(of(code)));
    if ('errors' in made) throw new Error(JSON.stringify(made.errors));
    return made.check({ p1: 1, p2: 1, p3: 1 })?.map(({ instancePath }) => instancePath);
  };

  test('of schemas and keywords a new one has 600 together, more than that the books may have', () => {
    const wide = (keywords: number): Json => {
      const all = { type: 'string', minLength: 1, maxLength: 9, format: 'date', minimum: 1, maximum: 2, multipleOf: 3 };
      const one = Object.fromEntries(Object.entries(all).slice(0, keywords % 7));
      return { properties: { ...named(Math.floor(keywords / 7), () => all), last: one } };
    };
    // The whole and its one keyword, 74 members and the last, and what they ask.
    const fitting = 600 - 2 - 75;
    expect(compileUserSchema(data(wide(fitting)), true)).toHaveProperty('check');
    expect(compileUserSchema(data(wide(fitting + 1)), true)).toMatchObject({
      errors: [{ instancePath: '/data/schema', keyword: 'maxItems', message: expect.stringContaining('600 schemas') }],
    });
    expect(compileUserSchema(data(wide(fitting + 1)))).toHaveProperty('check');
  });

  test('a name in dependencies counts as two', () => {
    const needing = (names: number): Json => ({ dependencies: named(names, () => ['b']) });
    expect(compileUserSchema(data(needing(299)), true)).toHaveProperty('check');
    expect(compileUserSchema(data(needing(300)), true)).toHaveProperty('errors');
    expect(compileUserSchema(data(needing(300)))).toHaveProperty('check');
  });

  test('of a large one the first error alone is told, for which nothing is compiled again', () => {
    expect(wrong(250)).toEqual(['/data/p1', '/data/p2', '/data/p3']);
    expect(wrong(251)).toEqual(['/data/p1']);
    const held = [250, 251].map((code) => (compileUserSchema(data(of(code))) as { held: number }).held);
    expect(held[1]! < held[0]! * 0.6).toBe(true);
  });
});

describe('compiled schemas are kept by what they take', () => {
  const compiled = (schema: Json) => {
    const made = compileUserSchema(JSON.stringify({ schema }));
    if ('errors' in made) throw new Error(JSON.stringify(made.errors));
    return made;
  };
  /** Of few characters; no two patterns are equal, nor any of another letter. */
  const heavy = (letter: string): Json => ({
    properties: named(3, (i) => ({ pattern: `^\\p{L}{300}${letter}${i}$` })),
  });
  const light = (i: number): Json => ({ properties: { [`light${i}`]: { type: 'string' } } });

  test('repetitions in patterns weigh as they are written out, and so do classes by property', () => {
    const chars = JSON.stringify(heavy('a')).length;
    expect(chars).toBeLessThan(200);
    expect(compiled(heavy('a')).held).toBeGreaterThan(15_000_000);
    const pattern = (text: string) => compiled({ properties: { custom: { pattern: text } } }).held;
    expect(pattern('^\\p{L}{200}$') - pattern('^[a-z]{200}$')).toBeGreaterThan(1_500_000);
    expect(pattern('^\\pL{200}$'), 'of one letter').toBeGreaterThan(pattern('^\\p{L}{199}$'));
    expect(pattern('^[a-z]+$')).toBeLessThan(200_000);
    const names = compiled({ dependencies: named(200, () => ['b']) }).held;
    expect(names, 'each name is code of its own').toBeGreaterThan(200 * 1500);
  });

  test('many that take little are kept, of those that take much the last ones', () => {
    const small = many(200, (i) => compiled(light(i)));
    expect(compiled(light(0))).toBe(small[0]);
    const large = [...'abcde'].map((letter) => compiled(heavy(letter)));
    expect(compiled(heavy('e'))).toBe(large.at(-1));
    expect(compiled(light(0))).not.toBe(small[0]);
    expect(compiled(heavy('a'))).not.toBe(large[0]);
  });
});

describe('patterns of a schema that is new weigh as they are written out: one kilobyte of them took half a second of each record', () => {
  const data = (schema: Json) => JSON.stringify({ schema });
  const pattern = (source: (i: number) => string, count = 25): Json => ({
    properties: named(count, (i) => ({ pattern: source(i) })),
  });
  const byNames = (source: (i: number) => string): Json => ({
    patternProperties: Object.fromEntries(many(25, (i) => [source(i), {}])),
  });
  /** The longest class there may be, no two of whose characters are side by side. */
  const long = many(240, (i) => String.fromCharCode(300 + 2 * i)).join('');

  test.each<[string, Json, string]>([
    ['a class in a group', byNames((i) => `^(\\pL{200}|${i}){2}`), '/patternProperties/^(\\pL{200}|3){2}'],
    ['a class between two ends', pattern((i) => `^${i}\\p{L}{1,400}$`), '/properties/p3/pattern'],
    ['a class in brackets', pattern((i) => `^[\\PL${i}]{1,400}$`), '/properties/p3/pattern'],
    ['many classes in brackets', pattern((i) => `^[\\pL\\pN\\pP${i}]{1,400}$`, 20), '/properties/p1/pattern'],
    ['long classes', pattern((i) => `^[${long}${i}]{1,400}$`), '/properties/p7/pattern'],
  ])('%s', (_, schema, pointer) => {
    const made = compileUserSchema(data(schema), true);
    expect('errors' in made && made.errors).toMatchObject([
      { instancePath: `/data/schema${pointer}`, keyword: 'pattern', message: expect.stringContaining('12800 steps') },
    ]);
    expect(compileUserSchema(data(schema)), 'the books may have it').toHaveProperty('check');
  });

  test.each<[string, Json]>([
    ['ten names of a hundred letters', pattern((i) => `^${i}?\\p{L}{1,100}$`, 10)],
    ['ten of letters and what stands between', pattern((i) => `^[\\p{L} .'${i}-]{1,100}$`, 10)],
    ['the same name in as many members as may have one', pattern(() => '^\\p{L}{1,300}$')],
    ['as many codes as there may be', pattern((i) => `^${i}[A-Za-z0-9ÁÉÍÓÚáéíóúÑñ .-]{1,400}$`)],
    ['as many as there may be, as large as they may be', pattern((i) => `${'ab'[i % 2]}a{${500 - i}}`)],
  ])('but there is room for %s', (_, schema) => {
    expect(compileUserSchema(data(schema), true)).toHaveProperty('check');
  });

  test('what is known already is weighed too', () => {
    const schema = data(pattern((i) => `^known${i}\\p{L}{1,200}$`));
    expect(compileUserSchema(schema)).toHaveProperty('check');
    expect(compileUserSchema(schema, true)).toHaveProperty('errors');
  });

  test('none is compiled a second time to tell all errors, or for another member', () => {
    const { RE2JS } = createRequire(import.meta.url)('re2js') as typeof import('re2js');
    const compile = vi.spyOn(RE2JS, 'compile');
    const twice = (source: string) => ({ a: { pattern: source }, b: { pattern: source } });
    const schema = { properties: { ...twice('^once$'), c: { pattern: '^and this$' } } };
    expect(check(schema, { a: 'x', b: 'x', c: 'x' })).toEqual([
      '/data/a pattern',
      '/data/b pattern',
      '/data/c pattern',
    ]);
    expect(compile.mock.calls).toEqual([['^once$'], ['^and this$']]);
    compile.mockRestore();
  });
});

/** Every level of the data is tried twice, and each try tries the next twice. */
function deepChoice(): Json {
  const a = { anyOf: [{ $ref: '#/properties/custom' }, { $ref: '#/properties/custom' }] };
  return { properties: { custom: { properties: { a }, type: 'object' } } };
}

/** Every list, at whatever depth, must hold different items. */
function unique(): Json {
  return {
    properties: { custom: { $ref: '#/definitions/u' } },
    definitions: { u: { uniqueItems: true, items: { $ref: '#/definitions/u' } } },
  };
}
