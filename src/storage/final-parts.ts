/**
 * Final parts on disk: written once, remembered by the memory they came from, named by later snapshots.
 *
 * What always holds: a part file's name holds its hash, and it gets that name when its bytes are on the
 * device. What is remembered only saves hashing and writing the same bytes again; forgetting it all would
 * change nothing else.
 */
import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { type Disk, type DiskFile, syncLater, writeAllLater } from './disk.ts';
import { crc } from './format.ts';
import type { Part } from './snapshot.ts';
import { type PartRow, PIECE_BYTES, partName, TEMPORARY } from './snapshot-format.ts';

interface RememberedPart {
  path: string;
  from: number;
  row: PartRow;
}

/** By the memory a final part lies in, which outlives the views on it. */
const remembered = new WeakMap<ArrayBufferLike, RememberedPart>();

export function rememberPart(path: string, row: PartRow, bytes: Uint8Array): void {
  remembered.set(bytes.buffer, { path, from: bytes.byteOffset, row });
}

/** Makes sure the part has its file; returns its row in the manifest and how many bytes were written. */
export async function keepFinalPart(
  disk: Disk,
  directory: string,
  part: Part,
): Promise<{ row: PartRow; written: number }> {
  const { name, bytes } = part;
  const known = remembered.get(bytes.buffer);
  if (known !== undefined && known.from === bytes.byteOffset && known.row.bytes === bytes.length) {
    const { path, row } = known;
    if (path === join(directory, partName(name, row.hash!)) && fileBytes(disk, path) === bytes.length) {
      return { row, written: 0 };
    }
  }
  const temporary = join(directory, `part-${name}${TEMPORARY}`);
  const row = await writeTemporary(disk, temporary, async (file) => {
    const sums = await stream(file, 0, [bytes]);
    return { name, final: true, bytes: bytes.length, crc: sums.crcs[0]!, hash: sums.hash } satisfies PartRow;
  });
  const path = join(directory, partName(name, row.hash!));
  disk.rename(temporary, path);
  rememberPart(path, row, bytes);
  return { row, written: bytes.length };
}

/** Length of a file, or -1 where there is none. */
export function fileBytes(disk: Disk, path: string): number {
  if (!disk.exists(path)) return -1;
  const file = disk.open(path, 'read');
  try {
    return file.size();
  } finally {
    file.close();
  }
}

/** Fills a new file, has it on the device and closes it. Where that fails the file goes, its space is needed. */
export async function writeTemporary<T>(disk: Disk, path: string, fill: (file: DiskFile) => Promise<T>): Promise<T> {
  if (disk.exists(path)) disk.unlink(path);
  const file = disk.open(path, 'create');
  let open = true;
  try {
    const filled = await fill(file);
    await syncLater(file);
    open = false;
    file.close();
    return filled;
  } catch (error) {
    try {
      if (open) file.close();
      disk.unlink(path);
    } catch {
      // The first error is the one to tell; what is left over goes with the next snapshot.
    }
    throw error;
  }
}

/** Writes the pieces one after the other; returns the hash of all and the CRC of each. */
export async function stream(
  file: DiskFile,
  start: number,
  pieces: readonly Uint8Array[],
  sha = createHash('sha256'),
): Promise<{ hash: Uint8Array; crcs: number[]; end: number }> {
  const crcs: number[] = [];
  let at = start;
  for (const bytes of pieces) {
    let sum = 0;
    for (let from = 0; from < bytes.length; from += PIECE_BYTES) {
      const to = Math.min(from + PIECE_BYTES, bytes.length);
      sha.update(bytes.subarray(from, to));
      sum = crc(bytes, from, to, sum);
      await writeAllLater(file, bytes, from, to, at);
      at += to - from;
    }
    crcs.push(sum);
  }
  return { hash: sha.copy().digest(), crcs, end: at };
}
