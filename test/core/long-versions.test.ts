/** What is kept of long versions: proofs of few words were taken for a fifth of what they take in memory. */
import { expect, test } from 'vitest';
import type { ProofEntry } from '../../src/core/entry.ts';
import { findHandle } from '../../src/core/finding.ts';
import { Kind } from '../../src/core/kinds.ts';
import { LongVersions, Waymarks } from '../../src/core/long-versions.ts';
import { bytesOf, readRow, versionAt } from '../../src/core/records.ts';
import { entryCodec } from '../../src/storage/codec.ts';
import { heldBytes } from '../support/collect.ts';
import { Books } from './books.ts';

const SHARE = 1 / 8;
const BYTES_MAX = 64_000_000 * SHARE;
const PROOFS = 500;
const VERSIONS = 100;

test('long versions of short proofs take no more memory than they may', () => {
  const books = Books.open().wallets('w');
  const { entry, before } = readRow(books.state, findHandle(books.state, 1, Kind.wallet, 'w'));
  books.addProof(entry, { n: 1 });
  const bytes = books.entries.at(-1)!;
  const versions = new LongVersions(SHARE);
  const empty = heldBytes();
  for (let n = 1; n <= VERSIONS; n++) {
    const added = Array.from({ length: PROOFS }, () => entryCodec.decode(bytes, 0, bytes.length) as ProofEntry);
    versions.keep(n, { entry, added, before }, PROOFS * (256 + bytes.length), 0);
  }
  expect(heldBytes() - empty).toBeLessThan(BYTES_MAX);
  // And what there is room for is kept.
  expect(versions.at(VERSIONS)?.version.added).toHaveLength(PROOFS);
  expect(versions.at(VERSIONS - 5)).toBeDefined();
  expect(versions.at(1)).toBeUndefined();
});

test('how long a version is told to be is the same where all of it, some or nothing is kept', () => {
  const books = Books.open().wallets('w');
  const { state } = books;
  const row = findHandle(state, 1, Kind.wallet, 'w');
  const { entry } = readRow(state, row);
  for (let n = 0; n < 40; n++) {
    books.addProof(entry, { n: 'x'.repeat(n) }, { key: new Uint8Array(32).fill(n) });
    const at = state.rows.at.get(row);
    const told = bytesOf({ ...state, longVersions: new LongVersions() }, at);
    expect(bytesOf(state, at)).toBe(told);
    if (n % 3 === 0) versionAt(state, at);
    expect(bytesOf(state, at)).toBe(told);
  }
  expect(state.longVersions.at(state.rows.at.get(row))).toBeDefined();
});

const WAYMARKS = 100_000;

test('waymarks are found from either side, and take no more memory than is said', () => {
  const alone = new Waymarks<string>(WAYMARKS);
  const together = new Waymarks<string>(WAYMARKS);
  const empty = heldBytes();
  for (let row = 0; row < WAYMARKS; row++) alone.keep(row, [row + 1], 'a');
  expect(heldBytes() - empty).toBeLessThan(150 * WAYMARKS);
  const before = heldBytes();
  for (let at = WAYMARKS; at > 0; at -= 1000) {
    const addresses = Array.from({ length: 1000 }, (_, n) => 2 * (at - n));
    together.keep(7, addresses, `v${at / 1000}`);
  }
  expect(heldBytes() - before).toBeLessThan(60 * WAYMARKS);
  expect(together.upTo(7, 1)).toBeUndefined();
  expect(together.upTo(7, 2000)).toEqual({ address: 2000, value: 'v1' });
  expect(together.upTo(7, 2003)).toEqual({ address: 2002, value: 'v2' });
  expect(together.behind(7, 2002)).toEqual({ address: 2004, value: 'v2' });
  expect(together.behind(7, 2 * WAYMARKS)).toBeUndefined();
  expect(together.behind(8, 1)).toBeUndefined();
  // One more, and all others go.
  expect(alone.upTo(7, 8)).toEqual({ address: 8, value: 'a' });
  alone.keep(8, [1], 'b');
  expect([alone.upTo(7, 8), alone.upTo(8, 9)]).toEqual([undefined, { address: 1, value: 'b' }]);
});

test('waymarks take no more memory where they tell of very many labels', () => {
  const told = new Waymarks<string[]>(WAYMARKS);
  const empty = heldBytes();
  let kept = 0;
  for (let row = 1; row <= 5000; row++) {
    told.keep(
      row,
      [row],
      Array.from({ length: 100 }, (_, n) => `${row}-${n}-${'x'.repeat(row % 90)}`),
    );
    if (row % 250 === 0) kept = Math.max(kept, heldBytes() - empty);
  }
  expect(kept).toBeGreaterThan(1_000_000);
  expect(kept).toBeLessThan(150 * WAYMARKS);
  expect(told.upTo(5000, 5000)?.value).toHaveLength(100);
});
