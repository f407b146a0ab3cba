/** What is kept of long versions: proofs of few words were taken for a fifth of what they take in memory. */
import { expect, test } from 'vitest';
import { GRANTED } from '../../src/core/access/index.ts';
import type { ProofEntry } from '../../src/core/entry.ts';
import { findHandle } from '../../src/core/finding.ts';
import { Kind } from '../../src/core/kinds.ts';
import { LongVersions } from '../../src/core/long-versions.ts';
import { readRow } from '../../src/core/records.ts';
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
  const { luid, hash } = entry;
  const proof = { public: new Uint8Array(32), result: new Uint8Array(64), custom: '{"n":1}' };
  books.do({ op: 'proof', ledger: 1, kind: Kind.wallet, moment: books.moment, caller: GRANTED, luid, hash, proof });
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
