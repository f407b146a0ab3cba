/** Snapshots on a disk that can be torn, as several files of tests take and read them. */
import type { Part } from '../../src/core/dump.ts';
import type { JournalPosition } from '../../src/storage/journal.ts';
import { type SnapshotContent, takeSnapshot } from '../../src/storage/snapshot.ts';
import { type FakeDisk, randomFrom } from './fake-disk.ts';
import {
  DIRECTORY,
  freshDisk,
  type ReadPart,
  readFrames,
  readInFull,
  server,
  type WholeSnapshot,
  writeFrames,
} from './kit.ts';

const random = randomFrom(11);
export const noise = (length: number) => Uint8Array.from({ length }, () => Math.floor(random() * 256));

export function part(name: string, final: boolean, length: number): Part {
  const bytes = noise(length);
  // A part that is not final comes in pieces, some of no bytes at all.
  const cuts = [0, length >> 2, length >> 2, length >> 1, length];
  const pieces = cuts.slice(1).map((end, index) => bytes.subarray(cuts[index]!, end));
  return final ? { name, final, bytes } : { name, final, pieces };
}

export function contentAt(position: JournalPosition, parts: Part[]): SnapshotContent {
  return { ...position, extra: noise(20), parts };
}

export const fresh = () => freshDisk(1, (run) => setImmediate(run));

export const read = (disk: FakeDisk) => readInFull(disk, DIRECTORY, server.verify);
export const take = (disk: FakeDisk, content: SnapshotContent) => takeSnapshot(disk, DIRECTORY, content, server);

const bytesOf = (part: Part | ReadPart) =>
  'bytes' in part ? part.bytes : Buffer.concat(Array.from(part.pieces, (piece) => piece.slice()));
export const plain = (content: SnapshotContent | WholeSnapshot | null) =>
  content === null
    ? null
    : {
        seq: content.seq,
        chain: [...content.chain],
        moment: content.moment,
        extra: [...content.extra],
        parts: content.parts.map((part) => [part.name, part.final, Buffer.from(bytesOf(part)).toString('hex')]),
      };

/** A journal of six segments of one frame each, and the positions behind its frames. */
export async function withJournal(): Promise<{ disk: FakeDisk; positions: JournalPosition[] }> {
  const disk = fresh();
  await writeFrames(disk, [2, 2, 2, 2, 2, 2], { segmentBytesMax: 1 });
  return { disk, positions: readFrames(disk).spans.map((span) => span.position) };
}

export const chunk = part('chunk-0', true, 3000);
export const chunk2 = part('chunk.1', true, 100);
export const START: JournalPosition = { seq: 5, chain: noise(32), moment: 17 };
