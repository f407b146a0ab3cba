/**
 * Records that have been through much: their history tells each version as it was, and no record grows so large that
 * reading it would end the process.
 */
import { describe, expect, test } from 'vitest';
import { EntryType, type IntentEntry, type StoredProof } from '../../src/core/entry.ts';
import { findHandle, findLuid } from '../../src/core/finding.ts';
import {
  type FoundVersions,
  findHistory,
  findVersion,
  findVersions,
  type PastVersion,
  readVersion,
} from '../../src/core/history.ts';
import { Kind } from '../../src/core/kinds.ts';
import { WAYMARK_STEPS } from '../../src/core/long-versions.ts';
import { intentAsSent, nameAt, recordAt, recordWith } from '../../src/core/past.ts';
import { namesOf, type RecordView, readRow } from '../../src/core/records.ts';
import { isRefusal } from '../../src/core/refusal.ts';
import type { State } from '../../src/core/state.ts';
import { slow } from '../support/slow.ts';
import { Books, issue } from './books.ts';

/** Signs whatever nobody else does. */
const KEY = new Uint8Array(32).fill(7);

function rowOf(books: Books, kind: Kind, handle: string): number {
  return findHandle(books.state, 1, kind, handle);
}

/** Adds a proof with this custom over the version there is, or another; '' where it was taken, else why not. */
function prove(
  books: Books,
  kind: Kind,
  handle: string,
  custom: object,
  { entry } = readRow(books.state, rowOf(books, kind, handle)),
): string {
  const outcome = books.addProof(entry, custom, { key: KEY });
  return isRefusal(outcome) ? outcome.reason : '';
}

function readVersions(state: State, { places }: FoundVersions): PastVersion[] {
  return places.map((place) => readVersion(state, place));
}

function historyOf(state: State, row: number) {
  return readVersions(state, findHistory(state, row));
}

/** Versions, once all steps of looking for them are done, and how many the record has. */
function foundBy(state: State, steps: Generator<undefined, FoundVersions>) {
  for (;;) {
    const { done, value } = steps.next();
    if (done === true) return { versions: readVersions(state, value), total: value.total };
  }
}

/** Some versions of a record from the newest back, and how many it has. */
function newestOf(state: State, row: number, skip: number, max: number) {
  return foundBy(state, findVersions(state, row, { order: 'newest', skip, max }));
}

test('each version is told with the labels it came to by the last of its proofs, in a list and by its number', () => {
  const books = Books.open().wallets('w');
  const { state } = books;
  const row = rowOf(books, Kind.wallet, 'w');
  books.create(Kind.policy, { handle: 'p', schema: 'labels', record: 'wallet', values: ['gold', 'red'] });
  const gives = (...labels: string[]) => expect(prove(books, Kind.wallet, 'w', { labels })).toBe('');
  gives('gold');
  gives('red', '-gold');
  books.update(Kind.wallet, 'w', { handle: 'w', custom: { n: 1 } });
  gives('gold');
  books.update(Kind.wallet, 'w', { handle: 'w', custom: { n: 2 } });
  gives('-red');
  gives('-gold');
  const expected = [[], ['gold', 'red'], ['red']];
  expect(newestOf(state, row, 0, 9).versions.map(({ labels }) => labels)).toEqual(expected);
  const alone = [3, 2, 1].flatMap((change) => foundBy(state, findVersion(state, row, change)).versions);
  expect(alone.map(({ labels }) => labels)).toEqual(expected);
});

test('a record is told as it was with one of its proofs, though more came and it was changed since', () => {
  const books = Books.open().wallets('w');
  const { state } = books;
  const row = rowOf(books, Kind.wallet, 'w');
  books.create(Kind.policy, { handle: 'p', schema: 'labels', record: 'wallet', values: ['gold', 'red'] });
  const labels = (...given: string[]) => ({ labels: given });
  prove(books, Kind.wallet, 'w', { status: 'onboarded', ...labels('gold') });
  prove(books, Kind.wallet, 'w', { status: 'closed', ...labels('red') });
  const { entry, added } = readRow(state, row);
  const [first, second] = added.map((each) => (each.type === EntryType.proof ? each.proof : null));
  books.update(Kind.wallet, 'w', { handle: 'w', custom: { n: 1 } });
  books.update(Kind.wallet, 'w', { handle: 'w', custom: { n: 2 } });
  const toldWith = (proof: StoredProof) => recordWith(state, row, entry.hash, proof);
  expect(toldWith(entry.proofs[0]!)).toMatchObject({ entry, added: [], status: 'created', labels: [] });
  expect(toldWith(first!)).toMatchObject({ entry, added: added.slice(0, 1), status: 'onboarded', labels: ['gold'] });
  expect(toldWith(second!)).toMatchObject({ entry, added, status: 'closed', labels: ['gold', 'red'] });
});

test('an intent that ends as it comes is told as it came, to whoever is not to hear what became of it', () => {
  const books = Books.open().symbols('usd').wallets('a');
  const { luid, hash, proofs } = books.intent(issue('a', 5));
  const row = findLuid(books.state, 1, Kind.intent, luid);
  const told = [
    recordWith(books.state, row, hash, proofs[0]!),
    intentAsSent(books.state, row, false),
    intentAsSent(books.state, row, true),
  ];
  const stepsOf = ({ entry }: RecordView) => (entry as IntentEntry).outcome.steps.length;
  expect(told.map((record) => [record.status, stepsOf(record) > 0])).toEqual([
    ['pending', false],
    ['pending', false],
    ['completed', true],
  ]);
});

test('a record of very many versions is not walked through whenever it is read, changed or told of, and keeps what it has', () => {
  const books = Books.open().wallets('w', 'other');
  const { state } = books;
  const row = rowOf(books, Kind.wallet, 'w');
  const { owners } = readRow(state, row);
  books.create(Kind.policy, { handle: 'p', schema: 'labels', record: 'wallet', values: ['gold'] });
  const count = books.countSteps();
  const given = { status: 'onboarded', labels: ['gold'] };
  prove(books, Kind.wallet, 'w', given);
  const versions: number[] = [];
  for (let n = 0; n < 500; n++) {
    books.update(Kind.wallet, 'w', { handle: 'w', custom: { n } });
    versions.push(state.rows.at.get(row));
  }
  // Each change reads it twice, and passes by a few entries each time.
  expect(count.steps).toBeLessThan(500 * 60);
  count.steps = 0;
  expect(readRow(state, row)).toMatchObject({ owners, ...given });
  expect(count.steps).toBeLessThan(20);
  expect(readRow(state, rowOf(books, Kind.wallet, 'other'))).toMatchObject({ owners, status: 'created', labels: [] });
  // Whoever reads on from long ago is told of each version as it was.
  for (const [n, at] of versions.entries()) {
    const past = recordAt(state, row, at);
    expect(past).toMatchObject({ owners, ...given });
    expect(JSON.parse(past.entry.data).custom).toEqual({ n });
  }
  expect(count.steps).toBeLessThan(500 * 60);
  // So are two who read on from both ends in turns, and who asks what it was when something else happened.
  count.steps = 0;
  for (let n = 0; n < 200; n++) {
    for (const at of [versions[n]!, versions[499 - n]!]) {
      expect(recordAt(state, row, at)).toMatchObject(given);
      expect(nameAt(state, row, at + 1)).toBe('w');
    }
  }
  expect(count.steps).toBeLessThan(500 + 400 * WAYMARK_STEPS);
  // Nor does what came later count there, whatever was looked at before.
  prove(books, Kind.wallet, 'w', { status: 'closed', labels: ['-gold'] });
  for (let n = 0; n < 20; n++) books.update(Kind.wallet, 'w', { handle: 'w', custom: { n } });
  expect(readRow(state, row)).toMatchObject({ status: 'closed', labels: [] });
  for (const at of [versions[3]!, versions[499]!, versions[20]!]) expect(recordAt(state, row, at)).toMatchObject(given);
});

slow('versions with many proofs are kept at hand as far as there is room, however much each of them says', () => {
  const books = Books.open();
  const { state } = books;
  const rows: number[] = [];
  for (let n = 0; n < 80; n++) {
    books.create(Kind.wallet, { handle: `w${n}`, custom: { text: 'x'.repeat(900_000) } });
    for (let i = 0; i < 16; i++) prove(books, Kind.wallet, `w${n}`, { i });
    rows.push(rowOf(books, Kind.wallet, `w${n}`));
  }
  for (const row of rows) expect(readRow(state, row).added).toHaveLength(16);
  const kept = rows.filter((row) => state.longVersions.at(state.rows.at.get(row)) !== undefined);
  expect(kept.length).toBeLessThan(72);
  expect(kept.at(-1)).toBe(rows.at(-1));
  // What a proof says counts as well.
  for (const row of rows.slice(-18)) {
    for (let i = 0; i < 9; i++)
      expect(prove(books, Kind.wallet, namesOf(state, row).handle, { text: 'x'.repeat(400_000), i })).toBe('');
    expect(readRow(state, row).added).toHaveLength(25);
  }
  const left = rows.filter((row) => state.longVersions.at(state.rows.at.get(row)) !== undefined);
  expect(left.length).toBeLessThan(15);
  expect(left.length).toBeGreaterThan(9);
  expect(left.at(-1)).toBe(rows.at(-1));
});

describe('past versions', () => {
  test('keep the status that was given before them', () => {
    const books = Books.open().wallets('w');
    prove(books, Kind.wallet, 'w', { status: 'onboarded' });
    books.update(Kind.wallet, 'w', { handle: 'w', custom: { n: 2 } });
    books.update(Kind.wallet, 'w', { handle: 'w', custom: { n: 3 } });
    prove(books, Kind.wallet, 'w', { status: 'closed' });
    books.update(Kind.wallet, 'w', { handle: 'w', custom: { n: 4 } });
    const versions = historyOf(books.state, rowOf(books, Kind.wallet, 'w'));
    expect(versions.map(({ change, status }) => [change, status])).toEqual([
      [4, 'closed'],
      [3, 'closed'],
      [2, 'onboarded'],
      [1, 'onboarded'],
    ]);
  });

  test('have the labels that were put on before them, though one alone is asked for, which was given a status', () => {
    const books = Books.open();
    books.create(Kind.policy, { handle: 'p', schema: 'labels', record: 'wallet', values: ['gold'] });
    books.create(Kind.wallet, { handle: 'w' });
    prove(books, Kind.wallet, 'w', { labels: ['gold'] });
    books.update(Kind.wallet, 'w', { handle: 'w' });
    prove(books, Kind.wallet, 'w', { status: 'kyc-ok' });
    const { versions } = newestOf(books.state, rowOf(books, Kind.wallet, 'w'), 0, 1);
    expect(versions).toMatchObject([{ status: 'kyc-ok', labels: ['gold'] }]);
  });

  test('begin with the status of their kind', () => {
    const books = Books.open();
    const value = { handle: 'e', signal: 'wallet-created', action: { schema: 'webhook', endpoint: 'http://h' } };
    books.create(Kind.effect, value);
    books.update(Kind.effect, 'e', { ...value, signal: 'wallet-updated' });
    const { versions } = newestOf(books.state, rowOf(books, Kind.effect, 'e'), 1, 1);
    expect(versions.map(({ change, status }) => [change, status])).toEqual([[1, 'active']]);
  });

  test('any page of them is that part of all of them', () => {
    const books = Books.open().wallets('w');
    for (let n = 2; n <= 9; n++) {
      if (n % 3 === 0) prove(books, Kind.wallet, 'w', { status: `s${'abc'[n / 3 - 1]}` });
      books.update(Kind.wallet, 'w', { handle: 'w', custom: { n } });
    }
    const row = rowOf(books, Kind.wallet, 'w');
    const all = historyOf(books.state, row);
    expect(all.map(({ change }) => change)).toEqual([9, 8, 7, 6, 5, 4, 3, 2, 1]);
    for (const [skip, max] of [
      [0, 0],
      [0, 1],
      [1, 3],
      [4, 5],
      [8, 5],
      [9, 5],
    ] as const) {
      const page = newestOf(books.state, row, skip, max);
      expect(page).toEqual({ versions: all.slice(skip, skip + max), total: 9 });
    }
  });

  test('of very many proofs are passed by in steps, where what those gave is asked for and where it is not', () => {
    const books = Books.open().wallets('w');
    const { state } = books;
    const row = rowOf(books, Kind.wallet, 'w');
    for (let n = 0; n < 3000; n++) prove(books, Kind.wallet, 'w', { n });
    const stepsOf = (skip: number) => {
      const steps = findVersions(state, row, { order: 'newest', skip, max: 1 });
      let count = 0;
      while (steps.next().done !== true) count++;
      return count;
    };
    expect(stepsOf(0)).toBe(3000);
    expect(stepsOf(1)).toBe(3);
  });

  test('are looked for in steps, of very many: told is what there was when that began', () => {
    const books = Books.open().wallets('w');
    const { state } = books;
    const row = rowOf(books, Kind.wallet, 'w');
    for (let n = 2; n <= 3500; n++) books.update(Kind.wallet, 'w', { handle: 'w', custom: { n } });
    prove(books, Kind.wallet, 'w', { status: 'onboarded' });
    const passed = books.countSteps();
    const change = (n: number) => books.update(Kind.wallet, 'w', { handle: 'w', custom: { later: n } });
    const told = (steps: ReturnType<typeof findVersions>) => {
      for (let taken = 1; ; taken++) {
        passed.steps = 0;
        const { done, value } = steps.next();
        // The end of one pass, and the beginning of the next.
        expect(passed.steps).toBeLessThan(2100);
        if (done === true) {
          const versions = readVersions(state, value).map(({ entry, change: nth, status }) => {
            return [nth, status, (JSON.parse(entry.data) as { custom?: object }).custom];
          });
          return { taken, total: value.total, versions };
        }
        prove(books, Kind.wallet, 'w', { status: 'closed', taken });
        change(taken);
      }
    };
    const newest = [3500, 'onboarded', { n: 3500 }];
    const found = told(findVersions(state, row, { order: 'newest', skip: 0, max: 1 }));
    expect(found).toEqual({ taken: 5, total: 3500, versions: [newest] });
    const { length } = historyOf(state, row);
    expect(told(findVersion(state, row, 3500))).toEqual({
      taken: 9,
      total: length,
      versions: [[3500, 'closed', { n: 3500 }]],
    });
    expect(told(findVersion(state, row, 1)).versions).toEqual([[1, 'created', undefined]]);
    expect(told(findVersions(state, row, { order: 'oldest', skip: 1, max: 2 })).versions).toEqual([
      [2, 'created', { n: 2 }],
      [3, 'created', { n: 3 }],
    ]);
    expect(told(findVersion(state, row, 0)).versions).toEqual([]);
    expect(told(findVersion(state, row, 9999)).versions).toEqual([]);
  });

  /** Books with a wallet that was changed often, in a state that counts what is decoded. */
  function changedOften(): { books: Books; state: State; count: { decoded: number } } {
    const books = Books.open().wallets('w');
    const policy = { handle: 'p', schema: 'labels', record: 'wallet', values: ['gold'] };
    expect(books.create(Kind.policy, policy)).toBeInstanceOf(Array);
    prove(books, Kind.wallet, 'w', { status: 'onboarded', labels: ['gold'] });
    for (let n = 0; n < 50; n++) books.update(Kind.wallet, 'w', { handle: 'w', custom: { n } });
    const count = { decoded: 0 };
    const { codec } = books.state;
    const counting = {
      ...codec,
      decode: (...given: Parameters<typeof codec.decode>) => {
        count.decoded++;
        return codec.decode(...given);
      },
    };
    return { books, state: { ...books.state, codec: counting }, count };
  }

  test('reading a record that was changed often decodes no versions but its first and its last', () => {
    const { books, state, count } = changedOften();
    const record = readRow(state, rowOf(books, Kind.wallet, 'w'));
    expect([record.owners, record.labels]).toEqual([[KEY], ['gold']]);
    // What proofs gave to it is known from before.
    expect(count.decoded).toBe(2);
  });

  test('reading one as it was, or a few of its versions, does not decode all that lie between', () => {
    const { books, state, count } = changedOften();
    const row = rowOf(books, Kind.wallet, 'w');
    const { heap, rows } = state;
    const { entry, status, labels } = recordAt(state, row, heap.prev(heap.prev(rows.at.get(row))));
    expect([JSON.parse(entry.data).custom.n, status, labels]).toEqual([47, 'onboarded', ['gold']]);
    const { versions, total } = newestOf(state, row, 10, 3);
    expect(versions.map(({ change, status: given }) => [change, given])).toEqual([
      [41, 'onboarded'],
      [40, 'onboarded'],
      [39, 'onboarded'],
    ]);
    expect(total).toBe(51);
    // The version, the first one, and the proof that gave the status, which gave the label too, but that is known from before;
    // that proof where they are looked for, and three versions where they are told.
    expect(count.decoded).toBe(3 + 1 + 3);
  });
});

describe('proofs added to a record', () => {
  const LONG = 'x'.repeat(1 << 19);

  test('that was changed while they were verified are refused: they are over the version before', () => {
    const books = Books.open().wallets('w');
    const before = readRow(books.state, rowOf(books, Kind.wallet, 'w'));
    books.update(Kind.wallet, 'w', { handle: 'w', custom: { n: 1 } });
    expect(prove(books, Kind.wallet, 'w', {}, before)).toBe('crypto.signature-invalid');
    expect(prove(books, Kind.wallet, 'w', {})).toBe('');
  });

  test('come to an end, and a new version takes more', () => {
    const books = Books.open().wallets('w');
    let reason = '';
    let taken = 0;
    while (reason === '' && taken < 100) {
      reason = prove(books, Kind.wallet, 'w', { text: LONG });
      if (reason === '') taken++;
    }
    expect([taken, reason]).toEqual([7, 'record.invalid']);
    // A small one still fits where a large one does not.
    expect(prove(books, Kind.wallet, 'w', { status: 'onboarded' })).toBe('');
    books.update(Kind.wallet, 'w', { handle: 'w' });
    expect(prove(books, Kind.wallet, 'w', { text: LONG })).toBe('');
  });

  test('that move an intent are always taken', () => {
    const books = Books.open().wallets('a').symbols('usd');
    const claims = [{ action: 'issue', target: 'a', symbol: 'usd', amount: 5 }];
    books.create(Kind.intent, { handle: 'i', claims, config: { commit: 'manual' } });
    // Shorter and shorter ones, until not even the shortest fits.
    for (let length = LONG.length; length > 0; length >>= 1) {
      while (prove(books, Kind.intent, 'i', { text: LONG.slice(0, length) }) === '');
    }
    expect(prove(books, Kind.intent, 'i', { note: 'x' })).toBe('record.invalid');
    expect(prove(books, Kind.intent, 'i', { action: 'commit' })).toBe('');
    expect(books.balance('a')).toBe(5);
  });
});
