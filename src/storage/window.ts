/**
 * A segment as it is read: a part of it in memory that moves forward, and what lies there, whole frames or what a crash
 * has left of one.
 */
import { type DiskFile, readAll } from './disk.ts';
import { FRAME_HEAD_BYTES, type FrameHead, frameBytesAt, frameWhole, isFrameHead, readFrameHead } from './format.ts';
import type { OutlineNotes } from './outline.ts';

/** A whole frame, bytes[from, to); the digests of its entries and notes of them where somebody has made them. */
export interface Frame {
  readonly bytes: Buffer;
  readonly from: number;
  readonly to: number;
  readonly digests?: Buffer;
  readonly notes?: OutlineNotes;
}

/** How much is looked through for zeros at once. */
const ZEROS_BYTES = 64 * 1024;

/** A part of a file in memory that moves forward, growing only for a frame longer than itself. */
export class Window {
  bytes: Buffer;
  readonly size: number;
  readonly #file: DiskFile;
  /** bytes[0, #length) are the file's from #base on. */
  #base = 0;
  #length = 0;

  constructor(file: DiskFile, before: Window | null, bytes: number) {
    this.#file = file;
    this.size = file.size();
    const needed = Math.min(this.size, bytes);
    this.bytes = before !== null && before.bytes.length >= needed ? before.bytes : Buffer.allocUnsafeSlow(needed);
  }

  /** Where in `bytes` the file's [position, position + count) lie now, or -1 where it ends before. */
  load(position: number, count: number): number {
    if (position + count > this.size) return -1;
    const at = position - this.#base;
    if (at >= 0 && at + count <= this.#length) return at;
    if (count > this.bytes.length) this.bytes = Buffer.allocUnsafeSlow(Math.max(count, 2 * this.bytes.length));
    this.#base = position;
    this.#length = readAll(this.#file, this.bytes, position);
    return this.#length >= count ? 0 : -1;
  }
}

/** Behind the last byte from `at` on that is not zero; `at` where there is none. */
export function endOfBytes(window: Window, at: number): number {
  let end = at;
  for (let from = at; from < window.size; from += ZEROS_BYTES) {
    const count = Math.min(ZEROS_BYTES, window.size - from);
    const start = window.load(from, count);
    for (let index = count; index > 0; index--) {
      if (window.bytes[start + index - 1] === 0) continue;
      end = from + index;
      break;
    }
  }
  return end;
}

/** Where the next whole frame behind entry `seq` begins, at byte `start` or later, or -1. */
export function findFrame(window: Window, start: number, seq: number): number {
  const head: FrameHead = { firstSeq: 0, count: 0, moment: 0 };
  for (let at = start; at < window.size; at++) {
    const frame = wholeFrame(window, at);
    if (frame === null) continue;
    readFrameHead(frame.bytes, frame.from, frame.to, head);
    if (head.firstSeq > seq) return at;
  }
  return -1;
}

/**
 * Where a frame was begun that is not the next one behind entry `seq` but a later one, at byte `start` or later, or -1:
 * its head is enough, the rest of it need not have come.
 */
export function findLaterHead(window: Window, start: number, seq: number): number {
  const head: FrameHead = { firstSeq: 0, count: 0, moment: 0 };
  for (let at = start; at < window.size; at++) {
    const from = window.load(at, FRAME_HEAD_BYTES);
    if (from === -1) break;
    if (isFrameHead(window.bytes, from, head) && head.firstSeq > seq + 1) return at;
  }
  return -1;
}

/** The frame at `at` if it is all there and its CRC fits. */
export function wholeFrame(window: Window, at: number): Frame | null {
  const head = window.load(at, FRAME_HEAD_BYTES);
  if (head === -1) return null;
  const length = frameBytesAt(window.bytes, head, window.size - at);
  if (length === 0) return null;
  const from = window.load(at, length);
  const { bytes } = window;
  return frameWhole(bytes, from, from + length) ? { bytes, from, to: from + length } : null;
}
