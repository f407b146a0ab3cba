/** Signatures of an audit, verified in bulk meanwhile: each of them is, and the first that does not hold is told. */
import { afterEach, expect, test, vi } from 'vitest';
import { Signatures } from '../../src/cli/audit/signatures.ts';
import { createKeyPair } from '../../src/proof/keys.ts';
import { ProofPool } from '../../src/proof/pool.ts';
import { sign } from '../../src/proof/verify.ts';

/** So many go to the verifiers at a time. */
const ROWS = 1024;

const keys = createKeyPair();
const digest = Uint8Array.from({ length: 32 }, (_, n) => n);
const good = sign(digest, keys);
const bad = good.map((byte, n) => (n === 40 ? byte ^ 1 : byte));

let open: Signatures | null = null;
afterEach(() => open?.close());

/** So many rows, of which those at these places are bad. */
function rowsOf(count: number, workers: number, ...places: number[]): Signatures {
  const signatures = new Signatures(workers);
  open = signatures;
  for (let n = 0; n < count; n++) add(signatures, n, places.includes(n) ? bad : good);
  return signatures;
}

function add(signatures: Signatures, n: number, result: Uint8Array): void {
  signatures.add(keys.public, digest, result, { file: 'books', seq: n }, `row ${n} is bad`);
}

test.each([0, 2])('that hold, however many, are no finding, and counted (%i workers)', async (workers) => {
  const none = rowsOf(0, workers);
  await none.settle();
  await none.close();
  const signatures = rowsOf(2 * ROWS + 1, workers);
  await signatures.settle();
  expect(signatures.count).toBe(2 * ROWS + 1);
  await signatures.settle();
});

test.each<[string, number, number[], number]>([
  ['the only one', 1, [0], 0],
  ['the last of those that go together', ROWS, [ROWS - 1], ROWS - 1],
  ['the first of the next', ROWS + 1, [ROWS], ROWS],
  ['of several that go together', 100, [99, 50], 50],
  ['of several that go one after the other', 5 * ROWS, [4 * ROWS + 1, 2 * ROWS + 7, 2 * ROWS + 9], 2 * ROWS + 7],
])('the first that does not hold is told, with its place: %s', async (_, count, places, first) => {
  for (const workers of [0, 2]) {
    const signatures = rowsOf(count, workers, ...places);
    const finding = { kind: 'lie', file: 'books', seq: first, what: `row ${first} is bad` };
    await expect(signatures.settle()).rejects.toMatchObject({ finding });
    await signatures.close();
  }
});

test.each(['key', 'digest'])('a signature by another %s does not hold', async (what) => {
  const signatures = rowsOf(3, 0);
  const other = createKeyPair().public;
  const [key, of] = what === 'key' ? [other, digest] : [keys.public, other];
  signatures.add(key, of, good, { file: 'books' }, 'it is another');
  await expect(signatures.settle()).rejects.toThrow('it is another');
});

test('whoever reads on is asked to wait where some have gone to the verifiers, and hears what they found', async () => {
  const signatures = rowsOf(ROWS - 1, 0);
  expect(signatures.isDue).toBe(false);
  add(signatures, ROWS, good);
  expect(signatures.isDue).toBe(true);
  await signatures.relief();
  expect(signatures.isDue).toBe(false);
  const found = rowsOf(20 * ROWS, 2, 3);
  const reading = async () => {
    for (let n = 0; ; n++) {
      await found.relief();
      add(found, n, good);
    }
  };
  await expect(reading()).rejects.toMatchObject({ finding: { seq: 3 } });
  await signatures.close();
});

test('that nobody could look at, since a thread died, are not taken for good', async () => {
  const died = new Error('a thread died');
  const submit = vi.spyOn(ProofPool.prototype, 'submit').mockImplementation(({ done }) => {
    setImmediate(() => done({ error: died, bad: -1 } as Parameters<typeof done>[0]));
  });
  try {
    const few = rowsOf(3, 0);
    await expect(few.settle()).rejects.toBe(died);
    await few.close();
    const signatures = rowsOf(2 * ROWS, 0);
    const reading = async () => {
      for (let n = 0; n < 20 * ROWS; n++) {
        if (signatures.isDue) await signatures.relief();
        add(signatures, n, good);
      }
    };
    await expect(reading()).rejects.toBe(died);
  } finally {
    submit.mockRestore();
  }
});
