/**
 * Entries of the journal and facts of the model in the same words: what differs in them differs.
 */
import {
  type Entry,
  EntryType,
  LIMIT_WIDTH,
  MARK_WIDTH,
  type Outcome,
  POSTING_WIDTH,
  ROUTED_WIDTH,
  Side,
  THROUGH_WIDTH,
} from '../../src/core/entry.ts';
import { readRow } from '../../src/core/records.ts';
import type { State } from '../../src/core/state.ts';
import type { Net } from '../core/model.ts';
import type { Fact } from './model/facts.ts';
import { LEG_STATES } from './model/legs.ts';
import type { Ending } from './model/progress.ts';

const TYPES = Object.fromEntries(Object.entries(EntryType).map(([name, number]) => [number, name]));

export function entryText(entry: Entry, state: State): string {
  const { type, luid, handle, moment } = entry;
  const hash = 'hash' in entry ? Buffer.from(entry.hash).toString('hex') : undefined;
  const { status, labels } = 'status' in entry ? entry : { status: undefined, labels: undefined };
  const ending = 'outcome' in entry ? outcomeText(entry.outcome, state) : undefined;
  return [TYPES[type], luid, handle, moment, hash, status, labels, ending].join(' ');
}

export function factText({ type, luid, handle, moment, hash, status, labels, ending }: Fact): string {
  return [type, luid, handle, moment, hash, status, labels, ending === undefined ? undefined : endingText(ending)].join(
    ' ',
  );
}

function outcomeText({ steps, reason, detail, postings, limits, links }: Outcome, state: State): string {
  const luid = (row: number) => readRow(state, row).entry.luid;
  const parts = rowsOf(postings, POSTING_WIDTH).map(([wallet, symbol, change, moved], n) => {
    const through = rowsOf(links?.through ?? [], THROUGH_WIDTH).find(([posting]) => posting === n)?.[1] ?? 0;
    return `${luid(wallet!)} ${luid(symbol!)} ${change} ${movedText(moved!)} ${through}`;
  });
  const legs = (links?.legs ?? []).map(({ side, bridge, wallet, symbol, amount, claims }) => {
    return `${side === Side.debit ? 'debit' : 'credit'} ${luid(bridge)} ${luid(wallet)} ${luid(symbol)} ${amount} ${claims}`;
  });
  const forwards = (links?.forwards ?? []).map(
    ({ claim, wallet, symbol, amount, target }) => `${claim} ${luid(wallet)} ${luid(symbol)} ${amount} ${target}`,
  );
  const routed = rowsOf(links?.routed ?? [], ROUTED_WIDTH).map(
    ([claim, side, wallet]) => `${claim} ${side === Side.debit ? 'debit' : 'credit'} ${luid(wallet!)}`,
  );
  const marks = rowsOf(links?.marks ?? [], MARK_WIDTH).map(([leg, to]) => `${leg} ${LEG_STATES[to!]}`);
  const why = reason === '' || detail !== '' || reason === 'core.bridge-prepare-failed' ? reason : `${reason} untold`;
  return textOf(steps, why, parts, limits.length / LIMIT_WIDTH, legs, forwards, routed, marks, links?.leg ?? -1);
}

function endingText({ steps, reason, nets, limits, legs, forwards, routed, marks, leg }: Ending): string {
  const parts = nets.map(({ wallet, symbol, change, moved, through = 0n }: Net) => {
    return `${wallet} ${symbol} ${change} ${movedText(moved)} ${through}`;
  });
  const legTexts = legs.map(
    ({ side, bridge, wallet, symbol, amount, claims }) => `${side} ${bridge} ${wallet} ${symbol} ${amount} ${claims}`,
  );
  const forwardTexts = forwards.map(
    ({ claim, wallet, symbol, amount, target }) => `${claim} ${wallet} ${symbol} ${amount} ${target}`,
  );
  const markTexts = marks.map(([number, to]) => `${number} ${to}`);
  return textOf(steps, reason, parts, limits.length, legTexts, forwardTexts, routed, markTexts, leg);
}

function textOf(steps: readonly string[], reason: string, parts: readonly string[], ...links: unknown[]): string {
  return `${steps} ${reason} [${parts}] ${links.join(' | ')}`;
}

function rowsOf(flat: readonly number[], width: number): number[][] {
  return Array.from({ length: flat.length / width }, (_, n) => flat.slice(n * width, (n + 1) * width));
}

/** Beyond what a limit can allow nobody counts it, and a number does not hold it exactly. */
function movedText(moved: bigint | number): string {
  return moved > Number.MAX_SAFE_INTEGER ? 'more than any limit' : String(moved);
}
