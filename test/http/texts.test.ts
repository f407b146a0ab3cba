/** Kept texts must be those of the bytes they were made from, and never more than there is room for. */
import { describe, expect, test } from 'vitest';
import { RecordTexts } from '../../src/http/texts.ts';

const text = (length: number, letter = 'x') => letter.repeat(length);

describe('texts of records', () => {
  test('come back with their size, by address', () => {
    const texts = new RecordTexts(100_000, 1);
    texts.keep(8, text(10, 'a'), 7);
    texts.keep(16, text(10, 'b'), 9);
    expect(texts.get(8)).toEqual({ text: text(10, 'a'), bytes: 7 });
    expect(texts.get(16)).toEqual({ text: text(10, 'b'), bytes: 9 });
    expect(texts.get(24)).toBeUndefined();
  });
  test('those that are no longer at hand come back too, and one that is made anew as it was made last', () => {
    const texts = new RecordTexts(100_000, 1, 100);
    for (let at = 1; at <= 50; at++) texts.keep(at, text(40, String(at % 10)), at);
    for (let at = 1; at <= 50; at++) expect(texts.get(at)).toEqual({ text: text(40, String(at % 10)), bytes: at });
    texts.keep(1, text(40, 'z'), 7);
    for (let n = 0; n < 3; n++) {
      expect(texts.get(1)).toEqual({ text: text(40, 'z'), bytes: 7 });
      texts.keep(100 + n, text(40), 1);
    }
  });
  test('a very long one is not kept at the cost of the others', () => {
    const texts = new RecordTexts(100_000, 1);
    texts.keep(1, text(10), 1);
    texts.keep(2, text(70_000), 1);
    expect(texts.get(2)).toBeUndefined();
    expect(texts.get(1)).toBeDefined();
  });
});
