/**
 * The audit against lies in the very bytes of entries, told by somebody who holds the server's key: what decodes to the
 * same entry and is not found by its name, and entries of an older format, whose rules were others.
 */
import { describe, expect, test } from 'vitest';
import { type Entry, EntryType } from '../../src/core/entry.ts';
import { Kind } from '../../src/core/kinds.ts';
import { encode } from '../../src/storage/codec.ts';
import { FORMAT_VERSION } from '../../src/storage/format.ts';
import type { EntryFormat } from '../../src/storage/journal.ts';
import { FIRST_FORMAT } from '../support/first-format.ts';
import { SECOND_FORMAT } from '../support/second-format.ts';
import { framesOf, keyIn, look, plainBooks, rewritten } from './books.ts';
import { isTransfer } from './lies.ts';

const plain = await plainBooks();
const entries = framesOf(plain).flatMap((frame) => frame.entries);
const lastOf = (passes: (entry: Entry) => boolean) => entries.findLast(passes)!.luid;
const transfer = lastOf((entry) => isTransfer(entry));
const wallet = lastOf(({ type, kind }) => type === EntryType.create && kind === Kind.wallet);

/** Today's format, but for the bytes of the entry that makes this record, which `lie` writes. */
function except(luid: string, lie: EntryFormat['encode']): EntryFormat {
  const isIt = (entry: Entry) =>
    entry.luid === luid && (entry.type === EntryType.create || entry.type === EntryType.intent);
  return {
    version: FORMAT_VERSION,
    encode: (entry, buffer) => (isIt(entry) ? lie(entry, buffer) : encode(entry, buffer)),
  };
}

/** Writes these bytes in the place of so many, counted from the entry's first. */
function spliced(at: number, bytesGone: number, ...bytes: number[]): EntryFormat['encode'] {
  return (entry, buffer) => {
    const from = buffer.end + at;
    encode(entry, buffer);
    const rest = Buffer.from(buffer.bytes.subarray(from + bytesGone, buffer.end));
    buffer.reserve(bytes.length);
    buffer.bytes.set(bytes, from);
    buffer.bytes.set(rest, from + bytes.length);
    buffer.end += bytes.length - bytesGone;
  };
}

/** Where an entry's handle begins. */
const HANDLE_AT = 24;
const handleBytes = (luid: string) => entries.find((entry) => entry.luid === luid)!.handle.length;
/** Behind the handle: the type, one byte, then ledger and kind, one each. */
const kindAt = (luid: string) => HANDLE_AT + 1 + handleBytes(luid) + 2;

const verdict = async (format: EntryFormat) =>
  (await look(await rewritten(plain, () => {}, keyIn(plain), format))).finding;

describe('bytes that nobody writes', () => {
  test.each<[string, EntryFormat]>([
    ['a name with a longer head', except(wallet, spliced(HANDLE_AT, 1, 0xdb, 0, 0, 0, handleBytes(wallet)))],
    ['a kind in eight bytes', except(wallet, spliced(kindAt(wallet), 1, 0xcf, 0, 0, 0, 0, 0, 0, 0, Kind.wallet))],
    ['a kind as a signed number', except(wallet, spliced(kindAt(wallet), 1, 0xd0, Kind.wallet))],
    ['a longer head of the whole', except(transfer, spliced(0, 1, 0xdc, 0, 11))],
  ])('%s', async (_, format) => {
    expect(await verdict(format)).toMatchObject({ kind: 'lie', what: 'its bytes are not as any server writes them' });
  });

  test('written as they are, nothing is wrong', async () => {
    expect(await verdict(except(wallet, encode))).toBeNull();
  });
});

describe('entries of an older format', () => {
  test.each([FIRST_FORMAT, SECOND_FORMAT])('among those of today: %#', async ({ version, encode: older }) => {
    const what = `it is of format version ${version}, behind one of version ${FORMAT_VERSION}`;
    expect(await verdict(except(transfer, older))).toMatchObject({ kind: 'lie', what });
  });

  test('before those of today are as they were', async () => {
    let count = 0;
    const changing: EntryFormat = {
      version: FORMAT_VERSION,
      encode(entry, buffer) {
        (count++ < 10 ? FIRST_FORMAT : count < 20 ? SECOND_FORMAT : { encode }).encode(entry, buffer);
      },
    };
    expect(await verdict(changing)).toBeNull();
  });
});
