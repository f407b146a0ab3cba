/**
 * Whether an entry lies in the bytes that every build writes: plain MessagePack, each value in its shortest encoding,
 * texts in UTF-8. Readers take more than that, and the core, which compares names where they lie, does not
 * (entry-bytes.ts): in other bytes a record could be in the books that nobody finds by its name.
 */
import * as msgpack from '../../storage/msgpack.ts';

const ARRAY = 0x90;
const BINARY = 0xc4;
/** What is no UTF-8 is read as a character of three bytes. */
const WIDER = 3;

/** `bytes` are an entry's, which could be decoded. */
export function isPlain(bytes: Uint8Array): boolean {
  const reader = msgpack.open(bytes, 0, bytes.length);
  const again = Buffer.allocUnsafe(WIDER * bytes.length);
  let at = 0;
  while (reader.at < bytes.length) {
    const code = bytes[reader.at]!;
    if ((code & 0xf0) === ARRAY || code === 0xdc || code === 0xdd) {
      at = msgpack.writeArrayHead(again, at, msgpack.readArrayHead(reader));
    } else if (code === BINARY) {
      const length = bytes[reader.at + 1]!;
      at = msgpack.writeBinary(again, at, msgpack.readBinary(reader, length), length);
    } else {
      const value = msgpack.readTextNilOrNumber(reader);
      at = typeof value === 'number' ? msgpack.writeNumber(again, at, value) : msgpack.writeTextOrNil(again, at, value);
    }
  }
  return again.subarray(0, at).equals(bytes);
}
