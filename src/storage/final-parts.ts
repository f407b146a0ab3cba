/**
 * Final parts on disk: written once, remembered by the memory they came from, named by later snapshots.
 *
 * What always holds: a part file's name holds its hash, and it gets that name when its bytes are on the
 * device. What is remembered only saves hashing and writing the same bytes again; forgetting it all would
 * change nothing else.
 */
import { join } from 'node:path';
import { type FinalPart, piecesOf } from '../core/dump.ts';
import {
  closeLater,
  createLater,
  type Disk,
  type DiskFile,
  renameLater,
  syncLater,
  TEMPORARY,
  unlinkLater,
  withFile,
} from './disk.ts';
import { FileStream } from './file-stream.ts';
import { type PartRow, PIECE_BYTES, partName } from './snapshot-format.ts';

interface RememberedPart {
  path: string;
  from: number;
  row: PartRow;
  /** Its file is known to have other bytes, and could not be written anew. */
  isSpoilt?: true;
}

/** By the memory a final part lies in, which outlives the views on it. */
const remembered = new WeakMap<ArrayBufferLike, RememberedPart>();

export function rememberPart(path: string, row: PartRow, bytes: Uint8Array): void {
  remembered.set(bytes.buffer, { path, from: bytes.byteOffset, row });
}

/**
 * The row of a part that has been written to a file of this directory, or read from one, whatever became of that; else
 * null.
 */
export function rememberedPart(directory: string, { name, bytes }: FinalPart): PartRow | null {
  const known = remembered.get(bytes.buffer);
  if (known === undefined || known.from !== bytes.byteOffset || known.row.bytes !== bytes.length) return null;
  return known.path === join(directory, partName(name, known.row.hash!)) ? known.row : null;
}

/** Whoever takes the next snapshot writes this part anew, whatever length its file has. */
export function spoiltPart({ bytes }: FinalPart): void {
  const known = remembered.get(bytes.buffer);
  if (known !== undefined) known.isSpoilt = true;
}

/** The row of a part that is known to have its file, or null. */
export function keptPart(disk: Disk, directory: string, part: FinalPart): PartRow | null {
  const row = rememberedPart(directory, part);
  if (row === null || remembered.get(part.bytes.buffer)!.isSpoilt) return null;
  return fileBytes(disk, join(directory, partName(row.name, row.hash!))) === row.bytes ? row : null;
}

/** Writes a part to its file, gathered in `buffer`; returns its row in the manifest. */
export async function keepPart(
  disk: Disk,
  directory: string,
  { name, bytes }: FinalPart,
  buffer: Buffer,
): Promise<PartRow> {
  const temporary = join(directory, `part-${name}${TEMPORARY}`);
  const row = await writeTemporary(disk, temporary, async (file): Promise<PartRow> => {
    const stream = new FileStream(file, PIECE_BYTES, buffer);
    const { crc } = await stream.add(piecesOf(bytes));
    return { name, final: true, bytes: bytes.length, crc, hash: await stream.hash() };
  });
  const path = join(directory, partName(name, row.hash!));
  await renameLater(disk, temporary, path);
  rememberPart(path, row, bytes);
  return row;
}

/** Length of a file, or -1 where there is none. */
export function fileBytes(disk: Disk, path: string): number {
  return disk.exists(path) ? withFile(disk, path, 'read', (file) => file.size()) : -1;
}

/** Fills a new file, has it on the device and closes it. Where that fails the file goes, its space is needed. */
export async function writeTemporary<T>(disk: Disk, path: string, fill: (file: DiskFile) => Promise<T>): Promise<T> {
  if (disk.exists(path)) await unlinkLater(disk, path);
  let open: DiskFile | null = null;
  try {
    await createLater(disk, path);
    const file = disk.open(path, 'write');
    open = file;
    const filled = await fill(file);
    await syncLater(file);
    open = null;
    await closeLater(file);
    return filled;
  } catch (error) {
    try {
      if (open !== null) await closeLater(open);
      await unlinkLater(disk, path);
    } catch {
      // The first error is the one to tell; what is left over goes with the next snapshot.
    }
    throw error;
  }
}
