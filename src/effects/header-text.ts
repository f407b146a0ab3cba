/**
 * What headers may be called that a record has us send, and what they may hold, as patterns (RFC 9110): a token, and a
 * value without control characters, line ends above all.
 */

/** Headers that frame a message or name where it goes: changed, they would make another call of it. */
const RESERVED = [
  ...['host', 'content-length', 'connection', 'transfer-encoding', 'keep-alive'],
  ...['upgrade', 'expect', 'te', 'trailer'],
];

const anyCase = (name: string) => name.replace(/[a-z]/g, (letter) => `[${letter.toUpperCase()}${letter}]`);

export const HEADER_NAME_PATTERN = `^(?!(?:${RESERVED.map(anyCase).join('|')})$)[!#$%&'*+.^_\`|~0-9A-Za-z-]+$`;
export const HEADER_VALUE_PATTERN = '^[\\t\\x20-\\x7e\\x80-\\xff]*$';
