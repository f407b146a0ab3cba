/**
 * Texts that are kept. V8 cuts a piece of thirteen characters or more out of a text without copying it: whoever keeps
 * the piece keeps all of what it was cut from, be that a path of sixty thousand characters, and a bound on pieces
 * bounds nothing.
 */

/** From so many characters on a piece is no copy. */
const PIECE_CHARS_MIN = 13;

/** The same text, and nothing that it was cut from: for what outlives its request. */
export function ownText(text: string): string {
  // What is put together is copied as one before something is cut out of it, and that one is a character longer, no
  // more.
  return text.length < PIECE_CHARS_MIN ? text : ` ${text}`.slice(1);
}
