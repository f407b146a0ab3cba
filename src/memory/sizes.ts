/**
 * How large the pieces are in which memory grows; where nothing is said, what suits millions of records. Books that
 * were dumped in pieces of one size are loaded in the same; of caches nothing is dumped, and nothing decided depends on
 * them.
 */
export interface MemorySizes {
  /** Bytes of a chunk of the heap. */
  readonly chunkBytes?: number;
  /** Of all of them. */
  readonly heapBytesMax?: number;
  /** Rows of a column's page. */
  readonly pageRows?: number;
  /** Small tables that a table consists of. */
  readonly segments?: number;
  /** Of what is kept so that it need not be found again, the share that may be; 1 where there is room for all of it. */
  readonly cacheShare?: number;
}
