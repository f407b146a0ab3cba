/**
 * Refusals and the bodies that carry them.
 *
 * Every way of saying no has one name, a reason; this table is the only place where a reason meets an
 * HTTP status. A refusal is a plain value: whoever finds the mistake returns it, whoever holds the
 * socket sends it. Reasons of the families `core.*` and `bridge.*` stand only in proofs of intents and
 * have no row here.
 *
 * What always holds: a body made here is canonical JSON, hashed over its `data` and signed like any
 * record, and holds nothing but what the refusal says: no stack, no path, no echo of the request.
 */
import { type Refusal as CoreRefusal, refuse as refuseFor } from '../core/refusal.ts';
import { canon } from '../proof/canon.ts';
import type { Sealer } from '../proof/sealer.ts';
import { signedText } from '../render.ts';

/** Reason → HTTP status. A reason with several statuses has its usual one here; see Refusal.status. */
export const REASONS = {
  'api.body-malformed': 400,
  'api.query-malformed': 400,
  'auth.unauthorized': 401,
  'auth.forbidden': 403,
  'record.not-found': 404,
  'api.route-not-found': 404,
  'api.request-timeout': 408,
  'record.duplicated': 409,
  'record.schema-invalid': 422,
  'record.relation-not-found': 422,
  'record.invalid': 422,
  'record.drop-rejected': 422,
  'record.status-policy-violation': 422,
  'crypto.hash-invalid': 422,
  'crypto.parent-hash-invalid': 422,
  'crypto.signature-invalid': 422,
  'crypto.signature-missing': 422,
  'api.no-tenant-allowed': 422,
  'api.rate-limit-exceeded': 429,
  'api.unexpected-error': 500,
} as const satisfies Record<string, number>;

export type Reason = keyof typeof REASONS;

/** A header of an answer: name, value. */
export type Header = readonly [name: string, value: string];

/**
 * Why a request was not done: what the core says, and where the reason alone does not tell, how HTTP
 * says it. `reason` is a row of REASONS; an unknown one is answered as 500.
 */
export interface Refusal extends CoreRefusal {
  /** Where it differs from the reason's row: 405, 413, 503. */
  readonly status?: number;
  /** Of 405: Allow. Of 429 and 503 in place of a time to wait. */
  readonly headers?: readonly Header[];
}

/** How somebody may say who they are, on 401 (RFC 9110, 15.5.2). */
const CHALLENGE: readonly Header[] = [['www-authenticate', 'Bearer']];

/** What a client is asked to wait on 429 and 503, in seconds. */
const LATER: readonly Header[] = [['retry-after', '1']];

/** A refusal by a reason that has a status here. */
export const refuse: (reason: Reason, detail: string, custom?: Record<string, unknown>) => Refusal = refuseFor;

/** 413: the body is larger than the server takes, or `what` of it that is said. */
export function refuseBodySize(bytesMax: number, what = 'body'): Refusal {
  return { reason: 'api.body-malformed', detail: `${what} must not be larger than ${bytesMax} bytes`, status: 413 };
}

/** 405: the path is known, the method is not among `allowed`. */
export function refuseMethod(allowed: readonly string[]): Refusal {
  return {
    reason: 'api.route-not-found',
    detail: `method not allowed, use ${allowed.join(', ')}`,
    status: 405,
    headers: [['allow', allowed.join(', ')]],
  };
}

/** 503: stopping, after a disk failure, or too many connections. */
export function refuseUnavailable(detail: string): Refusal {
  return { reason: 'api.unexpected-error', detail, status: 503 };
}

/** 503 of what this server never does: there is nothing to wait for. */
export function refuseForGood(detail: string): Refusal {
  return { ...refuseUnavailable(detail), headers: [] };
}

/** The HTTP status of a refusal. */
export function statusOf(refusal: Refusal): number {
  if (refusal.status !== undefined) return refusal.status;
  return Object.hasOwn(REASONS, refusal.reason) ? REASONS[refusal.reason as Reason] : 500;
}

const NO_HEADERS: readonly Header[] = [];

/** The headers of a refusal; 429 and 503 name a time to wait, where there is any. */
export function headersOf(refusal: Refusal): readonly Header[] {
  const status = statusOf(refusal);
  if (refusal.headers !== undefined) return refusal.headers;
  return status === 429 || status === 503 ? LATER : status === 401 ? CHALLENGE : NO_HEADERS;
}

/** The body that was made last: who is flooded says the same thing many times in a millisecond. */
let last: { refusal: Refusal; moment: number; sealer: Sealer; text: string } | null = null;

/** The body of a refusal: `{custom?, detail, reason}` as data, signed by the server as of `moment`. */
export function errorBody(refusal: Refusal, moment: number, sealer: Sealer): string {
  if (last !== null && last.refusal === refusal && last.moment === moment && last.sealer === sealer) return last.text;
  const { reason, detail, custom } = refusal;
  const data = canon(custom === undefined ? { reason, detail } : { reason, detail, custom });
  const text = signedText(data, moment, sealer);
  last = { refusal, moment, sealer, text };
  return text;
}
