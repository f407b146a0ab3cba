/** What claims and their actions are to clearing. A new action is a new row in CLAIM_ACTIONS. */

/** A reference inside a claim: older clients send the bare handle. */
export type Reference = string | { handle: string; custom?: Record<string, unknown> };

export interface Claim {
  action: string;
  amount: number;
  symbol: Reference;
  source?: Reference;
  target?: Reference;
  wallet?: Reference;
  metric?: string;
}

export function handleOf(reference: Reference): string {
  return typeof reference === 'string' ? reference : reference.handle;
}

/** The reference as an object, however it was sent. */
export function objectOf(reference: Reference): Exclude<Reference, string> {
  return typeof reference === 'string' ? { handle: reference } : reference;
}

/** The reference in one of the members that may name a wallet. */
export function walletIn(claim: Claim, member: WalletMember): Reference | undefined {
  // Each by its own name: V8 finds a member whose name varies several times slower.
  return member === 'source' ? claim.source : member === 'target' ? claim.target : claim.wallet;
}

export type WalletMember = 'source' | 'target' | 'wallet';

/**
 * What the claim whose turn it is may say about the intent's outcome. Rows are those of wallets and symbols; each
 * look-up returns -1 after it has noted why the intent cannot go on, and the action then simply returns.
 */
export interface Plan {
  source(): number;
  /** The target's row; of a claim about one wallet, that wallet's. */
  target(): number;
  symbol(): number;
  /** A permission the signers of the intent need before it may go on. */
  need(action: 'spend' | 'issue' | 'destroy' | 'limit', row: number): void;
  /** Takes the claim's amount from a wallet, or adds it; `moves`: counts towards the wallet's daily limits. */
  debit(wallet: number, symbol: number, moves: boolean): void;
  credit(wallet: number, symbol: number, moves: boolean): void;
  /** Sets the limit of the claim's metric to its amount once the intent's money has moved. */
  limit(wallet: number, symbol: number): void;
}

export interface ClaimAction {
  readonly name: string;
  /** Members that name wallets, for lists that filter by them. */
  readonly wallets: readonly WalletMember[];
  /** What it adds to its symbol's supply, per unit of its amount. */
  readonly supply: 1 | 0 | -1;
  plan(plan: Plan): void;
}

/** New balance of a symbol for a target wallet. Raises the symbol's supply. */
const issue: ClaimAction = {
  name: 'issue',
  wallets: ['target'],
  supply: 1,
  plan(plan) {
    const target = plan.target();
    if (target < 0) return;
    const symbol = plan.symbol();
    if (symbol < 0) return;
    plan.need('issue', symbol);
    plan.credit(target, symbol, false);
  },
};

/** Balance from a source wallet to a target wallet. Never changes the symbol's supply. */
const transfer: ClaimAction = {
  name: 'transfer',
  wallets: ['source', 'target'],
  supply: 0,
  plan(plan) {
    const source = plan.source();
    if (source < 0) return;
    const target = plan.target();
    if (target < 0) return;
    const symbol = plan.symbol();
    if (symbol < 0) return;
    plan.need('spend', source);
    plan.debit(source, symbol, true);
    plan.credit(target, symbol, true);
  },
};

/** Balance of a source wallet ceases to exist. Lowers the symbol's supply. */
const destroy: ClaimAction = {
  name: 'destroy',
  wallets: ['source'],
  supply: -1,
  plan(plan) {
    const source = plan.source();
    if (source < 0) return;
    const symbol = plan.symbol();
    if (symbol < 0) return;
    plan.need('spend', source);
    plan.need('destroy', symbol);
    plan.debit(source, symbol, false);
  },
};

/** Sets a wallet's limit of one metric in one symbol. Moves nothing. */
const limit: ClaimAction = {
  name: 'limit',
  wallets: ['wallet'],
  supply: 0,
  plan(plan) {
    const wallet = plan.target();
    if (wallet < 0) return;
    const symbol = plan.symbol();
    if (symbol < 0) return;
    plan.need('limit', wallet);
    plan.limit(wallet, symbol);
  },
};

/** All actions, by their numbers. */
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

// ---------------------------------------------------------------- rows

// What is asked of claims beside their intent's data, from when it comes in (sheet.ts) or is read back
// (storage/outline.ts) until lists can find it.

/**
 * A row: the number of the claim's action, its amount, and `hashText` of the names of its source, and of its target or
 * the wallet it is about, as signed numbers; 0 where it has none.
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
