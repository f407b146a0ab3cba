/**
 * Entries, read by whoever has to be convinced: each element of each type in each version, and that bytes which no server
 * writes are none. They are packed here by hand: neither of the two readers is asked what it takes for right.
 */
import { describe, expect, test } from 'vitest';
import { readEntry, type ToldEntry, Type } from '../../src/story/entries.ts';

type Value = null | number | string | Uint8Array | Value[];

function headed(code: number, size: number, width: number): Buffer {
  const bytes = Buffer.alloc(1 + width, code);
  bytes.writeUIntBE(size, 1, width);
  return bytes;
}

function wide(code: number, value: bigint): Buffer {
  const bytes = Buffer.alloc(9, code);
  if (value < 0n) bytes.writeBigInt64BE(value, 1);
  else bytes.writeBigUInt64BE(value, 1);
  return bytes;
}

function packNumber(value: number): Buffer {
  if (value >= 0 && value < 128) return Buffer.of(value);
  if (value >= 0) {
    if (value < 2 ** 8) return headed(0xcc, value, 1);
    if (value < 2 ** 16) return headed(0xcd, value, 2);
    return value < 2 ** 32 ? headed(0xce, value, 4) : wide(0xcf, BigInt(value));
  }
  if (value >= -32) return Buffer.of(256 + value);
  const width = value >= -(2 ** 7) ? 1 : value >= -(2 ** 15) ? 2 : 4;
  if (value < -(2 ** 31)) return wide(0xd3, BigInt(value));
  const bytes = Buffer.alloc(1 + width, 0xd0 + Math.log2(width));
  bytes.writeIntBE(value, 1, width);
  return bytes;
}

function packText(text: string): Buffer {
  const bytes = Buffer.from(text);
  const size = bytes.length;
  const head = () => {
    if (size < 32) return Buffer.of(0xa0 + size);
    if (size < 2 ** 8) return headed(0xd9, size, 1);
    return size < 2 ** 16 ? headed(0xda, size, 2) : headed(0xdb, size, 4);
  };
  return Buffer.concat([head(), bytes]);
}

function pack(value: Value): Buffer {
  if (value === null) return Buffer.of(0xc0);
  if (typeof value === 'number') return packNumber(value);
  if (typeof value === 'string') return packText(value);
  if (value instanceof Uint8Array) return Buffer.concat([headed(0xc4, value.length, 1), value]);
  const size = value.length;
  const head = size < 16 ? Buffer.of(0x90 + size) : size < 2 ** 16 ? headed(0xdc, size, 2) : headed(0xdd, size, 4);
  return Buffer.concat([head, ...value.map(pack)]);
}

const read = (value: Value) => readEntry(pack(value));
const ODD = 'an entry as no server writes it';

const LUID = '$wlt.0rZ3aaaaaaaaaaaaa';
const INTENT = '$int.0rZ3aaaaaaaaaaaaa';
/** Six digits of a luid are its second, of an alphabet in the order of its values. */
const SECOND = [...'0rZ3aa'].reduce(
  (sum, digit) => 64 * sum + '-0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz'.indexOf(digit),
  0,
);
const NOW = 1000 * SECOND;
const iso = (moment: number) => new Date(moment).toISOString();
const [KEY, RESULT, SEAL, HASH] = [Buffer.alloc(32, 1), Buffer.alloc(64, 2), Buffer.alloc(64, 3), Buffer.alloc(32, 4)];
const base64 = (bytes: Uint8Array) => Buffer.from(bytes).toString('base64');

const codeOf = (type: number, version = 3) => 8 * (version - 1) + type;
const headOf = (type: number, version = 3, luid = LUID): Value[] => [
  luid,
  'handle',
  codeOf(type, version),
  1,
  2,
  version === 1 ? NOW + 7 : 7,
];
const PROOFS: Value = [[KEY, RESULT, '{"n":1}']];
const OUTCOME: Value = [5, [1, 2], 'why', 'how', [], []];
const NONE = { data: null, seal: null, proofs: [], status: null, labels: null, thread: null, outcome: null };
const TOLD_PROOF = { public: base64(KEY), result: base64(RESULT), custom: '{"n":1}' };

/** One of each type as the last version has it, and what it tells. */
const ENTRIES: Record<string, { value: Value[]; told: Partial<ToldEntry> }> = {
  create: {
    value: [...headOf(Type.create), HASH, '{}', PROOFS, SEAL],
    told: { type: Type.create, data: '{}', proofs: [TOLD_PROOF], seal: base64(SEAL) },
  },
  update: {
    value: [...headOf(Type.update), HASH, '{}', PROOFS, SEAL, 9],
    told: { type: Type.update, data: '{}', proofs: [TOLD_PROOF], seal: base64(SEAL) },
  },
  drop: {
    value: [...headOf(Type.drop), HASH, '{}', PROOFS, 9],
    told: { type: Type.drop, data: '{}', proofs: [TOLD_PROOF] },
  },
  proof: {
    value: [...headOf(Type.proof), 9, [KEY, RESULT, null], 'active'],
    told: { type: Type.proof, proofs: [{ ...TOLD_PROOF, custom: null }], status: 'active' },
  },
  labelled: {
    value: [...headOf(Type.proof), 9, [KEY, RESULT, null], null, ['vip', 'known']],
    told: { type: Type.proof, proofs: [{ ...TOLD_PROOF, custom: null }], labels: ['vip', 'known'] },
  },
  intent: {
    value: [...headOf(Type.intent, 3, INTENT), '{}', PROOFS, SEAL, null, OUTCOME],
    told: {
      luid: INTENT,
      type: Type.intent,
      data: '{}',
      proofs: [TOLD_PROOF],
      seal: base64(SEAL),
      thread: INTENT.slice(5),
      outcome: { moment: NOW + 12, steps: ['prepared', 'committed'], reason: 'why', detail: 'how', links: null },
    },
  },
  step: {
    value: [...headOf(Type.step, 3, INTENT), 9, OUTCOME],
    told: {
      luid: INTENT,
      type: Type.step,
      outcome: { moment: NOW + 12, steps: ['prepared', 'committed'], reason: 'why', detail: 'how', links: null },
    },
  },
};

describe('an entry', () => {
  test.each(Object.keys(ENTRIES))('tells all that it has: %s', (name) => {
    const { value, told } = ENTRIES[name]!;
    expect(read(value)).toEqual({ luid: LUID, moment: NOW + 7, isEarly: false, ...NONE, ...told });
  });

  test('of an older version is an early one, and in the first moments stand as they are', () => {
    const { value } = ENTRIES.step!;
    const of = (version: number, moment: number, ended: number) =>
      read([...headOf(Type.step, version, INTENT).slice(0, 5), moment, 9, [ended, ...(OUTCOME as Value[]).slice(1)]]);
    for (const told of [of(1, NOW + 7, NOW + 12), of(2, 7, 5)])
      expect([told.isEarly, told.moment, told.outcome!.moment]).toEqual([true, NOW + 7, NOW + 12]);
    expect(read(value).isEarly).toBe(false);
    // Only there an intent has its hash beside its data.
    const intent = [...headOf(Type.intent, 1, INTENT), HASH, '{}', PROOFS, SEAL, 'thread', [NOW, []]];
    expect(read(intent)).toMatchObject({ data: '{}', thread: 'thread', isEarly: true, outcome: { moment: NOW } });
    expect(() => read(intent.toSpliced(6, 1))).toThrow(ODD);
    expect(() => read(ENTRIES.intent!.value.toSpliced(6, 0, HASH))).toThrow(ODD);
  });

  test('of a later version, of a type without a record, or of none is not read', () => {
    const coded = (code: Value) => () => read(ENTRIES.create!.value.with(2, code));
    for (const code of [25, 26, 32, 1000]) expect(coded(code)).toThrow('an entry of a later format');
    for (const code of [0, -1, 7, 8, 15, 16, 23, 24, 2 ** 53]) expect(coded(code), `${code}`).toThrow(ODD);
    for (const code of [1, 9, 17]) expect(coded(code)).not.toThrow();
  });

  test.each(Object.keys(ENTRIES))('has as many elements as its type has: %s', (name) => {
    const { value } = ENTRIES[name]!;
    // With its labels a proof is one longer, and neither shorter nor longer than that.
    if (name !== 'labelled') expect(() => read(value.slice(0, -1))).toThrow(ODD);
    if (name !== 'proof') expect(() => read([...value, null])).toThrow(ODD);
    expect(() => read([...value, [], null])).toThrow(ODD);
    expect(() => read(value.slice(0, 6))).toThrow(ODD);
  });

  test.each<[string, number, Value[]]>([
    ['create', 0, [null, 7, '', LUID.slice(1), `${LUID}a`, LUID.replace('w', 'W'), LUID.replace('.', '-'), KEY]],
    ['create', 0, [`${LUID.slice(0, -1)}+`, `x${LUID}`, `${LUID}\n`]],
    ['create', 2, [null, 'x', []]],
    ['create', 5, [null, 'x', [], -NOW - 1]],
    ['create', 7, [null, 7, KEY, []]],
    ['create', 8, [null, 7, 'x', [null], [[KEY, RESULT]], [[KEY, RESULT, null, null]], [[KEY, KEY, null]]]],
    ['create', 8, [[[RESULT, RESULT, null]], [['x', RESULT, null]], [[null, RESULT, null]], [[KEY, 'x', null]]]],
    ['create', 8, [[[KEY, RESULT, KEY]], [[KEY, RESULT, []]], [[-1, RESULT, null]]]],
    ['create', 9, [null, 7, 'x', KEY, []]],
    ['update', 9, [null, KEY]],
    ['proof', 7, [null, [], 'x', [KEY, RESULT], [0, RESULT, null]]],
    ['proof', 8, [7, [], KEY]],
    ['labelled', 9, [null, 'vip', 7, [7], [null]]],
    ['intent', 9, [7, [], KEY, '']],
    ['intent', 10, [null, 'x', 7, [], [5], [5, [], []], [5, [], '', ''], Array(8).fill(5)]],
    ['step', 7, [null, 'x', 7]],
    [
      'step',
      7,
      [
        [null, []],
        ['x', []],
        [-NOW - 8, []],
      ],
    ],
    [
      'step',
      7,
      [
        [5, null, '', '', [], []],
        [5, [8], '', '', [], []],
        [5, [-1], '', '', [], []],
        [5, ['x'], '', '', [], []],
      ],
    ],
    [
      'step',
      7,
      [
        [5, [], 7, '', [], []],
        [5, [], null, '', [], []],
        [5, [], '', 7, [], []],
      ],
    ],
    [
      'step',
      7,
      [
        [5, [], '', '', [], [], null],
        [5, [], '', '', [], [], []],
        [5, [], '', '', [], [], 'x'],
      ],
    ],
  ])('has in each place what belongs there: %s, element %i', (name, at, values) => {
    const { value } = ENTRIES[name]!;
    const said = values.map((other) => {
      try {
        return read(value.with(at, other));
      } catch (error) {
        return (error as Error).message;
      }
    });
    // A key that is told by its place is read as base64.
    expect([...new Set(said)].filter((one) => one !== ODD && one !== 'base64 as nobody writes it')).toEqual([]);
  });
});

describe('a proof', () => {
  const proofOf = (proof: Value, data = '{}') => read(ENTRIES.create!.value.with(7, data).with(8, [proof])).proofs[0]!;

  test('may tell its key by the place of that in the data', () => {
    const key = base64(KEY);
    const data = `{"key":"${key}"}`;
    expect(proofOf([8, RESULT, null], data).public).toBe(key);
    for (const at of [7, 9, 0, data.length]) expect(() => proofOf([at, RESULT, null], data)).toThrow('base64');
  });

  test('may tell what it says by its moment, before or after that of the entry', () => {
    const saidAt = (moment: number) => `{"moment":"${iso(moment)}","status":"created"}`;
    for (const after of [0, 1, -1, 100, -40_000])
      expect(proofOf([KEY, RESULT, after]).custom).toBe(saidAt(NOW + 7 + after));
    expect(proofOf([KEY, RESULT, '{"a":1}']).custom).toBe('{"a":1}');
    // So does one that comes later, by the moment of its own entry.
    expect(read(ENTRIES.proof!.value.with(7, [KEY, RESULT, -3])).proofs[0]!.custom).toBe(saidAt(NOW + 4));
  });

  test('is told after those before it, as they stand', () => {
    const keys = [KEY, Buffer.alloc(32, 9), KEY];
    for (const name of ['create', 'update', 'drop', 'intent']) {
      const { value } = ENTRIES[name]!;
      const proofs = keys.map((key, n): Value => [key, RESULT, `${n}`]);
      const told = read(value.with(name === 'intent' ? 7 : 8, proofs)).proofs;
      expect(told.map(({ public: key, custom }) => [key, custom])).toEqual(keys.map((key, n) => [base64(key), `${n}`]));
    }
  });
});

describe('an outcome', () => {
  const outcomeOf = (outcome: Value) => read(ENTRIES.step!.value.with(7, outcome)).outcome!;

  test('at once has the steps that it takes then, and nothing more to tell', () => {
    const steps = ['prepared', 'committed', 'completed'];
    const plain = { moment: NOW + 12, steps, reason: '', detail: '', links: null };
    expect([outcomeOf([5, [1, 2, 3, 4]]), outcomeOf([5, 1, 2, 3, 4])]).toEqual([plain, plain]);
  });

  test('has any of the statuses there are', () => {
    const statuses = ['pending', 'prepared', 'committed', 'completed', 'failed', 'aborted', 'rejected', 'error'];
    expect(outcomeOf([5, [0, 1, 2, 3, 4, 5, 6, 7], '', '', [], []]).steps).toEqual(statuses);
    expect(outcomeOf([5, [], '', '', [], []]).steps).toEqual([]);
  });

  const linksOf = (links: Value) => outcomeOf([5, [], '', '', [], [], links]).links;

  test('may have links: legs and their sides, whether it is routed, and what failed', () => {
    expect(linksOf([[[0, 1, 2, 3, 4], [1]], [], [], [], [], [], 'fail', 2])).toEqual({
      legs: [false, true],
      isRouted: false,
      failId: 'fail',
      leg: 2,
    });
    const bare = { legs: [], isRouted: true, failId: '', leg: 0 };
    expect(linksOf([[], [], [], ['to'], [], [], '', 0])).toEqual(bare);
    expect(linksOf([[], [], [], [], [7], [], '', 0])).toEqual(bare);
    expect(linksOf([[], [], [], ['to'], [7], [], '', 0])).toEqual(bare);
    expect(linksOf([[], [7], [7], [], [], [7], '', 0])!.isRouted).toBe(false);
  });

  test.each<[string, Value]>([
    ['too few', [[], [], [], [], [], [], '']],
    ['too many', [[], [], [], [], [], [], '', 0, 0]],
    ['a side that is none', [[[2]], [], [], [], [], [], '', 0]],
    ['a side that is none', [[[-1]], [], [], [], [], [], '', 0]],
    ['a side that is none', [[['x']], [], [], [], [], [], '', 0]],
    ['a leg that is none', [[0], [], [], [], [], [], '', 0]],
    ['a leg that is none', [[[]], [], [], [], [], [], '', 0]],
    ['legs that are none', [null, [], [], [], [], [], '', 0]],
    ['targets that are none', [[], [], [], null, [], [], '', 0]],
    ['routed that are none', [[], [], [], [], 7, [], '', 0]],
    ['a name of a failure that is none', [[], [], [], [], [], [], 7, 0]],
    ['a leg of a failure that is none', [[], [], [], [], [], [], '', -1]],
  ])('has no links with %s', (_, links) => {
    expect(() => linksOf(links)).toThrow(ODD);
  });
});

describe('what is packed', () => {
  const numbers = [0, 127, 128, 255, 256, 65_535, 65_536, 2 ** 32 - 1, 2 ** 32, 2 ** 40];
  const less = [-1, -32, -33, -128, -129, -32_768, -32_769, -(2 ** 31), -(2 ** 31) - 1, -(2 ** 33)];

  test.each([...numbers, ...less])('as a number of any width is that number: %i', (value) => {
    const moment = read(ENTRIES.create!.value.with(5, value)).moment;
    expect(moment).toBe(NOW + value);
  });

  test.each([0, 1, 31, 32, 255, 256, 65_535, 65_536])('as a text of any length is that text: %i', (length) => {
    const text = 'x'.repeat(length);
    expect(read(ENTRIES.proof!.value.with(8, text)).status).toBe(text);
    if (length > 1) expect(read(ENTRIES.proof!.value.with(8, `ñ${text.slice(2)}`)).status).toBe(`ñ${text.slice(2)}`);
  });

  test.each([0, 15, 16, 65_535, 65_536])('as a list of any length is that list: %i', (length) => {
    const labels = Array.from({ length }, (_, n) => `${n}`);
    expect(read(ENTRIES.labelled!.value.with(9, labels)).labels).toEqual(labels);
  });

  test('is no entry where it ends too early, or something follows it', () => {
    for (const value of [ENTRIES.intent!.value, ENTRIES.update!.value.with(10, 2 ** 40)]) {
      const bytes = pack(value);
      for (let end = 0; end < bytes.length; end++)
        expect(() => readEntry(bytes.subarray(0, end)), `${end}`).toThrow(ODD);
      expect(() => readEntry(Buffer.concat([bytes, Buffer.of(0)]))).toThrow(ODD);
    }
    for (const value of [null, 7, LUID, KEY, []] as Value[]) expect(() => read(value)).toThrow(ODD);
  });

  test('is looked at wherever it lies', () => {
    const bytes = pack(ENTRIES.create!.value.with(5, 2 ** 40));
    const among = Buffer.concat([Buffer.alloc(11, 0xff), bytes, Buffer.alloc(5, 0xff)]);
    expect(readEntry(among.subarray(11, 11 + bytes.length))).toEqual(readEntry(bytes));
  });

  test('says nothing in ways that no server has: bytes and texts of other kinds, truth, doubles, maps', () => {
    const [before, after] = [
      pack(ENTRIES.create!.value.slice(0, 4)).subarray(1),
      pack(ENTRIES.create!.value.slice(5)).subarray(1),
    ];
    const withKind = (bytes: number[]) => () =>
      readEntry(Buffer.concat([Buffer.of(0x9a), before, Buffer.from(bytes), after]));
    // Its kind is asked of nobody: what stands there has to be packed all the same.
    expect(withKind([2])).not.toThrow();
    expect(withKind([0xcb, 0x3f, 0xf8, 0, 0, 0, 0, 0, 0])).not.toThrow();
    for (const code of [0x80, 0x8f, 0xc1, 0xc2, 0xc3, 0xc5, 0xc6, 0xc7, 0xca, 0xd4, 0xd8, 0xde, 0xdf])
      for (const more of [[], [0, 0, 0, 0]]) expect(withKind([code, ...more]), `${code}`).toThrow(ODD);
    // A list that says to have more than there is: none is made for it.
    expect(withKind([0xdd, 0xff, 0xff, 0xff, 0xff])).toThrow(ODD);
  });

  test('nests no deeper than links have legs, and a little', () => {
    const nested = (levels: number): Value => (levels === 0 ? 7 : [nested(levels - 1)]);
    const deep = (levels: number) => () => read(ENTRIES.create!.value.with(4, nested(levels)));
    expect(deep(7)).not.toThrow();
    expect(deep(8)).toThrow(ODD);
  });
});

describe('a moment', () => {
  const entryAt = (moment: Uint8Array, proofs = Buffer.from([0x90])) => {
    const head = Buffer.concat([Buffer.from([0x9a, 0xb6]), Buffer.from(LUID), Buffer.from([1, 17, 1, 1])]);
    const rest = [Buffer.from([0xc0, 0xa2]), Buffer.from('{}'), proofs, Buffer.from([0xc4, 64]), Buffer.alloc(64)];
    return Buffer.concat([head, moment, ...rest]);
  };

  test('is no whole number that is written as a double: the other program takes its bits for one', () => {
    const five = Buffer.alloc(9, 0xcb);
    five.writeDoubleBE(5, 1);
    expect(readEntry(entryAt(Buffer.from([5]))).moment % 1000).toBe(5);
    expect(() => readEntry(entryAt(five))).toThrow(ODD);
  });

  test('is none before all, nor that of a proof in a year that has no four digits', () => {
    const wide = (value: number) => {
      const bytes = Buffer.alloc(9, 0xd3);
      bytes.writeBigInt64BE(BigInt(value), 1);
      return bytes;
    };
    const received = readEntry(entryAt(wide(0))).moment;
    expect(readEntry(entryAt(wide(-received))).moment).toBe(0);
    expect(() => readEntry(entryAt(wide(-received - 1)))).toThrow(ODD);
    const signedAt = (moment: number) => {
      const key = Buffer.from([0xc4, 32, ...Buffer.alloc(32), 0xc4, 64, ...Buffer.alloc(64)]);
      const proofs = Buffer.concat([Buffer.from([0x91, 0x93]), key, wide(moment - received)]);
      return () => readEntry(entryAt(wide(0), proofs)).proofs[0]!.custom;
    };
    const [first, last] = [-62_167_219_200_000, 253_402_300_799_999];
    expect(signedAt(first)()).toContain('"0000-01-01T00:00:00.000Z"');
    expect(signedAt(last)()).toContain('"9999-12-31T23:59:59.999Z"');
    for (const moment of [first - 1, last + 1]) expect(signedAt(moment)).toThrow(ODD);
  });
});
