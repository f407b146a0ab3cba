/**
 * How large the pieces are in which memory grows. A size that is left out is one that suits millions of records. Books
 * that were dumped in pieces of one size are loaded in the same; of caches nothing is dumped, and nothing decided
 * depends on them.
 */
export interface MemorySizes {
  /** Bytes of a chunk of the heap. */
  readonly chunkBytes?: number;
  /** Bytes of all chunks together. */
  readonly heapBytesMax?: number;
  /** Rows of a column's page. */
  readonly pageRows?: number;
  /** Small tables that a table consists of. */
  readonly segments?: number;
  /** How much of the caches may be used; 1 where there is room for all of them. */
  readonly cacheShare?: number;
}
