/**
 * The record heap read from its beginning: every entry but those of tokens is appended to it once, so it holds them in
 * order of seq. The log says where each lies, and 0 of a token.
 */
import type { Entry } from '../../core/entry.ts';
import type { State } from '../../core/state.ts';
import { lieAt, type Place } from './finding.ts';

/**
 * Each entry and a copy of its bytes, in order of seq; null in the place of a token, of which nothing is kept here.
 * Throws where what lies there is no entry, and FoundError at `place` where it is another one than the log says.
 */
export function* heapEntries(
  { heap, codec, log }: State,
  place: Place,
): Generator<{ entry: Entry; bytes: Uint8Array } | null> {
  const lie = lieAt(place);
  let seq = 0;
  for (const at of heap.addresses()) {
    for (; seq < log.length && log.get(seq) === 0; seq++) yield null;
    if (seq === log.length || log.get(seq) !== at) lie(`entry ${seq + 1} lies elsewhere than its log says`);
    seq++;
    const bytes = heap.bytes(at).slice();
    yield { entry: codec.decode(bytes, 0, bytes.length), bytes };
  }
  for (; seq < log.length; seq++) {
    if (log.get(seq) !== 0) lie(`entry ${seq + 1} is not among its records`);
    yield null;
  }
}
