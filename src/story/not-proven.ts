/**
 * Thrown where a text is not what it claims to be. The message is a sentence without its full stop, in our own words
 * alone: words of the text could claim there that it is proven.
 */
export class NotProven extends Error {
  override name = 'NotProven';
}

/** Ends the check where a fact does not hold. */
export function expect(fact: boolean, what: string): asserts fact {
  if (!fact) throw new NotProven(what);
}

/** Thrown for a text that is larger than a page takes: nobody has looked whether it is proven. */
export class TooLarge extends Error {
  override name = 'TooLarge';
}
