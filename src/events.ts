/**
 * Events: what the journal's entries tell those who want to hear of changes. Each follows from one entry and the records
 * as they were right after it, so an event is the same to the last byte whenever it is told, and is kept nowhere: the
 * journal is the store.
 *
 *     every kind        <kind>-created, <kind>-updated, <kind>-proofs-added, <kind>-dropped
 *     intents           intent-updated for every outcome after the first; for each credit of a committed one
 *                       balance-received, for each limit wallet-limited
 *
 * Events of one entry are numbered: an intent's own first, then credits by claim, then limits.
 */
import { fallbackAddresses } from './core/address.ts';
import { METRICS } from './core/balances.ts';
import { type Claim, handleOf, type Reference } from './core/claims/index.ts';
import { type Conditions, holdAll } from './core/conditions.ts';
import {
  type Entry,
  EntryType,
  type IntentEntry,
  LIMIT_WIDTH,
  type Outcome,
  POSTING_WIDTH,
  ROUTED_WIDTH,
  Side,
  type StepEntry,
} from './core/entry.ts';
import { Kind, kindRow } from './core/kinds.ts';
import { recordAt } from './core/past.ts';
import { dataOf, entryAt, findLuid, type State, type Version } from './core/state.ts';
import { sha256Hex } from './proof/digest.ts';
import type { Sealer } from './proof/sealer.ts';
import { hexOf, signedText, storedProofText, viewText } from './render.ts';

/** An entry of the journal and where it stands. */
export interface Placed {
  seq: number;
  /** In the heap. */
  address: number;
  entry: Entry;
  /** Index of the ledger whose effects hear of it. */
  ledger: number;
  /** The record it is about. */
  row: number;
}

export interface LedgerEvent {
  seq: number;
  /** Among the events of its entry. */
  index: number;
  signal: string;
  moment: number;
  handle: string;
  /** The records it shows. */
  rows: readonly number[];
  /** Members of its data beside handle and signal, as JSON; without a sealer records lack their proofs. */
  members: (sealer: Sealer | null) => Record<string, string>;
}

const FIRST_CREDIT = 2;

/** The entry with this sequence number, or null where nobody is told of it. */
export function placedAt(state: State, seq: number): Placed | null {
  const address = state.log.get(seq - 1);
  if (address === 0) return null;
  const entry = entryAt(state, address);
  if (entry.type === EntryType.token || entry.type === EntryType.delivery) return null;
  const row = 'row' in entry ? entry.row : findLuid(state, entry.ledger, entry.kind, entry.luid);
  // A ledger's record lives in the server, and is heard of in the ledger itself.
  const ledger = entry.kind === Kind.ledger ? state.rows.aux.get(row) : entry.ledger;
  return { seq, address, entry, ledger, row };
}

/** All signals that an entry may give. */
export function signalsOf(entry: Entry): string[] {
  const { name } = kindRow(entry.kind);
  switch (entry.type) {
    case EntryType.create:
      return [`${name}-created`];
    case EntryType.update:
      return [`${name}-updated`];
    case EntryType.drop:
      return [`${name}-dropped`];
    case EntryType.proof:
      return [`${name}-proofs-added`];
    case EntryType.intent:
      return ['intent-created', ...outcomeSignals(entry.outcome)];
    case EntryType.step:
      return outcomeSignals(entry.outcome);
    default:
      return [];
  }
}

function outcomeSignals({ steps, limits }: Outcome): string[] {
  if (steps.length === 0) return [];
  if (!steps.includes('committed')) return ['intent-updated'];
  return ['intent-updated', 'balance-received', ...(limits.length > 0 ? ['wallet-limited'] : [])];
}

/** The events of an entry that this signal names, in order. */
export function eventsOf(state: State, placed: Placed, signal: string): LedgerEvent[] {
  const { entry, row, address } = placed;
  const { name } = kindRow(entry.kind);
  switch (signal) {
    case 'balance-received':
      return creditsOf(state, placed as PlacedOutcome);
    case 'wallet-limited':
      return limitsOf(state, placed as PlacedOutcome);
    case 'intent-created':
      return [eventOf(placed, 0, signal, [row], (sealer) => ({ intent: createdText(state, placed, sealer) }))];
    case 'intent-updated':
      return [eventOf(placed, 1, signal, [row], (sealer) => ({ intent: textAt(state, row, address, sealer) }))];
  }
  if (entry.type !== EntryType.proof) {
    return [eventOf(placed, 0, signal, [row], (sealer) => ({ [name]: textAt(state, row, address, sealer) }))];
  }
  const added = () => {
    const hash = hexOf(recordAt(state, row, address).entry.hash);
    return { [name]: JSON.stringify(entry.handle), proofs: `[${storedProofText(hash, entry.proof)}]` };
  };
  return [eventOf(placed, 0, signal, [row], added)];
}

function eventOf(
  { seq, entry }: Placed,
  index: number,
  signal: string,
  rows: readonly number[],
  members: LedgerEvent['members'],
): LedgerEvent {
  // Unguessable because luids are, and the same whenever it is made.
  const handle = `evt_${Buffer.from(sha256Hex(`${entry.luid} ${seq} ${index}`), 'hex')
    .toString('base64url')
    .slice(0, 17)}`;
  return { seq, index, signal, moment: momentOf(entry), handle, rows, members };
}

function momentOf(entry: Entry): number {
  return 'outcome' in entry ? entry.outcome.moment : entry.moment;
}

function textAt(state: State, row: number, address: number, sealer: Sealer | null): string {
  return viewText(recordAt(state, row, address), sealer);
}

/** An intent as it came, before anything was decided about it. */
function createdText(state: State, { row, address }: Placed, sealer: Sealer | null): string {
  const record = recordAt(state, row, address);
  const entry = record.entry as IntentEntry;
  const outcome = { ...entry.outcome, steps: [] };
  return viewText({ ...record, entry: { ...entry, outcome }, added: [], status: 'pending' }, sealer);
}

// ---------------------------------------------------------------- money and limits

type PlacedOutcome = Placed & { entry: IntentEntry | StepEntry };

function creditsOf(state: State, placed: PlacedOutcome): LedgerEvent[] {
  const { row, address } = placed;
  const { outcome } = placed.entry;
  if (!outcome.steps.includes('committed')) return [];
  const record = recordAt(state, row, address);
  const { claims } = dataOf(record.entry) as { claims: Claim[] };
  const find = namesIn(state, outcome.postings, address);
  return claims.flatMap((claim, index) => {
    if (claim.target === undefined || claim.action === 'limit') return [];
    const wallet = routedTo(record, index) ?? find(0, claim.target);
    const symbol = find(1, claim.symbol);
    if (wallet === undefined || symbol === undefined) return [];
    const members = (sealer: Sealer | null) => ({
      amount: String(claim.amount),
      intent: textAt(state, row, address, sealer),
      symbol: textAt(state, symbol, address, sealer),
      wallet: textAt(state, wallet, address, sealer),
    });
    const rows = [row, wallet, symbol];
    return [eventOf(placed, FIRST_CREDIT + index, 'balance-received', rows, members)];
  });
}

/** The wallet that routes gave this claim's credit to. */
function routedTo({ entry, added }: Version, claim: number): number | undefined {
  const outcomes = [entry, ...added].flatMap((each) => ('outcome' in each ? [each.outcome] : []));
  const routed = outcomes.flatMap(({ links }) => links?.routed ?? []);
  for (let i = 0; i < routed.length; i += ROUTED_WIDTH) {
    if (routed[i] === claim && routed[i + 1] === Side.credit) return routed[i + 2];
  }
  return undefined;
}

/** Finds the row that a claim's reference meant, among the wallets (column 0) or symbols (1) of the postings. */
function namesIn(state: State, postings: readonly number[], address: number) {
  const columns: Map<string, number>[] = [new Map(), new Map()];
  for (let i = 0; i < postings.length; i += POSTING_WIDTH) {
    for (const column of [0, 1]) {
      const row = postings[i + column]!;
      columns[column]!.set(recordAt(state, row, address).entry.handle, row);
    }
  }
  return (column: 0 | 1, reference: Reference): number | undefined => {
    const handle = handleOf(reference);
    const names = [handle, ...fallbackAddresses(handle)];
    const found = names.find((name) => columns[column]!.has(name));
    return found === undefined ? undefined : columns[column]!.get(found);
  };
}

function limitsOf(state: State, placed: PlacedOutcome): LedgerEvent[] {
  const { row, address, entry } = placed;
  const { steps, limits } = entry.outcome;
  if (!steps.includes('committed')) return [];
  const { claims } = dataOf(recordAt(state, row, address).entry) as { claims: Claim[] };
  const events: LedgerEvent[] = [];
  for (let i = 0; i < limits.length; i += LIMIT_WIDTH) {
    const [wallet, symbol, metric, amount] = limits.slice(i, i + LIMIT_WIDTH) as [number, number, number, number];
    const members = (sealer: Sealer | null) => ({
      amount: String(amount),
      intent: textAt(state, row, address, sealer),
      metric: JSON.stringify(METRICS[metric]),
      symbol: textAt(state, symbol, address, sealer),
      wallet: textAt(state, wallet, address, sealer),
    });
    const index = FIRST_CREDIT + claims.length + i / LIMIT_WIDTH;
    events.push(eventOf(placed, index, 'wallet-limited', [row, wallet, symbol], members));
  }
  return events;
}

// ---------------------------------------------------------------- texts

/** An event's data, canonical. */
function dataText({ handle, signal, members }: LedgerEvent, sealer: Sealer | null): string {
  const all: Record<string, string> = { ...members(sealer), handle: `"${handle}"`, signal: `"${signal}"` };
  const names = Object.keys(all).sort();
  return `{${names.map((name) => `"${name}":${all[name]}`).join(',')}}`;
}

/** The event as a record that the server signed. */
export function eventText(event: LedgerEvent, sealer: Sealer): string {
  return signedText(dataText(event, sealer), event.moment, sealer);
}

/** Whether an event is one that a filter asks for. Proofs are made only where the filter looks at them. */
export function isWanted(event: LedgerEvent, filter: Conditions | undefined, sealer: Sealer): boolean {
  if (filter === undefined) return true;
  const looksAtProofs = Object.keys(filter).some((path) => path.includes('proofs'));
  return holdAll(filter, JSON.parse(dataText(event, looksAtProofs ? sealer : null)));
}

/** The event with this number, or undefined where the entry has none. */
export function eventAt(state: State, seq: number, index: number): LedgerEvent | undefined {
  const placed = placedAt(state, seq);
  if (placed === null) return undefined;
  return allEvents(state, placed).find((event) => event.index === index);
}

/** All events of an entry, in order. */
export function allEvents(state: State, placed: Placed): LedgerEvent[] {
  return signalsOf(placed.entry).flatMap((signal) => eventsOf(state, placed, signal));
}
