/**
 * Claims as rows of numbers: what is asked of them beside their intent's data, from when it comes in (sheet.ts) or is read
 * back (storage/outline.ts) until lists can find it.
 */
import { actionNumber, CLAIM_ACTIONS, type Claim, type ClaimAction, type WalletMember } from './index.ts';

/**
 * A row: the number of the claim's action, its amount, and `hashText` of the names of its source, and of its target or the
 * wallet it is about, as signed numbers; 0 where it has none.
 */
export const CLAIM_WIDTH = 4;
const ACTION = 0;
export const AMOUNT = 1;
const SOURCE_HASH = 2;
const TARGET_HASH = 3;

/** The action of the claim whose row begins at `at`. */
export function actionAt(rows: readonly number[], at: number): ClaimAction {
  return CLAIM_ACTIONS[rows[at + ACTION]!]!;
}

export function hashColumn(member: WalletMember): number {
  return member === 'source' ? SOURCE_HASH : TARGET_HASH;
}

/** Writes the row of a claim at `at`, without hashes. */
export function setClaim(rows: number[], at: number, action: number, amount: number): void {
  rows[at + ACTION] = action;
  rows[at + AMOUNT] = amount;
  rows[at + SOURCE_HASH] = 0;
  rows[at + TARGET_HASH] = 0;
}

/** The rows of claims, without hashes. */
export function rowsOf(claims: readonly Claim[]): number[] {
  const rows: number[] = [];
  for (const { action, amount } of claims) setClaim(rows, rows.length, actionNumber(action), amount);
  return rows;
}
