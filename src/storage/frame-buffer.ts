/**
 * Bytes under construction: one buffer that grows and is used again for frame after frame, so that a
 * steady load allocates nothing. `end` is where the next byte goes. Growing replaces `bytes`; the old ones
 * keep what they held.
 */
export class FrameBuffer {
  bytes: Buffer;
  end = 0;

  constructor(capacity = 64 * 1024) {
    this.bytes = Buffer.allocUnsafeSlow(capacity);
  }

  /** Makes room for `count` more bytes behind `end`. */
  reserve(count: number): void {
    const needed = this.end + count;
    if (needed <= this.bytes.length) return;
    const grown = Buffer.allocUnsafeSlow(Math.max(needed, 2 * this.bytes.length));
    this.bytes.copy(grown, 0, 0, this.end);
    this.bytes = grown;
  }
}
