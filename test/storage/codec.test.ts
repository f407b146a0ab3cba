import fc from 'fast-check';
import { Unpackr } from 'msgpackr';
import { describe, expect, test } from 'vitest';
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
import { decode, decodeNextFacts, entryCodec } from '../../src/storage/codec.ts';
import { passNext, passNextNoting } from '../../src/storage/entry-bytes.ts';
import { sha256 } from '../../src/storage/format.ts';
import { CodecError } from '../../src/storage/msgpack.ts';
import { often } from '../support/long.ts';
import { createdAt, elementsOf, encoded, FORMATS } from './elements.ts';
import { intentFrom } from './kit.ts';

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
      thread: fc.option(text.filter((name) => name !== '')),
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
