/** The record heap against an array of records, its edges, and damaged dumps. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { bytesOf, Heap, type Part } from '../../src/memory/index.ts';
import { damaged, LastDump, throughDisk } from './parts.ts';

const CHUNK = 256;

function filled(length: number, seed: number): Uint8Array {
  return Uint8Array.from({ length }, (_, i) => (seed * 31 + i * 7 + 1) & 255);
}

describe('heap', () => {
  test('gives back every record, through dumps and loads', () => {
    const step = fc.oneof(
      {
        weight: 8,
        arbitrary: fc.record({
          length: fc.integer({ min: 0, max: CHUNK - 8 }),
          prev: fc.nat(),
          skip: fc.nat(9),
          rest: fc.nat(3),
        }),
      },
      { weight: 1, arbitrary: fc.constant('reload' as const) },
      { weight: 1, arbitrary: fc.constant('dump' as const) },
    );
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60, size: 'max' }), (steps) => {
        let heap = new Heap('records', CHUNK);
        const model: { at: number; prev: number; bytes: Uint8Array }[] = [];
        const last = new LastDump(heap);
        for (const [i, what] of steps.entries()) {
          if (typeof what === 'string') {
            const files = last.step(heap, what);
            if (files === null) continue;
            heap = new Heap('records', CHUNK);
            heap.load(files);
            continue;
          }
          const prev = model.length === 0 ? 0 : model[what.prev % model.length]!.at;
          const source = filled(what.skip + what.length + what.rest, i);
          const at = heap.append(source, what.skip, what.skip + what.length, prev);
          expect(at).toBeGreaterThan(model.at(-1)?.at ?? 0);
          model.push({ at, prev, bytes: source.slice(what.skip, what.skip + what.length) });
        }
        last.expectUnchanged();
        expect([...heap.addresses()]).toEqual(model.filter(({ bytes }) => bytes.length > 0).map(({ at }) => at));
        for (const { at, prev, bytes } of model) {
          expect(heap.prev(at)).toBe(prev);
          expect(heap.length(at)).toBe(bytes.length);
          expect(Uint8Array.from(heap.bytes(at))).toEqual(bytes);
          const from = heap.offset(at);
          expect(heap.chunk(at).slice(from, from + bytes.length)).toEqual(heap.bytes(at).slice());
        }
      }),
      { numRuns: 40 },
    );
  });

  test('from wherever its bytes come, and however many they are, a record is those bytes and then zeros', () => {
    const chunk = 65_536;
    const heap = new Heap('records', chunk);
    const lengths = [20_000, 16_385, 16_384, 16_383, 711, 64, 9, 8, 7, 1, 0, 711];
    const model: { at: number; bytes: Uint8Array; what: string }[] = [];
    for (const [number, length] of lengths.entries()) {
      for (const buffer of [new ArrayBuffer(chunk), new SharedArrayBuffer(chunk)]) {
        for (const offset of [0, 1, 7, 8]) {
          const bytes = new Uint8Array(buffer, offset, length);
          bytes.set(filled(length, number + 1));
          const at = heap.append(bytes, 0, length, 0);
          model.push({ at, bytes: bytes.slice(), what: `${length} bytes from byte ${offset}` });
        }
      }
    }
    for (const { at, bytes, what } of model) {
      expect(Buffer.compare(heap.bytes(at), bytes), what).toBe(0);
      const end = heap.offset(at) + bytes.length;
      const behind = heap.chunk(at).slice(end, end + ((8 - (bytes.length % 8)) % 8));
      expect(
        [...behind].every((byte) => byte === 0),
        what,
      ).toBe(true);
    }
  });

  test('takes a record of a whole chunk and refuses one byte more', () => {
    const heap = new Heap('records', CHUNK);
    expect(heap.recordBytesMax).toBe(CHUNK - 8);
    const whole = filled(CHUNK - 8, 1);
    // The first chunk lacks the 8 bytes of address 0, so this one begins the second, and the next one the third.
    const first = heap.append(whole, 0, whole.length, 0);
    const second = heap.append(whole, 0, whole.length, first);
    expect([first, second]).toEqual([CHUNK / 8, (2 * CHUNK) / 8]);
    expect(heap.bytes(second).slice()).toEqual(whole);
    expect(heap.used).toBe(3 * CHUNK);
    expect(() => heap.append(new Uint8Array(CHUNK), 0, CHUNK - 7, 0)).toThrow(/at most 248/);
    const again = new Heap('records', CHUNK);
    again.load(throughDisk(heap.dump()));
    expect(again.bytes(first).slice()).toEqual(whole);
    expect(again.append(whole, 0, 1, second)).toBe((3 * CHUNK) / 8);
  });

  test('takes as much as it was told and no more, and tells how much is left', () => {
    const max = 64 * CHUNK;
    const heap = new Heap('records', CHUNK, max);
    const bytes = filled(CHUNK - 16, 3);
    let last = 0;
    for (let n = 1; n <= 64; n++) {
      last = heap.append(bytes, 0, bytes.length, 0);
      expect(heap.used / heap.bytesMax).toBeCloseTo(n / 64, 2);
    }
    expect(() => heap.append(bytes, 0, 1, 0)).toThrow(/records is full/);
    const again = new Heap('records', CHUNK, max);
    again.load(throughDisk(heap.dump()));
    expect([again.used, again.bytes(last).length]).toEqual([heap.used, bytes.length]);
    expect(() => new Heap('records', CHUNK, max / 2).load(throughDisk(heap.dump()))).toThrow(/cannot end/);
  });

  test('fills the first chunk to its last byte', () => {
    const heap = new Heap('records', CHUNK);
    const bytes = filled(CHUNK - 16, 2);
    expect(heap.append(bytes, 0, bytes.length, 0)).toBe(1);
    expect(heap.used).toBe(CHUNK);
    expect(heap.bytes(1).slice()).toEqual(bytes);
    expect(heap.append(bytes, 0, 0, 1)).toBe(CHUNK / 8);
    expect(heap.length(CHUNK / 8)).toBe(0);
  });

  test('tells the memory that the next records go to, and goes on there', () => {
    const heap = new Heap('records', CHUNK);
    heap.append(filled(20, 1), 0, 20, 0);
    const [last, next] = heap.room();
    expect(heap.room()).toEqual([last, next]);
    expect(last!.buffer).toBe(heap.chunk(1).buffer);
    expect([last!.from, next!.from]).toEqual([heap.used, 0]);
    const at = heap.append(filled(CHUNK - 8, 2), 0, CHUNK - 8, 0);
    expect(heap.chunk(at).buffer).toBe(next!.buffer);
    expect(heap.room()[0]).toEqual({ buffer: next!.buffer, from: CHUNK });
    expect(heap.room()[1]!.buffer).not.toBe(next!.buffer);
  });

  test('refuses addresses where no record is, and ranges outside the source', () => {
    const heap = new Heap('records', CHUNK);
    const bytes = new Uint8Array(16);
    const at = heap.append(bytes, 0, 16, 0);
    for (const wrong of [0, -1, at + 3, 1e9, Number.NaN]) {
      expect(() => heap.bytes(wrong), `bytes at ${wrong}`).toThrow(/no record/);
      expect(() => heap.prev(wrong), `prev at ${wrong}`).toThrow(/no record/);
      expect(() => heap.length(wrong), `length at ${wrong}`).toThrow(/no record/);
      expect(() => heap.chunk(wrong), `chunk at ${wrong}`).toThrow(/no record/);
    }
    for (const [from, to] of [
      [-1, 4],
      [0, 17],
      [5, 4],
      [Number.NaN, 4],
    ] as const) {
      expect(() => heap.append(bytes, from, to, 0), `${from}..${to}`).toThrow(/append of/);
    }
    expect(() => heap.append(bytes, 0, 4, at + 3)).toThrow(/prev/);
  });

  test('a dump that is short, long or incomplete does not load and changes nothing', () => {
    const heap = new Heap('records', CHUNK);
    for (let i = 0; i < 9; i++) heap.append(filled(100, i), 0, 100, 0);
    for (const { what, files } of damaged(heap.dump())) {
      const target = new Heap('records', CHUNK);
      const at = target.append(filled(9, 9), 0, 9, 0);
      expect(() => target.load(files), what).toThrow(/records\./);
      expect(target.bytes(at).slice(), what).toEqual(filled(9, 9));
      expect(target.used, what).toBe(32);
    }
  });

  test('damaged record headers are refused, not followed', () => {
    const heap = new Heap('records', CHUNK);
    const at = heap.append(filled(40, 1), 0, 40, 0);
    const files = throughDisk(heap.dump());
    const words = new DataView(files.get('records.tail')!.buffer);
    words.setUint32(8, 250, true);
    words.setUint32(12, at, true);
    const target = new Heap('records', CHUNK);
    target.load(files);
    expect(() => target.bytes(at)).toThrow(/leaves its chunk/);
    expect(() => target.prev(at)).toThrow(/points forward/);
  });

  test('heads of other shapes and sizes are refused', () => {
    const files = throughDisk(new Heap('records', CHUNK).dump());
    expect(() => new Heap('records', 2 * CHUNK).load(files)).toThrow(/chunks of 256/);
    expect(() => new Heap('others', CHUNK).load(files)).toThrow(/others\.head is missing/);
    for (const [word, value] of [
      [0, 7],
      [1, 2],
      [3, 1 << 30],
      [4, 0],
      [4, 12],
      [4, CHUNK + 8],
    ] as const) {
      const changed = new Map(files);
      const head = Uint8Array.from(files.get('records.head')!);
      new DataView(head.buffer).setUint32(word * 4, value, true);
      changed.set('records.head', head);
      expect(() => new Heap('records', CHUNK).load(changed), `word ${word} = ${value}`).toThrow(/memory:/);
    }
    const odd = new Map(files);
    const head = Uint8Array.from(files.get('records.head')!);
    new DataView(head.buffer).setUint32(16, 12, true);
    odd.set('records.head', head).set('records.tail', new Uint8Array(12));
    expect(() => new Heap('records', CHUNK).load(odd)).toThrow(/cannot end at byte 12/);
    expect(() => new Heap('records', 100)).toThrow(/chunks/);
  });

  test('a full chunk read into shared memory is taken as it is', () => {
    const heap = new Heap('records', CHUNK);
    for (let i = 0; i < 4; i++) heap.append(filled(100, i), 0, 100, 0);
    const parts = heap.dump();
    const target = new Heap('records', CHUNK);
    target.load(new Map(parts.map((part) => [part.name, part.final ? part.bytes : bytesOf(part)])));
    const finals = (all: Part[]) => all.filter((part) => part.final).map(({ bytes }) => bytes.buffer);
    expect(finals(parts)).toHaveLength(1);
    expect(finals(target.dump())[0]).toBe(finals(parts)[0]);
    // The chunk still being filled must not be shared: both go on writing to theirs.
    const at = heap.append(filled(8, 1), 0, 8, 0);
    expect(target.append(filled(8, 2), 0, 8, 0)).toBe(at);
    expect(heap.bytes(at).slice()).toEqual(filled(8, 1));
  });
});
