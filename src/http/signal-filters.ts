/**
 * Filters of effects, held to what events of their signal have: one that asks for something else would be met by none,
 * and nobody would hear why.
 */
import { Kind } from '../core/kinds.ts';
import type { Fault } from '../core/refusal.ts';

/**
 * Values that events of these signals have beside `handle` and `signal`, and records; of the others the record itself.
 */
const VALUES: Readonly<Record<string, readonly string[]>> = {
  'balance-received': ['amount'],
  'wallet-limited': ['amount', 'metric'],
};
const RECORDS = ['wallet', 'symbol', 'intent'];
const KIND_OF_SIGNAL = /^(.+)-(?:created|updated|dropped|(proofs-added))$/;

/** What is wrong with the filter of an effect of the right shape, or null. */
export function checkSignalFilter(data: { readonly signal: string; readonly filter?: object }): Fault[] | null {
  const { signal, filter = {} } = data;
  const path = Object.keys(filter).find((path) => !isOf(signal, path));
  if (path === undefined) return null;
  return [
    {
      instancePath: '/data/filter',
      schemaPath: '#/properties/data/properties/filter/signal',
      keyword: 'signal',
      params: { signal, path },
      message: `must not ask for ${path}, which is in no event of ${signal}`,
    },
  ];
}

function isOf(signal: string, path: string): boolean {
  const [member, ...behind] = path.split('.');
  if (member === 'handle' || member === 'signal') return true;
  const values = VALUES[signal];
  if (values !== undefined) return behind.length === 0 ? values.includes(member!) : RECORDS.includes(member!);
  const [, kind, proofs] = KIND_OF_SIGNAL.exec(signal) ?? [];
  // Of what nothing sends nothing is known.
  if (kind === undefined || !Object.hasOwn(Kind, kind)) return true;
  // With proofs a record is told by its handle alone.
  if (proofs !== undefined) return member === 'proofs' || (member === kind && behind.length === 0);
  return member === kind && behind.length > 0;
}
