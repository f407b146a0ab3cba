/**
 * The one door of this room: storage outside the V8 heap, in typed arrays over shared memory, and maps within it that
 * may grow long; and what is kept only while it is asked for, within a bound (recent.ts).
 *
 * It knows nothing of ledgers. Everything grows by pages, so nothing large is ever copied at once, and everything is
 * dumped as parts for a snapshot (see parts.ts).
 */
export { Chains } from './chains.ts';
export { F64Column, ROWS_MAX, U8Column, U32Column } from './columns.ts';
export { hashAscii, hashMix, hashRows, hashText } from './hash.ts';
export { Heap, type HeapRoom } from './heap.ts';
export { HeldMap, rowsOf } from './held-map.ts';
export { F64Field, Lines, U8Field, U16Field, U32Field } from './lines.ts';
export { LongMap, near, scattered, scatteredAddress } from './long-map.ts';
export { bytesOf, dropParts, type FinalPart, type OpenPart, type Part, type Parts, piecesOf } from './parts.ts';
export { Recent } from './recent.ts';
export type { MemorySizes } from './sizes.ts';
export { Table } from './table.ts';
