/** What can happen to the bytes of a file or of a body: the mutations that the fuzzers share. */
import type { Dice } from '../support/dice.ts';

type Mutation = (dice: Dice, bytes: Buffer, other: Buffer) => Buffer;

const at = (dice: Dice, bytes: Buffer) => dice.below(bytes.length + 1);

function span(dice: Dice, bytes: Buffer): [number, number] {
  const from = at(dice, bytes);
  return [from, Math.min(bytes.length, from + 1 + dice.few(Math.max(64, bytes.length)))];
}

function changed(bytes: Buffer, change: (copy: Buffer) => void): Buffer {
  const copy = Buffer.from(bytes);
  change(copy);
  return copy;
}

const INTERESTING = [0, 1, 0x7f, 0x80, 0xff, 0x90, 0xa0, 0xc0, 0xc4, 0xcf, 0xdd, 0x22, 0x5b, 0x5c, 0x7b, 0x7d];

const MUTATIONS: Mutation[] = [
  // A bit, a byte, a number in a word.
  (dice, bytes) =>
    changed(bytes, (copy) => {
      if (copy.length > 0) copy[dice.below(copy.length)]! ^= 1 << dice.below(8);
    }),
  (dice, bytes) =>
    changed(bytes, (copy) => {
      if (copy.length > 0) copy[dice.below(copy.length)] = dice.pick(INTERESTING);
    }),
  (dice, bytes) =>
    changed(bytes, (copy) => {
      if (copy.length < 4) return;
      copy.writeUInt32BE(
        dice.pick([0, 1, 0x7fffffff, 0xffffffff, copy.length, dice.below(2 ** 32)]),
        dice.below(copy.length - 3),
      );
    }),
  // A stretch: zeros, noise, gone, twice, put in, cut off.
  (dice, bytes) => {
    const [from, to] = span(dice, bytes);
    return changed(bytes, (copy) => copy.fill(0, from, to));
  },
  (dice, bytes) => {
    const [from, to] = span(dice, bytes);
    return changed(bytes, (copy) => copy.set(dice.bytes(to - from), from));
  },
  (dice, bytes) => {
    const [from, to] = span(dice, bytes);
    return Buffer.concat([bytes.subarray(0, from), bytes.subarray(to)]);
  },
  (dice, bytes) => {
    const [from, to] = span(dice, bytes);
    return Buffer.concat([bytes.subarray(0, to), bytes.subarray(from)]);
  },
  (dice, bytes) => {
    const where = at(dice, bytes);
    return Buffer.concat([bytes.subarray(0, where), dice.bytes(1 + dice.few(200)), bytes.subarray(where)]);
  },
  (dice, bytes) => bytes.subarray(0, at(dice, bytes)),
  // A piece of it, or of another, over or into another place.
  (dice, bytes, other) => {
    const source = dice.chance(0.5) ? bytes : other;
    const [from, to] = span(dice, source);
    const where = at(dice, bytes);
    return changed(bytes, (copy) => source.copy(copy, where, from, to));
  },
  (dice, bytes, other) => {
    const source = dice.chance(0.5) ? bytes : other;
    const [from, to] = span(dice, source);
    const where = at(dice, bytes);
    return Buffer.concat([bytes.subarray(0, where), source.subarray(from, to), bytes.subarray(where)]);
  },
];

/** The bytes after one mutation; pieces may come from `other`. The bytes given stay as they are. */
export function mutate(dice: Dice, bytes: Buffer, other: Buffer): Buffer {
  return Buffer.from(dice.pick(MUTATIONS)(dice, bytes, other));
}
