/**
 * A no, as a value. Reasons are the field's names in families: `record.*` `crypto.*` `auth.*` are told to the
 * client as an error, `core.*` end up in an intent's proofs. Nothing in the core throws over bad input.
 */
export interface Refusal {
  readonly reason: string;
  readonly detail: string;
  readonly custom?: Record<string, unknown>;
}

export function refuse(reason: string, detail: string, custom?: Record<string, unknown>): Refusal {
  return custom === undefined ? { reason, detail } : { reason, detail, custom };
}

export function isRefusal(value: object): value is Refusal {
  return 'reason' in value && 'detail' in value;
}

/** Our own bug, never the client's: stops the process rather than go on with books that may be wrong. */
export class AssertionError extends Error {
  override name = 'AssertionError';
}

export function assert(condition: boolean, what: string): asserts condition {
  if (!condition) throw new AssertionError(what);
}
