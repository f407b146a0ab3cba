/**
 * The record heap read from its beginning: every entry is appended to it once, so it holds them in order of seq.
 * src/memory/heap.ts says how records lie in it.
 */
import type { Entry } from '../../core/entry.ts';
import type { State } from '../../core/state.ts';

const UNIT_BYTES = 8;
const HEADER_BYTES = 8;

/** Each entry and a copy of its bytes. Throws where what lies there is no entry. */
export function* heapEntries({ heap, codec }: State): Generator<{ entry: Entry; bytes: Uint8Array }> {
  const used = heap.used;
  const chunkBytes = heap.recordBytesMax + HEADER_BYTES;
  for (let byte = HEADER_BYTES; byte < used; ) {
    const at = byte / UNIT_BYTES;
    const length = heap.length(at);
    if (length === 0) {
      // The rest of a chunk in which the next record had no room.
      byte = Math.ceil((byte + 1) / chunkBytes) * chunkBytes;
      continue;
    }
    const from = heap.offset(at);
    const bytes = heap.chunk(at).slice(from, from + length);
    yield { entry: codec.decode(bytes, 0, length), bytes };
    byte += (HEADER_BYTES + length + UNIT_BYTES - 1) & ~(UNIT_BYTES - 1);
  }
}
