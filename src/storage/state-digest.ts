/**
 * A SHA-256 of each thing in a state that matters: two states with the same digests answer every request alike.
 * Recovery, snapshots and replay are compared by them.
 *
 * They cover each row's entries from the newest back, every column, and what lies on the V8 heap (statuses, ledgers,
 * supply, counts, open intents, deliveries). They leave out what only says where things lie: heap addresses, the tables
 * and chains that find rows, and the seed of their hashes. A new column is covered the moment it is dumped.
 */
import { createHash, type Hash } from 'node:crypto';
import { dropParts, dumpState, type StateExtra } from '../core/dump.ts';
import { OPEN_PART } from '../core/open-intents.ts';
import type { State } from '../core/state.ts';

/** Dumps of what finds rows and entries, by the name before the first period: with another seed they are others. */
export const INDEXES = ['log', 'handles', 'luids', 'terms', 'balance-slots', 'tokens', 'token-hash'];
/** Dumps that only say where things lie. */
const PLACES = ['records', 'row-at', ...INDEXES];
/** Dumps of maps, whose order says nothing. */
const MAPS = ['supply', 'counts', 'labels', 'feeds', OPEN_PART];

/** The digest of each thing in a state, by name, so that a difference can be named. Changes nothing. */
export function stateDigests(state: State): Map<string, Buffer> {
  const { extra, parts } = dumpState(state);
  const hashes = new Map<string, Hash>();
  for (const part of parts) {
    const thing = thingIn(part.name);
    if (PLACES.includes(thing) || MAPS.includes(thing)) continue;
    let hash = hashes.get(thing);
    if (hash === undefined) {
      hash = createHash('sha256');
      hashes.set(thing, hash);
    }
    for (const piece of part.final ? [part.bytes] : part.pieces) hash.update(piece);
  }
  dropParts(parts);
  const digests = new Map<string, Buffer>();
  digests.set('entries', entriesDigest(state));
  for (const [thing, hash] of [...hashes].sort(byKey)) digests.set(thing, hash.digest());
  for (const [thing, text] of Object.entries(textsOf(state, extra)).sort(byKey)) {
    digests.set(thing, createHash('sha256').update(text).digest());
  }
  return digests;
}

/** What a dumped part is a part of. */
export function thingIn(partName: string): string {
  return partName.split('.')[0]!;
}

/** The names of the things in which two states differ. */
export function differencesOf(one: State, other: State): string[] {
  return digestsThatDiffer(stateDigests(one), stateDigests(other));
}

export function digestsThatDiffer(ones: ReadonlyMap<string, Buffer>, others: ReadonlyMap<string, Buffer>): string[] {
  return [...ones].filter(([thing, digest]) => !others.get(thing)?.equals(digest)).map(([thing]) => thing);
}

/** Entries are gathered before they are hashed: a call for each would cost more than the hashing. */
const GATHERED_BYTES = 1 << 18;

function entriesDigest({ heap, rows, feeds }: State): Buffer {
  const hash = createHash('sha256');
  const gathered = Buffer.allocUnsafe(GATHERED_BYTES);
  let end = 0;
  const add = (bytes: Uint8Array, from: number, to: number) => {
    if (end + 4 + to - from > GATHERED_BYTES) {
      hash.update(gathered.subarray(0, end));
      end = 0;
    }
    end = gathered.writeUInt32BE(to - from, end);
    if (end + to - from > GATHERED_BYTES) {
      hash.update(gathered.subarray(0, end)).update(bytes.subarray(from, to));
      end = 0;
      return;
    }
    gathered.set(bytes.subarray(from, to), end);
    end += to - from;
  };
  const addChain = (last: number) => {
    for (let at = last; at !== 0; at = heap.prev(at)) {
      const from = heap.offset(at);
      add(heap.chunk(at), from, from + heap.length(at));
    }
    // An entry of no bytes does not exist, so this ends the chain.
    add(gathered, 0, 0);
  };
  for (let row = 0; row < rows.at.length; row++) addChain(rows.at.get(row));
  for (const [, { last }] of [...feeds].sort(([one], [other]) => one - other)) if (last !== 0) addChain(last);
  return hash.update(gathered.subarray(0, end)).digest();
}

function textsOf(state: State, { hashSeed: _, ...extra }: StateExtra): Record<string, string> {
  const { open, threads, supply, counts, labels, feeds } = state;
  const things = {
    ...extra,
    open: [...open].map(([row, { wallets: __, ...intent }]) => [row, intent]),
    // By itself: the rest is digested as it was by builds that did not have it.
    openWallets: [...open].flatMap(([row, { wallets }]) => (wallets.length > 0 ? [[row, wallets]] : [])),
    threads: [...threads].sort(byKey),
    supply: [...supply].sort(byKey).map(([symbol, amount]) => [symbol, amount.toString()]),
    counts: [...counts].sort(byKey),
    labels: [...labels].sort(byKey),
    feeds: [...feeds].sort(byKey).map(([row, { last: __, ...feed }]) => [row, feed]),
  };
  return Object.fromEntries(Object.entries(things).map(([thing, value]) => [thing, stableText(value)]));
}

/** JSON with the members of every object in order of their names. */
function stableText(value: unknown): string {
  return JSON.stringify(value, (_, member) =>
    typeof member === 'object' && member !== null && !Array.isArray(member)
      ? Object.fromEntries(Object.entries(member).sort(byKey))
      : member,
  );
}

function byKey<K extends number | string>([one]: [K, unknown], [other]: [K, unknown]): number {
  return one < other ? -1 : 1;
}
