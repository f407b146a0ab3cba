/**
 * What those hear who listen: which facts are told to effects, to bridges and in the list of events, and under what
 * names.
 */
import { sha256Hex } from '../../../src/proof/digest.ts';
import type { Fact } from './facts.ts';
import type { Rec } from './record.ts';

/** Something that those who listen are told. */
export interface Happening {
  readonly seq: number;
  readonly index: number;
  readonly ledger: number;
  readonly signal: string;
  /** Of the record it is about. */
  readonly luid: string;
  /** Of money that was received. */
  readonly amount: number;
  /** Luids of the wallet and the symbol, where it is about these. */
  readonly wallet: string;
  readonly symbol: string;
  /** Of an intent that has gone on: how many proofs it shows, and the luids of the bridges that take part. */
  readonly proofs: number;
  readonly bridges: readonly string[];
}

/** Whether it is told of events: an effect, or a bridge that wants to hear how intents go on. */
export function isFed({ kind, content }: Pick<Rec, 'kind' | 'content'>): boolean {
  return kind === 'effect' || (kind === 'bridge' && ((content.value.traits ?? []) as string[]).includes('statuses'));
}

/** The handle under which an event is told. */
export function eventHandle({ luid, seq, index }: Happening): string {
  const hash = Buffer.from(sha256Hex(`${luid} ${seq} ${index}`), 'hex').toString('base64url');
  return `evt_${hash.slice(0, 17)}`;
}

/** What a fact lets those hear who listen in a ledger, numbered as the interface has it. */
export function happeningsOf(fact: Fact, { kind, content, shown, progress }: Rec, ledger: number): Happening[] {
  const { seq, luid, type, ending } = fact;
  const told = { seq, ledger, luid, proofs: shown.length, bridges: (progress?.legs ?? []).map(({ bridge }) => bridge) };
  const nobody = { wallet: '', symbol: '' };
  const one = (index: number, signal: string, amount = 0, { wallet, symbol } = nobody): Happening => {
    return { ...told, index, signal, amount, wallet, symbol };
  };
  if (type === 'create') return [one(0, `${kind}-created`)];
  if (type === 'update') return [one(0, `${kind}-updated`)];
  if (type === 'drop') return [one(0, `${kind}-dropped`)];
  if (type === 'proof') return [one(0, `${kind}-proofs-added`)];
  const heard = type === 'intent' ? [one(0, 'intent-created')] : [];
  const { steps, limits } = ending!;
  if (steps.length > 0) heard.push(one(1, 'intent-updated'));
  if (!steps.includes('committed')) return heard;
  const claims = content.value.claims as { action: string; target?: unknown; amount: number }[];
  for (const [n, claim] of claims.entries()) {
    if (claim.target !== undefined) heard.push(one(2 + n, 'balance-received', claim.amount, progress!.credits.get(n)));
  }
  for (const [n, limit] of limits.entries()) {
    heard.push(one(2 + claims.length + n, 'wallet-limited', Number(limit.amount), limit));
  }
  return heard;
}
