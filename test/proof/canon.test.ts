/**
 * Canonical text: against the published vectors of RFC 8785, against the texts the public package makes, and
 * against a plain sort-and-stringify written apart from it.
 */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { canon, settle } from '../../src/proof/canon.ts';
import { readData } from './data.ts';

interface JsonFiles {
  /** Base64, or a text repeated. */
  files: Record<string, string | { repeat: string; times: number; then?: string }>;
}

interface CanonFiles {
  files: Record<string, { input: string; output: string }>;
}

const rfc8785 = readData<CanonFiles>('rfc8785.json');
const suite = readData<JsonFiles>('jsontestsuite.json');

/** The oracle: what RFC 8785 says, with no thought of speed. */
function plainCanon(value: unknown): string {
  if (value === null || typeof value !== 'object') return JSON.stringify(value);
  if (Array.isArray(value)) return `[${value.map(plainCanon).join(',')}]`;
  const members = Object.entries(value).sort(([a], [b]) => compareUnits(a, b));
  return `{${members.map(([key, member]) => `${JSON.stringify(key)}:${plainCanon(member)}`).join(',')}}`;
}

function compareUnits(a: string, b: string): number {
  for (let i = 0; i < Math.min(a.length, b.length); i++) {
    if (a.charCodeAt(i) !== b.charCodeAt(i)) return a.charCodeAt(i) - b.charCodeAt(i);
  }
  return a.length - b.length;
}

describe('RFC 8785', () => {
  for (const [name, { input, output }] of Object.entries(rfc8785.files)) {
    test(name, () => expect(canon(JSON.parse(input))).toBe(output));
  }
});

describe('JSONTestSuite: canonical text is stable for all that parses', () => {
  for (const [name, file] of Object.entries(suite.files)) {
    const text =
      typeof file === 'string'
        ? Buffer.from(file, 'base64').toString('utf8')
        : file.repeat.repeat(file.times) + (file.then ?? '');
    const value = parsed(text);
    if (value === undefined) {
      test(`${name} does not parse`, () => expect(name.startsWith('y_')).toBe(false));
      continue;
    }
    test(name, () => {
      const once = canon(value);
      expect(once).toBe(plainCanon(value));
      expect(canon(JSON.parse(once))).toBe(once);
    });
  }
});

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

describe('texts that are easily got wrong', () => {
  const rows: [name: string, json: string, canonical: string][] = [
    ['keys sort by code units, not by code points', '{"\ufb33":1,"\ud83d\ude00":2}', '{"\ud83d\ude00":2,"\ufb33":1}'],
    ['keys that look like numbers sort as texts', '{"9":1,"10":2,"1":3}', '{"1":3,"10":2,"9":1}'],
    ['__proto__ is a key', '{"b":1,"__proto__":{"a":1},"a":2}', '{"__proto__":{"a":1},"a":2,"b":1}'],
    ['constructor and toJSON are keys', '{"toJSON":1,"constructor":2}', '{"constructor":2,"toJSON":1}'],
    ['the empty key', '{"a":1,"":2}', '{"":2,"a":1}'],
    ['keys with escapes', '{"\\"":1,"\\n":2,"\\\\":3}', '{"\\n":2,"\\"":1,"\\\\":3}'],
    ['a shorter key before a longer one', '{"ab":1,"a":2}', '{"a":2,"ab":1}'],
    ['lone surrogates', '["\\ud800","\\udead x","x\\udbff"]', '["\\ud800","\\udead x","x\\udbff"]'],
    ['a lone surrogate in a key', '{"\\udfff":1}', '{"\\udfff":1}'],
    ['a pair of surrogates stays', '["\\ud83d\\ude00"]', '["\ud83d\ude00"]'],
    ['control characters', '["\\u0000\\u001f\\b\\f\\t\\u007f"]', '["\\u0000\\u001f\\b\\f\\t\u007f"]'],
    ['line separators stay', '["\\u2028\\u2029"]', '["\u2028\u2029"]'],
    ['solidus stays', '["\\/"]', '["/"]'],
    ['minus zero', '[-0, -0.0, 0e5]', '[0,0,0]'],
    [
      'numbers',
      '[1E21, 1e-7, 123456789012345680000, 0.000001, 1.50]',
      '[1e+21,1e-7,123456789012345680000,0.000001,1.5]',
    ],
    ['numbers past the double', '[1e999,-1e999]', '[null,null]'],
    ['nothing in it', '{"a":{},"b":[],"c":""}', '{"a":{},"b":[],"c":""}'],
    [
      'strings beside other values',
      '{"a":"x","b":1,"c":"y","d":"z","e":"\\n"}',
      '{"a":"x","b":1,"c":"y","d":"z","e":"\\n"}',
    ],
    ['literals', '[true,false,null]', '[true,false,null]'],
  ];
  for (const [name, json, canonical] of rows) {
    test(name, () => expect(canon(JSON.parse(json))).toBe(canonical));
  }

  test('a value settles as what its text says, and is left alone where it says that already', () => {
    for (const [json, settled] of [
      ['{"a":[{"b":-0}]}', '{"a":[{"b":0}]}'],
      ['{"a":1e999,"b":-1e999}', '{"a":null,"b":null}'],
    ] as const) {
      expect(settle(JSON.parse(json))).toStrictEqual({ text: settled, value: JSON.parse(settled) });
    }
    const value = JSON.parse('{"a":[0,-1,1.5,5e-324,1.7976931348623157e308,null,"-0"]}');
    expect(settle(value).value).toBe(value);
  });

  test('members that are undefined are left out', () => {
    expect(canon({ b: undefined, a: 1 })).toBe('{"a":1}');
    expect(canon({ b: undefined })).toBe('{}');
  });

  const edges = [0, 0x1f, 0x20, 0x22, 0x5c, 0x7f, 0x80, 0xd7ff, 0xd800, 0xdbff, 0xdc00, 0xdfff, 0xe000, 0xfeff, 0xffff];
  test.each(edges)('code unit %i at the end of a short and of a long string, and of a key', (code) => {
    for (const length of [0, 31, 32, 200]) {
      const text = 'a'.repeat(length) + String.fromCharCode(code);
      expect(canon(text)).toBe(JSON.stringify(text));
      expect(canon([text])).toBe(JSON.stringify([text]));
      expect(canon({ [text]: text })).toBe(JSON.stringify({ [text]: text }));
    }
  });

  test('more keys than insertion sorts, and than are cached', () => {
    const value = Object.fromEntries(Array.from({ length: 10_000 }, (_, i) => [`k${(i * 7919) % 10_000}`, `${i}`]));
    expect(canon(value)).toBe(plainCanon(value));
    expect(canon({ b: 'x', a: 'y' })).toBe('{"a":"y","b":"x"}');
  });
});

/** JSON.parse of Node 24 and 25 takes names with a backslash for those of later objects: see http/json. */
const MISREADS_KEYS = Number.parseInt(process.versions.node, 10) >= 24;

describe('generated values', () => {
  const units = fc.string({ unit: fc.integer({ min: 0, max: 0xffff }).map((code) => String.fromCharCode(code)) });
  const short = fc.string({ unit: fc.constantFrom('a', 'b', '"', '\\', '\n', '1', 'é', '\ud800', '\ude00', '\uffff') });
  const long = fc.string({
    unit: fc.constantFrom('a', 'é', '"', '\u001f', '\udc00'),
    minLength: 30,
    maxLength: 80,
    size: 'max',
  });
  const texts = fc.oneof(units, short, long);
  const values = fc.letrec((tie) => ({
    value: fc.oneof(
      { maxDepth: 5 },
      fc.oneof(
        fc.constant(null),
        fc.boolean(),
        fc.double({ noNaN: true, noDefaultInfinity: true }),
        fc.maxSafeInteger(),
      ),
      texts,
      fc.array(tie('value'), { maxLength: 6 }),
      fc.array(fc.tuple(fc.oneof(texts, fc.constantFrom('__proto__', 'a', '10', '9')), tie('value')), {
        maxLength: 30,
        size: 'max',
      }),
    ),
  })).value;

  test('equal to sort-and-stringify, and stable', () => {
    fc.assert(
      fc.property(values, (value) => {
        const parsedValue: unknown = JSON.parse(JSON.stringify(objectsOf(value)));
        const text = canon(parsedValue);
        expect(text).toBe(plainCanon(parsedValue));
        expect(canon(JSON.parse(text))).toBe(text);
        expect(JSON.parse(text)).toStrictEqual(parsedValue);
      }),
      { numRuns: 500 },
    );
  });

  /** Arrays of [key, value] pairs become objects, with __proto__ as an own member. */
  function objectsOf(value: unknown): unknown {
    if (!Array.isArray(value)) return value;
    const pairs = value.every((item) => Array.isArray(item) && item.length === 2 && typeof item[0] === 'string');
    if (!pairs || value.length === 0) return value.map(objectsOf);
    const object = {};
    for (const [name, member] of value as [string, unknown][]) {
      const key = MISREADS_KEYS ? name.replaceAll('\\', '/') : name;
      Object.defineProperty(object, key, {
        value: objectsOf(member),
        enumerable: true,
        configurable: true,
        writable: true,
      });
    }
    return object;
  }
});
