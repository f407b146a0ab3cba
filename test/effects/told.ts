/** What tests of effects make, and ask of what was told. */
import { Kind } from '../../src/core/kinds.ts';
import type { Made, Theatre } from './theatre.ts';

export const HOOK = 'http://127.0.0.1:1/hook';

export function effect(theatre: Theatre, data: object, handle = 'e') {
  return theatre.house.create(Kind.effect, { handle, action: { schema: 'webhook', endpoint: HOOK }, ...data });
}

export function wallets(theatre: Theatre, schema: string, ...handles: string[]) {
  return handles.map((handle) => theatre.house.create(Kind.wallet, { handle, schema }));
}

export const namesIn = (calls: Made[]): string[] => calls.map(({ body }) => body.data.wallet.data.handle);

/** What arrived, each once, in order of its first arrival. */
export const heard = (theatre: Theatre): string[] => [...new Set(namesIn(theatre.at('/hook')))];
