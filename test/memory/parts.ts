/** What the tests of this room share: holding a dump against later changes, and sending it through the disk. */
import { expect } from 'vitest';
import type { Part } from '../../src/memory/index.ts';

/** The parts as a snapshot read back from disk gives them: plain bytes, by name. Fails where a name comes twice. */
export function throughDisk(parts: Part[]): Map<string, Uint8Array> {
  const files = new Map<string, Uint8Array>();
  for (const part of parts) {
    expect(files.has(part.name), `${part.name} twice`).toBe(false);
    files.set(part.name, Uint8Array.from(part.bytes));
  }
  return files;
}

/** Fails where the bytes of a dump are no longer those that were copied when it was taken. */
export function expectUnchanged(parts: Part[], copy: Map<string, Uint8Array>): void {
  for (const part of parts) {
    if (!Buffer.from(part.bytes).equals(copy.get(part.name)!)) expect.fail(`${part.name} changed after the dump`);
  }
}

/** Fails unless each final part of an earlier dump is in a later one, final and with the same bytes. */
export function expectFinalKept(earlier: Part[], later: Part[]): void {
  const files = new Map(later.map((part) => [part.name, part]));
  for (const part of earlier) {
    if (!part.final) continue;
    expect(files.get(part.name)?.final, `${part.name} is no longer final`).toBe(true);
    expect(Buffer.from(files.get(part.name)!.bytes).equals(Buffer.from(part.bytes)), `${part.name} changed`).toBe(true);
  }
}

/** The parts, each in turn missing, one byte short, and one byte long. */
export function damaged(parts: Part[]): { what: string; files: Map<string, Uint8Array> }[] {
  const cases: { what: string; files: Map<string, Uint8Array> }[] = [];
  for (const part of parts) {
    const missing = throughDisk(parts);
    missing.delete(part.name);
    cases.push({ what: `without ${part.name}`, files: missing });
    const longer = throughDisk(parts);
    longer.set(part.name, new Uint8Array([...part.bytes, 0]));
    cases.push({ what: `${part.name} too long`, files: longer });
    if (part.bytes.length === 0) continue;
    const shorter = throughDisk(parts);
    shorter.set(part.name, Uint8Array.from(part.bytes.subarray(0, -1)));
    cases.push({ what: `${part.name} truncated`, files: shorter });
  }
  return cases;
}
