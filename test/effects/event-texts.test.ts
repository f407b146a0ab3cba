/** Kept texts of events must be those that were made, each once for all who are told it. */
import { describe, expect, test } from 'vitest';
import { EventTexts } from '../../src/event-texts.ts';
import type { LedgerEvent } from '../../src/events.ts';

/** Texts of `length` characters that begin with the event's index, and which of them were made. */
function makeTexts(bytesMax = 256 * 1024) {
  const made: string[] = [];
  let length = 10;
  const make = ({ seq, index }: LedgerEvent) => {
    made.push(`${seq}.${index}`);
    return String(index).padEnd(length, 'x');
  };
  const texts = new EventTexts(make, bytesMax);
  const tell = (seq: number, index = 0, chars = 10) => {
    length = chars;
    return texts.of({ seq, index } as LedgerEvent);
  };
  return { made, tell };
}

describe('texts of events', () => {
  test('one that many ask for is made once', () => {
    const { made, tell } = makeTexts();
    for (let reader = 0; reader < 5; reader++) {
      expect([tell(7, 0), tell(7, 1), tell(71, 0)].map((text) => text.slice(0, 2))).toEqual(['0x', '1x', '0x']);
    }
    expect(made).toEqual(['7.0', '7.1', '71.0']);
  });

  test('the oldest make room for new ones, and are made again', () => {
    const { made, tell } = makeTexts(100);
    for (const seq of [1, 2, 3, 4, 5, 5, 4, 1]) tell(seq, 0, 20 + seq);
    expect(made).toEqual(['1.0', '2.0', '3.0', '4.0', '5.0', '1.0']);
  });

  test('long ones are made once too, unless they are longer than all that is kept', () => {
    const { made, tell } = makeTexts(400_000);
    for (let reader = 0; reader < 3; reader++) {
      for (const seq of [2, 3]) expect(tell(seq, 1, 70_000)).toBe(tell(seq, 1));
    }
    for (let reader = 0; reader < 2; reader++) tell(8, 0, 500_000);
    expect(made).toEqual(['2.1', '3.1', '8.0', '8.0']);
  });

  test('is that of its entry and its number there, however high', () => {
    const { made, tell } = makeTexts();
    const events = [
      [1, 2 ** 20],
      [2, 0],
      [2 ** 32, 2 ** 20 - 1],
      [2 ** 32 + 1, 0],
    ] as const;
    for (const [seq, index] of [...events, ...events]) expect(tell(seq, index)).toBe(String(index).padEnd(10, 'x'));
    expect(made).toHaveLength(5);
  });
});
