/** What is said of a text that is not what it says it is. The message is one sentence without its full stop, for whoever asked. */
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
