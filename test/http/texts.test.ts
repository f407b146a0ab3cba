/** Kept texts must be those of the bytes they were made from, and never more than there is room for. */
import { describe, expect, test } from 'vitest';
import { EventTexts, RecordTexts } from '../../src/http/texts.ts';

const text = (length: number, letter = 'x') => letter.repeat(length);

describe('texts of records', () => {
  test('come back with their size, by address', () => {
    const texts = new RecordTexts();
    texts.keep(8, text(10, 'a'), 7);
    texts.keep(16, text(10, 'b'), 9);
    expect(texts.get(8)).toEqual({ text: text(10, 'a'), size: 7 });
    expect(texts.get(16)).toEqual({ text: text(10, 'b'), size: 9 });
    expect(texts.get(24)).toBeUndefined();
  });
  test('those that are no longer at hand come back too, and one that is made anew as it was made last', () => {
    const texts = new RecordTexts(100_000, 100);
    for (let at = 1; at <= 50; at++) texts.keep(at, text(40, String(at % 10)), at);
    for (let at = 1; at <= 50; at++) expect(texts.get(at)).toEqual({ text: text(40, String(at % 10)), size: at });
    texts.keep(1, text(40, 'z'), 7);
    for (let n = 0; n < 3; n++) {
      expect(texts.get(1)).toEqual({ text: text(40, 'z'), size: 7 });
      texts.keep(100 + n, text(40), 1);
    }
  });
  test('a very long one is not kept at the cost of the others', () => {
    const texts = new RecordTexts(100_000);
    texts.keep(1, text(10), 1);
    texts.keep(2, text(70_000), 1);
    expect(texts.get(2)).toBeUndefined();
    expect(texts.get(1)).toBeDefined();
  });
});

describe('texts of events', () => {
  const made: string[] = [];
  const tell = (texts: EventTexts, seq: number, index: number, length = 10) =>
    texts.textOf({ seq, index }, () => {
      made.push(`${seq}.${index}`);
      return text(length, String(index));
    });

  test('one that many ask for is made once', () => {
    const texts = new EventTexts(1000);
    made.length = 0;
    for (let reader = 0; reader < 5; reader++) {
      expect([tell(texts, 7, 0), tell(texts, 7, 1), tell(texts, 71, 0)]).toEqual([
        text(10, '0'),
        text(10, '1'),
        text(10, '0'),
      ]);
    }
    expect(made).toEqual(['7.0', '7.1', '71.0']);
  });
  test('the oldest make room for new ones, and are made again', () => {
    const texts = new EventTexts(100);
    made.length = 0;
    for (const seq of [1, 2, 3, 4, 5, 5, 4, 1]) tell(texts, seq, 0, 20 + seq);
    expect(made).toEqual(['1.0', '2.0', '3.0', '4.0', '5.0', '1.0']);
  });
  test('a very long one is made each time, not kept at the cost of the others', () => {
    const texts = new EventTexts(1_000_000);
    made.length = 0;
    for (const length of [70_000, 70_000]) tell(texts, 1, 0, length);
    expect(made).toEqual(['1.0', '1.0']);
  });
});
