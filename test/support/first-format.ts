/**
 * Books as servers up to 0.1.0 wrote them: entries of format version 1, which is read for ever and written by nobody any
 * more but tests; second-format.ts has those of 0.2.0. A journal opened with `format: FIRST_FORMAT` among its options
 * writes frames, and begins segments, of version 1; opened again without it, it goes on in the current one, as a server
 * does that was brought up to date:
 *
 *     Journal.open(disk, directory, end, { segmentBytesMax, sign, format: FIRST_FORMAT })
 *
 * The bytes that `add` returns are those of version 1 too, so that what is applied, and lies in the heap and in
 * snapshots, is what an older server would have had. storage/entry-bytes.ts tells how version 1 differs.
 */
import { type Entry, EntryType, type StoredProof } from '../../src/core/entry.ts';
import type { FrameBuffer } from '../../src/storage/frame-buffer.ts';
import type { EntryFormat } from '../../src/storage/journal.ts';
import * as msgpack from '../../src/storage/msgpack.ts';
import { outcomeBytesMax, writeWhole } from '../../src/storage/outcomes.ts';

export const FIRST_FORMAT: EntryFormat = {
  version: 1,
  encode(entry, buffer) {
    decideEarly(entry);
    encodeFirst(entry, buffer);
  },
};

/** Servers of both formats knew early outcomes only, and took them into their books as such. */
export function decideEarly(entry: Entry): void {
  if ('outcome' in entry) entry.outcome.isEarly = true;
}

const ELEMENTS = { 1: 10, 2: 11, 3: 10, 4: 9, 5: 12, 6: 8, 7: 7, 8: 12 } as const satisfies Record<EntryType, number>;

/** Appends the entry to the buffer. */
function encodeFirst(entry: Entry, buffer: FrameBuffer): void {
  buffer.reserve(bytesMax(entry));
  const { bytes } = buffer;
  let at = buffer.end;
  const isLabelled = entry.type === EntryType.proof && entry.labels !== undefined;
  bytes[at++] = 0x90 + ELEMENTS[entry.type] + (isLabelled ? 1 : 0);
  at = msgpack.writeText(bytes, at, entry.luid);
  at = msgpack.writeText(bytes, at, entry.handle);
  at = msgpack.writeCount(bytes, at, entry.type);
  at = msgpack.writeCount(bytes, at, entry.ledger);
  at = msgpack.writeCount(bytes, at, entry.kind);
  at = msgpack.writeCount(bytes, at, entry.moment);
  buffer.end = writeBody(bytes, at, entry);
}

function writeBody(bytes: Buffer, start: number, entry: Entry): number {
  let at = start;
  switch (entry.type) {
    case EntryType.proof:
      at = msgpack.writeCount(bytes, at, entry.row);
      at = writeProof(bytes, at, entry.proof);
      at = msgpack.writeTextOrNil(bytes, at, entry.status);
      return entry.labels === undefined ? at : msgpack.writeTexts(bytes, at, entry.labels);
    case EntryType.token:
      return msgpack.writeCount(bytes, at, entry.exp);
    case EntryType.step:
      return writeWhole(bytes, msgpack.writeCount(bytes, at, entry.row), entry.outcome, 0);
    case EntryType.delivery:
      for (const number of [entry.row, entry.seq, entry.index, entry.attempts, entry.isDelivered ? 1 : 0]) {
        at = msgpack.writeCount(bytes, at, number);
      }
      return msgpack.writeText(bytes, at, entry.detail);
  }
  at = msgpack.writeBinary(bytes, at, entry.hash, 32);
  at = msgpack.writeText(bytes, at, entry.data);
  at = msgpack.writeArrayHead(bytes, at, entry.proofs.length);
  for (const proof of entry.proofs) at = writeProof(bytes, at, proof);
  if (entry.type === EntryType.drop) return msgpack.writeCount(bytes, at, entry.row);
  at = msgpack.writeBinary(bytes, at, entry.seal, 64);
  if (entry.type === EntryType.update) return msgpack.writeCount(bytes, at, entry.row);
  if (entry.type === EntryType.create) return at;
  return writeWhole(bytes, msgpack.writeText(bytes, at, entry.thread), entry.outcome, 0);
}

function writeProof(bytes: Buffer, start: number, { public: key, result, custom }: StoredProof): number {
  let at = msgpack.writeArrayHead(bytes, start, 3);
  at = msgpack.writeBinary(bytes, at, key, 32);
  at = msgpack.writeBinary(bytes, at, result, 64);
  return msgpack.writeTextOrNil(bytes, at, custom);
}

/** Three bytes a character, and room to spare for each header and number. */
function bytesMax(entry: Entry): number {
  const texts = [entry.handle];
  let rest = 256;
  if ('data' in entry) texts.push(entry.data);
  if ('detail' in entry) texts.push(entry.detail);
  if ('thread' in entry) texts.push(entry.thread);
  if ('status' in entry) texts.push(entry.status ?? '', ...(entry.labels ?? []));
  const proofs = 'proofs' in entry ? entry.proofs : 'proof' in entry ? [entry.proof] : [];
  for (const { custom } of proofs) texts.push(custom ?? '', 'x'.repeat(64));
  if ('outcome' in entry) rest += outcomeBytesMax(entry.outcome);
  for (const text of texts) rest += 8 + 3 * text.length;
  return rest;
}
