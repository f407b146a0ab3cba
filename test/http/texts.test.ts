/** Kept texts must be those of the bytes they were made from, and never more than there is room for. */
import { describe, expect, test } from 'vitest';
import { RecordTexts } from '../../src/http/texts.ts';

const text = (length: number, letter = 'x') => letter.repeat(length);

describe('texts of records', () => {
  test('come back with their size, by address', () => {
    const texts = new RecordTexts(100);
    texts.keep(8, text(10, 'a'), 7);
    texts.keep(16, text(10, 'b'), 9);
    expect(texts.get(8)).toEqual({ text: text(10, 'a'), size: 7 });
    expect(texts.get(16)).toEqual({ text: text(10, 'b'), size: 9 });
    expect(texts.get(24)).toBeUndefined();
  });
  test('the oldest make room for new ones', () => {
    const texts = new RecordTexts(100);
    for (const at of [1, 2, 3, 4, 5]) texts.keep(at, text(20 + at), 1);
    expect([1, 2, 3, 4, 5].map((at) => texts.get(at)?.text.length)).toEqual([undefined, undefined, 23, 24, 25]);
  });
  test('one that was kept before takes no room twice', () => {
    const texts = new RecordTexts(200);
    for (let n = 0; n < 50; n++) texts.keep(1, text(60), 1);
    texts.keep(2, text(40), 1);
    expect(texts.get(1)).toBeDefined();
    expect(texts.get(2)).toBeDefined();
  });
  test('a very long one is not kept at the cost of the others', () => {
    const texts = new RecordTexts(100_000);
    texts.keep(1, text(10), 1);
    texts.keep(2, text(70_000), 1);
    expect(texts.get(2)).toBeUndefined();
    expect(texts.get(1)).toBeDefined();
  });
});
