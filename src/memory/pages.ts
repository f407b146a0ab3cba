/**
 * Pages of one size, and what happens to those a dump still holds.
 *
 * A structure that changes a dumped page takes a new page, copies, and retires the old one. Retired pages wait until
 * the dump has been written (`release`) and are then used again. Left to the garbage collector they would linger:
 * it hardly sees shared memory, so it is in no hurry to free it.
 *
 * What always holds: a retired page is not handed out before `release`.
 */
export class Pages {
  private readonly bytesCount: number;
  private free: SharedArrayBuffer[] = [];
  private retired: SharedArrayBuffer[] = [];

  constructor(bytesCount: number) {
    this.bytesCount = bytesCount;
  }

  /** A page of zeros. */
  take(): SharedArrayBuffer {
    const buffer = this.free.pop();
    if (buffer === undefined) return new SharedArrayBuffer(this.bytesCount);
    new Uint8Array(buffer).fill(0);
    return buffer;
  }

  /** A page with the same bytes as `page`, which is retired: a dump holds it. */
  replace(page: SharedArrayBuffer): SharedArrayBuffer {
    const buffer = this.free.pop() ?? new SharedArrayBuffer(this.bytesCount);
    new Uint8Array(buffer).set(new Uint8Array(page));
    this.retired.push(page);
    return buffer;
  }

  /** A page of zeros in the place of `page`, which is retired: a dump holds it. */
  renew(page: SharedArrayBuffer): SharedArrayBuffer {
    this.retired.push(page);
    return this.take();
  }

  /** Dumps are written: what was retired for them may be used again. */
  release(): void {
    for (const page of this.retired) this.free.push(page);
    this.retired = [];
  }

  /** A new dump begins. What is still retired belongs to an unreleased one and is left to the garbage collector. */
  forget(): void {
    this.retired = [];
  }

  /** Everything changes hands: nothing known of former pages counts any more. */
  reset(): void {
    this.free = [];
    this.retired = [];
  }
}
