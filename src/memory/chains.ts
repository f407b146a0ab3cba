/**
 * Chains: for each 32-bit key hash, the values pushed under it, newest first.
 *
 * An index of candidates: two keys with one hash share a chain, and the caller checks each candidate itself. A node is
 * two rows of an append-only column, value and next node (8 bytes, in one cache line); node 0 is the end. A table
 * leads from the hash to the newest node.
 *
 * What always holds: `next` of a node is an older node, so following it ends; no node has a smaller value than an older
 * one, so those of one value lie side by side.
 */
import { U32Column } from './columns.ts';
import { type FinalPart, fail, finder, headPart, type Part, type Parts, readHead, Shape } from './parts.ts';
import { Table, type TableOptions } from './table.ts';

export class Chains {
  readonly name: string;
  private readonly heads: Table;
  private readonly nodes: U32Column;
  /** The value pushed last, and the first node that has it; all nodes from there on do. */
  private last = -1;
  private lastFirst = 1;

  /** `options`: of the table of chains, one entry per distinct hash. `pageRows`: of the column of nodes. */
  constructor(name: string, options: TableOptions, pageRows?: number) {
    this.name = name;
    this.heads = new Table(`${name}.heads`, options);
    this.nodes = new U32Column(`${name}.nodes`, true, pageRows);
    // Node 0 stands for the end of every chain.
    this.nodes.push(0);
    this.nodes.push(0);
  }

  /** Bytes of memory they take. */
  get taken(): number {
    return this.heads.taken + this.nodes.taken;
  }

  /** Nodes in all chains. */
  get size(): number {
    return this.nodes.length / 2 - 1;
  }

  /**
   * Puts `value`, which is no smaller than any pushed before, in front of the chain under `hash`; the value that is in
   * front already is not put there again.
   */
  push(hash: number, value: number): void {
    if (value !== this.last) this.begin(value);
    const head = this.heads.first(hash);
    // The node itself need not be looked at: it may lie anywhere in memory.
    if (head >= this.lastFirst) return;
    const node = this.nodes.push(value) / 2;
    this.nodes.push(head === -1 ? 0 : head);
    if (head === -1) this.heads.insert(hash, node);
    else this.heads.replace(node);
  }

  private begin(value: number): void {
    if (value < this.last) fail(`chains ${this.name}: value ${value} after ${this.last}`);
    this.last = value;
    this.lastFirst = this.size + 1;
  }

  /** See `touch` of the table (table.ts) that leads to the chains. */
  touch(hash: number): number {
    return this.heads.touch(hash);
  }

  /** The newest node under `hash`, or 0. */
  head(hash: number): number {
    const head = this.heads.first(hash);
    return head === -1 ? 0 : head;
  }

  /** The first node that was pushed with `value`, or 0 where none was. */
  firstOf(value: number): number {
    let from = 1;
    let to = this.size + 1;
    while (from < to) {
      const middle = (from + to) >>> 1;
      if (this.value(middle) < value) from = middle + 1;
      else to = middle;
    }
    return from <= this.size && this.value(from) === value ? from : 0;
  }

  /** The value of a node. */
  value(node: number): number {
    return this.nodes.get(node * 2);
  }

  /** The node pushed before this one under the same hash, or 0. */
  next(node: number): number {
    const next = this.nodes.get(node * 2 + 1);
    if (next >= node) fail(`chains ${this.name}: node ${node} points forward to ${next}`);
    return next;
  }

  /** The full pages of nodes, which change no more. */
  get finals(): readonly FinalPart[] {
    return this.nodes.finals;
  }

  /** The parts of table and column, and a head. Copies nothing. */
  dump(): Part[] {
    return [...this.heads.dump(), ...this.nodes.dump(), headPart(this.name, Shape.chains, [this.size])];
  }

  /**
   * Takes over the state of a dump. Throws where parts are missing or do not fit; then this instance is not to be used.
   */
  load(parts: Parts): void {
    const [size] = readHead(finder(parts), this.name, Shape.chains, 1) as unknown as [number];
    this.heads.load(parts);
    this.nodes.load(parts);
    if (this.nodes.length !== (size + 1) * 2)
      throw new Error(`memory: chains ${this.name} has ${this.nodes.length} rows for ${size} nodes`);
    this.last = size === 0 ? -1 : this.value(size);
    this.lastFirst = size === 0 ? 1 : this.firstOf(this.last);
  }
}
