/**
 * What is said of a text that is not what it says it is. The message is a sentence without its full stop, of ours
 * alone: a text could say in it that it is proven.
 */
export class NotProven extends Error {
  override name = 'NotProven';
}

/** Ends the check where a fact does not hold. */
export function expect(fact: boolean, what: string): asserts fact {
  if (!fact) throw new NotProven(what);
}

/** A text that is larger than a page takes; whether it is proven, nobody has looked. */
export class TooLarge extends Error {
  override name = 'TooLarge';
}
