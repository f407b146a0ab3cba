import { expect, test } from 'vitest';
import { packValue, unpackValue } from '../../src/storage/values.ts';

test('small values of plain data come back as they were', () => {
  const value = { seq: 2 ** 40, names: ['a', 'b'], bytes: new Uint8Array([1, 2]), none: null, nested: { deep: [-1] } };
  const read = unpackValue(packValue(value)) as typeof value;
  expect({ ...read, bytes: [...read.bytes] }).toEqual({ ...value, bytes: [1, 2] });
});

test('bytes that are cut short, or more than one value, are refused', () => {
  expect(() => unpackValue(Uint8Array.of(0x92, 0x01))).toThrow();
  expect(() => unpackValue(Uint8Array.of(0x01, 0x02))).toThrow();
});
