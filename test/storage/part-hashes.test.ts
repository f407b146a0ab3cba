/** Hashes of long pieces, made by threads while the pieces are filled, against the plain hash of each. */
import { createHash, randomFillSync } from 'node:crypto';
import { once } from 'node:events';
import { availableParallelism } from 'node:os';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { hashPieces, PartHashes } from '../../src/storage/part-hashes.ts';
import { giveNoThreads } from '../support/no-threads.ts';

const plain = (piece: Uint8Array) => createHash('sha256').update(piece).digest('hex');
const hex = (hash: Uint8Array) => Buffer.from(hash).toString('hex');

function pieces(...lengths: number[]): Uint8Array[] {
  return lengths.map((length) => new Uint8Array(new SharedArrayBuffer(length)));
}

describe('hashes of parts', () => {
  test.each([
    ['on this thread alone', Number.POSITIVE_INFINITY],
    ['with threads', 0],
  ])('each is that of its piece, as it was when it was said to be filled: %s', (_, threadsFromBytes) => {
    const all = pieces(0, 5, 300_000, 1, 2_000_000, 64, 700_000);
    const hashes = new PartHashes(all, threadsFromBytes);
    try {
      for (const [index, piece] of all.entries()) {
        randomFillSync(piece);
        hashes.filled(index);
      }
      expect(hashes.results().map(hex)).toEqual(all.map(plain));
      const threads = threadsFromBytes > 0 ? 0 : Math.min(availableParallelism() - 1, 4);
      expect(hashes.threads).toHaveLength(threads);
    } finally {
      hashes.close();
    }
  });

  test('on this thread alone where the system gives no other: a start was refused, and told to make room on the disk', () => {
    giveNoThreads();
    const all = pieces(5, 300_000);
    const hashes = new PartHashes(all, 0);
    for (const [index, piece] of all.entries()) {
      randomFillSync(piece);
      hashes.filled(index);
    }
    expect(hashes.results().map(hex)).toEqual(all.map(plain));
    expect(hashes.threads).toHaveLength(0);
  });

  test('a thread hashes each piece once it is filled, and only then', () => {
    const all = pieces(1000, 2000);
    const stages = new Int32Array(new SharedArrayBuffer(8));
    const hashes = new Uint8Array(new SharedArrayBuffer(64));
    for (const piece of all) randomFillSync(piece);
    // 1 is filled; the first was taken by somebody else.
    stages.set([2, 1]);
    hashPieces({ pieces: all, stages, hashes });
    expect([...stages]).toEqual([2, 3]);
    expect(hex(hashes.subarray(0, 32))).toBe('00'.repeat(32));
    expect(hex(hashes.subarray(32))).toBe(plain(all[1]!));
  });

  test('what a thread has taken is waited for, and hashed here where that is in vain', () => {
    const all = pieces(1000, 2000);
    const hashes = new PartHashes(all, Number.POSITIVE_INFINITY);
    for (const [index, piece] of all.entries()) {
      randomFillSync(piece);
      hashes.filled(index);
    }
    // Another thread takes the last, and never ends with it.
    const take = (stages: Int32Array, index: number) => {
      Atomics.store(stages, index, 2);
      return index === 1 ? 2 : 1;
    };
    const exchange = vi.spyOn(Atomics, 'compareExchange').mockImplementation(take as never);
    const wait = vi.spyOn(Atomics, 'wait').mockReturnValue('timed-out');
    onTestFinished(() => [exchange, wait].forEach((spy) => void spy.mockRestore()));
    expect(hashes.results().map(hex)).toEqual(all.map(plain));
    expect(wait).toHaveBeenLastCalledWith(expect.any(Int32Array), 1, 2, expect.any(Number));
  });

  test('threads end where the pieces are never filled', async () => {
    const hashes = new PartHashes(pieces(10, 10), 0);
    const ended = hashes.threads.map((thread) => once(thread, 'exit'));
    hashes.close();
    await Promise.all(ended);
  });
});
