/** A promise was broken: what ends a life. */
export class Violation extends Error {
  override name = 'Violation';
}

export function must(condition: boolean, what: string): asserts condition {
  if (!condition) throw new Violation(what);
}

/** Fails where a comparison found a fault. */
export function mustBeSame(fault: string): void {
  must(fault === '', fault);
}
