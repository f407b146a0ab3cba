/** The shapes of records, as the door checks them, asked again of what is in the books. */
import type { Kind } from '../../core/kinds.ts';
import { compileSchemas } from '../../http/schemas.ts';

export interface Shapes {
  /** Why data like this would not be let in, or null. */
  misfit(kind: Kind, operation: 'create' | 'update' | 'drop', data: unknown): string | null;
}

/** The largest limits a server can be given: books do not say which theirs had. */
const LIMITS = { claimsMax: 100_000, proofsMax: 1024 };
const HASH = '0'.repeat(64);

let shapes: Shapes | null = null;

/** Compiled at the first call, once per process. */
export function recordShapes(): Shapes {
  shapes ??= compileShapes();
  return shapes;
}

function compileShapes(): Shapes {
  const validate = compileSchemas(LIMITS);
  return {
    misfit(kind, operation, data) {
      const error = validate(kind, operation, { hash: HASH, data, meta: { proofs: [] } })?.[0];
      return error === undefined ? null : `${error.instancePath} ${error.message}`;
    },
  };
}
