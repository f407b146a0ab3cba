/** Bytes, compared, shown and read. The core runs anywhere, so these do without Node's Buffer. */

const HEX = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, '0'));

export function hex(bytes: Uint8Array): string {
  let text = '';
  for (const byte of bytes) text += HEX[byte];
  return text;
}

export function equalBytes(one: Uint8Array, other: Uint8Array): boolean {
  if (one.length !== other.length) return false;
  for (let i = 0; i < one.length; i++) if (one[i] !== other[i]) return false;
  return true;
}

/** Whether bytes[from, to) are this text, which is ASCII. */
export function isTextAt(bytes: Uint8Array, from: number, to: number, text: string): boolean {
  if (to - from !== text.length) return false;
  for (let i = 0; i < text.length; i++) if (bytes[from + i] !== text.charCodeAt(i)) return false;
  return true;
}

/** Whether one of them is these bytes. */
export function includesBytes(list: readonly Uint8Array[], bytes: Uint8Array): boolean {
  for (const each of list) if (equalBytes(each, bytes)) return true;
  return false;
}

const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/';
/** What each of its letters stands for, by the letter's code; -1 for what is none. */
const DIGITS = Int8Array.from({ length: 128 }, (_, code) => ALPHABET.indexOf(String.fromCharCode(code)));
const PADDING = '='.charCodeAt(0);

/** What the letter of base64 at `at` stands for, below 0 where there is none. */
export function base64DigitAt(text: string, at: number): number {
  const code = text.charCodeAt(at);
  return code < 128 ? DIGITS[code]! : -1;
}

/** Base64, padded. */
export function base64(bytes: Uint8Array): string {
  let text = '';
  for (let i = 0; i < bytes.length; i += 3) {
    const bits = (bytes[i]! << 16) | ((bytes[i + 1] ?? 0) << 8) | (bytes[i + 2] ?? 0);
    const rest = bytes.length - i;
    text += ALPHABET[bits >> 18]! + ALPHABET[(bits >> 12) & 63]!;
    text += (rest > 1 ? ALPHABET[(bits >> 6) & 63]! : '=') + (rest > 2 ? ALPHABET[bits & 63]! : '=');
  }
  return text;
}

/** The bytes of a base64 text that was checked when it came in. */
export function bytesOfBase64(text: string): Uint8Array {
  let digits = text.length;
  while (digits > 0 && text.charCodeAt(digits - 1) === PADDING) digits--;
  const bytes = new Uint8Array((digits * 6) >> 3);
  let bits = 0;
  let count = 0;
  let to = 0;
  for (let i = 0; i < digits; i++) {
    bits = ((bits << 6) | base64DigitAt(text, i)) & 0xffff;
    count += 6;
    if (count < 8) continue;
    count -= 8;
    bytes[to++] = (bits >> count) & 0xff;
  }
  return bytes;
}
