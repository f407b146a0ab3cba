/**
 * A sheet is a prepared intent, as statements are prepared: all that deciding asks of an intent's data in the usual
 * case, as numbers, drawn up as it comes in, while its texts are near at hand. Until it is cleared many others come by:
 * of its data the text alone is kept meanwhile, and read again where somebody asks for more, a route or an access rule,
 * say.
 *
 * What always holds: what is decided by a sheet is what is decided by the data.
 */
import { METRICS, type Metric } from './balances.ts';
import {
  actionNumber,
  CLAIM_ACTIONS,
  CLAIM_WIDTH,
  type Claim,
  handleOf,
  hashColumn,
  setClaim,
  type WalletMember,
  walletIn,
} from './claims/index.ts';
import { type CreateCommand, commandData } from './command.ts';
import { Kind, scopeOf } from './kinds.ts';
import { hasRules, type IntentOutline } from './outline.ts';
import { assert } from './refusal.ts';
import type { State } from './state.ts';

/** Columns for the rows of a claim's source, of its target or the wallet it is about, and of its symbol. */
export const NAMED_WIDTH = 3;
export const SOURCE = 0;
export const TARGET = 1;
export const SYMBOL = 2;
/** The column for the number of a limit's metric (row of METRICS), where others have their source: a limit has none. */
export const METRIC = SOURCE;

export function namedColumn(member: WalletMember): number {
  return member === 'source' ? SOURCE : TARGET;
}

export interface Sheet extends IntentOutline {
  readonly handle: string;
  /** It is committed when somebody says so. */
  readonly isManual: boolean;
  /**
   * Flat rows of NAMED_WIDTH: the row that the name is known to lead to, or -1 less the place of the name in `unknown`;
   * below 0 too where a claim names nobody. Of a limit METRIC has the number of its metric.
   */
  readonly named: readonly number[];
  readonly unknown: readonly string[];
  /** Names lead where they led as long as the state's memo has the same for the ledger. */
  readonly epoch: number;
}

/** What a sheet is drawn up of: as much of an intent's data as it says. */
export interface Brief {
  readonly handle: string;
  /** Undefined where it is no text. */
  readonly schema: string | undefined;
  readonly claims: readonly Claim[];
  readonly hasAccess: boolean;
  readonly isManual: boolean;
}

const LIMIT = actionNumber('limit');
/** What a claim names was made for itself, by JSON.parse or of a body's bytes. */
const IS_OWN = true;

/** The sheet of a command to make an intent: the one it has, as long as names lead where that says, else a new one. */
export function sheetOf(state: State, command: CreateCommand): Sheet {
  const known = command.sheet;
  if (known !== null && known.epoch === state.names.epoch(command.ledger)) return known;
  const sheet = drawUp(state, command.ledger, briefOf(commandData(command)));
  command.sheet = sheet;
  command.value = null;
  return sheet;
}

/** The brief of the data of an intent that passed the door. */
export function briefOf({ handle, schema, claims, access, config }: Record<string, unknown>): Brief {
  return {
    handle: handle as string,
    schema: typeof schema === 'string' ? schema : undefined,
    claims: claims as readonly Claim[],
    hasAccess: hasRules(access),
    isManual: (config as { commit?: unknown } | undefined)?.commit === 'manual',
  };
}

export function drawUp({ names }: State, ledger: number, brief: Brief): Sheet {
  const { handle, schema, claims: asked, hasAccess, isManual } = brief;
  const walletScope = scopeOf(ledger, Kind.wallet);
  const symbolScope = scopeOf(ledger, Kind.symbol);
  // Of their size from the start: what is pushed to takes room for seventeen at once.
  const claims = new Array<number>(asked.length * CLAIM_WIDTH);
  const named = new Array<number>(asked.length * NAMED_WIDTH);
  const unknown: string[] = [];
  let lastSymbol: string | null = null;
  let symbolRow = 0;
  for (let i = 0; i < asked.length; i++) {
    const claim = asked[i]!;
    const from = i * CLAIM_WIDTH;
    const to = i * NAMED_WIDTH;
    const number = actionNumber(claim.action);
    assert(number >= 0, 'the door lets only known claim actions in');
    setClaim(claims, from, number, claim.amount);
    named[to + SOURCE] = -1;
    named[to + TARGET] = -1;
    if (number === LIMIT) named[to + METRIC] = METRICS.indexOf(claim.metric as Metric);
    const { wallets } = CLAIM_ACTIONS[number]!;
    for (let j = 0; j < wallets.length; j++) {
      const member = wallets[j]!;
      const name = handleOf(walletIn(claim, member)!);
      const place = names.place(name, IS_OWN);
      const row = names.row(place, walletScope);
      claims[from + hashColumn(member)] = names.hash(place) | 0;
      named[to + namedColumn(member)] = row >= 0 ? row : -unknown.push(name);
    }
    const symbol = handleOf(claim.symbol);
    // Most intents are about one.
    if (symbol !== lastSymbol) {
      lastSymbol = symbol;
      symbolRow = names.row(names.place(symbol, IS_OWN), symbolScope);
      if (symbolRow < 0) symbolRow = -unknown.push(symbol);
    }
    named[to + SYMBOL] = symbolRow;
  }
  return {
    handle,
    schema,
    isManual,
    hasAccess,
    claims,
    names: null,
    hashes: null,
    named,
    unknown,
    epoch: names.epoch(ledger),
  };
}
