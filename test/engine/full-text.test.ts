/** What an operator reads of full books: open intents were to come to their end where hardly any were open. */
import { expect, test } from 'vitest';
import { fullText, watchFullness } from '../../src/trouble.ts';

test('that books are full is told with what takes the room, and what to do about it', () => {
  const taken = { bytesMax: 2 ** 31, bothBytesMax: 2 ** 32, openIntents: 12 };
  expect(fullText('v8', taken)).toMatch(/by 12 open intents.*where they are many.*--max-old-space-size.*new books/);
  expect(fullText('records', taken)).toMatch(/of the 2\.00 GiB.*--records-bytes-max.*new books/);
  expect(fullText('memory', taken)).toMatch(
    /of the 4\.00 GiB of memory.*together.*12 open intents.*more memory.*new books/,
  );
  expect(fullText('entries', taken)).toMatch(/entries.*No memory helps: go on with new books/);
});

test('is told once, again of something else, and again after there was room for a minute, of which it is told too', () => {
  const told: string[] = [];
  const look = watchFullness((text) => told.push(text.slice(0, 40)));
  const taken = { bytesMax: 2 ** 31, bothBytesMax: 2 ** 32, openIntents: 12 };
  const looks = (what: Parameters<typeof look>[0], count: number) => {
    for (let n = 0; n < count; n++) look(what, taken);
    return told.splice(0);
  };
  const [byV8, byRecords] = [fullText('v8', taken).slice(0, 40), fullText('records', taken).slice(0, 40)];
  const again = 'There is room in the books again: what i';
  expect(looks(null, 100)).toEqual([]);
  expect(looks('v8', 100)).toEqual([byV8]);
  expect(looks(null, 59)).toEqual([]);
  expect(looks('v8', 2)).toEqual([]);
  expect(looks(null, 300)).toEqual([again]);
  expect(looks('v8', 2)).toEqual([byV8]);
  expect(looks('records', 2)).toEqual([byRecords]);
  expect([looks('v8', 1), looks('records', 1)]).toEqual([[], []]);
  expect(looks(null, 60)).toEqual([again]);
});
