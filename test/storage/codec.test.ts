import { isDeepStrictEqual } from 'node:util';
import fc from 'fast-check';
import { Packr, Unpackr } from 'msgpackr';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  type CreateEntry,
  type Entry,
  EntryType,
  INTENT_STATUSES,
  type Links,
  type Outcome,
  type ProofEntry,
  Side,
  type StoredProof,
  threadOf,
} from '../../src/core/entry.ts';
import { Kind } from '../../src/core/kinds.ts';
import { secondOf } from '../../src/core/luid.ts';
import { decode, decodeNextFacts, encode, entryCodec } from '../../src/storage/codec.ts';
import { passNext, passNextNoting } from '../../src/storage/entry-bytes.ts';
import { sha256 } from '../../src/storage/format.ts';
import { FrameBuffer } from '../../src/storage/frame-buffer.ts';
import type { EntryFormat } from '../../src/storage/journal.ts';
import { CodecError } from '../../src/storage/msgpack.ts';
import { FIRST_FORMAT } from '../support/first-format.ts';
import { often } from '../support/long.ts';
import { SECOND_FORMAT } from '../support/second-format.ts';
import { entriesFrom, intentFrom } from './kit.ts';

const bytes = (length: number) => fc.uint8Array({ minLength: length, maxLength: length });
const text = fc.string({ unit: 'binary', maxLength: 300, size: 'max' });
const luid = fc
  .stringMatching(/^[A-Za-z0-9_-]{17}$/)
  .chain((rest) => fc.stringMatching(/^[a-z]{3}$/).map((prefix) => `$${prefix}.${rest}`));
const handle = fc.oneof(
  fc.stringMatching(/^[A-Za-z0-9_+.-]{1,256}$/),
  fc.string({ unit: 'binary', maxLength: 256, size: 'max' }),
);
const count = fc.oneof(
  fc.maxSafeNat(),
  fc.constantFrom(0, 127, 128, 255, 256, 65535, 65536, 2 ** 32 - 1, 2 ** 32, Number.MAX_SAFE_INTEGER),
);
const number = fc.oneof(
  fc.maxSafeInteger(),
  fc.integer({ min: -70000, max: 70000 }),
  fc.constantFrom(-32, -33, -128, -129, -32768, -32769, -(2 ** 31), -(2 ** 31) - 1, Number.MIN_SAFE_INTEGER, 0.5),
);
const custom = fc.oneof(
  text,
  fc.constantFrom('2026-11-20T19:37:28.431Z', '0000-01-01T00:00:00.000Z', '2016-12-31T23:59:60.000Z').map(createdAt),
  fc.date({ min: new Date(0), noInvalidDate: true }).map((moment) => createdAt(moment.toISOString())),
);
const proof: fc.Arbitrary<StoredProof> = fc.record({
  public: bytes(32),
  result: bytes(64),
  custom: fc.option(custom),
});
const base = {
  ledger: count,
  kind: fc.integer({ min: 0, max: 10 }).map((kind) => kind as Kind),
  luid,
  handle,
  moment: count,
};
const signed = {
  hash: bytes(32),
  data: fc.oneof(
    text,
    fc.tuple(text, fc.integer({ min: 65_000, max: 66_000 })).map(([some, length]) => some + 'é'.repeat(length)),
  ),
  proofs: fc.array(proof, { maxLength: 20, size: 'max' }),
  seal: bytes(64),
};
/** Data that names keys: of its proofs, or others, whole or nearly so. */
const keyed = fc
  .record({ text, proofs: signed.proofs, more: fc.array(bytes(32), { maxLength: 9 }), isWhole: fc.boolean() })
  .map(({ text: some, proofs, more, isWhole }) => {
    const named = [...more, ...proofs.map((one) => one.public)].map((key) => Buffer.from(key).toString('base64'));
    return { data: some + named.map((name) => `"${isWhole ? name : name.slice(1)}"`).join(some), proofs };
  });
const numbers = fc.array(number, { maxLength: 40, size: 'max' });
const links: fc.Arbitrary<Links> = fc.record({
  legs: fc.array(
    fc.record({
      side: fc.constantFrom(Side.debit, Side.credit),
      bridge: count,
      wallet: count,
      symbol: count,
      amount: count,
      claims: fc.array(count, { maxLength: 20, size: 'max' }),
    }),
    { maxLength: 20, size: 'max' },
  ),
  marks: numbers,
  forwards: fc.array(fc.record({ wallet: count, claim: count, symbol: count, amount: count, target: text })),
  routed: numbers,
  through: numbers,
  failId: text,
  leg: fc.integer({ min: -1, max: 100_000 }),
});
const plainOutcome = {
  moment: count,
  steps: fc.array(fc.constantFrom(...INTENT_STATUSES), { maxLength: 20, size: 'max' }),
  reason: text,
  detail: text,
  postings: numbers,
  limits: numbers,
};
/** As most intents end; `moved` is nearly always what the first posting changes by. */
const completedOutcome = fc
  .tuple(count, number, number, number, number, fc.option(number, { freq: 5 }), fc.boolean())
  .map(([moment, wallet, symbol, change, other, moved, isPair]): Outcome => {
    const size = moved ?? Math.abs(change);
    const first = [wallet, symbol, change, size];
    const postings = isPair ? [...first, other, symbol, 0 - change, Math.abs(change)] : first;
    return { moment, steps: ['prepared', 'committed', 'completed'], reason: '', detail: '', postings, limits: [] };
  });
const outcome: fc.Arbitrary<Outcome> = fc.oneof(
  completedOutcome,
  fc.record(plainOutcome),
  fc.record({ ...plainOutcome, links }),
);
const entry: fc.Arbitrary<Entry> = fc.oneof(
  fc.record({ type: fc.constant(EntryType.create), ...base, ...signed }),
  fc.record({ type: fc.constant(EntryType.update), ...base, ...signed, row: count }),
  fc.record({
    type: fc.constant(EntryType.drop),
    ...base,
    row: count,
    hash: signed.hash,
    data: text,
    proofs: signed.proofs,
  }),
  fc.record({ type: fc.constant(EntryType.proof), ...base, row: count, proof, status: fc.option(text) }),
  fc.record({
    type: fc.constant(EntryType.proof),
    ...base,
    row: count,
    proof,
    status: fc.option(text),
    labels: fc.array(text),
  }),
  fc
    .record({
      type: fc.constant(EntryType.intent),
      ...base,
      ...signed,
      thread: fc.option(text),
      outcome,
      keyed: fc.option(keyed),
    })
    .map(({ keyed: some, ...value }) => ({ ...value, ...some }))
    .map((value) => ({ ...value, hash: sha256(value.data), thread: value.thread ?? threadOf(value.luid) })),
  fc.record({ type: fc.constant(EntryType.step), ...base, row: count, outcome }),
  fc.record({
    type: fc.constant(EntryType.delivery),
    ...base,
    row: count,
    seq: count,
    index: count,
    attempts: count,
    isDelivered: fc.boolean(),
    detail: text,
  }),
  fc.record({ type: fc.constant(EntryType.token), ...base, exp: count }),
);

function createdAt(moment: string): string {
  return `{"moment":"${moment}","status":"created"}`;
}

type Encode = EntryFormat['encode'];
const FORMATS: [string, Encode, number][] = [
  ['version 3, as it is written', encode, 3],
  ['version 2, as it is read for ever', SECOND_FORMAT.encode, 2],
  ['version 1, as it is read for ever', FIRST_FORMAT.encode, 1],
];

/** Encoded behind some other bytes, as in a frame. */
function encoded(value: Entry, encodes: Encode = encode): { buffer: FrameBuffer; from: number } {
  const buffer = new FrameBuffer(16);
  buffer.reserve(10);
  buffer.end = 10;
  encodes(value, buffer);
  return { buffer, from: 10 };
}

/** The same entry as msgpackr should see it. */
function elementsOf(value: Entry, version: number): unknown[] {
  const { luid, handle, ledger, kind, moment } = value;
  const isFirst = version === 1;
  const type = value.type + 8 * (version - 1);
  const head = [luid, handle, type, ledger, kind, isFirst ? moment : moment - secondOf(luid)];
  const customOf = (custom: string | null) => (isFirst ? custom : shortCustom(custom, moment));
  const keyOf = (key: Uint8Array) => ('data' in value && !isFirst ? shortKey(key, value.data) : key);
  const proofOf = (one: StoredProof) => [keyOf(one.public), one.result, customOf(one.custom)];
  const outcomeOf = (one: Outcome) => (isFirst ? wholeOutcome(one, 0) : shortOutcome(one, moment));
  if (value.type === EntryType.proof) {
    const labels = value.labels === undefined ? [] : [value.labels];
    return [...head, value.row, proofOf(value.proof), value.status, ...labels];
  }
  if (value.type === EntryType.step) return [...head, value.row, outcomeOf(value.outcome)];
  if (value.type === EntryType.token) return [...head, value.exp];
  if (value.type === EntryType.delivery) {
    return [...head, value.row, value.seq, value.index, value.attempts, value.isDelivered ? 1 : 0, value.detail];
  }
  const content = [value.data, value.proofs.map(proofOf)];
  switch (value.type) {
    case EntryType.create:
      return [...head, value.hash, ...content, value.seal];
    case EntryType.update:
      return [...head, value.hash, ...content, value.seal, value.row];
    case EntryType.drop:
      return [...head, value.hash, ...content, value.row];
    case EntryType.intent: {
      if (isFirst) return [...head, value.hash, ...content, value.seal, value.thread, outcomeOf(value.outcome)];
      const thread = value.thread === luid.slice(5) ? null : value.thread;
      return [...head, ...content, value.seal, thread, outcomeOf(value.outcome)];
    }
  }
}

/** Its place in the data, worked out another way than storage/keys-in-data.ts does. */
function shortKey(key: Uint8Array, data: string): Uint8Array | number {
  const place = data.length > 4096 ? -1 : data.indexOf(Buffer.from(key).toString('base64'));
  const ends = [...data.slice(43, place + 43)].filter((character) => character === '=').length;
  return place >= 0 && ends < 8 ? place : key;
}

/** The number it is kept as, worked out another way than storage/customs.ts does. */
function shortCustom(custom: string | null, moment: number): string | null | number {
  const text = /^\{"moment":"(\d{4}-[^"]*)","status":"created"\}$/.exec(custom ?? '')?.[1];
  const date = new Date(text ?? Number.NaN);
  if (Number.isNaN(date.getTime()) || date.toISOString() !== text) return custom;
  const after = date.getTime() - moment;
  return Number.isSafeInteger(after) ? after : custom;
}

function shortOutcome(outcome: Outcome, base: number): unknown[] {
  const { moment, steps, reason, detail, postings, limits, links: some } = outcome;
  const isSilent = `${steps} ${reason} ${detail}` === 'prepared,committed,completed  ' && reason === '';
  if (!isSilent || limits.length > 0 || some !== undefined) return wholeOutcome(outcome, base);
  const [wallet, symbol, change = 0, , other] = postings;
  const size = Math.abs(change);
  const pair = [wallet, symbol, change, size, other, symbol, -change, size];
  const isPair = size > 0 && JSON.stringify(postings) === JSON.stringify(pair);
  return isPair ? [moment - base, wallet, symbol, change, other] : [moment - base, postings];
}

function wholeOutcome(outcome: Outcome, base: number): unknown[] {
  const { moment, steps, reason, detail, postings, limits, links: some } = outcome;
  const numbers = steps.map((status) => INTENT_STATUSES.indexOf(status));
  return [moment - base, numbers, reason, detail, postings, limits, ...(some === undefined ? [] : [linksOf(some)])];
}

function linksOf({ legs, marks, forwards, routed, through, failId, leg }: Links): unknown[] {
  return [
    legs.map(({ side, bridge, wallet, symbol, amount, claims }) => [side, bridge, wallet, symbol, amount, ...claims]),
    marks,
    forwards.flatMap(({ claim, wallet, symbol, amount }) => [claim, wallet, symbol, amount]),
    forwards.map(({ target }) => target),
    routed,
    through,
    failId,
    leg + 1,
  ];
}

const plain = (value: unknown): unknown =>
  value instanceof Uint8Array ? Buffer.from(value).toString('hex') : Array.isArray(value) ? value.map(plain) : value;

describe.each(FORMATS)('an entry of %s', (_name, encodes, version) => {
  test('comes back as it was, whatever its type and content', () => {
    fc.assert(
      fc.property(entry, (value) => {
        const { buffer, from } = encoded(value, encodes);
        expect(decode(buffer.bytes, from, buffer.end)).toEqual(value);
        expect(entryCodec.type(buffer.bytes, from)).toBe(value.type);
      }),
      { numRuns: often(40, 1000) },
    );
  });

  test('shows where its signatures lie, and which of them say when they were made', () => {
    const customs = [
      ['{"moment":"2030-01-02T00:00:00.000Z","status":"created"}', true],
      ['{"a":1,"moment":"any"}', true],
      ['{"moment":null}', true],
      ['{"a":{"moment":"any"}}', false],
      ['{"a":"\\"moment\\":"}', false],
      ['{"moments":1}', false],
      [null, false],
    ] as const;
    fc.assert(
      fc.property(entry, fc.array(fc.nat(customs.length - 1), { minLength: 20, maxLength: 20 }), (value, picks) => {
        const dress = (one: StoredProof, n: number) => ({ ...one, custom: customs[picks[n]!]![0] });
        const dressed: Entry =
          'proofs' in value
            ? { ...value, proofs: value.proofs.map(dress) }
            : 'proof' in value
              ? { ...value, proof: dress(value.proof, 0) }
              : value;
        const proofs = 'proofs' in dressed ? dressed.proofs : 'proof' in dressed ? [dressed.proof] : [];
        const { buffer, from } = encoded(dressed, encodes);
        const at = (places: readonly number[]) =>
          places.map((place) => plain(buffer.bytes.subarray(place, place + 64)));
        const results = (some: readonly StoredProof[]) => some.map(({ result }) => plain(result));
        const own = dressed.type === EntryType.intent ? [] : proofs;
        const dated = own.filter((_, n) => customs[picks[n]!]![1]);
        expect(at(entryCodec.signatures(buffer.bytes, from, buffer.end))).toEqual(results(own));
        expect(entryCodec.proofCount(buffer.bytes, from, buffer.end)).toBe(proofs.length);
        expect(at(entryCodec.datedSignatures(buffer.bytes, from, buffer.end))).toEqual(results(dated));
      }),
      { numRuns: often(40, 1000) },
    );
  });

  test('is passed by as a whole, and never past the end', () => {
    fc.assert(
      fc.property(entry, fc.nat(), (value, cut) => {
        const { buffer, from } = encoded(value, encodes);
        const cursor = { at: from };
        passNext(buffer.bytes, cursor, buffer.end);
        expect(cursor.at).toBe(buffer.end);
        const short = from + (cut % (buffer.end - from));
        expect(() => passNext(buffer.bytes, { at: from }, short)).toThrow(CodecError);
      }),
      { numRuns: often(40, 1000) },
    );
  });

  test('is passed by and noted, and the note is that of its outline', () => {
    const data = '{"claims":[{"action":"limit","amount":-7,"wallet":{"handle":"w"}}],"schema":"s"}';
    fc.assert(
      fc.property(entry, (value) => {
        const isIntent = value.type === EntryType.intent;
        const isNew = isIntent || value.type === EntryType.create;
        const { buffer, from } = encoded(isNew ? { ...value, data } : value, encodes);
        const cursor = { at: from };
        const words = new Int32Array(100);
        const end = passNextNoting(buffer.bytes, cursor, buffer.end, words, 0);
        expect(cursor.at).toBe(buffer.end);
        expect(end > 0).toBe(isIntent);
        const notes = { words, at: 0, end };
        const facts = decodeNextFacts(buffer.bytes, { at: from }, buffer.end, notes);
        expect(facts).toEqual(decodeNextFacts(buffer.bytes, { at: from }, buffer.end));
        expect(notes.at).toBe(end);
      }),
      { numRuns: often(40, 1000) },
    );
  });

  test('is plain MessagePack: another reader of it sees the same', () => {
    const unpackr = new Unpackr({ useRecords: false, int64AsType: 'number' });
    fc.assert(
      fc.property(entry, (value) => {
        const { buffer, from } = encoded(value, encodes);
        const seen: unknown = unpackr.unpack(buffer.bytes.subarray(from, buffer.end));
        expect(plain(seen)).toEqual(plain(elementsOf(value, version)));
      }),
      { numRuns: often(40, 1000) },
    );
  });

  test('read from one buffer shares no memory with it', () => {
    const value = intentFrom(1, (length) => new Uint8Array(length).fill(7));
    const { buffer, from } = encoded(value, encodes);
    const read = decode(buffer.bytes, from, buffer.end);
    buffer.bytes.fill(0xff);
    expect(read).toEqual(value);
  });

  test('reads from plain typed arrays that are a part of a larger buffer', () => {
    const value = intentFrom(2, (length) => new Uint8Array(length).fill(9));
    const { buffer, from } = encoded(value, encodes);
    const whole = new Uint8Array(buffer.end + 100);
    whole.set(buffer.bytes.subarray(0, buffer.end), 50);
    expect(decode(whole.subarray(50), from, buffer.end)).toEqual(value);
  });
});

describe('handle and luid compared where they lie', () => {
  test.each([1, 2, 30, 31, 32, 33, 255, 256])('a handle of %i characters', (length) => {
    const handle = `${'h'.repeat(length - 1)}x`;
    const value = { ...intentFrom(1, (size) => new Uint8Array(size)), handle };
    const { buffer, from } = encoded(value);
    const same = (other: string) => entryCodec.isNamed(buffer.bytes, from, value.ledger, value.kind, other);
    expect(same(handle)).toBe(true);
    expect(same(`${handle}x`)).toBe(false);
    expect(same(handle.slice(0, -1))).toBe(false);
    expect(same(handle.slice(1))).toBe(length === 1 ? handle === '' : false);
    expect(same(`${handle.slice(0, -1)}y`)).toBe(false);
    expect(same(`Y${handle.slice(1)}`)).toBe(false);
    expect(same('')).toBe(false);
  });

  test('equal exactly where the decoded text is equal', () => {
    fc.assert(
      fc.property(handle, handle, (left, right) => {
        const value = { ...intentFrom(1, (size) => new Uint8Array(size)), handle: left };
        const { buffer, from } = encoded(value);
        expect(entryCodec.isNamed(buffer.bytes, from, value.ledger, value.kind, left)).toBe(true);
        expect(entryCodec.isNamed(buffer.bytes, from, value.ledger, value.kind, right)).toBe(left === right);
      }),
    );
  });

  test('a handle is one name in each ledger and kind, whatever the size of the numbers', () => {
    const ledgers = [0, 1, 127, 128, 255, 256, 65_535, 65_536, 4_000_000_000];
    for (const ledger of ledgers) {
      for (const kind of [Kind.ledger, Kind.intent]) {
        const value = { ...intentFrom(1, (size) => new Uint8Array(size)), handle: 'shop', ledger, kind };
        const { buffer, from } = encoded(value);
        expect(entryCodec.ledger(buffer.bytes, from)).toBe(ledger);
        for (const other of ledgers) {
          for (const otherKind of [Kind.ledger, Kind.intent]) {
            const isIt = other === ledger && otherKind === kind;
            expect(entryCodec.isNamed(buffer.bytes, from, other, otherKind, 'shop'), `${ledger} ${other}`).toBe(isIt);
          }
        }
      }
    }
  });

  test('both are read without the rest, whatever stands in them', () => {
    fc.assert(
      fc.property(handle, (text) => {
        const value = { ...intentFrom(1, (size) => new Uint8Array(size)), handle: text };
        const { buffer, from } = encoded(value);
        expect(entryCodec.names(buffer.bytes, from, buffer.end)).toEqual({ luid: value.luid, handle: text });
      }),
    );
  });

  test('a luid that differs in any one character, or in length', () => {
    const value = intentFrom(1, (size) => new Uint8Array(size));
    const { buffer, from } = encoded(value);
    expect(entryCodec.luidEquals(buffer.bytes, from, value.luid)).toBe(true);
    for (let index = 0; index < 22; index++) {
      const other = `${value.luid.slice(0, index)}!${value.luid.slice(index + 1)}`;
      expect(entryCodec.luidEquals(buffer.bytes, from, other)).toBe(false);
    }
    expect(entryCodec.luidEquals(buffer.bytes, from, value.luid.slice(0, 21))).toBe(false);
    expect(entryCodec.luidEquals(buffer.bytes, from, `${value.luid}x`)).toBe(false);
  });
});

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
  const [DATA, PROOFS, OUTCOME, LINKS] = [6, 7, 7, 6];

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

test.each([
  ['moment', { moment: -1 }],
  ['moment', { moment: 1.5 }],
  ['ledger', { ledger: Number.NaN }],
  ['seal', { seal: new Uint8Array(65) }],
  ['luid', { luid: '$int.short' }],
])('a wrong %s is refused when written, not when read', (_name, wrong) => {
  const value = { ...intentFrom(1, (size) => new Uint8Array(size)), ...wrong };
  expect(() => encoded(value)).toThrow();
});

describe('room is made for what takes most: three bytes a character, nine a number', () => {
  const wide = '€'.repeat(2000);
  const most = Number.MAX_SAFE_INTEGER;
  const many: number[] = Array(2000).fill(most);
  const noLinks: Links = { legs: [], marks: [], forwards: [], routed: [], through: [], failId: '', leg: -1 };
  const end: Outcome = { moment: most, steps: ['prepared'], reason: '', detail: '', postings: [], limits: [] };
  const leg = { side: Side.credit, bridge: most, wallet: most, symbol: most, amount: most, claims: [] };
  const forward = { claim: most, wallet: most, symbol: most, amount: most, target: '' };
  const { luid, handle, ledger, kind, moment, ...rest } = intentFrom(1, (size) => new Uint8Array(size));
  const base = { luid, handle, ledger, kind, moment };
  const own: ProofEntry = { type: EntryType.proof, ...base, row: most, proof: rest.proofs[0]!, status: null };
  const told = { seq: most, index: most, attempts: most, isDelivered: true, detail: '' };
  const { hash, seal } = rest;
  const record: CreateEntry = { type: EntryType.create, ...base, hash, data: '{}', proofs: [], seal };

  test.each<[string, Entry]>([
    ...Object.entries<Partial<Outcome>>({
      steps: { steps: Array(2000).fill('completed') },
      reason: { reason: wide },
      detail: { detail: wide },
      postings: { postings: many },
      limits: { limits: many },
      legs: { links: { ...noLinks, legs: Array(2000).fill(leg) } },
      'claims of legs': { links: { ...noLinks, legs: [{ ...leg, claims: many }] } },
      marks: { links: { ...noLinks, marks: many } },
      forwards: { links: { ...noLinks, forwards: Array(2000).fill(forward) } },
      'targets of forwards': { links: { ...noLinks, forwards: [{ ...forward, target: wide }] } },
      routed: { links: { ...noLinks, routed: many } },
      through: { links: { ...noLinks, through: many } },
      'the id of a failure': { links: { ...noLinks, failId: wide } },
    }).map(([what, some]): [string, Entry] => [
      what,
      { type: EntryType.step, ...base, row: most, outcome: { ...end, ...some } },
    ]),
    ['an intent’s outcome', { ...rest, ...base, outcome: { ...end, postings: many } }],
    ['its thread', { ...rest, ...base, thread: wide }],
    ['a handle', { ...record, handle: wide }],
    ['data', { ...record, data: wide }],
    ['proofs', { ...record, proofs: Array(300).fill(rest.proofs[0]!) }],
    ['customs', { ...record, proofs: [{ ...rest.proofs[0]!, custom: wide }] }],
    ['the custom of a later proof', { ...own, proof: { ...own.proof, custom: wide } }],
    ['its status', { ...own, status: wide }],
    ['its labels', { ...own, labels: [wide] }],
    ['many short labels', { ...own, labels: Array(2000).fill('') }],
    ['what a delivery met', { type: EntryType.delivery, ...base, row: most, ...told, detail: wide }],
  ])('%s', (_what, value) => {
    const { buffer, from } = encoded(value);
    expect(buffer.end).toBeLessThanOrEqual(buffer.bytes.length);
    expect(decode(buffer.bytes, from, buffer.end)).toEqual(value);
  });
});
