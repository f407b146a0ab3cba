/**
 * Policies and quorums that take more looking than a proof is given: past the effort nobody may say what they speak of, no
 * label comes, and no quorum is reached; and strangers take nothing of it from those who may.
 */
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { SignerTest } from '../../src/core/access/matchers.ts';
import { EntryType } from '../../src/core/entry.ts';
import { Kind } from '../../src/core/kinds.ts';
import { compileSeats, isReached, ProofScene } from '../../src/core/quorum.ts';
import { Dice } from '../support/dice.ts';
import { times } from './access-kit.ts';
import { keyOf as keyOfLetter, make, only, openBooks, prove, publicOf, recordOf, said } from './proof-world.ts';

const VIOLATION = 'record.status-policy-violation';

describe('policies that take long', () => {
  const quorum = [...times(7, { signer: {}, count: 16 }), { signer: only('z') }];
  const open = (values: object[], more: object = {}) => {
    const books = openBooks();
    make(books, Kind.wallet, { handle: 'w' });
    make(books, Kind.policy, { handle: 'p', schema: 'status', record: 'wallet', values, ...more });
    return books;
  };

  test('let nobody set what they speak of, instead of everybody', () => {
    const numbers = Array.from({ length: 1000 }, (_, n) => n);
    const filter = { 'meta.status': { $in: numbers } };
    const books = open([], { filter });
    expect(said(prove(books, Kind.wallet, 'w', 'a', { status: 'gold' })), 'one that is for others').toBe('ok');
    for (let n = 0; n < 99; n++) {
      const values = times(1000, { status: 'gold', quorum });
      make(books, Kind.policy, { handle: `p${n}`, schema: 'status', record: 'wallet', values, filter });
    }
    expect(said(prove(books, Kind.wallet, 'w', 'b', { status: 'gold' }))).toBe(VIOLATION);
    expect(said(prove(books, Kind.wallet, 'w', 'b', { status: 'silver' }))).toBe(VIOLATION);
  });

  describe('are told to take long: it was said that no policy lets this signer say what the last rule lets him say', () => {
    const custom = { role: Object.fromEntries(Array.from({ length: 200 }, (_, n) => [`${n}`, 'x'.repeat(64)])) };
    const seats = [...times(60, { signer: { custom } }), { signer: { public: publicOf('a') } }];
    test.each<[string, 'status' | 'label', number]>([
      ['a status', 'status', 1],
      ['a status, by many policies', 'status', 20],
      ['a label', 'label', 1],
      ['a label, by many policies', 'label', 20],
    ])('%s', (_, sort, count) => {
      const books = openBooks();
      make(books, Kind.wallet, { handle: 'w' });
      for (let n = 0; n < 50; n++) {
        make(books, Kind.signer, { handle: `a${n}`, format: 'ed25519-raw', public: publicOf('a') });
      }
      const schema = sort === 'status' ? sort : 'labels';
      const values = seats.map((who) => ({ [sort]: 'gold', ...who }));
      for (let n = 0; n < count; n++) {
        make(books, Kind.policy, { handle: `p${n}`, schema, record: 'wallet', values });
      }
      const refused = prove(
        books,
        Kind.wallet,
        'w',
        'a',
        sort === 'status' ? { status: 'gold' } : { labels: ['gold'] },
      );
      const detail = 'The policies about this record take more looking at than one proof is given';
      expect(refused).toMatchObject({ reason: VIOLATION, detail });
    });
  });

  describe('are read as far as there is effort, which they take by their length', () => {
    /** So many policies of so many values, the last of which lets the key say it; and how many of them a proof has compiled. */
    const compiledBy = (count: number, values: number) => {
      const books = openBooks();
      make(books, Kind.wallet, { handle: 'w' });
      for (let n = 0; n < count; n++) {
        const others = times(values, { status: `s${n}`, signer: { $in: [{ handle: 'x' }, { handle: 'y' }] } });
        const all = [...others, { status: 'gold', signer: only(n === count - 1 ? 'a' : 'z') }];
        make(books, Kind.policy, { handle: `p${n}`, schema: 'status', record: 'wallet', values: all });
      }
      const compiled = vi.spyOn(books.state.norms.remembered, 'get');
      onTestFinished(() => compiled.mockRestore());
      const told = [1, 2].map((n) => said(prove(books, Kind.wallet, 'w', 'a', { status: 'gold', n })));
      expect(told[1], 'the same once they are remembered').toBe(told[0]);
      return { told: told[0], compiled: compiled.mock.calls.length / 2 };
    };

    test('a hundred of usual length are', () => {
      expect(compiledBy(100, 10)).toEqual({ told: 'ok', compiled: 100 });
    });

    test('what is beside the values of one is not: with 800 000 characters of `custom` nobody could say anything any more', () => {
      const books = openBooks();
      make(books, Kind.wallet, { handle: 'w' });
      const policy = { handle: 'p', schema: 'status', record: 'wallet', custom: { note: 'x'.repeat(900_000) } };
      make(books, Kind.policy, { ...policy, values: [{ status: 'gold', signer: only('a') }] });
      expect(said(prove(books, Kind.wallet, 'w', 'a', { status: 'gold' }))).toBe('ok');
    });

    test('not all of many long ones: a proof of 300 bytes had fourteen megabytes of them compiled', () => {
      const { told, compiled } = compiledBy(30, 1000);
      expect(told).toBe(VIOLATION);
      expect(compiled).toBeGreaterThan(5);
      expect(compiled).toBeLessThan(15);
    });
  });

  test('a status with a thousand quorums is not reached by way of the last', () => {
    const last = { status: 'gold', quorum: [{ signer: only('ab'), count: 2 }] };
    const saying = (count: number) => {
      const books = open([...times(count, { status: 'gold', quorum }), last]);
      for (let n = 0; n < 60; n++) prove(books, Kind.wallet, 'w', `voter ${n}`, { status: 'gold' });
      for (const letter of 'ab') prove(books, Kind.wallet, 'w', letter, { status: 'gold' });
      return recordOf(books.state, Kind.wallet, 'w').status;
    };
    expect([saying(20), saying(999)]).toEqual(['gold', 'created']);
  });
});

test('a label that takes two comes, however often another one was put on and taken away on a record of many labels', () => {
  const words = Array.from({ length: 98 }, (_, n) => `l${n}`);
  const books = openBooks();
  make(books, Kind.wallet, { handle: 'w' });
  const values = [...words, 'z', { label: 'approved', quorum: [{ signer: only('ab'), count: 2 }] }];
  make(books, Kind.policy, { handle: 'p', schema: 'labels', record: 'wallet', values });
  prove(books, Kind.wallet, 'w', 'a', { labels: words });
  for (let n = 0; n < 60; n++) prove(books, Kind.wallet, 'w', 'a', { labels: [n % 2 === 0 ? 'z' : '-z', ...words], n });
  for (const letter of 'ab') expect(said(prove(books, Kind.wallet, 'w', letter, { labels: ['approved'] }))).toBe('ok');
  expect(recordOf(books.state, Kind.wallet, 'w').labels).toContain('approved');
});

test('a label that takes two does not come where looking for it in all that was said takes too long', () => {
  const words = Array.from({ length: 99 }, (_, n) => `l${n}`);
  const books = openBooks();
  make(books, Kind.wallet, { handle: 'w' });
  const values = [...words, { label: 'approved', quorum: [{ signer: only('ab'), count: 2 }] }];
  make(books, Kind.policy, { handle: 'p', schema: 'labels', record: 'wallet', values });
  prove(books, Kind.wallet, 'w', 'a', { labels: words });
  const { entry, row, labels } = recordOf(books.state, Kind.wallet, 'w');
  const { ledger, kind, luid, handle, moment } = entry;
  // Each has that label very often, and tells all labels that there are after it.
  for (let n = 0; n < 40; n++) {
    const custom = JSON.stringify({ labels: Array<string>(90).fill('approved'), n });
    const proof = { public: keyOfLetter('a'), result: new Uint8Array(64).fill(n), custom };
    books.settle({
      type: EntryType.proof,
      ledger,
      kind,
      luid,
      handle,
      moment,
      row,
      proof,
      status: null,
      labels: [...labels],
    });
  }
  for (const letter of 'ab') expect(said(prove(books, Kind.wallet, 'w', letter, { labels: ['approved'] }))).toBe('ok');
  expect(recordOf(books.state, Kind.wallet, 'w').labels).not.toContain('approved');
});

test('a quorum is reached though many strangers have voted, whose signers are long', () => {
  const books = openBooks();
  make(books, Kind.wallet, { handle: 'w' });
  const signer = (name: string, custom: object) =>
    make(books, Kind.signer, { handle: name, format: 'ed25519-raw', public: publicOf(name), custom });
  const strangers = Array.from({ length: 100 }, (_, n) => `stranger${n}`);
  for (const name of strangers) signer(name, { pad: 'x'.repeat(60_000) });
  for (const name of ['a', 'b']) signer(name, { role: 'teller' });
  const seats = compileSeats({ quorum: [{ signer: { custom: { role: 'teller' } }, count: 2 }] });
  const isReachedBy = (names: string[]) => {
    const scene = new ProofScene(books.state, 1, Kind.wallet, recordOf(books.state, Kind.wallet, 'w'));
    return isReached(seats, names.map(keyOfLetter), scene);
  };
  expect(isReachedBy(['b', ...strangers, 'a'])).toBe(true);
  expect(isReachedBy(['a', ...strangers])).toBe(false);
});

test('quorums by chance are reached where people can be seated one by one', () => {
  const dice = new Dice(7);
  const books = openBooks();
  make(books, Kind.wallet, { handle: 'w' });
  const letters = [...'abcdef'];
  let reached = 0;
  for (let round = 0; round < 400; round++) {
    const lines = Array.from({ length: 1 + dice.below(4) }, () => ({
      signer: only(letters.filter(() => dice.chance(0.5)).join('') || 'a'),
      count: 1 + dice.below(3),
    }));
    const here = letters.filter(() => dice.chance(0.8));
    const seats = lines.flatMap(({ signer, count }) => times(count, new SignerTest(signer)));
    const scene = () => new ProofScene(books.state, 1, Kind.wallet, recordOf(books.state, Kind.wallet, 'w'));
    const seated = (seat: number, left: readonly string[]): boolean =>
      seat === seats.length ||
      left.some(
        (letter) =>
          seats[seat]!.passes(keyOfLetter(letter), scene()) &&
          seated(
            seat + 1,
            left.filter((each) => each !== letter),
          ),
      );
    const expected = seated(0, here);
    if (expected) reached++;
    const twice = [...here, ...here].map(keyOfLetter);
    expect(isReached(compileSeats({ quorum: lines }), twice, scene()), JSON.stringify({ lines, here })).toBe(expected);
  }
  expect([reached > 50, reached < 350]).toEqual([true, true]);
});
