/**
 * A no, as a value. Reasons are the field's names in families: `record.*` `crypto.*` `auth.*` are told to the
 * client as an error, `core.*` end up in an intent's proofs. Nothing in the core throws over bad input.
 */
import { ADDRESS_PATTERN } from './address.ts';

export interface Refusal {
  readonly reason: string;
  readonly detail: string;
  readonly custom?: Record<string, unknown>;
}

export function refuse(reason: string, detail: string, custom?: Record<string, unknown>): Refusal {
  return custom === undefined ? { reason, detail } : { reason, detail, custom };
}

/** What a request is told that has met a mistake of ours. */
export const DEFECT = refuse('api.unexpected-error', 'The server met a defect of its own');

/** One thing that is wrong with the shape of a body, in the form clients know. */
export interface Fault {
  /** JSON pointer into the body: `/data/handle`. */
  readonly instancePath: string;
  /** JSON pointer into the schema: `#/properties/data/properties/handle/pattern`. */
  readonly schemaPath: string;
  readonly keyword: string;
  readonly params: Readonly<Record<string, unknown>>;
  readonly message: string;
}

/** Of what a sender wrote himself, a detail shows so much. */
const PLACE_LENGTH_MAX = 128;

/**
 * That a body has the wrong shape. Many clients show the detail alone, so it says of the first fault where it is, too.
 */
export function refuseShape(errors: readonly Fault[]): Refusal {
  return refuse('record.schema-invalid', tellFault(errors[0]!), { errors });
}

/** The fault in words for an operator or a log: where, what, and what would do. */
export function tellFault({ instancePath, keyword, params, message }: Fault): string {
  const place = cut(instancePath);
  const { additionalProperty, allowedValues } = params;
  let more = '';
  if (keyword === 'additionalProperties' && additionalProperty !== undefined)
    more = `: ${cut(String(additionalProperty))}`;
  if (keyword === 'enum' && Array.isArray(allowedValues)) more = `: ${cut(allowedValues.join(', '))}`;
  // The message speaks of plain handles, in the words that clients know.
  if (keyword === 'pattern' && params.pattern === ADDRESS_PATTERN) more = ', perhaps as schema:handle@parent';
  const said = place.endsWith('/handle') && message.startsWith('handle ') ? message.slice('handle '.length) : message;
  return `${place}${place === '' ? '' : ' '}${said}${more}`;
}

function cut(text: string): string {
  return text.length > PLACE_LENGTH_MAX ? `${text.slice(0, PLACE_LENGTH_MAX)}…` : text;
}

export function isRefusal(value: object): value is Refusal {
  return 'reason' in value && 'detail' in value;
}

/** Our own bug, never the client's: stops the process rather than go on with books that may be wrong. */
export class AssertionError extends Error {
  override name = 'AssertionError';
}

/** Throws AssertionError where the condition does not hold; `what` says what always does. */
export function assert(condition: boolean, what: string): asserts condition {
  if (!condition) throw new AssertionError(what);
}
