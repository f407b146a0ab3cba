/**
 * Events: what the journal's entries tell those who want to hear of changes. Each follows from one entry and the
 * records as they were right after it, so an event is the same to the last byte whenever it is told, and is kept
 * nowhere: the journal is the store.
 *
 *     every kind        <kind>-created, <kind>-updated, <kind>-proofs-added, <kind>-dropped
 *     intents           intent-updated for every outcome after the first; for each credit of a committed one
 *                       balance-received, for each limit wallet-limited
 *
 * Events of one entry are numbered: an intent's own first, then credits by claim, then limits.
 */
import { METRICS } from './core/balances.ts';
import { type Claim, handleOf } from './core/claims/index.ts';
import { type Condition, holdAll } from './core/conditions.ts';
import {
  decidedAt,
  type Entry,
  EntryType,
  type IntentEntry,
  LIMIT_WIDTH,
  type Outcome,
  Side,
  type StepEntry,
} from './core/entry.ts';
import { findLuid } from './core/finding.ts';
import { Kind, kindRow } from './core/kinds.ts';
import { meaningsOf } from './core/meaning.ts';
import { ledgerAt, recordAt, undecided } from './core/past.ts';
import { dataOf, entryAt } from './core/records.ts';
import { SERVER_LEDGER, type State } from './core/state.ts';
import { Member, memberAt, membersAt, plain, Shelf } from './event-members.ts';
import { sha256Hex } from './proof/digest.ts';
import type { Sealer } from './proof/sealer.ts';
import { hexOf, outwardText, storedProofText, viewText } from './render.ts';

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
  /** Handle of the ledger it happened in. */
  ledger: string;
  signal: string;
  moment: number;
  readonly handle: string;
  /** The records it shows. */
  rows: readonly number[];
  /** Members of its data beside handle and signal. */
  members: Record<string, Member>;
}

const FIRST_CREDIT = 2;

/**
 * The entry with this sequence number, or null where nobody is told of it. Where `only` names a ledger, what was
 * written within others, which may be nearly all, is null too, unread.
 */
export function placedAt(state: State, seq: number, only?: number): Placed | null {
  const { log, heap, codec } = state;
  const address = log.get(seq - 1);
  if (address === 0) return null;
  if (only !== undefined) {
    const home = codec.ledger(heap.chunk(address), heap.offset(address));
    if (home !== only && home !== SERVER_LEDGER) return null;
  }
  const entry = entryAt(state, address);
  if (entry.type === EntryType.token || entry.type === EntryType.delivery) return null;
  const row = 'row' in entry ? entry.row : findLuid(state, entry.ledger, entry.kind, entry.luid);
  // A ledger's record lives in the server, and is heard of in the ledger itself.
  const ledger = entry.kind === Kind.ledger ? state.rows.ledgerIndex.get(row) : entry.ledger;
  return { seq, address, entry, ledger, row };
}

/**
 * Entries of two histories are told apart by how they begin (storage/entry-bytes.ts): a luid, which is made at random
 * for each record and intent, a handle of at most 256 characters, and the moment; and right behind these the hash of a
 * change or drop, the key and signature of a proof, the outcome of a step, what became of a delivery. What is longer
 * says no more of that.
 */
const MARKED_BYTES = 512;
/** Places without an entry that are passed by in one step. */
const PASSED_PER_STEP = 1000;

/**
 * The mark of the entry at this place of the books, or of the last one before it where none is kept there: the first
 * eight digits of the hash of its beginning. Books that have gone on from an older copy are soon as long, but have
 * another mark there. '' at their beginning. In steps: there may be very many tokens in a row.
 */
export function* findMark({ log, heap }: State, seq: number): Generator<undefined, string> {
  for (let end = seq; end > 0; end -= PASSED_PER_STEP) {
    for (let place = end; place > 0 && place > end - PASSED_PER_STEP; place--) {
      const address = log.get(place - 1);
      if (address !== 0) return sha256Hex(heap.bytes(address).subarray(0, MARKED_BYTES)).slice(0, 8);
    }
    yield;
  }
  return '';
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

/**
 * The events of an entry that this signal, one of those that it may give, names and whose number is `from` or more, in
 * order, each made when it is asked for: there may be thousands. `shelf` keeps what was made of the records they show.
 */
export function* eventsOf(
  state: State,
  placed: Placed,
  signal: string,
  from: number,
  shelf = new Shelf(state.cacheShare),
): Generator<LedgerEvent, void, void> {
  if (signal === 'balance-received') yield* creditsOf(state, placed as PlacedOutcome, from, shelf);
  else if (signal === 'wallet-limited') yield* limitsOf(state, placed as PlacedOutcome, from, shelf);
  else for (const event of ownEventsOf(state, placed, signal)) if (event.index >= from) yield event;
}

/** All events of an entry whose number is `from` or more, in order. */
export function* allEvents(state: State, placed: Placed, from: number): Generator<LedgerEvent, void, void> {
  for (const signal of signalsOf(placed.entry)) yield* eventsOf(state, placed, signal, from);
}

/** Those of a signal about the record itself. */
function ownEventsOf(state: State, placed: Placed, signal: string): LedgerEvent[] {
  const { entry, row, address } = placed;
  const { name } = kindRow(entry.kind);
  switch (signal) {
    case 'intent-created':
      return [
        eventOf(state, placed, 0, signal, [row], {
          intent: new Member((sealer) => createdText(state, placed, sealer)),
        }),
      ];
    case 'intent-updated':
      return [eventOf(state, placed, 1, signal, [row], { intent: memberAt(state, row, address) })];
  }
  if (entry.type !== EntryType.proof) {
    return [eventOf(state, placed, 0, signal, [row], { [name]: memberAt(state, row, address) })];
  }
  const hash = hexOf(recordAt(state, row, address).entry.hash);
  const proofs = new Member(() => `[${storedProofText(hash, entry.proof)}]`);
  return [eventOf(state, placed, 0, signal, [row], { [name]: plain(entry.handle), proofs })];
}

function eventOf(
  state: State,
  { seq, address, entry, ledger: home }: Placed,
  index: number,
  signal: string,
  rows: readonly number[],
  members: LedgerEvent['members'],
): LedgerEvent {
  const ledger = ledgerAt(state, home, address);
  let handle: string | null = null;
  return {
    seq,
    index,
    ledger,
    signal,
    moment: decidedAt(entry),
    // Of thousands of events that are passed by, nobody asks what they are called.
    get handle() {
      handle ??= handleAt(entry, seq, index);
      return handle;
    },
    rows,
    members,
  };
}

/** Unguessable because luids are, and the same whenever it is made. */
function handleAt({ luid }: Entry, seq: number, index: number): string {
  const hash = Buffer.from(sha256Hex(`${luid} ${seq} ${index}`), 'hex').toString('base64url');
  return `evt_${hash.slice(0, 17)}`;
}

/** What an event is called, and what it tells of, without making it. */
export function eventNameAt(state: State, seq: number, index: number): Pick<LedgerEvent, 'handle' | 'signal'> {
  const { entry, row, address } = placedAt(state, seq)!;
  const [first, ...rest] = signalsOf(entry) as [string, ...string[]];
  const handle = handleAt(entry, seq, index);
  if (index === 0) return { handle, signal: first };
  if (index < FIRST_CREDIT) return { handle, signal: 'intent-updated' };
  const claims = () => dataOf(recordAt(state, row, address).entry).claims as Claim[];
  const isLimit = rest.includes('wallet-limited') && index >= FIRST_CREDIT + claims().length;
  return { handle, signal: isLimit ? 'wallet-limited' : 'balance-received' };
}

/** An intent as it came, before anything was decided about it. */
function createdText(state: State, { row, address }: Placed, sealer: Sealer | null): string {
  const record = recordAt(state, row, address);
  return viewText({ ...record, entry: undecided(record.entry), added: [], status: 'pending' }, sealer);
}

// ---------------------------------------------------------------- money and limits

type PlacedOutcome = Placed & { entry: IntentEntry | StepEntry };

function* creditsOf(
  state: State,
  placed: PlacedOutcome,
  from: number,
  shelf: Shelf,
): Generator<LedgerEvent, void, void> {
  const { row, address, entry } = placed;
  const { claims } = dataOf(recordAt(state, row, address).entry) as { claims: Claim[] };
  const meant = meaningsOf(state, address, entry);
  const shown = membersAt(state, placed, shelf);
  for (let index = Math.max(0, from - FIRST_CREDIT); index < claims.length; index++) {
    const claim = claims[index]!;
    if (claim.target === undefined || claim.action === 'limit') continue;
    const wallet = meant.wallet(index, Side.credit, handleOf(claim.target));
    const symbol = meant.symbol(handleOf(claim.symbol));
    if (wallet < 0 || symbol < 0) continue;
    const members = {
      amount: plain(claim.amount),
      intent: shown(row),
      symbol: shown(symbol),
      wallet: shown(wallet),
    };
    const rows = [row, wallet, symbol];
    yield eventOf(state, placed, FIRST_CREDIT + index, 'balance-received', rows, members);
  }
}

function* limitsOf(
  state: State,
  placed: PlacedOutcome,
  from: number,
  shelf: Shelf,
): Generator<LedgerEvent, void, void> {
  const { row, address, entry } = placed;
  const { limits } = entry.outcome;
  const { claims } = dataOf(recordAt(state, row, address).entry) as { claims: Claim[] };
  const shown = membersAt(state, placed, shelf);
  const first = FIRST_CREDIT + claims.length;
  for (let i = LIMIT_WIDTH * Math.max(0, from - first); i < limits.length; i += LIMIT_WIDTH) {
    const [wallet, symbol, metric, amount] = limits.slice(i, i + LIMIT_WIDTH) as [number, number, number, number];
    const members = {
      amount: plain(amount),
      intent: shown(row),
      metric: plain(METRICS[metric]!),
      symbol: shown(symbol),
      wallet: shown(wallet),
    };
    yield eventOf(state, placed, first + i / LIMIT_WIDTH, 'wallet-limited', [row, wallet, symbol], members);
  }
}

// ---------------------------------------------------------------- texts

/** The event as a record that the server signed. */
export function eventText({ ledger, handle, signal, members, moment }: LedgerEvent, sealer: Sealer): string {
  const all: Record<string, Member> = { ...members, handle: plain(handle), signal: plain(signal) };
  const names = Object.keys(all).sort();
  const data = names.map((name) => `"${name}":${all[name]!.text(sealer)}`).join(',');
  return outwardText(`{${data}}`, moment, { ledger }, sealer);
}

/** Looks that one filter is given for one event: some milliseconds' worth, on the thread that serves everybody. */
const FILTER_EFFORT_MAX = 500_000;

/**
 * Whether an event is one that a filter asks for. Only what the filter looks at is made, and proofs only for it. A
 * filter that takes more looking than it is given asks for nothing.
 */
export function isWanted(event: LedgerEvent, filter: readonly Condition[], sealer: Sealer): boolean {
  const { signal, members } = event;
  const view: Record<string, unknown> = { signal };
  if (filter.some(({ path }) => path[0] === 'handle')) view.handle = event.handle;
  for (const [name, member] of Object.entries(members)) {
    const paths = filter.filter(({ path }) => path[0] === name).map(({ path }) => path);
    if (paths.length === 0) continue;
    view[name] = member.value(paths.some((path) => path.includes('proofs')) ? sealer : null);
  }
  return holdAll(filter, view, { left: FILTER_EFFORT_MAX });
}
