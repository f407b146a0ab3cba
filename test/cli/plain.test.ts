/** Bytes of entries: those that every build writes, each value in its shortest encoding, and no others. */
import { expect, test } from 'vitest';
import { isPlain } from '../../src/cli/audit/plain.ts';

const bytesOf = (...pieces: (number[] | string | Uint8Array)[]) =>
  Buffer.concat(pieces.map((one) => (typeof one === 'string' ? Buffer.from(one) : Buffer.from(one))));
const double = (value: number) => {
  const bytes = Buffer.alloc(9, 0xcb);
  bytes.writeDoubleBE(value, 1);
  return bytes;
};
const zeros = (count: number) => Buffer.alloc(count);

test.each<[string, Uint8Array]>([
  ['a list', bytesOf([0x92, 5, 0x90])],
  ['a list of 16', bytesOf([0xdc, 0, 16], zeros(16))],
  ['a list of 65 536', bytesOf([0xdd, 0, 1, 0, 0], zeros(65_536))],
  ['small numbers', bytesOf([0x00, 0x7f, 0xff, 0xe0])],
  ['larger ones', bytesOf([0xcc, 128, 0xcd, 1, 0, 0xce, 0, 1, 0, 0])],
  ['negative ones', bytesOf([0xd0, 0x80, 0xd1, 0xff, 0, 0xd2, 0x80, 0, 0, 0])],
  ['a fraction', double(1.5)],
  ['nothing', bytesOf([0xc0])],
  ['a text', bytesOf([0xa2], 'ñ')],
  ['a text of 32', bytesOf([0xd9, 32], 'x'.repeat(32))],
  ['a text of 256', bytesOf([0xda, 1, 0], 'x'.repeat(256))],
  ['bytes', bytesOf([0xc4, 3, 1, 2, 3])],
  ['none', bytesOf()],
])('written as every build does: %s', (_, bytes) => {
  expect(isPlain(bytes)).toBe(true);
});

test.each<[string, Uint8Array]>([
  ['a short list', bytesOf([0xdc, 0, 1, 5])],
  ['a list of 15', bytesOf([0xdc, 0, 15], zeros(15))],
  ['a list of 16', bytesOf([0xdd, 0, 0, 0, 16], zeros(16))],
  ['a list of 65 535', bytesOf([0xdd, 0, 0, 0xff, 0xff], zeros(65_535))],
  ['a small number', bytesOf([0xcc, 127])],
  ['a larger one', bytesOf([0xce, 0, 0, 0xff, 0xff])],
  ['a negative one', bytesOf([0xd0, 0xff])],
  ['a whole number as a fraction', double(5)],
  ['a text', bytesOf([0xd9, 31], 'x'.repeat(31))],
  ['a text that is no UTF-8', bytesOf([0xa1, 0xff])],
  ['one of the longest of those', bytesOf([0xd9, 255], Buffer.alloc(255, 0xff))],
  ['what stands in a list', bytesOf([0x92, 5, 0xcc, 5])],
  ['what stands last', bytesOf([0x91, 5, 0xa1, 0x80])],
])('written otherwise: %s', (_, bytes) => {
  expect(isPlain(bytes)).toBe(false);
});
