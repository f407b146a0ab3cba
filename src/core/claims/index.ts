/** The table of claim actions: a new one is a new file and a new row here. */
import type { Claim, ClaimAction, WalletMember } from './claim.ts';
import { destroy } from './destroy.ts';
import { issue } from './issue.ts';
import { limit } from './limit.ts';
import { transfer } from './transfer.ts';

/** By their numbers. */
export const CLAIM_ACTIONS: readonly ClaimAction[] = [issue, transfer, destroy, limit];

const NUMBERS: ReadonlyMap<string, number> = new Map(CLAIM_ACTIONS.map(({ name }, number) => [name, number]));

/** The action is looked up for claim after claim, which mostly say the same. */
let askedFor = '';
let found = -1;

/** The number of the action of this name, -1 where there is none. */
export function actionNumber(name: string): number {
  if (name !== askedFor) {
    askedFor = name;
    found = NUMBERS.get(name) ?? -1;
  }
  return found;
}

/**
 * What is asked of a claim once its intent is decided, as a row of numbers: that of its action, its amount, and `hashText`
 * of the names of its source, and of its target or the wallet it is about, as signed numbers; 0 where it has none.
 */
export const CLAIM_WIDTH = 4;
export const ACTION = 0;
export const AMOUNT = 1;
const SOURCE_HASH = 2;
const TARGET_HASH = 3;

/** Writes the row of a claim at `at`, without hashes. */
export function setClaim(rows: number[], at: number, action: number, amount: number): void {
  rows[at + ACTION] = action;
  rows[at + AMOUNT] = amount;
  rows[at + SOURCE_HASH] = 0;
  rows[at + TARGET_HASH] = 0;
}

export function hashColumn(member: WalletMember): number {
  return member === 'source' ? SOURCE_HASH : TARGET_HASH;
}

/** The rows of claims, without hashes. */
export function rowsOf(claims: readonly Claim[]): number[] {
  const rows: number[] = [];
  for (const { action, amount } of claims) setClaim(rows, rows.length, actionNumber(action), amount);
  return rows;
}

export {
  type Claim,
  type ClaimAction,
  handleOf,
  objectOf,
  type Plan,
  type Reference,
  type WalletMember,
  walletIn,
} from './claim.ts';
