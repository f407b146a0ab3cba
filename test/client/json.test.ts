/** What is made a value of: anybody may send bytes, and a value may take thirty times their room. */
import { expect, test } from 'vitest';
import { parseObject } from '../../src/client/json.ts';

const PARTS = 4_000_000;

test.each<[string, string, boolean]>([
  ['is an object', '{"a":[1,{"b":"c"}]}', true],
  ['is a list', '[1]', false],
  ['is null', 'null', false],
  ['is a text', '"a"', false],
  ['is a number', '1', false],
  ['ends too early', '{"a":[1', false],
  ['ends within a text', '{"a":"b', false],
  ['ends within an escape', '{"a":"b\\', false],
  ['is not UTF-8', '{"a":"\xff"}', false],
  ['nests as deep as a server can be told to take, and more', `${'{"a":'.repeat(640)}1${'}'.repeat(640)}`, true],
  ['nests deeper', `${'{"a":'.repeat(641)}1${'}'.repeat(641)}`, false],
  ['has very many members', `{"a":[${'1,'.repeat(PARTS - 2)}1]}`, true],
  ['has more', `{"a":[${'1,'.repeat(PARTS - 1)}1]}`, false],
  ['is as much as others may add, and all an intent may say', `{"a":[${'[],'.repeat(5_242_880 / 3)}1]}`, true],
  ['has objects beside each other, more than may nest', `{"a":[${'{},'.repeat(2000)}1]}`, true],
  ['ends with a list that is the last that is taken', `{"a":[1,${'[],'.repeat(PARTS / 2 - 2)}[]]}`, true],
  ['ends with one more', `{"a":[1,1,${'[],'.repeat(PARTS / 2 - 2)}[]]}`, false],
  ['has more lists', `{"a":[${'[],'.repeat(PARTS / 2)}1]}`, false],
  ['has brackets and commas in its texts', `{"a":"\\"${'[,{'.repeat(PARTS / 2)}"}`, true],
])('what %s', (_, text, isTaken) => {
  expect(parseObject(Buffer.from(text, 'latin1')) !== null).toBe(isTaken);
});
