/**
 * apply: the only writer of the state. Live traffic and recovery come through the same function with the same entries
 * in the same order, so both end in the same state. It decides nothing and cannot fail; an assert here is our own bug
 * or books that lie.
 */
import { type Claim, handleOf, rowsOf } from './claims/index.ts';
import { type CreateCommand, commandData } from './command.ts';
import { ANY_STATUS, addCount, addOwnStatus, countKey, labelKey } from './counts.ts';
import {
  type CreateEntry,
  type CreateFacts,
  type Entry,
  EntryType,
  type Facts,
  type IntentEntry,
  type IntentFacts,
  isFinal,
  LEG_STATES,
  luidOfThread,
  MARK_WIDTH,
  type Outcome,
  statusAfter,
  threadOf,
} from './entry.ts';
import { findLuid, indexHandle, indexHashes, indexLuid, unindexHandle } from './finding.ts';
import { assertBalanced, assertStill } from './invariants.ts';
import { Kind, kindRow } from './kinds.ts';
import { pushMembership } from './memberships.ts';
import { listOf, NONE } from './open-intents.ts';
import { hasRules, type IntentOutline, type NameHashes, outlineOf } from './outline.ts';
import { addSupply, countNewlyLimited, hold, move, release, setLimits, walletsNotHeld } from './postings.ts';
import { dataOf, keyOf, labelsOf, ledgerInfo, namesOf, readRow, type VersionEntry } from './records.ts';
import { assert } from './refusal.ts';
import {
  DROPPED,
  HAS_ACCESS,
  HAS_BRIDGE,
  HAS_LABELS,
  HAS_ROUTES,
  type OpenIntent,
  SERVER_LEDGER,
  type State,
} from './state.ts';
import { pushIntentTerms, pushTerms } from './terms.ts';

/**
 * Brings the entry, whose bytes are `bytes[from, to)`, into the state. `command` is what a new record was decided from:
 * where that is at hand, its data need not be read again.
 */
export function apply(
  state: State,
  entry: Entry | Facts,
  bytes: Uint8Array,
  from: number,
  to: number,
  command?: CreateCommand,
): void {
  state.memo.changed(entry.kind, entry.ledger);
  switch (entry.type) {
    case EntryType.token:
      state.log.push(0);
      return state.tokens.use(entry.handle, entry.exp);
    case EntryType.create: {
      const row = addRow(state, entry, kindRow(entry.kind).status, bytes, from, to);
      useProofs(state, row, entry);
      return applyVersion(state, row, entry, askedOf(entry, command));
    }
    case EntryType.intent: {
      const outline = 'outline' in entry ? entry.outline : (command?.sheet ?? outlineOf(dataOf(entry)));
      return applyIntent(state, entry, bytes, from, to, outline);
    }
    case EntryType.update: {
      const { row, ledger, kind, handle } = entry;
      const before = namesOf(state, row).handle;
      const value = dataOf(entry);
      const isRekeyed = kind === Kind.signer && keyOf(state, state.rows.at.get(row)) !== value.public;
      append(state, row, bytes, from, to);
      if (isRekeyed) state.rekeyed.set(row, { rows: state.rows.lines.length, at: state.rows.at.get(row) });
      useProofs(state, row, entry);
      if (handle !== before) {
        unindexHandle(state, ledger, kind, before, row);
        indexHandle(state, ledger, kind, handle, row);
      }
      return applyVersion(state, row, entry, value);
    }
    case EntryType.drop: {
      const { row, ledger, kind, handle } = entry;
      append(state, row, bytes, from, to);
      useProofs(state, row, entry);
      unindexHandle(state, ledger, kind, handle, row);
      state.norms.dropped(row);
      setLabels(state, row, []);
      state.feeds.delete(row);
      count(state, ledger, kind, state.rows.status.get(row), -1);
      state.rows.flags.set(row, state.rows.flags.get(row) | DROPPED);
      return;
    }
    case EntryType.proof:
      if (entry.labels !== undefined) setLabels(state, entry.row, entry.labels);
      append(state, entry.row, bytes, from, to);
      useProofs(state, entry.row, entry);
      if (entry.status === null) return;
      setStatus(state, entry.row, entry.ledger, entry.kind, entry.status);
      if (entry.kind === Kind.ledger) addOwnStatus(state, state.rows.ledgerIndex.get(entry.row), entry.status);
      return;
    case EntryType.step: {
      const { row, ledger, kind, outcome } = entry;
      const open = state.open.get(row);
      assert(open !== undefined, 'only an intent on its way goes on');
      const claims = () => rowsOf(claimsOf(state, row));
      append(state, row, bytes, from, to);
      const status = statusAfter(outcome, open.status);
      if (status !== open.status) setStatus(state, row, ledger, kind, status);
      return applyOutcome(state, row, open, outcome, claims);
    }
    case EntryType.delivery: {
      const { row, seq, index } = entry;
      const feed = state.feeds.get(row);
      assert(feed !== undefined, 'what is delivered has a receiver');
      const last = write(state, bytes, from, to, feed.last);
      // One that was given up may be delivered later, out of turn.
      const isNext = seq > feed.seq || (seq === feed.seq && index > feed.index);
      state.feeds.set(row, isNext ? { seq, index, last } : { ...feed, last });
    }
  }
}

/** What applying asks of a new record's data, or all of it. */
function askedOf(entry: CreateEntry | CreateFacts, command: CreateCommand | undefined): Record<string, unknown> {
  if ('asked' in entry) return entry.asked;
  return command === undefined ? dataOf(entry) : commandData(command);
}

function applyIntent(
  state: State,
  entry: IntentEntry | IntentFacts,
  bytes: Uint8Array,
  from: number,
  to: number,
  outline: IntentOutline,
): void {
  const { ledger, moment, outcome, thread } = entry;
  const row = addRow(state, entry, statusAfter(outcome), bytes, from, to, outline.hashes);
  pushIntentTerms(state, ledger, outline, addPlace(state, row));
  if (outline.hasAccess) state.rows.flags.set(row, HAS_ACCESS);
  // Most come to their end alone and at once.
  if (outcome.links === undefined && isDone(outcome)) return happen(state, row, outcome, moment, outline.claims);
  const open: OpenIntent = {
    ledger,
    moment,
    status: 'pending',
    isHolding: false,
    counted: NONE,
    legs: NONE,
    bridges: NONE,
    thread: '',
    wallets: NONE,
  };
  applyOutcome(state, row, open, outcome, () => outline.claims);
  if (thread !== threadOf(entry.luid)) joinThread(state, row, ledger, thread);
}

/** A row for a new record, found by its names. */
function addRow(
  state: State,
  { ledger, kind, handle, luid }: CreateEntry | CreateFacts | IntentEntry | IntentFacts,
  statusText: string,
  bytes: Uint8Array,
  from: number,
  to: number,
  hashes: NameHashes | null = null,
): number {
  const { rows } = state;
  const row = rows.lines.push();
  const status = statusNumber(state, statusText);
  rows.at.set(row, write(state, bytes, from, to, 0));
  rows.status.set(row, status);
  rows.kind.push(kind);
  rows.ledger.push(ledger);
  if (hashes === null) {
    indexHandle(state, ledger, kind, handle, row);
    indexLuid(state, luid, row);
  } else indexHashes(state, ledger, hashes, row);
  count(state, ledger, kind, status, 1);
  return row;
}

/** The place of a change that comes after all others. */
function addPlace({ order, rows }: State, row: number): number {
  const place = order.push(row);
  rows.place.set(row, place);
  return place;
}

/** What holds for every new version of a record that is no intent, the first included. */
function applyVersion(
  state: State,
  row: number,
  entry: VersionEntry | CreateFacts,
  value: Record<string, unknown>,
): void {
  const { rows } = state;
  const { ledger, kind } = entry;
  const place = addPlace(state, row);
  pushTerms(state, ledger, kind, value, place);
  if (kind === Kind['circle-signer']) pushMembership(state, entry.handle, place);
  if (kind === Kind.schema || kind === Kind.policy) state.norms.changed(row, ledger, kind, value);
  const kept = (hasRules(value.access) ? HAS_ACCESS : 0) | (rows.flags.get(row) & HAS_LABELS);
  if (kind === Kind.wallet) {
    const routes = Array.isArray(value.routes) && value.routes.length > 0;
    rows.flags.set(row, kept | (value.bridge === undefined ? 0 : HAS_BRIDGE) | (routes ? HAS_ROUTES : 0));
    return;
  }
  if (kept !== rows.flags.get(row)) rows.flags.set(row, kept);
  if (kind === Kind.effect || kind === Kind.bridge) feed(state, row, kind, value);
  if (kind === Kind.ledger) {
    assert(ledger === SERVER_LEDGER, 'ledgers live in the ledger of ledgers');
    assert(!('asked' in entry), 'a ledger is asked for whole');
    const info = ledgerInfo(row, entry);
    if (entry.type === EntryType.create) rows.ledgerIndex.set(row, state.ledgers.push(info) - 1);
    else {
      const index = rows.ledgerIndex.get(row);
      state.ledgers[index] = info;
      // It may let intents wait for another time.
      state.open.due.ask(index);
    }
  }
}

/** An effect hears of what happens after it; so does a bridge that wants to know statuses, from when it says so. */
function feed({ feeds, log }: State, row: number, kind: Kind, { traits }: Record<string, unknown>): void {
  const isFed = kind === Kind.effect || (Array.isArray(traits) && traits.includes(STATUSES_TRAIT));
  if (!isFed) feeds.delete(row);
  else if (!feeds.has(row)) feeds.set(row, { seq: log.length, index: EVERY_EVENT, last: 0 });
}

/** What a bridge says of itself to be told how intents go on that it takes part in. */
const STATUSES_TRAIT = 'statuses';
/** Above the number of any event of one entry. */
const EVERY_EVENT = 2 ** 31;

/** An intent that goes on is known with the others of its thread, and they with it. */
function joinThread(state: State, row: number, ledger: number, thread: string): void {
  if (!state.open.has(row)) return;
  const first = findLuid(state, ledger, Kind.intent, luidOfThread(thread));
  const rows = state.threads.get(thread) ?? [first];
  for (const member of [first, row]) {
    const open = state.open.get(member);
    assert(open !== undefined, 'a thread grows while it is open');
    state.open.set(member, { ...open, thread });
  }
  state.threads.set(thread, [...rows, row]);
}

/** An intent has come to its end. */
function close({ open, threads }: State, row: number): void {
  const thread = open.get(row)?.thread ?? '';
  open.delete(row);
  if (thread === '') return;
  const rest = threads.get(thread)!.filter((member) => member !== row);
  if (rest.length === 0) threads.delete(thread);
  else threads.set(thread, rest);
}

/**
 * What an outcome does to the books, for an intent that was as `open` says:
 *
 *     is holding   the outcome says                  its money
 *     no           committed, all at once            moves, its limits are set
 *     no           prepared, or legs to be asked     is set aside
 *     yes          committed                         moves for good, its limits are set
 *     yes          aborted                           goes back
 *     either       anything else                     stays
 */
function applyOutcome(
  state: State,
  row: number,
  open: OpenIntent,
  outcome: Outcome,
  claims: () => readonly number[],
): void {
  const { steps, links } = outcome;
  const status = statusAfter(outcome, open.status);
  const moves = steps.includes('committed');
  const isEnd = moves || steps.includes('aborted');
  const holds = !open.isHolding && !isEnd && (status === 'prepared' || (links?.legs.length ?? 0) > 0);
  // Of its own: a dump may hold the intent as it was.
  const counted = [...open.counted];
  if (moves && !open.isHolding) happen(state, row, outcome, open.moment, claims());
  else if (holds || (isEnd && open.isHolding)) {
    assertBalanced(outcome, claims(), () => symbolsOf(state, row));
    if (moves) setLimits(state, outcome);
    if (holds) hold(state, outcome, open.moment, counted);
    else release(state, open, outcome, moves);
    if (moves && !outcome.isEarly) countNewlyLimited(state, open, outcome);
    if (moves) addSupply(state, outcome.postings);
  } else assertStill(outcome);
  if (isFinal(status)) return close(state, row);
  const isHolding = holds || (open.isHolding && !isEnd);
  const begun = links?.legs ?? [];
  const bridges = begun.length > 0 ? [...new Set(begun.map(({ bridge }) => bridge))] : open.bridges;
  const legs = listOf(marked(begun.length > 0 ? new Array(begun.length).fill(0) : open.legs, links?.marks ?? []));
  const wallets = holds ? walletsNotHeld(outcome) : isHolding ? open.wallets : NONE;
  state.open.set(row, {
    ...open,
    status,
    isHolding,
    counted: listOf(isHolding ? counted : NONE),
    legs,
    bridges,
    wallets,
  });
}

function isDone({ steps }: Outcome): boolean {
  return steps.length === 3 && steps[1] === 'committed' && steps[2] === 'completed';
}

/** All of an intent, nothing of which was set aside, happens at once. */
function happen(state: State, row: number, outcome: Outcome, received: number, claims: readonly number[]): void {
  assertBalanced(outcome, claims, () => symbolsOf(state, row));
  setLimits(state, outcome);
  move(state, outcome, received);
  addSupply(state, outcome.postings);
}

/** The claims of the intent in a row, as they were sent. */
function claimsOf(state: State, row: number): readonly Claim[] {
  return dataOf(readRow(state, row).entry).claims as Claim[];
}

/** The symbols that they name. */
function symbolsOf(state: State, row: number): string[] {
  return claimsOf(state, row).map(({ symbol }) => handleOf(symbol));
}

function marked(legs: readonly number[], marks: readonly number[]): number[] {
  const states = [...legs];
  for (let i = 0; i < marks.length; i += MARK_WIDTH) {
    assert(marks[i]! < states.length && marks[i + 1]! < LEG_STATES.length, 'a mark is on a leg there is');
    states[marks[i]!] = marks[i + 1]!;
  }
  return states;
}

function append(state: State, row: number, bytes: Uint8Array, from: number, to: number): void {
  const { at } = state.rows;
  at.set(row, write(state, bytes, from, to, at.get(row)));
}

/** What the newest entry of a row was signed with brings about nothing else. */
function useProofs({ usedProofs, rows }: State, row: number, { ledger, kind }: { ledger: number; kind: Kind }): void {
  usedProofs.use(ledger, kind, rows.at.get(row));
}

/** Every entry that is kept has its place in the heap, and is found there by its sequence number. */
function write(state: State, bytes: Uint8Array, from: number, to: number, before: number): number {
  const address = state.heap.append(bytes, from, to, before);
  state.log.push(address);
  return address;
}

function setStatus(state: State, row: number, ledger: number, kind: Kind, text: string): void {
  count(state, ledger, kind, state.rows.status.get(row), -1);
  const status = statusNumber(state, text);
  state.rows.status.set(row, status);
  count(state, ledger, kind, status, 1);
  state.ranks.addStatus(ledger, kind, state.rows.place.get(row), status);
}

/** Counts who has which label; the labels themselves stand in the entry, which is appended after this. */
function setLabels(state: State, row: number, labels: readonly string[]): void {
  const { rows } = state;
  const countLabel = (label: string, change: number) => {
    const key = labelKey(rows.ledger.get(row), rows.kind.get(row), label);
    const now = (state.labels.get(key) ?? 0) + change;
    if (now === 0) state.labels.delete(key);
    else state.labels.set(key, now);
  };
  for (const label of labelsOf(state, row)) countLabel(label, -1);
  for (const label of labels) countLabel(label, 1);
  if (labels.length > 0) rows.flags.set(row, rows.flags.get(row) | HAS_LABELS);
}

function statusNumber(state: State, status: string): number {
  const known = state.statuses.indexOf(status);
  if (known >= 0) return known;
  assert(state.statuses.length < ANY_STATUS, 'status texts fit two bytes');
  return state.statuses.push(status) - 1;
}

function count(state: State, ledger: number, kind: Kind, status: number, change: number): void {
  addCount(state, countKey(ledger, kind, status), change);
  addCount(state, countKey(ledger, kind, ANY_STATUS), change);
}
