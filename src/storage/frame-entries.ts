/**
 * The entries of one frame: decoded, and digested, which is what the frame's hash is made of. Whose the frame is, and
 * whether it is in its place, journal-reader.ts knows.
 */
import type { Entry } from '../core/entry.ts';
import { decodeNext } from './codec.ts';
import { passNext } from './entry-bytes.ts';
import {
  digestEntry,
  FRAME_FOOT_BYTES,
  FRAME_HEAD_BYTES,
  type FrameHead,
  frameHash,
  frameWhole,
  HASH_BYTES,
  readFrameHead,
} from './format.ts';
import { CodecError } from './msgpack.ts';
import type { OutlineNotes } from './outline.ts';
import type { Frame } from './window.ts';

/** Reads the entry at `cursor.at` and moves that behind it; `notes` may help. Throws CodecError. */
export type DecodeEntry<E> = (bytes: Uint8Array, cursor: { at: number }, to: number, notes?: OutlineNotes) => E;

/** A frame's entries, where they were decoded, where each ends in its bytes, and their digests in a row. */
export interface FrameEntries<E> {
  readonly list: E[];
  readonly ends: number[];
  digests: Buffer;
}

export function noEntries<E = never>(): FrameEntries<E> {
  return { list: [], ends: [], digests: Buffer.allocUnsafeSlow(64 * HASH_BYTES) };
}

/**
 * Decodes the entries of the frame, and digests them where that is not done; of a frame whose entries nobody wants, the
 * digests will do (`decodeEntry` is null then). Throws CodecError where they do not fill it.
 */
export function takeEntries<E>(
  into: FrameEntries<E>,
  { bytes, from, to, digests, notes }: Frame,
  count: number,
  decodeEntry: DecodeEntry<E> | null,
): void {
  into.list.length = 0;
  into.ends.length = 0;
  // Whoever has taken the digests has passed through all entries.
  if (decodeEntry === null && digests !== undefined) return;
  const end = to - FRAME_FOOT_BYTES;
  const cursor = { at: from + FRAME_HEAD_BYTES };
  for (let index = 0; index < count; index++) {
    const start = cursor.at;
    if (decodeEntry === null) passNext(bytes, cursor, end);
    else into.list.push(decodeEntry(bytes, cursor, end, notes));
    into.ends.push(cursor.at);
    if (digests !== undefined) continue;
    // What a frame says of its count is believed one entry at a time.
    if (into.digests.length === index * HASH_BYTES)
      into.digests = Buffer.concat([into.digests], 2 * index * HASH_BYTES);
    digestEntry(bytes, start, cursor.at, into.digests, index * HASH_BYTES);
  }
  if (cursor.at !== end) throw new CodecError('bytes after the last entry');
}

/** The hash of the frame that fills `bytes`, or null where they are none that could be read. */
export function frameHashOf(bytes: Buffer): Uint8Array | null {
  const head: FrameHead = { firstSeq: 0, count: 0, moment: 0 };
  if (!frameWhole(bytes, 0, bytes.length) || readFrameHead(bytes, 0, bytes.length, head) !== '') return null;
  const entries = noEntries<Entry>();
  try {
    takeEntries(entries, { bytes, from: 0, to: bytes.length }, head.count, decodeNext);
  } catch (error) {
    if (error instanceof CodecError) return null;
    throw error;
  }
  return frameHash(bytes, 0, entries.digests.subarray(0, head.count * HASH_BYTES));
}
