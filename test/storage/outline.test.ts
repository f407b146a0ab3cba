/** What replay reads of an intent's data where it lies, against what parsing the same data gives. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { actionNumber } from '../../src/core/claims/index.ts';
import { ASKED_MEMBERS, hashText, outlineOf } from '../../src/core/outline.ts';
import { canon } from '../../src/proof/canon.ts';
import { CodecError } from '../../src/storage/msgpack.ts';
import { noteHashes, noteOutline, readAsked, readIntentOutline } from '../../src/storage/outline.ts';
import { often } from '../support/long.ts';

/** Names and texts that look like what is looked for, and like the marks it is found by. */
const word = fc.oneof(
  fc.constantFrom('access', 'claims', 'schema', 'x","schema":"y', '","claims":[', '{"claims":', 'a\\', '\\"', '"', ''),
  fc.string({ unit: 'grapheme', maxLength: 12 }),
);
const value = fc.letrec((tie) => ({
  any: fc.oneof(
    { maxDepth: 3 },
    word,
    fc.constantFrom(null, true, false, 0, -1.5, 1e21, 12),
    fc.array(tie('any'), { maxLength: 4 }),
    fc.dictionary(word, tie('any'), { maxKeys: 4, noNullPrototype: true }),
  ),
})).any;
const reference = fc.oneof(
  word,
  fc
    .tuple(fc.dictionary(word, value, { maxKeys: 3, noNullPrototype: true }), word)
    .map(([more, handle]) => ({ ...more, handle })),
);
const claim = fc
  .tuple(
    fc.dictionary(word, value, { maxKeys: 4, noNullPrototype: true }),
    fc.record(
      {
        action: fc.constantFrom('transfer', 'issue', 'destroy', 'limit'),
        amount: fc.oneof(fc.nat(), fc.maxSafeNat(), fc.double({ noNaN: true, noDefaultInfinity: true })),
        ...{ source: reference, target: reference, wallet: reference },
      },
      { noNullPrototype: true },
    ),
  )
  .map(([more, known]) => ({ ...more, ...known }));
const claims = fc.array(claim, { maxLength: 3 });
const intent = fc
  .tuple(
    fc.dictionary(word, value, { maxKeys: 6, noNullPrototype: true }),
    fc.record({ access: value, claims, schema: value }, { requiredKeys: ['claims'], noNullPrototype: true }),
  )
  .map(([more, known]) => ({ ...more, ...known }));

function outlineAt(text: string, before: string) {
  const bytes = Buffer.from(`${before}${text}}]"`);
  const from = Buffer.byteLength(before);
  return readIntentOutline(bytes, from, from + Buffer.byteLength(text));
}

describe('outline', () => {
  test('bytes give what the value gives, whatever stands beside it and around it', () => {
    fc.assert(
      fc.property(intent, word, (data, before) => {
        const parsed = JSON.parse(canon(data));
        expect(outlineAt(canon(data), before)).toEqual(outlineOf(parsed));
      }),
      { numRuns: often(600, 20_000) },
    );
  });

  test('notes made ahead, of as many intents as there was room for, give the same', () => {
    fc.assert(
      fc.property(fc.array(intent, { minLength: 1, maxLength: 4 }), fc.nat({ max: 80 }), (all, room) => {
        const texts = all.map((data) => canon(data));
        const bytes = Buffer.from(` ${texts.join('')}`);
        const ends = texts.map((_, index) => 1 + Buffer.byteLength(texts.slice(0, index + 1).join('')));
        const froms = [1, ...ends.slice(0, -1)];
        // Of what was noted there before nothing is left.
        const words = new Int32Array(room).fill(-1);
        let end = 0;
        for (const [index, from] of froms.entries()) end = noteOutline(bytes, from, ends[index]!, words, end) || end;
        const notes = { words, at: 0, end };
        for (const [index, from] of froms.entries()) {
          const value = outlineOf(JSON.parse(texts[index]!));
          expect(readIntentOutline(bytes, from, ends[index]!, notes)).toEqual(value);
        }
        expect(notes.at).toBe(end);
      }),
      { numRuns: often(400, 10_000) },
    );
  });

  test('a schema whose letters are the bytes of the one before is another', () => {
    expect(outlineAt(canon({ claims: [], schema: 'Ã±' }), '').schema).toBe('Ã±');
    expect(outlineAt(canon({ claims: [], schema: 'ñ' }), '').schema).toBe('ñ');
  });

  test.each([
    ['a text in a member that comes last and holds a schema', { claims: [], z: ',"schema":"no"' }, undefined],
    ['a schema in the last member', { claims: [], z: { schema: 'no' } }, undefined],
    ['a last member whose name ends like it', { claims: [], 'z"schema': 'no' }, undefined],
    ['a schema that ends in a backslash', { claims: [], schema: 'a\\' }, 'a\\'],
    ['a schema that is all quotes', { claims: [], schema: '""' }, '""'],
    ['a schema with members behind it', { claims: [], schema: 'yes', z: ',"schema":"no"' }, 'yes'],
    ['a schema that is a number', { claims: [], schema: 7 }, undefined],
    ['a schema outside ASCII', { claims: [], schema: 'año' }, 'año'],
  ])('%s', (_, data, schema) => {
    expect(outlineAt(canon(data), '')).toEqual({ claims: [], names: [], hasAccess: false, hashes: null, schema });
  });

  test.each([
    ['nothing', ''],
    ['no object', '[]'],
    ['an open object', '{"claims":[]'],
    ['an open text', '{"claims":[],"x":"}'],
    ['an open array', '{"claims":[,"x":"y"}'],
    ['a name without a value', '{"claims"}'],
    ['no claims', '{"schema":"x"}'],
    ['claims that are no list', '{"claims":{},"schema":"x"}'],
    ['a claim that is no object', '{"claims":[7],"schema":"x"}'],
    ['a claim without an action', '{"claims":[{"amount":1}],"schema":"x"}'],
    ['an action that is no text', '{"claims":[{"action":7}],"schema":"x"}'],
    ['a wallet without a handle', '{"claims":[{"source":{"x":"y"}}],"schema":"x"}'],
    ['a text with an escape there is none of', '{"claims":[{"action":"\\x"}],"schema":"x"}'],
  ])('%s is told from data', (_, text) => {
    expect(() => outlineAt(text, '')).toThrow(CodecError);
  });
});

describe('hashes of names', () => {
  const SEED = 5;
  const hashed = (claims: unknown, luid = 'luid', handle = 'handle') => {
    const data = canon({ claims, schema: 's' });
    const bytes = Buffer.from(`${luid}${handle}${data}`);
    const luidEnd = Buffer.byteLength(luid);
    const from = luidEnd + Buffer.byteLength(handle);
    const words = new Int32Array(200);
    const end = noteOutline(bytes, from, bytes.length, words, 0);
    noteHashes(bytes, words, 0, SEED, { from: 0, to: luidEnd }, { from: luidEnd, to: from });
    return readIntentOutline(bytes, from, bytes.length, { words, at: 0, end });
  };
  const hash = (name: string) => hashText(SEED, name);
  const signed = (name: string) => hash(name) | 0;

  test('those of the wallets come in the order of claims and members, without texts', () => {
    const { hashes, claims, names, schema } = hashed([
      { action: 'transfer', amount: 1, source: 'a', target: { handle: 'b' }, wallet: 'not asked' },
      { action: 'limit', amount: 2, wallet: { handle: 'c' } },
      { action: 'issue', amount: 3, target: 'd' },
      { action: 'destroy', amount: 4, source: { custom: { handle: 'no' }, handle: 'e' } },
    ]);
    expect(hashes).toEqual({ luid: hash('luid'), handle: hash('handle') });
    expect(schema).toBe('s');
    expect(names).toBe(null);
    expect(claims).toEqual([
      ...[actionNumber('transfer'), 1, signed('a'), signed('b')],
      ...[actionNumber('limit'), 2, 0, signed('c')],
      ...[actionNumber('issue'), 3, 0, signed('d')],
      ...[actionNumber('destroy'), 4, signed('e'), 0],
    ]);
  });

  test('are those of what is meant: a backslash means one thing in JSON, and another in a handle', () => {
    fc.assert(
      fc.property(word, word, word, (luid, handle, name) => {
        const claims = [{ action: 'transfer', amount: 1, source: name, target: { handle: name } }];
        const outline = hashed(claims, luid, handle);
        expect(outline.hashes).toEqual({ luid: hash(luid), handle: hash(handle) });
        expect(outline.claims.slice(2)).toEqual([signed(name), signed(name)]);
      }),
      { numRuns: often(400, 10_000) },
    );
  });

  test.each([
    ['a claim that does not name its wallet', { action: 'transfer', amount: 1, source: 'a', wallet: 'b' }],
    ['a claim of no known action', { action: 'donate', amount: 1, source: 'a', target: 'b' }],
  ])('%s is no outline', (_, claim) => {
    expect(() => hashed([claim])).toThrow(CodecError);
  });
});

describe('what is asked of new records', () => {
  const askedOf = (text: string) => {
    const bytes = Buffer.from(`x${text}]`);
    return readAsked(bytes, 1, 1 + Buffer.byteLength(text));
  };
  /** What is told of a value: an array by whether it holds anything. */
  const told = (each: unknown) => {
    if (typeof each === 'string') return each;
    return Array.isArray(each) ? [each.length > 0] : null;
  };

  test('bytes tell of each member what the value tells, and of others nothing', () => {
    const members = Object.fromEntries(ASKED_MEMBERS.map((member) => [member, fc.oneof(value, word)]));
    const record = fc
      .tuple(
        fc.dictionary(word, value, { maxKeys: 6, noNullPrototype: true }),
        fc.record(members, { requiredKeys: [], noNullPrototype: true }),
      )
      .map(([more, known]) => ({ ...more, ...known }));
    fc.assert(
      fc.property(record, (data) => {
        const parsed = JSON.parse(canon(data)) as Record<string, unknown>;
        const expected = ASKED_MEMBERS.filter((member) => Object.hasOwn(parsed, member));
        const asked = askedOf(canon(data));
        expect(Object.keys(asked).sort()).toEqual(expected);
        for (const member of expected) expect(told(asked[member]), member).toEqual(told(parsed[member]));
      }),
      { numRuns: often(600, 20_000) },
    );
  });

  test.each(['', '{', '[]', '{"a":1', '{"a" :1}', '{"a":1}}', '{"a":1,}x', '{"schema":"\\x"}'])(
    'bytes that are no record are told: %j',
    (text) => {
      expect(() => askedOf(text)).toThrow(CodecError);
    },
  );
});
