/**
 * Looking ahead: brings near the memory that the next commands will look at. Large books do not fit the processor's
 * caches, and a search waits for each place it comes to before it knows the next. Here the places of many commands are
 * asked for at once, step by step, without looking at what lies there: so the waits fall together.
 *
 * Always holds: nothing changes but what is remembered of names, and of commands (their sheets), and nothing depends on
 * it. Without it the same is decided, only later.
 */
import { hashMix } from '../memory/index.ts';
import { actionAt, CLAIM_WIDTH, hashColumn } from './claims/index.ts';
import type { Command, CreateCommand } from './command.ts';
import { EntryType, type Facts, type IntentFacts, POSTING_WIDTH } from './entry.ts';
import { handleHash, luidHash } from './finding.ts';
import { Kind, scopeOf } from './kinds.ts';
import { NAMED_WIDTH, namedColumn, sheetOf } from './sheet.ts';
import type { State } from './state.ts';
import { CLAIM_WALLET_TERM, memberHash } from './terms.ts';

/** Books of fewer names are near anyway. */
const NAMES_MIN = 500_000;
/** So many intents, or the wallets that they name, are looked up together; their memory fits the nearest caches. */
const INTENTS_AHEAD = 32;
const WALLETS_AHEAD = 64;

/** Of each intent, where the indexes would have it. */
const intentHashes = new Uint32Array(INTENTS_AHEAD);
const luidHashes = new Uint32Array(INTENTS_AHEAD);
let intents = 0;
/** Of each wallet, where the indexes have it, its row or -1, and what its row says. */
const walletHashes = new Uint32Array(WALLETS_AHEAD);
const termHashes = new Uint32Array(WALLETS_AHEAD);
const rowsFound = new Float64Array(WALLETS_AHEAD);
const addresses = new Uint32Array(WALLETS_AHEAD);
const slots = new Uint32Array(WALLETS_AHEAD);
let wallets = 0;

/** What was brought near is written here: what nobody uses would not be read. */
const used = new Uint32Array(1);

/**
 * Looks ahead from command `from` on, of which there are some up to `end`; returns the first that it has not come to.
 */
export function lookAhead(
  state: State,
  commandAt: (index: number) => Command,
  from: number,
  end: number,
  namesMin = NAMES_MIN,
): number {
  if (state.handles.size < namesMin) return end;
  intents = 0;
  wallets = 0;
  let index = from;
  while (index < end && intents < INTENTS_AHEAD && wallets < WALLETS_AHEAD) {
    const command = commandAt(index++);
    if (command.op === 'create' && command.kind === Kind.intent) note(state, command);
  }
  touchIndexes(state);
  touchRows(state);
  touchRecords(state);
  return index;
}

/** Notes where the indexes would have the intent, and where they have the wallets that nobody has named lately. */
function note(state: State, command: CreateCommand): void {
  const { ledger, luid } = command;
  const { handle, claims, named } = sheetOf(state, command);
  intentHashes[intents] = handleHash(state, ledger, Kind.intent, handle);
  luidHashes[intents++] = luidHash(state, luid);
  const term = memberHash(state, ledger, Kind.intent, CLAIM_WALLET_TERM);
  const scope = scopeOf(ledger, Kind.wallet);
  for (let from = 0, to = 0; from < claims.length; from += CLAIM_WIDTH, to += NAMED_WIDTH) {
    const { wallets: members } = actionAt(claims, from);
    for (let j = 0; j < members.length && wallets < WALLETS_AHEAD; j++) {
      const member = members[j]!;
      if (named[to + namedColumn(member)]! >= 0) continue;
      const hash = claims[from + hashColumn(member)]!;
      walletHashes[wallets] = hashMix(hash, scope);
      termHashes[wallets++] = hashMix(term, hash);
    }
  }
}

// Each loop is short, so that the processor is many steps ahead of the memory.

function touchIndexes({ handles, luids, terms }: State): void {
  let sum = 0;
  for (let i = 0; i < intents; i++) sum ^= handles.touch(intentHashes[i]!);
  for (let i = 0; i < intents; i++) sum ^= luids.touch(luidHashes[i]!);
  for (let i = 0; i < wallets; i++) sum ^= terms.touch(termHashes[i]!);
  used[0] = sum;
}

function touchRows({ handles, rows }: State): void {
  let sum = 0;
  for (let i = 0; i < wallets; i++) sum ^= handles.touch(walletHashes[i]!);
  used[0] = sum;
  for (let i = 0; i < wallets; i++) rowsFound[i] = handles.first(walletHashes[i]!);
  for (let i = 0; i < wallets; i++) {
    const row = rowsFound[i]!;
    addresses[i] = row < 0 ? 0 : rows.at.get(row);
    slots[i] = row < 0 ? 0 : rows.firstSlot.get(row);
  }
}

/** The entries in which the wallets' names are compared, and their first balances. */
function touchRecords({ heap, balances }: State): void {
  let sum = 0;
  for (let i = 0; i < wallets; i++) {
    const at = addresses[i]!;
    if (at !== 0) sum ^= heap.chunk(at)[heap.offset(at)]!;
    // A row found by its hash alone may be no wallet's.
    if (slots[i]! > 0 && slots[i]! <= balances.size) sum ^= balances.symbol(slots[i]! - 1);
  }
  used[0] = sum;
}

// ---------------------------------------------------------------- entries that are applied again

/** Where no name must be hashed for it, looking ahead pays sooner. */
const APPLY_NAMES_MIN = 50_000;

/** Rows of wallets that were noted. */
let named = 0;

/**
 * The same for entries: what is decided names rows, and whoever read the entries may have hashed the names. Returns the
 * first that it has not come to.
 */
export function lookAheadOfApply(
  state: State,
  entries: readonly Facts[],
  from: number,
  namesMin = APPLY_NAMES_MIN,
): number {
  if (state.handles.size < namesMin) return entries.length;
  intents = 0;
  wallets = 0;
  named = 0;
  let index = from;
  while (index < entries.length && intents < INTENTS_AHEAD && wallets < WALLETS_AHEAD) {
    const entry = entries[index++]!;
    if (entry.type === EntryType.intent && 'outline' in entry) noteFacts(state, entry);
  }
  touchIndexes(state);
  touchBalances(state);
  return index;
}

/** Notes where the intent goes in the indexes, and the rows of its wallets. */
function noteFacts(state: State, { ledger, outline: { hashes, claims }, outcome: { postings } }: IntentFacts): void {
  if (hashes === null) return;
  intentHashes[intents] = hashMix(hashes.handle, scopeOf(ledger, Kind.intent));
  luidHashes[intents++] = hashes.luid;
  const member = memberHash(state, ledger, Kind.intent, CLAIM_WALLET_TERM);
  for (let at = 0; at < claims.length; at += CLAIM_WIDTH) {
    const { wallets: members } = actionAt(claims, at);
    for (let j = 0; j < members.length && wallets < WALLETS_AHEAD; j++) {
      termHashes[wallets++] = hashMix(member, claims[at + hashColumn(members[j]!)]!);
    }
  }
  for (let i = 0; i < postings.length && named < WALLETS_AHEAD; i += POSTING_WIDTH) rowsFound[named++] = postings[i]!;
}

/** The rows of wallets, and their first balances. */
function touchBalances({ rows, balances }: State): void {
  let sum = 0;
  for (let i = 0; i < named; i++) {
    const row = rowsFound[i]!;
    // What names no wallet is for applying to say.
    slots[i] = row >= 0 && row < rows.lines.length ? rows.firstSlot.get(row) : 0;
  }
  for (let i = 0; i < named; i++) {
    if (slots[i]! > 0 && slots[i]! <= balances.size) sum ^= balances.symbol(slots[i]! - 1);
  }
  used[0] = sum;
}
