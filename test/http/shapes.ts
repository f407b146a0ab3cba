/** What tests of shapes ask: what is wrong with a body, and the least that each kind takes. */
import { KINDS, Kind, type KindName } from '../../src/core/kinds.ts';
import { compileSchemas, type Operation } from '../../src/http/schemas.ts';
import { bodyOf, PUBLIC, TRANSFER } from './bodies.ts';

export const validate = compileSchemas({ claimsMax: 10_000, proofsMax: 256 });

/** The least `data` each kind takes. */
export const LEAST: Record<KindName, Record<string, unknown>> = {
  ledger: { handle: 'main' },
  signer: { handle: 's', public: PUBLIC, format: 'ed25519-raw' },
  symbol: { handle: 'usd', factor: 100 },
  wallet: { handle: 'w' },
  anchor: { handle: 'a', wallet: 'w', target: 't' },
  intent: { handle: 'i', claims: [TRANSFER] },
  // Of what nothing sends: its filter may ask for anything.
  effect: { handle: 'e', signal: 'bridge-entry-created', action: { bridge: 'b', schema: 'rest' } },
  bridge: { handle: 'b', config: { server: 'http://localhost:3001' } },
  circle: { handle: 'c' },
  policy: { handle: 'p', record: 'wallet', schema: 'access', values: [] },
  schema: { handle: 's', record: 'wallet', format: 'json-schema', schema: {} },
  'circle-signer': { circle: 'c', signer: 's' },
};
/** Errors as `instancePath keyword`, one line each. */
export function wrongs(kind: KindName, data: unknown, operation: Operation = 'create'): string[] {
  return toldOf(kind, bodyOf(data), operation);
}
export function toldOf(kind: KindName, body: unknown, operation: Operation = 'create'): string[] {
  return (validate(Kind[kind], operation, body) ?? []).map((error) => `${error.instancePath} ${error.keyword}`);
}
export const withMember = (kind: KindName, member: Record<string, unknown>) => ({ ...LEAST[kind], ...member });

/** Kinds that have a handle. */
export const names = KINDS.map((row) => row.name).filter((name) => name !== 'circle-signer');

/** So many members that nobody knows. */
export function members(count: number, path = ''): Record<string, unknown> {
  return Object.fromEntries(Array.from({ length: count }, (_, i) => [`${path}m${i}`, 1]));
}
