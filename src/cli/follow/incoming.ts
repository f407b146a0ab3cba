/** What comes of the books from elsewhere: looked at, before anything counts of it. */
import { basename } from 'node:path';
import { equalBytes } from '../../core/bytes.ts';
import { type Disk, TEMPORARY } from '../../storage/disk.ts';
import { FRAME_BYTES_MAX, FRAME_HEAD_BYTES, SEGMENT_HEADER_BYTES, type VerifyHash } from '../../storage/format.ts';
import { type FrameChain, isZeros, SpoiltFrameError, StrangeFrameError } from '../../storage/frame-chain.ts';
import { FOOT_BYTES, type Manifest, SnapshotError } from '../../storage/snapshot-format.ts';
import { hashUpTo, readOutline } from '../../storage/snapshot-reader.ts';

/** The books there and these are not of one history, or not of one server. */
export class StrangeBooksError extends Error {
  override name = 'StrangeBooksError';
}

/**
 * Hands on, with its place in the segment, what comes of it in whole frames, once that was looked at: of a segment that
 * begins, all that is there of it; of one that goes on, frame by frame, since a power cut may take any part of what is
 * not on the device yet, and a frame that is gone with a whole one behind it is damage to every start. A header goes
 * with its first frame: nobody signs it alone.
 */
export async function copyFrames(
  name: string,
  from: number,
  chain: FrameChain,
  chunks: AsyncIterable<Uint8Array>,
  write: (bytes: Uint8Array, at: number) => Promise<void>,
): Promise<void> {
  // What is in no whole frame yet, where it begins, and room for more of it: it may come in very small pieces.
  let [room, length, begin] = [Buffer.alloc(0), 0, from];
  let zeros = 0;
  let lacksHeader = from === 0;
  // Until its first frame is there.
  let header = Buffer.alloc(0);
  for await (const chunk of chunks) {
    if (zeros + length > FRAME_BYTES_MAX) throw new SpoiltFrameError('more bytes than a frame has');
    if (room.length < length + chunk.length) room = Buffer.concat([room], 2 * (length + chunk.length));
    room.set(chunk, length);
    length += chunk.length;
    const held = room.subarray(0, length);
    let [at, to] = [0, 0];
    // Once: of what could not be written nothing is tried again.
    const handOn = async () => {
      if (at === to) return;
      const [frames, place] = [held.subarray(at, to), begin + at - header.length];
      const bytes = header.length > 0 ? Buffer.concat([header, frames]) : frames;
      header = Buffer.alloc(0);
      at = to;
      await write(bytes, place);
    };
    try {
      if (lacksHeader) {
        if (held.length < SEGMENT_HEADER_BYTES) continue;
        at = to = chain.takeHeader(held);
        header = Buffer.from(held.subarray(0, to));
        lacksHeader = false;
      }
      for (let bytes = chain.take(held, to); bytes > 0; bytes = chain.take(held, to)) {
        to += bytes;
        if (from > 0) await handOn();
      }
    } catch (error) {
      if (!(error instanceof StrangeFrameError)) throw error;
      throw new StrangeBooksError(`${name} there, at byte ${begin + to}, has ${error.message}`);
    } finally {
      await handOn();
    }
    if (to > 0) room.copyWithin(0, to, length);
    length -= to;
    begin += to;
    // Behind zeros where a head would be comes no frame: those few say so as well as all of them, and are looked at
    // again.
    if (length > FRAME_HEAD_BYTES && isZeros(room.subarray(0, length), 0)) {
      zeros += length - FRAME_HEAD_BYTES;
      length = FRAME_HEAD_BYTES;
    }
  }
  if (!isZeros(room.subarray(0, length), 0))
    throw new SpoiltFrameError(`half a frame behind entry ${chain.position.seq}`);
}

/** A snapshot's manifest, once its file was found to be what the server has signed. */
export async function provenManifest(disk: Disk, path: string, verify: VerifyHash): Promise<Manifest> {
  const file = disk.open(path, 'read');
  try {
    const { manifest, foot } = readOutline(file, verify);
    if (equalBytes(await hashUpTo(file, file.size() - FOOT_BYTES), foot.hash)) return manifest;
    throw new SpoiltFrameError(`${basename(path, TEMPORARY)} there has other bytes than were signed`);
  } catch (error) {
    throw error instanceof SnapshotError
      ? new SpoiltFrameError(`${basename(path, TEMPORARY)} there: ${error.message}`)
      : error;
  } finally {
    file.close();
  }
}
