/**
 * What the headers of segments say beside what the frames around them say too, and the reader compares: of which format
 * version the server was that began it. Nobody signs that, and nothing depends on it; but whoever changes it shall not
 * stay unseen.
 */
import { join } from 'node:path';
import { readAll } from '../../storage/disk.ts';
import {
  FRAME_BYTES_MAX,
  FRAME_HEAD_BYTES,
  frameBytesAt,
  frameVersion,
  readSegmentHeader,
  SEGMENT_HEADER_BYTES,
} from '../../storage/format.ts';
import type { Pinned } from '../../storage/pinned.ts';
import { listSegments } from '../../storage/segments.ts';
import { FoundError } from './finding.ts';

/** Where in a header its version lies. */
const VERSION_AT = 8;

/** What is to be said of the headers, in sentences. Throws FoundError where one cannot be. */
export function headerNotes(pinned: Pinned, directory: string): string[] {
  const notes: string[] = [];
  const bytes = Buffer.alloc(SEGMENT_HEADER_BYTES + FRAME_HEAD_BYTES);
  for (const { file } of listSegments(pinned, directory)) {
    const path = join(directory, file);
    const length = readAll(pinned.open(path, 'read'), bytes, 0);
    const header = readSegmentHeader(bytes, 0, length);
    const hasFrame = length === bytes.length && frameBytesAt(bytes, SEGMENT_HEADER_BYTES, FRAME_BYTES_MAX) > 0;
    if (header === null || !hasFrame) continue;
    const version = frameVersion(bytes, SEGMENT_HEADER_BYTES);
    if (header.version === version) continue;
    if (header.version > version) {
      const what = `it was begun in format version ${header.version}, it says, but its first frame is of version ${version}`;
      throw new FoundError('damage', { file: path, byte: VERSION_AT }, what);
    }
    // Header and first frame are one write; a crash may have left the header, and a newer server have gone on behind
    // it.
    notes.push(
      `${file} says that it was begun in format version ${header.version}, and its first frame is of version ${version}: the older server's first write there did not end, or somebody has changed the header, on which nothing depends.`,
    );
  }
  return notes;
}
