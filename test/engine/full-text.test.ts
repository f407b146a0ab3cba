/** What an operator reads of full books: open intents were to come to their end where hardly any were open. */
import { expect, test } from 'vitest';
import { fullText } from '../../src/trouble.ts';

test('that books are full is told with what takes the room, and what to do about it', () => {
  const taken = { bytesMax: 2 ** 31, openIntents: 12 };
  expect(fullText('v8', taken)).toMatch(/by 12 open intents.*where they are many.*--max-old-space-size.*new books/);
  expect(fullText('records', taken)).toMatch(/of the 2\.00 GiB.*--records-bytes-max.*new books/);
  expect(fullText('entries', taken)).toMatch(/entries.*No memory helps: go on with new books/);
});
