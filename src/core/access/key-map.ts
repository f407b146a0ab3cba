/**
 * A map from public keys, 32 bytes each, to whatever; a look-up makes no text of them.
 *
 * Anybody may choose keys, and those of a list in a rule without having their secrets. So the map relies on no hash,
 * since keys could be chosen that share it: they lie in a tree (a PATRICIA trie) whose forks each ask for the first bit
 * in which the keys beneath differ. A look-up asks for each bit of a key once at most, for about ten bits among a
 * thousand random keys, and compares one key.
 */
import { equalBytes, includesBytes } from '../bytes.ts';

interface Leaf<T> {
  readonly isFork: false;
  readonly key: Uint8Array;
  readonly value: T;
}

interface Fork<T> {
  readonly isFork: true;
  /** The bit it asks for: in this byte, this one. What lies beneath differs in none before it. */
  readonly byte: number;
  readonly mask: number;
  zero: Node<T>;
  one: Node<T>;
}

type Node<T> = Leaf<T> | Fork<T>;

export class KeyMap<T> {
  size = 0;
  #root: Node<T> | null = null;

  get(key: Uint8Array): T | undefined {
    const root = this.#root;
    if (root === null) return undefined;
    const leaf = leafFor(root, key);
    return equalBytes(leaf.key, key) ? leaf.value : undefined;
  }

  /** Adds a key that is not there yet. The bytes must not change afterwards. */
  add(key: Uint8Array, value: T): void {
    const leaf: Leaf<T> = { isFork: false, key, value };
    const root = this.#root;
    if (root === null) this.#root = leaf;
    else this.#fork(root, leaf);
    this.size++;
  }

  clear(): void {
    this.#root = null;
    this.size = 0;
  }

  #fork(root: Node<T>, leaf: Leaf<T>): void {
    const { key } = leaf;
    // Whichever leaf this is, the first bit in which its key differs is the first in which that of any leaf does.
    const other = leafFor(root, key).key;
    let byte = 0;
    while (byte < key.length && key[byte] === other[byte]) byte++;
    const mask = 1 << (31 - Math.clz32(key[byte]! ^ other[byte]!));
    let above: Fork<T> | null = null;
    let below = root;
    while (below.isFork && (below.byte < byte || (below.byte === byte && below.mask > mask))) {
      above = below;
      below = isZero(below, key) ? below.zero : below.one;
    }
    const fork: Fork<T> = { isFork: true, byte, mask, zero: leaf, one: leaf };
    if (isZero(fork, key)) fork.one = below;
    else fork.zero = below;
    if (above === null) this.#root = fork;
    else if (isZero(above, key)) above.zero = fork;
    else above.one = fork;
  }
}

/** The one leaf that can have the key; where it has not, no key shares a longer beginning with it than that leaf's. */
function leafFor<T>(root: Node<T>, key: Uint8Array): Leaf<T> {
  let node = root;
  while (node.isFork) node = isZero(node, key) ? node.zero : node.one;
  return node;
}

function isZero<T>({ byte, mask }: Fork<T>, key: Uint8Array): boolean {
  return (key[byte]! & mask) === 0;
}

/** A set of keys. */
export function keysOf(keys: readonly Uint8Array[]): KeyMap<true> {
  const map = new KeyMap<true>();
  for (const key of keys) enter(map, key);
  return map;
}

/** The keys, each once. */
export function distinct(keys: readonly Uint8Array[]): Uint8Array[] {
  const map = new KeyMap<true>();
  return keys.filter((key) => enter(map, key));
}

/** Whether it was not there before. */
function enter(map: KeyMap<true>, key: Uint8Array): boolean {
  const isNew = map.get(key) === undefined;
  if (isNew) map.add(key, true);
  return isNew;
}

/**
 * From so many keys on, a set of them is made, and kept as long as the list of them is: thousands of look-ups may come.
 */
const SET_KEYS_MIN = 32;
const sets = new WeakMap<readonly Uint8Array[], KeyMap<true>>();

/** Whether one of them is this key. */
export function isAmong(keys: readonly Uint8Array[], key: Uint8Array): boolean {
  if (keys.length < SET_KEYS_MIN) return includesBytes(keys, key);
  const set = sets.get(keys) ?? keysOf(keys);
  sets.set(keys, set);
  return set.get(key) === true;
}
