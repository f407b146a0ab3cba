/** Bytes that are no entry, or another one than was written: whoever reads says so, or reads what all others do. */
import { isDeepStrictEqual } from 'node:util';
import { Packr } from 'msgpackr';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Entry, EntryType, type Links, type Outcome, Side } from '../../src/core/entry.ts';
import { Kind } from '../../src/core/kinds.ts';
import { decode, decodeNextFacts } from '../../src/storage/codec.ts';
import { passNext, passNextNoting } from '../../src/storage/entry-bytes.ts';
import { sha256 } from '../../src/storage/format.ts';
import { CodecError } from '../../src/storage/msgpack.ts';
import { createdAt, elementsOf, encoded, FORMATS } from './elements.ts';
import { entriesFrom, intentFrom } from './kit.ts';

/** What bytes of MessagePack and of JSON begin and end with. */
const HEADS = [0x22, 0x5c, 0x5d, 0x7d, 0x90, 0x96, 0xa0, 0xc0, 0xc4, 0xcb, 0xcf, 0xdb, 0xdd];

/** Entries with as much in them as there can be. */
function fullEntries(): Record<string, Entry> {
  const { type, hash, data: _, ...intent } = intentFrom(1, (size) => new Uint8Array(size).fill(3));
  const { luid, handle, ledger, moment, seal } = intent;
  const base = { ledger, luid, handle, moment };
  const key = new Uint8Array(32).fill(5);
  const custom = createdAt(new Date(moment + 70_000).toISOString());
  const proofs = [{ public: key, result: new Uint8Array(64).fill(6), custom }, ...intent.proofs];
  const claims = [
    { action: 'transfer', amount: 12, source: { handle: 'a\\n' }, symbol: 's', target: 'b' },
    { action: 'limit', amount: -1.5, metric: 'maxBalance', symbol: { handle: 's' }, wallet: { handle: 'c' } },
  ];
  const by = Buffer.from(key).toString('base64');
  const data = JSON.stringify({ access: [{ action: 'any' }], by, claims, custom: { a: ['}'] }, schema: 'plain' });
  const links: Links = {
    legs: [{ side: Side.debit, bridge: 3, wallet: 1, symbol: 2, amount: 500, claims: [0, 1] }],
    marks: [1, 0],
    forwards: [{ claim: 1, wallet: 2, symbol: 2, amount: 500, target: 'd' }],
    routed: [1],
    through: [2],
    failId: 'f',
    leg: 0,
  };
  const steps: Outcome['steps'] = ['prepared', 'failed'];
  const outcome: Outcome = { ...intent.outcome, steps, reason: 'r', detail: 'd', limits: [1, 2, 3], links };
  const step = { type: EntryType.step, ...base, kind: Kind.intent, row: 300 } as const;
  const wallet = JSON.stringify({ bridge: 'b', by, custom: { n: 1 }, handle, routes: [{}], schema: 's' });
  return {
    'an intent': { type, ...intent, hash: sha256(data), data, proofs, outcome },
    'a new wallet': { type: EntryType.create, ...base, kind: Kind.wallet, hash, data: wallet, proofs, seal },
    'a proof': {
      type: EntryType.proof,
      ...base,
      kind: Kind.wallet,
      row: 3,
      proof: proofs[1]!,
      status: 's',
      labels: ['a'],
    },
    'the end of an intent': { ...step, outcome: intent.outcome },
    'the outcome of half an intent': { ...step, outcome },
    'a delivery': {
      ...{ type: EntryType.delivery, ...base, kind: Kind.effect, row: 3, seq: 400 },
      ...{ index: 0, attempts: 2, isDelivered: false, detail: 'no' },
    },
  };
}

/** What is read, or null where a CodecError was thrown. */
function orNull<T>(read: () => T): T | null {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof CodecError)) throw error;
    return null;
  }
}

describe.each(FORMATS)('bytes that are no entry of %s', (_format, encodes) => {
  const next = entriesFrom(5);
  const samples = Array.from({ length: 12 }, next);

  const decoded = (bytes: Uint8Array, from: number, to: number) => orNull(() => decode(bytes, from, to));

  test('cut short at any byte: a CodecError', () => {
    for (const sample of samples) {
      const { buffer, from } = encoded(sample, encodes);
      for (let to = from; to < buffer.end; to++) {
        if (decoded(buffer.bytes, from, to) !== null) expect.fail(`byte ${to} was not missed`);
      }
      expect(() => decode(buffer.bytes, from, buffer.end + 1)).toThrow(CodecError);
    }
  });

  test('any byte changed: a CodecError or another entry, nothing else', () => {
    for (const sample of samples) {
      const { buffer, from } = encoded(sample, encodes);
      expect(isDeepStrictEqual(decoded(buffer.bytes, from, buffer.end), sample)).toBe(true);
      for (let at = from; at < buffer.end; at++) {
        for (const mask of [0x01, 0x80]) {
          buffer.bytes[at]! ^= mask;
          const read = decoded(buffer.bytes, from, buffer.end);
          if (isDeepStrictEqual(read, sample)) expect.fail(`byte ${at} does not count`);
          buffer.bytes[at]! ^= mask;
        }
      }
    }
  });

  test.each([
    ['an array of 4294967295 elements', [0xdd, 0xff, 0xff, 0xff, 0xff]],
    ['a text of 4294967295 bytes', [0x9c, 0xdb, 0xff, 0xff, 0xff, 0xff]],
    ['nothing', []],
    ['nil', [0xc0]],
    ['arrays within arrays', new Array(10_000).fill(0x91)],
  ])('%s: a CodecError at once', (_name, given) => {
    expect(() => decode(Uint8Array.from(given), 0, given.length)).toThrow(CodecError);
  });

  test.each([
    ['from behind to', 5, 4],
    ['to behind the end', 0, 11],
    ['from before the start', -1, 5],
  ])('%s: a CodecError', (_name, from, to) => {
    expect(() => decode(new Uint8Array(10), from, to)).toThrow(CodecError);
  });
});

describe('any byte changed, whoever reads', () => {
  // Of some ten thousand errors nobody looks at the stack.
  const { stackTraceLimit } = Error;
  beforeAll(() => {
    Error.stackTraceLimit = 0;
  });
  afterAll(() => {
    Error.stackTraceLimit = stackTraceLimit;
  });

  test.each(Object.entries(fullEntries()))('%s: a CodecError, or one end for all and the same entry', (_, sample) => {
    const { buffer, from } = encoded(sample);
    const { bytes, end } = buffer;
    const words = new Int32Array(200);
    expect(decode(bytes, from, end)).toStrictEqual(sample);
    for (let at = from; at < end; at++) {
      const right = bytes[at]!;
      // Within a key or a signature, of one byte many times here, all are alike.
      if (bytes[at - 1] === right && bytes[at + 1] === right) continue;
      for (const wrong of [right ^ 0x01, right ^ 0x80, ...HEADS]) {
        if (wrong === right) continue;
        bytes[at] = wrong;
        const where = `byte ${at} as ${wrong}`;
        const [cursor, passed, noted] = [{ at: from }, { at: from }, { at: from }];
        const entry = orNull(() => decode(bytes, from, end));
        const facts = orNull(() => decodeNextFacts(bytes, cursor, end));
        orNull(() => passNext(bytes, passed, end));
        const notes = orNull(() => passNextNoting(bytes, noted, end, words, 0));
        if (Math.max(cursor.at, passed.at, noted.at) > end) expect.fail(`${where}: read beyond the end`);
        if (isDeepStrictEqual(entry, sample)) expect.fail(`${where} does not count`);
        if (facts === null || cursor.at !== end) continue;
        // What both tell is the same.
        if (entry !== null && !isDeepStrictEqual({ ...entry, ...facts }, { ...facts, ...entry }))
          expect.fail(`${where}: replay reads another entry`);
        if (notes === null || noted.at !== end) continue;
        const again = decodeNextFacts(bytes, { at: from }, end, { words, at: 0, end: notes });
        if (!isDeepStrictEqual(again, facts)) expect.fail(`${where}: another entry with notes`);
      }
      bytes[at] = right;
    }
  });
});

describe('what the server would have to have written wrong itself is told', () => {
  const packr = new Packr({ useRecords: false });
  const full = fullEntries();
  const intent = full['an intent']!;
  const step = full['the outcome of half an intent']!;
  type Change = (elements: unknown[]) => void;
  const put =
    (value: unknown, ...path: number[]): Change =>
    (elements) => {
      const last = path.pop()!;
      const list = path.reduce((each, index) => each[index] as unknown[], elements);
      list[last] = value;
    };
  const [MOMENT, DATA, PROOFS, THREAD, OUTCOME, LINKS] = [5, 6, 7, 9, 7, 6];

  test.each<[string, Entry, Change, RegExp]>([
    ['a transfer of nothing', step, put([0, 1, 2, 0, 3], OUTCOME), /a transfer of nothing/],
    ['an outcome of another length', step, put([0, [], '', ''], OUTCOME), /an outcome of another length/],
    ['a status that there is not', step, put([99], OUTCOME, 1), /no status/],
    ['links of another length', step, put([[]], OUTCOME, LINKS), /links of another length/],
    ['a leg without an amount', step, put([[0, 3, 1, 2]], OUTCOME, LINKS, 0), /no leg/],
    ['a leg of no side', step, put([[9, 3, 1, 2, 500, 0]], OUTCOME, LINKS, 0), /no leg/],
    ['a forward without its target', step, put([], OUTCOME, LINKS, 3), /forwards without a target/],
    ['a target without its forward', step, put([], OUTCOME, LINKS, 2), /forwards without a target/],
    ['a proof of another length', intent, put([[0, Buffer.alloc(64)]], PROOFS), /a proof of another length/],
    ['a proof of the year 300000', intent, put(8.64e15, PROOFS, 0, 2), /a proof made 8640000000000000 ms later/],
    ['a moment before all', intent, put(-8.64e15, MOMENT), /is no moment/],
    ['a thread without a name', intent, put('', THREAD), /a thread without a name/],
    ['a key beyond the data', intent, put(9999, PROOFS, 0, 0), /no key at 9999/],
    ['a delivery that is neither', full['a delivery']!, put(2, 10), /2 is neither yes nor no/],
  ])('%s', (_, value, change, message) => {
    const elements = elementsOf(value, 3);
    const right = packr.pack(elements);
    expect(decode(right, 0, right.length)).toEqual(value);
    change(elements);
    const wrong = packr.pack(elements);
    expect(() => decode(wrong, 0, wrong.length)).toThrow(message);
    expect(() => decode(wrong, 0, wrong.length)).toThrow(CodecError);
  });

  test.each<[string, string, RegExp]>([
    ['no object', '[]', /no canonical JSON/],
    ['no claims', '{"schema":"s"}', /without claims/],
    ['claims that are none', '{"claims":{}}', /no canonical JSON/],
    ['a claim without an action', '{"claims":[{"amount":1}]}', /no canonical JSON/],
    ['a claim of another action', '{"claims":[{"action":"give"}]}', /no known action/],
    ['a claim without its wallet', '{"claims":[{"action":"issue","amount":1}]}', /without its target/],
    ['a member without a colon', '{"claims":[{"action" "issue"}]}', /no canonical JSON/],
    ['a text without an end', '{"claims":[{"action":"issue}]}', /no canonical JSON/],
    ['a list without an end', '{"a":[[[1],"claims":[]}', /no canonical JSON/],
    ['a number without an end', '{"claims":[{"amount":1', /no canonical JSON/],
    ['a wallet that is a number', '{"claims":[{"action":"issue","target":1}]}', /no canonical JSON/],
    ['an escape that there is not', '{"claims":[{"action":"issue","target":"\\x"}]}', /no canonical JSON/],
  ])('to replay, which takes of data what it needs: %s', (_, data, message) => {
    const elements = elementsOf({ ...intent, proofs: [] } as Entry, 3);
    put(data, DATA)(elements);
    const bytes = packr.pack(elements);
    expect(() => decodeNextFacts(bytes, { at: 0 }, bytes.length)).toThrow(message);
    expect(() => decodeNextFacts(bytes, { at: 0 }, bytes.length)).toThrow(CodecError);
  });
});
