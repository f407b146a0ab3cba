/**
 * Books as 0.2.0 wrote them, entries of format version 2: to be used like FIRST_FORMAT (first-format.ts). The bytes are
 * those of version 3 but for the number of the type; once another version is written, they must be put together here.
 */
import { encode } from '../../src/storage/codec.ts';
import type { EntryFormat } from '../../src/storage/journal.ts';
import * as msgpack from '../../src/storage/msgpack.ts';
import { decideEarly } from './first-format.ts';

export const SECOND_FORMAT: EntryFormat = {
  version: 2,
  encode(entry, buffer) {
    decideEarly(entry);
    const from = buffer.end;
    encode(entry, buffer);
    buffer.bytes[msgpack.textEnd(buffer.bytes, from + HANDLE_AT)]! -= TYPES;
  },
};

/** Where an entry's handle begins, and how far the types of two versions that follow each other lie apart. */
const HANDLE_AT = 24;
const TYPES = 8;
