/** Texts that two readers of JSON read differently are nothing that the checker in a browser takes for proven. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { canon } from '../../src/proof/canon.ts';
import { textOfUtf8 } from '../../src/story/bytes.ts';
import { parseJson } from '../../src/story/json.ts';
import { readData } from '../proof/data.ts';
import { proof, sha256 } from '../support/client.ts';
import { answerOf, honest, keys, sealed, verdictOf } from './forged.ts';

/** A file of the test suite: base64, or a text repeated. */
type Packed = string | { repeat: string; times: number; then?: string };

const bytesIn = (packed: Packed): Uint8Array =>
  typeof packed === 'string'
    ? Buffer.from(packed, 'base64')
    : Buffer.from(packed.repeat.repeat(packed.times) + (packed.then ?? ''));

describe('texts that readers read differently are wrong', () => {
  // The hash is that of what JSON.parse makes of it: it would have said nothing.
  const data = (text: string) => answerOf('X').replace('"data":X', `"data":${text}`);
  const hashed = (text: string) => {
    const hash = sha256(canon(JSON.parse(text)));
    const meta = JSON.stringify({ proofs: [proof(hash, keys, sealed)] });
    return `{"data":${text},"hash":"${hash}","luid":"${sealed.luid}","meta":${meta}}`;
  };
  test.each([
    ['a member twice', '{"a":1,"a":2}'],
    ['a member twice, once written otherwise', '{"a":1,"\\u0061":2}'],
    ['a whole number past 2^53', '{"a":9007199254740993}'],
    ['a whole number that is written with an exponent', '{"a":1000000000000000000000}'],
    ['a number past the double', '{"a":1e999}'],
    ['a number nearer to nothing than a double', '{"a":1e-400}'],
    ['an amount that is a little less to all who read decimals', '{"a":249.99999999999999}'],
    ['a fraction of which the last digit is another one to a double', '{"a":0.12345678901234567}'],
    ['a whole number past 2^53 with a point', '{"a":12345678901234567999.0}'],
    ['a fraction with digits that no double has', '{"a":0.49999999999999999999}'],
  ])('%s', (_, text) => {
    expect(verdictOf(hashed(text))).toBe('wrong');
  });

  test.each([
    '{"a":-0}',
    '{"a":1e21}',
    '{"a":1.0}',
    '{"a":[0.0,-0.0,0e5,250.50,1E-07,1.5e+3,-2.50e-300,0.1,5e-324,1.7976931348623157e308]}',
    '{"a":123456789012345680000}',
    '{"a":"\\ud800"}',
    '{"__proto__":{"a":1}}',
    ' { "a" : [ 1 , 2 ] , "b" : { } } ',
  ])('%s is read alike', (text) => {
    expect(verdictOf(hashed(text))).toBe('signed');
  });

  test.each([
    '',
    ' ',
    '{',
    '[1',
    'nul',
    'NaN',
    '01',
    '1.',
    '.5',
    '+1',
    '"\n"',
    '"\\x"',
    "{'a':1}",
    '{"a":1,}',
    '[1,]',
    '"\ud800"',
    '\ufeff{}',
    '{} {}',
  ])('no JSON: %j', (text) => {
    expect(() => parseJson(text)).toThrow();
    expect(verdictOf(data(text))).toBe('wrong');
  });

  test.each([
    ['[1}', 3],
    ['{"a":1]', 7],
    ['[1 2]', 4],
    ['{a":1}', 2],
    ['{"a"1}', 5],
    ['{"a":1,b":2}', 8],
    ['"\nn"', 2],
    ['"\u0000', 2],
    ['"\\u12g4"', 4],
    ['"\\q"', 4],
    ['"\\', 4],
    ['"abc', 5],
    [' tru', 2],
    ['', 1],
  ])('no JSON: %j from character %i on', (text, at) => {
    expect(() => parseJson(text)).toThrow(`it is no JSON, from character ${at} on`);
  });

  test('a number of very many zeros, at once', () => {
    const long = `{"a":0.1${'0'.repeat(2_000_000)}1}`;
    expect(() => parseJson(long)).toThrow('readers take for different ones');
    expect(parseJson(`{"a":0.1${'0'.repeat(2_000_000)}}`)).toEqual({ a: 0.1 });
  });

  test('a nesting that no server takes', () => {
    const deep = (levels: number) => '['.repeat(levels) + ']'.repeat(levels);
    expect(parseJson(deep(640))).toEqual(JSON.parse(deep(640)));
    expect(() => parseJson(deep(641))).toThrow('nested deeper');
    const deepObject = (levels: number) => `${'{"a":'.repeat(levels)}1${'}'.repeat(levels)}`;
    expect(canon(parseJson(deepObject(640)))).toBe(deepObject(640));
    expect(() => parseJson(deepObject(641))).toThrow('it is nested deeper than 640 levels');
    expect(verdictOf('['.repeat(1_000_000))).toBe('wrong');
    expect(verdictOf('{"a":'.repeat(1_000_000))).toBe('wrong');
  });

  test('nor is one of more parts than a page has memory for: nobody has looked', () => {
    const many = (count: number) => `[${'1,'.repeat(count - 1)}1]`;
    expect([verdictOf(many(4_000_000)), verdictOf(many(4_000_001))]).toEqual(['wrong', 'unchecked']);
  });

  test('names that every object has in JavaScript are members as any', () => {
    const value = parseJson('{"__proto__":{"x":1},"constructor":2,"toString":3}') as Record<string, unknown>;
    expect(canon(value)).toBe('{"__proto__":{"x":1},"constructor":2,"toString":3}');
    expect(value.x).toBeUndefined();
    // A member that is not there is not taken from there.
    for (const name of ['hash', 'data', 'meta', 'luid']) {
      const text = JSON.stringify({ ...JSON.parse(honest), [name]: undefined });
      expect(verdictOf(`${text.slice(0, -1)},"__proto__":${honest}}`), name).toBe('wrong');
    }
  });

  test('what JSON.parse reads alike is the same value', () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 5 }), fc.constantFrom(undefined, 1, '\t'), (value, space) => {
        const text = JSON.stringify(value, null, space);
        expect(canon(parseJson(text))).toBe(canon(JSON.parse(text)));
      }),
    );
  });

  test('the JSON test suite: what must be taken is, but for members that are there twice, what must be refused is', () => {
    const { files } = readData<{ files: Record<string, Packed> }>('jsontestsuite.json');
    const read = (packed: Packed) => {
      try {
        return canon(parseJson(textOfUtf8(bytesIn(packed))));
      } catch {
        return 'refused';
      }
    };
    const verdicts = Object.entries(files).map(([name, packed]) => [name, read(packed)] as const);
    const taken = verdicts.filter(([, text]) => text !== 'refused').map(([name]) => name);
    expect(taken.filter((name) => name.startsWith('n_'))).toEqual([]);
    const missing = verdicts
      .filter(([name, text]) => name.startsWith('y_') && text === 'refused')
      .map(([name]) => name);
    expect(missing).toEqual(['y_object_duplicated_key', 'y_object_duplicated_key_and_value']);
    for (const [name, text] of verdicts) {
      if (text !== 'refused') expect(text, name).toBe(canon(JSON.parse(textOfUtf8(bytesIn(files[name]!)))));
    }
  });
});
