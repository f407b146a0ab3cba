/**
 * What is taken for JSON. The published JSONTestSuite says what a parser must take and refuse.
 */
import { execFileSync } from 'node:child_process';
import { describe, expect, test } from 'vitest';
import { parseJson } from '../../src/http/json.ts';
import { readData } from '../proof/data.ts';

type Packed = string | { repeat: string; times: number; then?: string };
const suite = readData<{ files: Record<string, Packed> }>('jsontestsuite.json');
const cases = Object.entries(suite.files).map(([name, packed]) => [name, unpack(packed)] as const);

/** A file of the suite: base64, or for the largest a text and how often it stands there. */
function unpack(packed: Packed): Buffer {
  if (typeof packed === 'string') return Buffer.from(packed, 'base64');
  return Buffer.from(packed.repeat.repeat(packed.times) + (packed.then ?? ''));
}

const DEPTH_MAX = 64;
const parseText = (text: string, depthMax = DEPTH_MAX, keysMax?: number) =>
  parseJson(Buffer.from(text), depthMax, keysMax);

describe('JSONTestSuite', () => {
  test('is all there', () => {
    expect(cases.filter(([name]) => name.startsWith('y_')).length).toBeGreaterThan(90);
    expect(cases.filter(([name]) => name.startsWith('n_')).length).toBeGreaterThan(180);
  });

  test.each(cases.filter(([name]) => name.startsWith('y_')))('%s is taken', (_, bytes) => {
    const parsed = parseJson(bytes, DEPTH_MAX);
    expect(parsed.refusal).toBeUndefined();
    expect(parsed).toEqual({ value: JSON.parse(bytes.toString()) });
  });

  test.each(cases.filter(([name]) => name.startsWith('n_')))('%s is refused', (_, bytes) => {
    expect(parseJson(bytes, DEPTH_MAX).refusal).toMatchObject({ reason: 'api.body-malformed' });
  });

  test.each(cases.filter(([name]) => name.startsWith('i_')))('%s does not throw', (_, bytes) => {
    parseJson(bytes, DEPTH_MAX);
  });
});

describe('refused before the parser sees it', () => {
  test.each([
    ['nothing', Buffer.alloc(0), 'body is empty, a JSON value is expected'],
    ['a byte order mark', Buffer.from('\ufeff{}'), 'body must not begin with a byte order mark'],
    [
      'broken UTF-8 in a string',
      Buffer.from([0x22, 0xc3, 0x28, 0x22]),
      'body is not valid UTF-8; it is sent as it is, not compressed',
    ],
    [
      'an encoded surrogate',
      Buffer.from([0x22, 0xed, 0xa0, 0x80, 0x22]),
      'body is not valid UTF-8; it is sent as it is, not compressed',
    ],
    [
      'an overlong slash',
      Buffer.from([0x22, 0xc0, 0xaf, 0x22]),
      'body is not valid UTF-8; it is sent as it is, not compressed',
    ],
    ['UTF-16', Buffer.from('{"a":1}', 'utf16le'), 'body is not valid JSON'],
    ['65 arrays', Buffer.from(`${'['.repeat(65)}${']'.repeat(65)}`), 'body is nested deeper than 64 levels'],
    ['65 objects', Buffer.from(`${'{"a":'.repeat(65)}1${'}'.repeat(65)}`), 'body is nested deeper than 64 levels'],
    ['a megabyte of open arrays', Buffer.alloc(1_000_000, '['), 'body is nested deeper than 64 levels'],
  ])('%s', (_, bytes, detail) => {
    expect(parseJson(bytes, DEPTH_MAX).refusal).toEqual({ reason: 'api.body-malformed', detail });
  });

  describe('ten thousand shapes of objects and one', () => {
    const many = <T>(count: number, make: (n: number) => T): T[] => Array.from({ length: count }, (_, n) => make(n));
    const member = (n: number) => `"name ${n}":0`;
    const orders = (n: number) => [...String(n).padStart(5, '0')].map((digit, at) => `"${digit}${at}":0`).join();
    test.each([
      ['names of one object', (count: number) => `{${many(count, member).join()}}`],
      ['names of as many objects', (count: number) => `[${many(count, (n) => `{${member(n)}}`).join()}]`],
      ['names with escapes', (count: number) => `{${many(count, (n) => `"\\"${n}":0`).join()}}`],
      ['names of objects within others', (count: number) => `{"a":[${many(count - 1, (n) => `{${member(n)}}`)}]}`],
    ])('%s', (_, text) => {
      const detail = 'body has more than 10000 members that are not named as those of another object are';
      expect(parseText(text(9_900)).refusal).toBeUndefined();
      // A few may be taken for others.
      expect(parseText(text(10_500)).refusal).toEqual({ reason: 'api.body-malformed', detail });
    });
    test('few names, each object in another order', () => {
      expect(parseText(`[${many(20_000, (n) => `{${orders(n)}}`).join()}]`).refusal?.detail).toMatch(/^body has more/);
    });
    test('but not a hundred thousand members of objects that are alike', () => {
      const claims = many(25_000, (n) => `{"action":"issue","amount":${n},"target":{"handle":"w${n}"}}`);
      expect(parseText(`{"data":{"claims":[${claims.join()}]}}`).refusal).toBeUndefined();
      const text = `[${many(20_000, (n) => `"a:{[\\":${n}"`).join()}]`;
      expect(parseText(text).refusal).toBeUndefined();
    });
  });

  describe('a hundred thousand objects and arrays and one: a megabyte of brackets took a quarter of a second', () => {
    const detail = 'body has more than 100000 objects and arrays';
    const pairs = (count: number, pair: string) => `[${Array(count).fill(pair).join()}]`;
    test.each([
      ['arrays', (count: number) => pairs(count - 1, '[]')],
      ['objects', (count: number) => pairs(count - 1, '{}')],
      ['both, one in the other', (count: number) => pairs((count - 1) / 3, '[{},[]]')],
    ])('%s', (_, text) => {
      expect(parseText(text(100_000)).refusal).toBeUndefined();
      expect(parseText(text(100_003)).refusal).toEqual({ reason: 'api.body-malformed', detail });
    });
    test('but not as many claims, each written in full, as members allow', () => {
      const claim =
        '{"action":"transfer","amount":1,"source":{"handle":"a"},"symbol":{"handle":"b"},"target":{"handle":"c"}}';
      const data = `{"claims":[${Array(24_990).fill(claim).join()}],"handle":"many"}`;
      expect(parseText(`{"data":${data},"hash":"","meta":{"proofs":[{}]}}`).refusal).toBeUndefined();
    });
  });

  test('one member too many', () => {
    expect(parseText('{"a":1,"b":{"c":2}}', 64, 2).refusal?.detail).toBe('body has more than 2 members');
    expect(parseText('{"a":1,"b":{"c":2}}', 64, 3).refusal).toBeUndefined();
  });
});

describe('not counted', () => {
  test.each([
    ['64 levels', '['.repeat(64) + ']'.repeat(64)],
    ['brackets in strings', JSON.stringify('['.repeat(500))],
    ['brackets behind an escaped quote', JSON.stringify(`"${'[{'.repeat(500)}`)],
    ['brackets behind an escaped backslash', `["\\\\",${'[1],'.repeat(500)}1]`],
    ['brackets side by side', `[${'[],'.repeat(5000)}[]]`],
    ['brackets in keys', `{${JSON.stringify('{'.repeat(500))}:1}`],
  ])('%s', (_, text) => {
    expect(parseText(text)).toEqual({ value: JSON.parse(text) });
  });

  test('colons in strings', () => {
    expect(parseText(JSON.stringify({ a: ':::::' }), 64, 1).refusal).toBeUndefined();
  });
});

test('a part of a larger buffer is parsed alone', () => {
  expect(parseJson(Buffer.from('xx{"a":1}yy').subarray(2, 9), DEPTH_MAX)).toEqual({ value: { a: 1 } });
});

test('keys named like members of the prototype are plain keys', () => {
  const { value } = parseText('{"__proto__":{"admin":true},"constructor":1}') as { value: Record<string, unknown> };
  expect(Object.keys(value)).toEqual(['__proto__', 'constructor']);
  expect(value.admin).toBeUndefined();
});

test.each([
  ['\\\\', '\\n', '\n'],
  ['\\u005C', '\\"', '"'],
  ['a\\\\', 'a\\n', 'a\n'],
  ['\\\\u', '\\u0041b', 'Ab'],
])('a member named %s makes nobody read %s as the same', (backslash, escaped, name) => {
  const first = Buffer.from(backslash).toString('hex');
  parseText(`{"${first}":1,"${backslash}":2}`);
  const { value } = parseText(`{"${first}":1,"${escaped}":2}`) as { value: object };
  expect(Object.keys(value)[1]).toBe(name);
});

test('nor does what is looked at, as a server starts, to know whether one would', () => {
  const body = '{"misread":0,"\\n":1}';
  // Apart, and at once: what nobody uses is soon forgotten.
  const source = `import('${new URL('../../src/http/json.js', import.meta.url)}').then(({ parseJson }) => {
    console.log(JSON.stringify(parseJson(Buffer.from(process.argv[1]), 64).value));
  });`;
  expect(execFileSync(process.execPath, ['-e', source, body], { encoding: 'utf8' })).toBe(`${body}\n`);
});

test('a refusal does not quote the body', () => {
  expect(parseText('{"secret":"s3cr3t",}').refusal?.detail).toBe('body is not valid JSON');
});
