import fc from 'fast-check';
import { Unpackr } from 'msgpackr';
import { describe, expect, test } from 'vitest';
import {
  type Entry,
  EntryType,
  INTENT_STATUSES,
  type Links,
  type Outcome,
  Side,
  type StoredProof,
} from '../../src/core/entry.ts';
import type { Kind } from '../../src/core/kinds.ts';
import {
  CodecError,
  decode,
  encode,
  entryCodec,
  FrameBuffer,
  packValue,
  passNext,
  unpackValue,
} from '../../src/storage/codec.ts';
import { entriesFrom, intentFrom } from './kit.ts';

const bytes = (length: number) => fc.uint8Array({ minLength: length, maxLength: length });
const text = fc.string({ unit: 'binary', maxLength: 300 });
const luid = fc
  .stringMatching(/^[A-Za-z0-9_-]{17}$/)
  .chain((rest) => fc.stringMatching(/^[a-z]{3}$/).map((prefix) => `$${prefix}.${rest}`));
const handle = fc.oneof(fc.stringMatching(/^[A-Za-z0-9_+.-]{1,256}$/), fc.string({ unit: 'binary', maxLength: 256 }));
const count = fc.oneof(
  fc.maxSafeNat(),
  fc.constantFrom(0, 127, 128, 255, 256, 65535, 65536, 2 ** 32 - 1, 2 ** 32, Number.MAX_SAFE_INTEGER),
);
const number = fc.oneof(
  fc.maxSafeInteger(),
  fc.integer({ min: -70000, max: 70000 }),
  fc.constantFrom(-32, -33, -128, -129, -32768, -32769, -(2 ** 31), -(2 ** 31) - 1, Number.MIN_SAFE_INTEGER, 0.5),
);
const proof: fc.Arbitrary<StoredProof> = fc.record({
  public: bytes(32),
  result: bytes(64),
  custom: fc.option(text),
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
  proofs: fc.array(proof, { maxLength: 20 }),
  seal: bytes(64),
};
const numbers = fc.array(number, { maxLength: 40 });
const links: fc.Arbitrary<Links> = fc.record({
  legs: fc.array(
    fc.record({
      side: fc.constantFrom(Side.debit, Side.credit),
      bridge: count,
      wallet: count,
      symbol: count,
      amount: count,
      claims: fc.array(count, { maxLength: 20 }),
    }),
    { maxLength: 20 },
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
  steps: fc.array(fc.constantFrom(...INTENT_STATUSES), { maxLength: 20 }),
  reason: text,
  detail: text,
  postings: numbers,
  limits: numbers,
};
const outcome: fc.Arbitrary<Outcome> = fc.oneof(fc.record(plainOutcome), fc.record({ ...plainOutcome, links }));
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
  fc.record({
    type: fc.constant(EntryType.intent),
    ...base,
    ...signed,
    thread: text,
    outcome,
  }),
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
);

/** Encoded behind some other bytes, as in a frame. */
function encoded(value: Entry): { buffer: FrameBuffer; from: number } {
  const buffer = new FrameBuffer(16);
  buffer.reserve(10);
  buffer.end = 10;
  encode(value, buffer);
  return { buffer, from: 10 };
}

/** The same entry as msgpackr should see it. */
function elementsOf(value: Entry): unknown[] {
  const head = [value.luid, value.handle, value.type, value.ledger, value.kind, value.moment];
  const proofOf = (one: StoredProof) => [one.public, one.result, one.custom];
  if (value.type === EntryType.proof) {
    const labels = value.labels === undefined ? [] : [value.labels];
    return [...head, value.row, proofOf(value.proof), value.status, ...labels];
  }
  if (value.type === EntryType.step) return [...head, value.row, outcomeOf(value.outcome)];
  if (value.type === EntryType.token) return [...head, value.exp];
  if (value.type === EntryType.delivery) {
    return [...head, value.row, value.seq, value.index, value.attempts, value.isDelivered ? 1 : 0, value.detail];
  }
  const content = [value.hash, value.data, value.proofs.map(proofOf)];
  switch (value.type) {
    case EntryType.create:
      return [...head, ...content, value.seal];
    case EntryType.update:
      return [...head, ...content, value.seal, value.row];
    case EntryType.drop:
      return [...head, ...content, value.row];
    case EntryType.intent:
      return [...head, ...content, value.seal, value.thread, outcomeOf(value.outcome)];
  }
}

function outcomeOf({ moment, steps, reason, detail, postings, limits, links: some }: Outcome): unknown[] {
  const rest = some === undefined ? [] : [linksOf(some)];
  return [moment, steps.map((status) => INTENT_STATUSES.indexOf(status)), reason, detail, postings, limits, ...rest];
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

describe('an entry', () => {
  test('comes back as it was, whatever its type and content', () => {
    fc.assert(
      fc.property(entry, (value) => {
        const { buffer, from } = encoded(value);
        expect(decode(buffer.bytes, from, buffer.end)).toEqual(value);
      }),
      { numRuns: 200 },
    );
  });

  test('is passed by as a whole, and never past the end', () => {
    fc.assert(
      fc.property(entry, fc.nat(), (value, cut) => {
        const { buffer, from } = encoded(value);
        const cursor = { at: from };
        passNext(buffer.bytes, cursor, buffer.end);
        expect(cursor.at).toBe(buffer.end);
        const short = from + (cut % (buffer.end - from));
        expect(() => passNext(buffer.bytes, { at: from }, short)).toThrow(CodecError);
      }),
      { numRuns: 200 },
    );
  });

  test('is plain MessagePack: another reader of it sees the same', () => {
    const unpackr = new Unpackr({ useRecords: false, int64AsType: 'number' });
    fc.assert(
      fc.property(entry, (value) => {
        const { buffer, from } = encoded(value);
        const seen: unknown = unpackr.unpack(buffer.bytes.subarray(from, buffer.end));
        expect(plain(seen)).toEqual(plain(elementsOf(value)));
      }),
      { numRuns: 200 },
    );
  });

  test('read from one buffer shares no memory with it', () => {
    const { buffer, from } = encoded(intentFrom(1, (length) => new Uint8Array(length).fill(7)));
    const read = decode(buffer.bytes, from, buffer.end);
    buffer.bytes.fill(0xff);
    expect(read).toEqual(intentFrom(1, (length) => new Uint8Array(length).fill(7)));
  });

  test('reads from plain typed arrays that are a part of a larger buffer', () => {
    const value = intentFrom(2, (length) => new Uint8Array(length).fill(9));
    const { buffer, from } = encoded(value);
    const whole = new Uint8Array(buffer.end + 100);
    whole.set(buffer.bytes.subarray(0, buffer.end), 50);
    expect(decode(whole.subarray(50), from, buffer.end)).toEqual(value);
  });
});

describe('handle and luid compared where they lie', () => {
  test.each([1, 2, 30, 31, 32, 33, 255, 256])('a handle of %i characters', (length) => {
    const handle = `${'h'.repeat(length - 1)}x`;
    const { buffer, from } = encoded({ ...intentFrom(1, (size) => new Uint8Array(size)), handle });
    const same = (other: string) => entryCodec.handleEquals(buffer.bytes, from, other);
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
        const { buffer, from } = encoded({ ...intentFrom(1, (size) => new Uint8Array(size)), handle: left });
        expect(entryCodec.handleEquals(buffer.bytes, from, left)).toBe(true);
        expect(entryCodec.handleEquals(buffer.bytes, from, right)).toBe(left === right);
      }),
    );
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

describe('bytes that are no entry', () => {
  const next = entriesFrom(5);
  const samples = Array.from({ length: 12 }, next);

  test('cut short at any byte: a CodecError', () => {
    for (const sample of samples) {
      const { buffer, from } = encoded(sample);
      for (let to = from; to < buffer.end; to++) {
        expect(() => decode(buffer.bytes, from, to)).toThrow(CodecError);
      }
      expect(() => decode(buffer.bytes, from, buffer.end + 1)).toThrow(CodecError);
    }
  });

  test('any byte changed: a CodecError or another entry, nothing else', () => {
    for (const sample of samples) {
      const { buffer, from } = encoded(sample);
      for (let at = from; at < buffer.end; at++) {
        for (const mask of [0x01, 0x80]) {
          buffer.bytes[at]! ^= mask;
          let read: Entry | null = null;
          try {
            read = decode(buffer.bytes, from, buffer.end);
          } catch (error) {
            expect(error).toBeInstanceOf(CodecError);
          }
          if (read !== null) expect(read).not.toEqual(sample);
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

test.each([
  ['moment', { moment: -1 }],
  ['moment', { moment: 1.5 }],
  ['ledger', { ledger: Number.NaN }],
  ['hash', { hash: new Uint8Array(31) }],
  ['seal', { seal: new Uint8Array(65) }],
  ['luid', { luid: '$int.short' }],
])('a wrong %s is refused when written, not when read', (_name, wrong) => {
  const value = { ...intentFrom(1, (size) => new Uint8Array(size)), ...wrong };
  expect(() => encoded(value)).toThrow();
});

test('small values of plain data come back as they were', () => {
  const value = { seq: 2 ** 40, names: ['a', 'b'], bytes: new Uint8Array([1, 2]), none: null, nested: { deep: [-1] } };
  const read = unpackValue(packValue(value)) as typeof value;
  expect({ ...read, bytes: [...read.bytes] }).toEqual({ ...value, bytes: [1, 2] });
  expect(() => unpackValue(Uint8Array.of(0x92, 0x01))).toThrow();
});
