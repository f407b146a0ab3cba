/** The shapes of records, as the door checks them, asked again of what is in the books. */
import type { Kind } from '../../core/kinds.ts';
import { compileSchemas } from '../../http/schemas.ts';

/** The largest limits a server can be given: books do not say which theirs had. */
const LIMITS = { claimsMax: 100_000, proofsMax: 1024 };
const HASH = '0'.repeat(64);

const validate = compileSchemas(LIMITS, true);

/** Why data like this would not be let in, or null. */
export function misfitOf(kind: Kind, operation: 'create' | 'update' | 'drop', data: unknown): string | null {
  const error = validate(kind, operation, { hash: HASH, data, meta: { proofs: [] } })?.[0];
  return error === undefined ? null : `${error.instancePath} ${error.message}`;
}
