/** What the tests of this room share: holding a dump against later changes, and sending it through the disk. */
import { expect } from 'vitest';
import { bytesOf, dropParts, type Part } from '../../src/memory/index.ts';

interface Dumping {
  dump(): Part[];
}

/** A dump that is read when it is asked for, and the bytes it must have then. */
export function dumped(structure: Dumping): { held: Part[]; copy: Map<string, Uint8Array> } {
  const held = structure.dump();
  return { held, copy: throughDisk(structure.dump()) };
}

type DumpStep = 'dump' | 'reload' | 'drop';

/** The last dump of what goes on changing: its bytes stay what they were, and its final parts are in the next one. */
export class LastDump {
  #held: Part[];
  #copy: Map<string, Uint8Array>;

  constructor(structure: Dumping) {
    ({ held: this.#held, copy: this.#copy } = dumped(structure));
  }

  /** Drops it unread, or reads it and takes the next; returns the bytes of that where `structure` is to be loaded from them. */
  step(structure: Dumping, what: DumpStep): Map<string, Uint8Array> | null {
    if (what === 'drop') {
      dropParts(this.#held);
      this.#held = [];
      return null;
    }
    this.expectUnchanged();
    const { held, copy } = dumped(structure);
    expectFinalKept(this.#held, held);
    [this.#held, this.#copy] = [held, copy];
    return what === 'reload' ? copy : null;
  }

  expectUnchanged(): void {
    expectUnchanged(this.#held, this.#copy);
  }
}

/** A dump on its way: its pieces so far. */
export interface Reading {
  pieces: Iterator<Uint8Array>;
  read: Uint8Array[];
}

/** Reads the next piece; returns whether it was the last. */
export function readOn({ pieces, read }: Reading): boolean {
  const next = pieces.next();
  if (next.done !== true) read.push(next.value.slice());
  return next.done === true;
}

/** The parts as a snapshot read back from disk gives them: plain bytes, by name. Fails where a name comes twice. */
export function throughDisk(parts: Part[]): Map<string, Uint8Array> {
  const files = new Map<string, Uint8Array>();
  for (const part of parts) {
    expect(files.has(part.name), `${part.name} twice`).toBe(false);
    files.set(part.name, bytesOf(part));
  }
  return files;
}

/** Reads a dump: fails where its bytes are no longer those that were copied when it was taken. */
export function expectUnchanged(parts: Part[], copy: Map<string, Uint8Array>): void {
  for (const part of parts) {
    if (!Buffer.from(bytesOf(part)).equals(copy.get(part.name)!)) expect.fail(`${part.name} changed after the dump`);
  }
}

/** Fails unless each final part of an earlier dump is in a later one, final and with the same bytes. */
function expectFinalKept(earlier: Part[], later: Part[]): void {
  const files = new Map(later.map((part) => [part.name, part]));
  for (const part of earlier) {
    if (!part.final) continue;
    const other = files.get(part.name);
    if (other?.final !== true) expect.fail(`${part.name} is no longer final`);
    expect(Buffer.from(other.bytes).equals(Buffer.from(part.bytes)), `${part.name} changed`).toBe(true);
  }
}

/** The parts, each in turn missing, one byte short, and one byte long. */
export function damaged(parts: Part[]): { what: string; files: Map<string, Uint8Array> }[] {
  const whole = throughDisk(parts);
  const cases: { what: string; files: Map<string, Uint8Array> }[] = [];
  const without = (name: string, bytes?: Uint8Array) => {
    const files = new Map(whole);
    files.delete(name);
    return bytes === undefined ? files : files.set(name, bytes);
  };
  for (const [name, bytes] of whole) {
    cases.push({ what: `without ${name}`, files: without(name) });
    cases.push({ what: `${name} too long`, files: without(name, new Uint8Array([...bytes, 0])) });
    if (bytes.length > 0) cases.push({ what: `${name} truncated`, files: without(name, bytes.slice(0, -1)) });
  }
  return cases;
}
