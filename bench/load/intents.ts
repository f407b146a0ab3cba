/**
 * The records the benches send: what a real client of a payment system would sign, about 1 KB of JSON for
 * one transfer. Everything follows from names and numbers, so that a worker that signs them and the check
 * that reads them back agree without passing them around.
 */
import { sha256 } from '../../src/proof/digest.ts';
import { type KeyPair, keyPairFromSecret } from '../../src/proof/keys.ts';

export const SYMBOL = 'usd';
/** Given to each wallet before the load: enough for every transfer of any run. */
export const FUNDS_PER_WALLET = 1_000_000_000_000;
const AMOUNT_MAX = 100;

export function walletHandle(wallet: number): string {
  return `wallet-${String(wallet).padStart(6, '0')}`;
}

export function intentHandle(run: string, part: number, position: number): string {
  return `${run}-${part}-${String(position).padStart(8, '0')}`;
}

export function ledgerHandle(ledger: number): string {
  return `ledger-${String(ledger).padStart(6, '0')}`;
}

/** The key of a wallet's owner: a bench key, made from its number, good for nothing else. */
export function ownerKeys(wallet: number): KeyPair {
  return keyPairFromSecret(sha256(`ayni bench owner ${wallet}`));
}

function ownerAccess(owner: string): Record<string, unknown>[] {
  return [
    { action: 'any', signer: { public: owner } },
    { action: 'read', bearer: { $signer: { public: owner } } },
  ];
}

export function symbolData(owner: string): Record<string, unknown> {
  return { handle: SYMBOL, factor: 100, custom: { name: 'US dollar' }, access: ownerAccess(owner) };
}

export function walletData(wallet: number, owner: string): Record<string, unknown> {
  return {
    handle: walletHandle(wallet),
    schema: 'user-wallet',
    custom: { name: `Wallet ${wallet}`, status: 'active' },
    access: ownerAccess(owner),
  };
}

/** Issues FUNDS_PER_WALLET to each wallet in [from, to). */
export function fundingData(from: number, to: number, owner: string): Record<string, unknown> {
  const claims = Array.from({ length: to - from }, (_, offset) => ({
    action: 'issue',
    amount: FUNDS_PER_WALLET,
    symbol: { handle: SYMBOL },
    target: { handle: walletHandle(from + offset) },
  }));
  return { handle: `funding-${from}`, schema: 'issue', claims, access: ownerAccess(owner), config: { commit: 'auto' } };
}

/** `claims` transfers, the first from wallet `source`; `seed` (a whole number) chooses the rest. */
export function transferData(
  handle: string,
  owner: string,
  source: number,
  wallets: number,
  claims: number,
  seed: number,
): Record<string, unknown> {
  const next = makeRandom(seed);
  return {
    handle,
    schema: 'transfer',
    claims: Array.from({ length: claims }, (_, position) => {
      const from = position === 0 ? source : next(wallets);
      return {
        action: 'transfer',
        amount: 1 + next(AMOUNT_MAX),
        symbol: { handle: SYMBOL },
        source: { handle: walletHandle(from) },
        target: { handle: walletHandle((from + 1 + next(wallets - 1)) % wallets) },
      };
    }),
    config: { commit: 'auto' },
    custom: { description: 'Invoice payment', reference: handle, channel: 'mobile' },
    access: ownerAccess(owner),
  };
}

/** Whole numbers in [0, below), the same for the same seed (mulberry32, public domain, Tommy Ettinger). */
function makeRandom(seed: number): (below: number) => number {
  let state = seed >>> 0;
  return (below) => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) % below;
  };
}
