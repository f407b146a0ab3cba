/**
 * What kinds and shapes are called in the description of the interface: the types that a client's tools make of it have
 * these names, so they are as much a promise as the paths.
 */
import { KINDS, type Kind } from '../../core/kinds.ts';

/** A reference to a schema of the description. */
export const ref = (name: string) => ({ $ref: `#/components/schemas/${name}` });

/** `circle-signer` → CircleSigner. */
export function pascal(name: string): string {
  return name
    .split('-')
    .map((word) => `${word[0]!.toUpperCase()}${word.slice(1)}`)
    .join('');
}

/** A kind in the singular: Wallet. */
export const singularOf = (kind: Kind): string => pascal(KINDS[kind].name);

/** A kind in the plural: Wallets. What is reached through others alone is not listed under a name of its own. */
export const pluralOf = (kind: Kind): string => pascal(KINDS[kind].path);

/** Whether a path is that of the ledger that a request works in, which is known without a body or an id. */
export const isSelected = (path: string): boolean => path === '/ledger' || path.startsWith('/ledger/');
