/**
 * Where the books ended when a server last stopped on them, in a file beside them. Segments alone cannot tell that
 * their newest end is gone or spoilt: a crash leaves such ones too. A stop does not, so after one that is damage.
 *
 * The file is JSON, {chain, seq, signature}: the last entry, the hash of the last frame in hex, and the server's
 * signature of the SHA-256 of `{"chain":"…","seq":…}`, base64. It goes on being true as the journal grows, so a crash
 * after the next start need not touch it. It is no proof: who has the files may take it away. GET /v2/head gives one.
 */
import { join } from 'node:path';
import { hex } from '../core/bytes.ts';
import { changeIn } from './changed-byte.ts';
import { type Disk, readWhole, writeWhole } from './disk.ts';
import { sha256, type VerifyHash } from './format.ts';
import type { JournalPosition } from './journal.ts';
import type { ReadResult } from './journal-reader.ts';
import { DamageError } from './segments.ts';

export const END_FILE = 'stopped-at.json';
const END_BYTES_MAX = 1024;

export interface KnownEnd {
  seq: number;
  /** Hash of the last frame, hex. */
  chain: string;
}

/** Notes it, durably and in one step. */
export function noteEnd(
  disk: Disk,
  directory: string,
  { seq, chain }: JournalPosition,
  sign: (hash: Uint8Array) => Uint8Array,
): void {
  const end = { chain: hex(chain), seq };
  const signature = Buffer.from(sign(hashOf(end))).toString('base64');
  writeWhole(disk, join(directory, END_FILE), Buffer.from(`${JSON.stringify({ ...end, signature })}\n`));
}

/** What was noted; null where there is nothing that this server's key has signed. */
export function readKnownEnd(disk: Disk, directory: string, verify: VerifyHash): KnownEnd | null {
  const path = join(directory, END_FILE);
  return disk.exists(path) ? parse(readWhole(disk, path, END_BYTES_MAX).toString(), verify) : null;
}

/**
 * What is wrong, by that note, with books that were found to end here; null where nothing is, or where only a byte of
 * the last frame has changed, which can be put back.
 */
export function endDamage(
  disk: Disk,
  directory: string,
  { position, torn }: Pick<ReadResult, 'position' | 'torn'>,
  verify: VerifyHash,
): DamageError | null {
  const path = join(directory, END_FILE);
  if (!disk.exists(path)) return null;
  const known = readKnownEnd(disk, directory, verify);
  if (known === null)
    return new DamageError(path, 0, `${END_FILE} holds nothing that this server's key has signed`, 'no-note');
  const { seq } = position;
  if (seq > known.seq || (seq === known.seq && hex(position.chain) === known.chain)) return null;
  const end = seq < known.seq ? `ends at entry ${seq}` : `has another entry ${seq}`;
  const what = `the journal ${end}, and a server stopped properly at entry ${known.seq} (${END_FILE})`;
  // One behind the last frame brings back none.
  if (torn !== null && changeIn(disk, directory, { torn, position }, verify)?.where === 'frame') return null;
  const { file, byte } = torn ?? position;
  return new DamageError(join(directory, file ?? ''), byte, what, 'no-end');
}

function parse(text: string, verify: VerifyHash): KnownEnd | null {
  try {
    const { chain, seq, signature } = JSON.parse(text);
    return verify(hashOf({ chain, seq }), Buffer.from(signature, 'base64')) ? { chain, seq } : null;
  } catch {
    return null;
  }
}

function hashOf({ chain, seq }: KnownEnd): Uint8Array {
  return sha256(JSON.stringify({ chain, seq }));
}
