/**
 * Dumps that are read while memory goes on changing: piece by piece, with changes between any two, what comes is what
 * was there; and what that costs whoever changes it is bounded, whatever the size.
 */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  bytesOf,
  dropParts,
  F64Column,
  F64Field,
  hashMix,
  Lines,
  type Part,
  Table,
  U8Column,
  U16Field,
  U32Column,
} from '../../src/memory/index.ts';
import { throughDisk } from './parts.ts';

/** A dump that is read a piece at a time, and what must have come in the end. */
class Reading {
  readonly #copy: Map<string, Uint8Array>;
  readonly #read = new Map<string, Uint8Array[]>();
  readonly #pieces: Generator<void>;

  constructor(structure: { dump(): Part[] }) {
    this.#pieces = this.#walk(structure.dump());
    this.#copy = throughDisk(structure.dump());
  }

  *#walk(parts: Part[]): Generator<void> {
    for (const part of parts) {
      const read: Uint8Array[] = [];
      this.#read.set(part.name, read);
      for (const piece of part.final ? [part.bytes] : part.pieces) {
        read.push(piece.slice());
        yield;
      }
    }
  }

  step(): boolean {
    return this.#pieces.next().done === true;
  }

  end(): void {
    while (!this.step());
    expect([...this.#read.keys()].sort()).toEqual([...this.#copy.keys()].sort());
    for (const [name, read] of this.#read) {
      if (!Buffer.concat(read).equals(this.#copy.get(name)!)) expect.fail(`${name} is not as it was`);
    }
  }
}

const kind = fc.constantFrom('change', 'change', 'change', 'change', 'dump', 'read', 'read', 'drop');
const steps = fc.array(fc.record({ kind, at: fc.nat(), value: fc.nat(200) }), { maxLength: 120, size: 'max' });

function live(
  steps: { kind: string; at: number; value: number }[],
  structure: { dump(): Part[] },
  change: (at: number, value: number) => void,
): void {
  let readings: Reading[] = [];
  for (const { kind, at, value } of steps) {
    const reading = readings[at % Math.max(1, readings.length)];
    if (kind === 'change') change(at, value);
    else if (kind === 'dump') readings.push(new Reading(structure));
    else if (kind === 'drop') dropParts(structure.dump());
    else if (reading?.step() === true) {
      reading.end();
      readings = readings.filter((other) => other !== reading);
    }
  }
  for (const reading of readings) reading.end();
}

describe('read piece by piece between changes', () => {
  test.each([
    ['of bytes', false, () => new U8Column('c', false, 4096)],
    ['of words', false, () => new U32Column('c', false, 512)],
    ['of doubles', false, () => new F64Column('c', false, 256)],
    ['that is append-only', true, () => new U32Column('c', true, 512)],
  ])('a column %s', (_, isAppendOnly, make) => {
    fc.assert(
      fc.property(steps, fc.nat(9000), (steps, rows) => {
        const column = make();
        for (let i = 0; i < rows; i++) column.push(i % 251);
        live(steps, column, (at, value) => {
          if (value % 3 === 0 || column.length === 0) return void column.push(value);
          // Rows of closed pages stay as they are.
          const first = isAppendOnly ? Math.floor((column.length - 1) / 512) * 512 : 0;
          column.set(Math.max(first, column.length - 1 - (at % column.length)), value);
        });
      }),
      { numRuns: 30 },
    );
  });

  test('lines of several fields', () => {
    fc.assert(
      fc.property(steps, fc.nat(9000), (steps, rows) => {
        const lines = new Lines(16, 512);
        const amount = new F64Field(lines, 'amount', 8);
        const half = new U16Field(lines, 'half', 2);
        for (let i = 0; i < rows; i++) half.set(lines.push(), i);
        live(steps, lines, (at, value) => {
          if (value % 3 === 0 || lines.length === 0) amount.set(lines.push(), value);
          else if (value % 3 === 1) amount.set(at % lines.length, value);
          else half.set(at % lines.length, value);
        });
      }),
      { numRuns: 30 },
    );
  });

  test.each([0, 3, 700, 1300, 5000])('a table of %i entries that grows and shrinks', (entries) => {
    fc.assert(
      fc.property(steps, (steps) => {
        const table = new Table('t', { segments: 2 });
        for (let i = 0; i < entries; i++) table.insert(hashMix(4, i), i);
        let next = entries;
        live(steps, table, (at, value) => {
          const hash = hashMix(4, at % Math.max(1, next));
          if (value < 30) table.remove(hash, at % Math.max(1, next));
          else if (value < 60 && table.first(hash) !== -1) table.replace(value);
          else for (let more = 0; more < value; more++) table.insert(hashMix(4, next), next++);
        });
      }),
      { numRuns: 30 },
    );
  });

  // What was copied away before the first part was read may lie there still when it is let go too early.
  test.each([0, 1, 2])('what was not read yet is kept until it was, changed once part %i was read', (changed) => {
    const column = new U32Column('c', false, 512);
    for (let i = 0; i < 1500; i++) column.push(i);
    const copy = throughDisk(column.dump());
    const parts = column.dump();
    for (const [index, part] of parts.entries()) {
      expect(Buffer.compare(bytesOf(part), copy.get(part.name)!), part.name).toBe(0);
      if (index >= changed) for (let row = 0; row < 1500; row++) column.set(row, index);
    }
    expect(parts).toHaveLength(4);
  });

  test.each(['column', 'lines'])('a dump made before a load lets nothing go of one made after it: %s', (what) => {
    const lines = new Lines(8, 8);
    const structure = what === 'lines' ? lines : new F64Column('c', false, 8);
    const cells = structure instanceof Lines ? new F64Field(lines, 'f', 0) : structure;
    for (let i = 0; i < 20; i++) structure.push(0);
    const before = structure.dump();
    structure.load(throughDisk(structure.dump()));
    const [copy, after] = [throughDisk(structure.dump()), structure.dump()];
    dropParts(before);
    for (let row = 0; row < 20; row++) cells.set(row, 1);
    for (const part of after) expect(Buffer.compare(bytesOf(part), copy.get(part.name)!), part.name).toBe(0);
  });

  test('a part that was read, or dropped, cannot be read again', () => {
    const column = new U32Column('c', false, 8);
    for (let i = 0; i < 20; i++) column.push(i);
    const [, read, dropped, half] = column.dump();
    const walk = (part?: Part) => [...(part as { pieces: Iterable<Uint8Array> }).pieces];
    walk(read);
    expect(() => walk(read)).toThrow(/was read before/);
    dropParts([dropped!]);
    expect(() => walk(dropped)).toThrow(/was read before/);
    const pieces = (half as { pieces: Iterable<Uint8Array> }).pieces[Symbol.iterator]();
    pieces.next();
    dropParts([half!]);
    expect(() => pieces.next()).toThrow(/while it was read/);
  });
});

describe('what a dump costs', () => {
  const ROWS = 300_000;
  const column = () => {
    const made = new F64Column('c', false);
    for (let i = 0; i < ROWS; i++) made.push(i);
    return made;
  };

  test('changes far apart copy a block each, once, and none when the dump was read', () => {
    const changed = column();
    const parts = changed.dump();
    for (let i = 0; i < 100; i++) changed.set(i * 3000, -1);
    for (let i = 0; i < 100; i++) changed.set(i * 3000 + 1, -1);
    expect(changed.copied).toBe(100 * 512);
    throughDisk(parts);
    expect(changed.copied).toBe(0);
    changed.set(7, -1);
    expect(changed.copied).toBe(0);
  });

  test('what is dropped is not kept', () => {
    const changed = column();
    dropParts(changed.dump());
    changed.set(7, -1);
    expect(changed.copied).toBe(0);
  });

  test('an entry that comes into a table copies a block', () => {
    const table = new Table('t', { segments: 64 });
    for (let i = 0; i < ROWS; i++) table.insert(hashMix(4, i), i);
    const parts = table.dump();
    const bytes = table.bytes;
    let inserted = 0;
    for (; table.bytes === bytes && inserted < 100; inserted++) table.insert(hashMix(5, inserted), inserted);
    expect(inserted).toBeGreaterThan(20);
    // The last one may have made its segment grow, which moves all of that.
    expect(table.copied).toBeLessThanOrEqual(inserted * 512 + bytes / 32);
    expect(table.copied).toBeGreaterThanOrEqual((inserted - 1) * 400);
    throughDisk(parts);
    expect(table.copied).toBe(0);
  });

  test('parts are few, however large a table is', () => {
    const table = new Table('t');
    for (let i = 0; i < ROWS; i++) table.insert(hashMix(4, i), i);
    expect(table.dump().map(({ name }) => name)).toEqual(['t.slots', 't.head']);
  });
});
