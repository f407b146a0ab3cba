/**
 * The indexes of two states, compared as they are dumped. Where both have one seed they hold the same hashes, and
 * differ at most in how their tables have grown.
 */
import { apply } from '../../core/apply.ts';
import { bytesOf, dropParts, dumpState } from '../../core/dump.ts';
import { emptyState, type MemorySizes, type State } from '../../core/state.ts';
import { INDEXES, thingIn } from '../../storage/state-digest.ts';
import { heapEntries } from './heap-entries.ts';

/** The first dumped piece of the tables and chains that find rows in which two states with one seed differ, or null. */
export function differingIndex(one: State, other: State): string | null {
  const indexes = (state: State) => {
    const { parts } = dumpState(state);
    const chosen = parts.filter(({ name }) => INDEXES.includes(thingIn(name)));
    const pieces = new Map(chosen.map((part) => [part.name, bytesOf(part)]));
    dropParts(parts);
    return pieces;
  };
  const [ours, theirs] = [indexes(one), indexes(other)];
  for (const [name, bytes] of ours) {
    const same = theirs.get(name);
    // How large a table is, and where in it an entry lies, the build says that made it grow: before 0.3.0 in another
    // way.
    if (name.endsWith(HEAD) && ours.has(name.slice(0, -HEAD.length) + SLOTS)) continue;
    if (same === undefined) return name;
    if (Buffer.compare(bytes, same) === 0 || (name.endsWith(SLOTS) && areSameEntries(bytes, same))) continue;
    return name;
  }
  return ours.size === theirs.size ? null : 'of other pages';
}

/** What the same entries lead to where hashes have another seed. */
export function reseeded(state: State, hashSeed: number, sizes?: MemorySizes): State {
  const { codec, compileSchema } = state;
  const other = emptyState(codec, hashSeed, sizes);
  Object.assign(other, { compileSchema, tokens: state.tokens.withSeed(hashSeed, sizes) });
  for (const found of heapEntries(state, { file: '' })) {
    if (found === null) other.log.push(0);
    else apply(other, found.entry, found.bytes, 0, found.bytes.length);
  }
  return other;
}

/** Parts of a table (src/memory/table.ts); its slots are two words each, of which the second is 0 where it is free. */
const HEAD = '.head';
const SLOTS = '.slots';

/** Whether two tables hold the same; that a search finds each entry where it lies, loading has checked. */
function areSameEntries(one: Uint8Array, other: Uint8Array): boolean {
  return Buffer.compare(entriesIn(one), entriesIn(other)) === 0;
}

/**
 * The entries among the slots of a table, in an order of their own. There may be many millions: no list of them is
 * made.
 */
function entriesIn(slots: Uint8Array): Uint8Array {
  const sorted = new BigUint64Array(Uint8Array.from(slots).buffer).sort();
  // As numbers, slots whose second word is 0 come before all others.
  const first = sorted.findIndex((slot) => slot >> 32n !== 0n);
  return new Uint8Array(sorted.buffer, first < 0 ? slots.length : first * sorted.BYTES_PER_ELEMENT);
}
