/**
 * Keys that stand in the data they signed. Who makes a record mostly names the own key in its access rules, in base64;
 * then an entry (entry-bytes.ts) tells that key by its place there, instead of a second time.
 *
 * What always holds: `keyAt(data, placeOf(data, key))` is `key`, byte for byte, wherever `placeOf` finds one. Places
 * are counted in UTF-16 units. Looking for a key takes no longer in long data than in short: there it is not looked
 * for.
 */
import { base64DigitAt as digitAt } from '../core/bytes.ts';

const KEY_BYTES = 32;
/** 43 that say something, and the one that makes them whole. */
const KEY_CHARS = 44;
const PADDING = '=';
/** In longer data a key more makes no difference. */
const DATA_CHARS_MAX = 4096;
/** Paddings that are looked at before there is said to be no such key. */
const PADDINGS_MAX = 8;

/** Where in the data the key stands in base64, or -1. */
export function placeOf(data: string, key: Uint8Array): number {
  if (data.length > DATA_CHARS_MAX) return -1;
  let end = data.indexOf(PADDING, KEY_CHARS - 1);
  for (let tries = 0; end >= 0 && tries < PADDINGS_MAX; tries++) {
    const place = end - (KEY_CHARS - 1);
    if (isKey(data, place, key)) return place;
    end = data.indexOf(PADDING, end + 1);
  }
  return -1;
}

/** Whether the characters from `place` on, all but the padding, are the key's. */
function isKey(data: string, place: number, key: Uint8Array): boolean {
  let byte = 0;
  for (let at = place; byte < KEY_BYTES; at += 4) {
    const bits = bitsAt(data, at, byte);
    if (bits < 0 || bits >> 16 !== key[byte] || ((bits >> 8) & 0xff) !== key[byte + 1]) return false;
    if (byte + 2 < KEY_BYTES && (bits & 0xff) !== key[byte + 2]) return false;
    byte += 3;
  }
  return true;
}

/** The key whose base64 stands at this place, or null where there is none. */
export function keyAt(data: string, place: number): Uint8Array | null {
  if (!Number.isSafeInteger(place) || place < 0 || data[place + KEY_CHARS - 1] !== PADDING) return null;
  const key = new Uint8Array(KEY_BYTES);
  let at = place;
  for (let byte = 0; byte < KEY_BYTES; byte += 3) {
    const bits = bitsAt(data, at, byte);
    if (bits < 0) return null;
    key[byte] = bits >> 16;
    key[byte + 1] = bits >> 8;
    // Past the end of the key nothing is kept.
    key[byte + 2] = bits;
    at += 4;
  }
  return key;
}

/**
 * The 24 bits of four characters; of the last four, which are the key's last two bytes, 16 and zeros. Below 0 where
 * they are none.
 */
function bitsAt(data: string, at: number, byte: number): number {
  const high = (digitAt(data, at) << 18) | (digitAt(data, at + 1) << 12) | (digitAt(data, at + 2) << 6);
  return byte + 2 < KEY_BYTES ? high | digitAt(data, at + 3) : high;
}
