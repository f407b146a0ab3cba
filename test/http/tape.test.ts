/**
 * What is read on a tape is JSON, and its canonical text is that of what JSON.parse makes of it.
 */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { BRACKETS_MAX, UNCOUNTED_BYTES_MAX } from '../../src/http/json.ts';
import { TAPE_BYTES_MAX, Tape } from '../../src/http/tape.ts';
import { canon } from '../../src/proof/canon.ts';
import { readData } from '../proof/data.ts';
import { often } from '../support/long.ts';

const DEPTH_MAX = 64;
const tape = new Tape();

/** Its canonical text, null where it is not taken. */
function taken(bytes: Uint8Array, depthMax = DEPTH_MAX): string | null {
  return tape.read(bytes, depthMax) ? tape.canonicalText(0) : null;
}

const takenOf = (text: string, depthMax?: number) => taken(Buffer.from(text), depthMax);

/** Throws where it is taken for anything but what JSON.parse makes of it. Returns whether it is taken. */
function hold(bytes: Buffer): boolean {
  const text = taken(bytes);
  if (text === null) return false;
  expect(text).toBe(canon(JSON.parse(new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes))));
  return true;
}

const suite = readData<{ files: Record<string, unknown> }>('jsontestsuite.json');
const files = Object.entries(suite.files).flatMap(([name, file]) =>
  typeof file === 'string' ? [[name, Buffer.from(file, 'base64')] as const] : [],
);

test('of JSONTestSuite what is taken is read as JSON.parse reads it, and nothing that must be refused is taken', () => {
  const names = files.filter(([, bytes]) => hold(bytes)).map(([name]) => name);
  expect(names.filter((name) => !name.startsWith('y_'))).toEqual([]);
  expect(names.length).toBeGreaterThan(35);
});

test('nothing is taken of which shapes, or objects and arrays, would have to be counted', () => {
  expect(TAPE_BYTES_MAX).toBeLessThanOrEqual(Math.min(UNCOUNTED_BYTES_MAX, BRACKETS_MAX));
});

/** White space where JSON lets it be. */
const space = fc.stringMatching(/^[ \n\r\t]{0,2}$/);
/** A text of a value as somebody may write it, with some of its characters escaped. */
const written = fc
  .tuple(fc.jsonValue({ maxDepth: 4 }), fc.infiniteStream(space), fc.infiniteStream(fc.integer({ min: 0, max: 40 })))
  .map(([value, spaces, dice]) => write(value, spaces, dice));

function write(value: unknown, spaces: Iterator<string>, dice: Iterator<number>): string {
  const pad = (text: string) => `${spaces.next().value}${text}${spaces.next().value}`;
  const quoted = (text: string) =>
    JSON.stringify(text).replace(/[A-Za-z]/g, (letter) => {
      return dice.next().value === 0 ? `\\u${letter.charCodeAt(0).toString(16).padStart(4, '0')}` : letter;
    });
  if (typeof value === 'string')
    return pad(JSON.stringify(value).includes('\\') ? JSON.stringify(value) : quoted(value));
  if (typeof value !== 'object' || value === null) return pad(JSON.stringify(value));
  if (Array.isArray(value)) return pad(`[${pad(value.map((item) => write(item, spaces, dice)).join(','))}]`);
  const members = Object.entries(value).map(([name, member]) => `${pad(quoted(name))}:${write(member, spaces, dice)}`);
  return pad(`{${pad(members.join(','))}}`);
}

test('whatever is written, it is read as JSON.parse reads it, or not taken', () => {
  let count = 0;
  fc.assert(
    fc.property(written, (text) => {
      if (hold(Buffer.from(text))) count++;
    }),
    { numRuns: often(1000, 100_000) },
  );
  expect(count).toBeGreaterThan(200);
});

test('with any byte changed, added or taken out', () => {
  const at = fc.tuple(fc.nat(), fc.integer({ min: 0, max: 255 }), fc.constantFrom(0, 1, 2));
  fc.assert(
    fc.property(written, fc.array(at, { minLength: 1, maxLength: 3 }), (text, edits) => {
      const bytes = [...Buffer.from(text)];
      for (const [place, byte, more] of edits)
        bytes.splice(place % bytes.length, more === 1 ? 0 : 1, ...(more === 2 ? [] : [byte]));
      hold(Buffer.from(bytes));
    }),
    { numRuns: often(2000, 200_000) },
  );
});

describe('what is plain is taken', () => {
  test.each([
    ['members in their order', '{"a":1,"b":[true,false,null],"c":"x"}'],
    ['members in another order', '{"c":{"z":1,"y":{"b":[],"a":{}}},"b":[{"b":1,"a":0}],"a":-7}'],
    ['white space', ' {\n "b" : [ 1 , 2 ] ,\r"a":\t{ } , "c" : [ ] } '],
    ['long texts and short ones side by side', `{"c":"${'x'.repeat(500)}","b":"","a":"y"}`],
    ['characters of more than one byte', '{"b":"ñandú 🦙 \u2028","a":"é"}'],
    ['a name of every object', '{"constructor":1,"__proto__":2}'],
    ['names of which one begins as another', '{"ab":1,"a":2,"abc":3,"":4}'],
    ['the largest numbers', '[9007199254740991,-9007199254740991,0]'],
    ['64 levels', `${'['.repeat(64)}${']'.repeat(64)}`],
    ['24 members in no order', `{${Array.from({ length: 24 }, (_, i) => `"${(i * 7) % 24}":${i}`).join(',')}}`],
    ['a thousand in order', `{${Array.from({ length: 1000 }, (_, i) => `"${1000 + i}":${i}`).join(',')}}`],
    ['as many bytes as there may be', `["${'x'.repeat(TAPE_BYTES_MAX - 4)}"]`],
    ['as many values as there may be', `[${'1,'.repeat(TAPE_BYTES_MAX / 2 - 2)}1]`],
  ])('%s', (_, text) => {
    expect(hold(Buffer.from(text))).toBe(true);
  });
});

describe('what is not plain is left to others', () => {
  test.each([
    ['a name twice', '{"a":1,"a":1}'],
    ['a name twice, far from each other', '{"b":1,"a":1,"b":1}'],
    ['a name twice, deep within', '[{"x":{"b":1,"b":2}}]'],
    ['an escape', '"\\u0041"'],
    ['a name with a longer character', '{"é":1}'],
    ['one behind a value with such', '{"a":"é","é":1}'],
    ['minus zero', '[-0]'],
    ['a fraction', '[1.0]'],
    ['a power of ten', '[1e3]'],
    ['a number that is not exact', '[9007199254740992]'],
    ['another, which is read as one that is', '[-9007199254740993]'],
    ['four hundred digits', `[${'1'.repeat(400)}]`],
    ['a zero before other digits', '[01]'],
    ['65 levels', `${'['.repeat(65)}${']'.repeat(65)}`],
    ['25 members in no order', `{${Array.from({ length: 25 }, (_, i) => `"${(i * 7) % 25}":${i}`).join(',')}}`],
    ['a byte too many', `["${'x'.repeat(TAPE_BYTES_MAX - 3)}"]`],
    ['open brackets alone', '['.repeat(TAPE_BYTES_MAX)],
    ['nothing', ''],
    ['a zero behind it', '{}\u0000'],
  ])('%s', (_, text) => {
    expect(takenOf(text)).toBeNull();
  });

  test('broken UTF-8', () => {
    expect(taken(Buffer.from([0x22, 0xc3, 0x28, 0x22]))).toBeNull();
    expect(taken(Buffer.from([0x22, 0xed, 0xa0, 0x80, 0x22]))).toBeNull();
  });

  test('levels beyond those that are asked for', () => {
    expect([takenOf('[[1]]', 2), takenOf('[[[1]]]', 2), takenOf('1', 0), takenOf('[]', 0)]).toEqual([
      '[[1]]',
      null,
      '1',
      null,
    ]);
  });

  test('what is read next knows nothing of it', () => {
    tape.read(Buffer.from(`"${'é'.repeat(100)}`), DEPTH_MAX);
    expect(takenOf('{"b":"a","a":"b"}')).toBe('{"a":"b","b":"a"}');
    expect(takenOf('{"a":tru')).toBeNull();
    expect(takenOf('[12')).toBeNull();
  });
});
