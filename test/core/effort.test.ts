/**
 * Rules and policies that take more looking than a decision is given. Whoever writes them, what they are asked for ends
 * soon, the same way each time, and never with a yes: past the effort nothing is granted. What proofs may say,
 * by policies and quorums: effort-quorums.test.ts.
 */
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { GRANTED, isGranted } from '../../src/core/access/index.ts';
import { AccessMemo } from '../../src/core/access/memo.ts';
import { statusAfter } from '../../src/core/entry.ts';
import { findHandle } from '../../src/core/finding.ts';
import { Kind } from '../../src/core/kinds.ts';
import { compileSeats, isReached, ProofScene } from '../../src/core/quorum.ts';
import type { State } from '../../src/core/state.ts';
import { ANNA, ledger, own, policy, times } from './access-kit.ts';
import type { RuleText } from './access-model.ts';
import { callerOf, type Setup, World } from './access-world.ts';
import { Books, issue } from './books.ts';
import { keyOf as keyOfLetter, make, openBooks, recordOf } from './proof-world.ts';

const anna = { signs: ['anna'] };
const asks = (setup: Setup) => {
  const world = new World(setup);
  const answers = [1, 2].map(() => world.core(anna, 'update', 'wallet', 'mine'));
  expect(answers[1], 'asked again').toBe(answers[0]);
  return answers[0];
};

describe('rules that take long grant nothing, and those after them that cost as much are not looked at', () => {
  const last: RuleText = { action: 'update', signer: ANNA };
  const costly = policy({ handle: 'q', filter: { 'data.handle': 'mine' }, values: [last] });
  const numbers = Array.from({ length: 1000 }, (_, n) => n);
  const long = (count: number) =>
    policy({ filter: { 'meta.status': { $in: numbers } }, values: times(count, { action: 'update' }) });
  /** Of a signer's record, which is asked for where a key alone does not tell. */
  const custom = { role: Object.fromEntries(Array.from({ length: 200 }, (_, n) => [`${n}`, 'x'.repeat(64)])) };

  const repeated = (count: number, filter: Record<string, unknown>): Setup => ({
    policies: [policy({ filter, values: times(40, { action: 'update', signer: { custom } }) }), costly],
    record: [{ policy: { $in: times(count, 'p') } }, { policy: 'q' }],
  });

  test.each<[string, (count: number) => Setup, number, number]>([
    [
      'filters of policies',
      (n) => ({ policies: [long(n), costly], record: [{ policy: 'p' }, { policy: 'q' }] }),
      10,
      300,
    ],
    ['customs', (n) => repeated(n, { 'data.handle': 'mine' }), 1, 30],
    ['customs, remembered by key', (n) => repeated(n, {}), 1, 30],
    [
      'policies that lead to policies again and again',
      (n) => ({
        policies: [
          policy({ handle: 'leaf', values: [] }),
          policy({ handle: 'root', values: [], extend: times(500, 'leaf') }),
          policy({ handle: 'last', values: [last] }),
        ],
        record: [{ policy: { $in: [...times(n, 'root'), 'last'] } }],
      }),
      10,
      100,
    ],
  ])('%s', (_, setup, few, many) => {
    expect([asks(setup(few)), asks(setup(many))]).toEqual([true, false]);
  });
});

test('rules that ask for one of thousands of tokens take an effort for each', () => {
  const many = { action: 'update', bearer: { $in: times(1000, { iss: 'nobody' }) } };
  const policies = [
    policy({ values: times(40, many) }),
    policy({ handle: 'last', values: [{ action: 'update', bearer: { iss: 'bank' } }] }),
  ];
  const granted = (count: number) =>
    new World({ policies, record: [{ policy: { $in: [...times(count, 'p'), 'last'] } }] }).core(
      { signs: [], token: 'anna' },
      'update',
      'wallet',
      'mine',
    );
  expect([granted(2), granted(10)]).toEqual([true, false]);
});

describe('policies that lead to one another are followed', () => {
  const last = policy({ handle: 'last', values: [{ action: 'update', signer: ANNA }] });

  test.each<[string, (next: string) => object]>([
    ['extended', (next) => ({ values: [], extend: [next] })],
    ['among its values', (next) => ({ values: [{ policy: next }] })],
  ])('sixteen deep, and the seventeenth grants nothing: each %s', (_, leadsTo) => {
    const chain = (length: number) => [
      ...times(length - 1, 0).map((_, n) =>
        policy({ handle: `p${n}`, ...leadsTo(n === length - 2 ? 'last' : `p${n + 1}`) }),
      ),
      last,
    ];
    const granted = (length: number) => asks({ policies: chain(length), record: [{ policy: 'p0' }] });
    expect([granted(2), granted(16), granted(17)]).toEqual([true, true, false]);
  });

  test('a thousand times from one that the list names, and those behind them grant nothing', () => {
    const leaf = policy({ handle: 'leaf', values: [] });
    const granted = (leaves: number) => {
      const root = policy({ handle: 'root', values: [], extend: [...times(leaves, 'leaf'), 'last'] });
      return asks({ policies: [leaf, root, last], record: [{ policy: 'root' }] });
    };
    expect([granted(998), granted(999)]).toEqual([true, false]);
  });
});

test('policies that come behind eight megabytes of others grant nothing: one request for a ledger of them filled the heap', () => {
  const filter = { 'data.handle': { $in: Array.from({ length: 1000 }, (_, n) => `${n}`.padEnd(1000, 'x')) } };
  const long = (count: number) => times(count, 0).map((_, n) => policy({ handle: `p${n}`, filter }));
  const last = policy({ handle: 'last', values: [{ action: 'update', signer: ANNA }] });
  const granted = (count: number) =>
    asks({
      policies: [...long(count), last],
      record: [...long(count), last].map(({ handle }) => ({ policy: handle })),
    });
  expect([granted(7), granted(9)]).toEqual([true, false]);
});

test('policies of other things take nothing from that, however many they are', () => {
  const books = openBooks();
  const last = { handle: 'last', schema: 'access', record: 'wallet', values: [{ action: 'update', signer: ANNA }] };
  const data = { handle: 'own', access: [], config: { 'access.strategy': 'policy-based' } };
  make(books, Kind.ledger, data, 0);
  books.create(Kind.policy, last, 2, GRANTED);
  books.create(Kind.policy, { ...last, handle: 'gate', record: 'any', values: [{ action: 'access' }] }, 2, GRANTED);
  for (let n = 0; n < 9000; n++) {
    books.create(Kind.policy, { handle: `s${n}`, schema: 'other', record: 'wallet', values: [] }, 2, GRANTED);
  }
  books.create(Kind.wallet, { handle: 'mine' }, 2, GRANTED);
  const row = findHandle(books.state, 2, Kind.wallet, 'mine');
  const keys = [Buffer.from(ANNA.public, 'base64')];
  expect(isGranted(books.state, 2, 'update', Kind.wallet, row, { keys, bearer: null })).toBe(true);
});

test.each([
  ['a few rules, asked one by one', 1],
  ['more, whose answers are kept by key', 8],
])(
  'a grant takes what finding it took, whoever signed too: payments of a hundred wallets with two signatures waited for ever; %s',
  (_, count) => {
    const books = Books.open();
    const key = new Uint8Array(32).fill(9);
    const signer = { public: Buffer.from(key).toString('base64') };
    const rules = times(count, { action: 'update', record: 'wallet', signer });
    books.create(Kind.ledger, { handle: 'own', access: [{ action: 'access', record: 'any' }, ...rules] }, 0);
    books.create(Kind.wallet, { handle: 'mine' }, 2, GRANTED);
    const row = findHandle(books.state, 2, Kind.wallet, 'mine');
    for (const keys of [
      [key, new Uint8Array(32)],
      [new Uint8Array(32), key],
    ]) {
      const budget = { left: 10_000_000 };
      const caller = { keys, bearer: null };
      for (let wallet = 0; wallet < 1000; wallet++) {
        expect(isGranted(books.state, 2, 'update', Kind.wallet, row, caller, null, budget)).toBe(true);
      }
    }
  },
);

describe('signers that carry one key', () => {
  const key = new Uint8Array(32).fill(3);
  const text = Buffer.from(key).toString('base64');

  /** Whether the key may do what such a signer may, where a thousand and one signers carry it, each of its own schema. */
  function may(signer: { handle: string } | { schema: string }): boolean {
    const books = Books.open();
    const access = [
      { action: 'access', record: 'any' },
      { action: 'update', record: 'wallet', signer },
    ];
    books.create(Kind.ledger, { handle: 'own', access }, 0);
    books.create(Kind.wallet, { handle: 'mine' }, 2, GRANTED);
    for (let n = 0; n <= 1000; n++) {
      const data = { handle: `s${n}`, schema: `of${n}`, format: 'ed25519-raw', public: text };
      books.create(Kind.signer, data, 2, GRANTED);
    }
    // Whoever has a new version is no newer than before.
    const changed = { handle: 's0', schema: 'of0', format: 'ed25519-raw', public: text, custom: { seen: 2 } };
    books.update(Kind.signer, 's0', changed, 2);
    const row = findHandle(books.state, 2, Kind.wallet, 'mine');
    return isGranted(books.state, 2, 'update', Kind.wallet, row, { keys: [key], bearer: null });
  }

  test.each([
    ['of0', true],
    ['of1', true],
    ['of49', true],
    ['of50', false],
    ['of1000', false],
  ])('are looked at up to the fiftieth that was made: %s, %s', (schema, is) => {
    expect(may({ schema })).toBe(is);
  });

  test.each(['s0', 's49', 's50', 's1000'])('count by their handles, however many there are: %s', (handle) => {
    expect(may({ handle })).toBe(true);
  });
});

describe('strangers who may make signers take nothing from others by what they make', () => {
  const [bank, stranger] = [1, 2].map((n) => new Uint8Array(32).fill(n)) as [Uint8Array, Uint8Array];
  const textOf = (key: Uint8Array) => Buffer.from(key).toString('base64');
  const others = Array.from({ length: 250 }, (_, n) => ({ handle: `other${n}` }));
  const members = Array.from({ length: 250 }, (_, n) => ({ $circle: `circle${n}` }));

  /** A wallet with these rules, of a bank that is in a circle too; and signers of this key, so many and so long. */
  function open(rules: object[], key: Uint8Array, count: number, chars: number): { books: Books; row: number } {
    const books = Books.open();
    books.create(Kind.ledger, { handle: 'own', access: [{ action: 'access', record: 'any' }] }, 0);
    const access = rules.map((signer) => ({ action: 'spend', signer }));
    books.create(Kind.wallet, { handle: 'mine', access }, 2, GRANTED);
    const signer = (handle: string, public_: Uint8Array, custom: object) =>
      books.create(Kind.signer, { handle, format: 'ed25519-raw', public: textOf(public_), custom }, 2, GRANTED);
    signer('bank', bank, { role: 'bank' });
    books.create(Kind.circle, { handle: 'banks' }, 2, GRANTED);
    books.create(Kind['circle-signer'], { circle: 'banks', signer: 'bank' }, 2, GRANTED);
    for (let n = 0; n < count; n++) signer(`x${n}`, key, { pad: 'x'.repeat(chars) });
    return { books, row: findHandle(books.state, 2, Kind.wallet, 'mine') };
  }

  /** As many keys more, each with a signer that takes long to read. */
  function longSigners(books: Books, count: number): Uint8Array[] {
    const keys = Array.from({ length: count }, (_, n) => new Uint8Array(32).fill(n + 3));
    const custom = { pad: 'x'.repeat(60_000) };
    for (const [n, key] of keys.entries()) {
      books.create(Kind.signer, { handle: `y${n}`, format: 'ed25519-raw', public: textOf(key), custom }, 2, GRANTED);
    }
    return keys;
  }

  const maySpend = ({ books, row }: ReturnType<typeof open>, keys: Uint8Array[]) =>
    isGranted(books.state, 2, 'spend', Kind.wallet, row, { keys, bearer: null });

  test('whose signers are long are not read beyond the effort, by whichever rules', () => {
    const { books } = open([], stranger, 0, 0);
    const role = { custom: { role: 'bank' } };
    const filter = { 'data.handle': 'all' };
    const values = [{ action: 'spend', signer: role }];
    books.create(Kind.policy, { handle: 'p', schema: 'access', record: 'wallet', filter, values }, 2, GRANTED);
    const access = [{ action: 'spend', signer: { custom: { role: 'none' } } }, { policy: 'p' }];
    books.create(Kind.wallet, { handle: 'all', access }, 2, GRANTED);
    const row = findHandle(books.state, 2, Kind.wallet, 'all');
    const keys = longSigners(books, 250);
    const decode = vi.spyOn(books.state.codec, 'decode');
    onTestFinished(() => decode.mockRestore());
    expect(maySpend({ books, row }, keys)).toBe(false);
    expect(decode.mock.calls.length).toBeLessThan(70);
  });

  describe.each([
    ['six that are long', 6, 1_000_000],
    ['two hundred', 200, 20_000],
    ['a thousand short ones', 1000, 10],
  ])('%s', (_, count, chars) => {
    test.each<[string, object[]]>([
      ['its handle', [{ handle: 'bank' }]],
      ['its circle', [{ $circle: 'banks' }]],
      ['its role', [{ custom: { role: 'bank' } }]],
      ['its key', [{ public: textOf(bank) }]],
      ['its handle, within one matcher', [{ $in: [...others, { handle: 'bank' }] }]],
    ])('with its key leave a bank what it may by %s', (_how, last) => {
      for (const first of [others, members]) {
        expect(maySpend(open([...first, ...last], bank, count, chars), [bank])).toBe(true);
      }
    });

    test.each<[string, object]>([
      ['its handle', { handle: 'bank' }],
      ['its key', { public: textOf(bank) }],
    ])('with their own keys, which they sign with, leave a bank what it may by %s', (_how, last) => {
      const world = open([...members.slice(0, 60), last], stranger, count, chars);
      const keys = longSigners(world.books, 60);
      for (const all of [
        [stranger, bank],
        [stranger, ...keys, bank],
        [bank, stranger, ...keys],
      ]) {
        expect(maySpend(world, all)).toBe(true);
      }
      expect(maySpend(world, [stranger, ...keys])).toBe(false);
    });
  });
});

describe('questions that share a budget are granted nothing once it is used up', () => {
  const rule = { action: 'spend', signer: { handle: 'anna' } };
  test.each<[string, number, Setup]>([
    ['rules of the ledger', 60, ledger({ ...rule, record: 'wallet' })],
    ['rules of the record', 45, own(rule)],
    [
      'rules of the record that are remembered by key',
      12,
      own(...times(5, { ...rule, signer: { handle: 'ben' } }), rule),
    ],
    ['policies the record names', 25, { policies: [policy({ values: [rule] })], record: times(5, { policy: 'p' }) }],
  ])('%s', (_, most, setup) => {
    const { state } = new World(setup);
    const row = findHandle(state, 1, Kind.wallet, 'mine');
    const granted = (left: number): number => {
      const budget = { left };
      let count = 0;
      while (count < 1000 && isGranted(state, 1, 'spend', Kind.wallet, row, callerOf(anna), null, budget)) count++;
      return count;
    };
    const first = granted(200);
    const looksForList = vi.spyOn(state.memo, 'record');
    expect(isGranted(state, 1, 'spend', Kind.wallet, row, callerOf(anna), null, { left: 0 })).toBe(false);
    expect(looksForList).not.toHaveBeenCalled();
    expect([first > 1, first < most, granted(200), granted(1_000_000)]).toEqual([true, true, first, 1000]);
  });
});

test.each<[string, object]>([
  ['a handle and a custom', { handle: 'anna', custom: { role: 'cashier', place: { city: 'Lima' }, tags: ['a', 'b'] } }],
  ['a custom', { custom: { role: 'cashier', place: { city: 'Lima' }, tags: ['a', 'b'] } }],
  ['a circle', { $circle: 'ops' }],
  ['a key', ANNA],
])('nothing is granted with more effort than there was, by %s', (_, signer) => {
  const { state } = new World(ledger({ action: 'spend', record: 'wallet', signer }));
  const row = findHandle(state, 1, Kind.wallet, 'mine');
  const ask = (left: number) => {
    const budget = { left };
    return isGranted(state, 1, 'spend', Kind.wallet, row, callerOf(anna), null, budget) ? left - budget.left : null;
  };
  const cost = ask(1000)!;
  expect(cost).toBeGreaterThan(0);
  for (let left = 0.25; left < cost; left += 0.25) expect(ask(left), `of ${cost} there were ${left}`).toBeNull();
  expect(ask(Math.ceil(cost))).toBe(cost);
});

describe('rules of records take what reading them takes', () => {
  const key = new Uint8Array(32).fill(7);
  const public_ = Buffer.from(key).toString('base64');
  const last = { action: 'spend', signer: { public: public_ } };
  const open = (count: number, accessOf: (n: number) => object[], more: object = {}) => {
    const books = Books.open();
    books.create(Kind.ledger, { handle: 'own', access: [{ action: 'access', record: 'any' }] }, 0);
    for (let n = 0; n < count; n++)
      books.create(Kind.wallet, { handle: `w${n}`, access: accessOf(n), ...more }, 2, GRANTED);
    const rows = times(count, 0).map((_, n) => findHandle(books.state, 2, Kind.wallet, `w${n}`));
    const ask = (state: State, action: 'read' | 'spend', left: number) => {
      const compiled = vi.spyOn(state.memo, 'setRecordRules');
      const budget = { left };
      const caller = { keys: [key], bearer: null };
      const answers = rows.map((row) => isGranted(state, 2, action, Kind.wallet, row, caller, null, budget));
      const count = compiled.mock.calls.length;
      compiled.mockRestore();
      return { answers, count, left: budget.left };
    };
    return { state: books.state, ask };
  };
  const long = (n: number, count: number) => [
    ...times(count, 0).map((_, i) => ({ action: 'spend', signer: { handle: `nobody${(n + i) % 10}` } })),
    last,
  ];

  test('and no more are read than there is effort for: forty wallets of a megabyte of rules held the server up for four seconds', () => {
    const { state, ask } = open(40, (n) => long(n, 1000));
    const { answers, count } = ask(state, 'spend', 1_000_000);
    const granted = answers.filter((is) => is).length;
    expect(granted).toBeGreaterThan(2);
    expect(granted).toBeLessThan(15);
    expect(answers).toEqual(answers.map((_, n) => n < granted));
    expect(count).toBe(granted);
  });

  test.each([
    ['usual lists', 3],
    ['long lists', 1000],
  ])('the same, whatever is remembered: %s', (_, count) => {
    const { state, ask } = open(20, (n) => (n % 3 === 1 ? [{ action: 'update' }] : long(n, count)));
    const afresh = () => ({ ...state, memo: new AccessMemo() });
    for (const [action, left] of [
      ['spend', 10_000_000],
      ['read', 10_000_000],
      ['spend', 200_000],
      ['spend', 2_000],
    ] as const) {
      const { answers, left: rest } = ask(afresh(), action, left);
      const warm = afresh();
      for (const before of ['read', 'spend', 'read'] as const) ask(warm, before, Number.POSITIVE_INFINITY);
      expect(ask(warm, action, left)).toMatchObject({ answers, left: rest });
    }
  });

  test('lists of usual length take what they took', () => {
    const { state, ask } = open(1, (n) => long(n, 3));
    const { left } = ask(state, 'spend', 1000);
    const chars = JSON.stringify(long(0, 3)).length;
    // The list of the ledger is asked first, the server's then, and each of the record's rules takes some.
    expect(1000 - left).toBeGreaterThan(chars / 64);
    expect(1000 - left).toBeLessThan(chars / 64 + 20);
  });

  test.each([
    ['usual ones, to all', 1, 20, 20],
    ['seven megabytes for each record, to a few', 7, 3, 7],
  ])('and so do policies that they name: %s', (_, megabytes, least, most) => {
    const books = Books.open();
    books.create(Kind.ledger, { handle: 'own', access: [{ action: 'access', record: 'any' }] }, 0);
    const values = [
      { action: 'update', signer: { custom: { text: 'x'.repeat(megabytes === 1 ? 10_000 : 1_000_000) } } },
    ];
    for (let n = 0; n < megabytes; n++)
      books.create(Kind.policy, { handle: `p${n}`, schema: 'access', record: 'any', values }, 2, GRANTED);
    books.create(Kind.policy, { handle: 'last', schema: 'access', record: 'any', values: [last] }, 2, GRANTED);
    const names = [...times(megabytes, 0).map((_, n) => `p${n}`), 'last'];
    const rows = times(20, 0).map((_, n) => {
      books.create(
        Kind.wallet,
        { handle: `w${n}`, access: [{ policy: { $in: names } }, { action: `${n}` }] },
        2,
        GRANTED,
      );
      return findHandle(books.state, 2, Kind.wallet, `w${n}`);
    });
    const caller = { keys: [key], bearer: null };
    const ask = () => {
      const budget = { left: 10_000_000 };
      return rows.map((row) => isGranted(books.state, 2, 'spend', Kind.wallet, row, caller, null, budget));
    };
    const answers = ask();
    const granted = answers.filter((is) => is).length;
    expect(granted).toBeGreaterThanOrEqual(least);
    expect(granted).toBeLessThanOrEqual(most);
    expect(answers).toEqual(answers.map((_, n) => n < granted));
    expect(ask()).toEqual(answers);
  });

  test('a record that is long beside them is passed through to find them, which takes some, remembered or not', () => {
    const { state, ask } = open(2, (n) => long(n, 3), { custom: { text: 'x'.repeat(100_000) } });
    const passing = (2 * (100_000 - 4096)) / 16;
    for (let times = 0; times < 2; times++) {
      const { answers, left } = ask(state, 'spend', 20_000);
      expect(answers).toEqual([true, true]);
      expect(20_000 - left).toBeGreaterThan(passing);
      expect(20_000 - left).toBeLessThan(passing + 200);
      expect(ask(state, 'spend', 9000).answers).toEqual([true, false]);
    }
  });

  test('a list is not compiled for an action that it does not name: each read of such a wallet did that', () => {
    const { state, ask } = open(3, (n) => long(n, 100));
    expect(ask(state, 'read', 10_000_000)).toMatchObject({ answers: [false, false, false], count: 0 });
    expect(ask(state, 'spend', 10_000_000)).toMatchObject({ answers: [true, true, true], count: 3 });
  });
});

test.each([
  [14, 'pending', ''],
  [20, 'rejected', 'core.routing-failed'],
])('an intent whose wallets lie behind %i bridges of a megabyte each is %s', (count, status, reason) => {
  const books = Books.open().symbols('usd');
  const config = { server: 'http://127.0.0.1:1' };
  const claims = Array.from({ length: count }, (_, n) => {
    books.create(Kind.bridge, { handle: `b${n}`, config, custom: { text: 'x'.repeat(1_000_000) } });
    books.create(Kind.wallet, { handle: `w${n}`, bridge: `b${n}` });
    return issue(`w${n}`, 5);
  });
  const { outcome } = books.intent(...claims);
  expect([statusAfter(outcome), outcome.reason]).toEqual([status, reason]);
  expect(outcome.links?.legs.length ?? 0).toBe(status === 'pending' ? count : 0);
  for (let n = 0; n < count; n++) expect(books.balance(`w${n}`)).toBe(0);
});

describe('whether many keys own a record of very many owners is not asked by holding each against each', () => {
  const owners = Array.from({ length: 1000 }, (_, n) => keyOfLetter(`owner ${n}`));
  const last = keyOfLetter('owner 999');
  let looks = 0;
  const strangers = Array.from({ length: 300 }, (_, n) => {
    const length = () => {
      looks++;
      return 32;
    };
    return Object.defineProperty(keyOfLetter(`stranger ${n}`), 'length', { get: length });
  });
  const open = () => {
    const books = Books.open();
    const access = [{ action: 'update', signer: { $record: 'owner' } }];
    books.create(Kind.wallet, { handle: 'w', access }, 1, { keys: owners, bearer: null });
    looks = 0;
    return books;
  };

  test('by rules', () => {
    const books = open();
    const { state } = books;
    books.update(Kind.ledger, 'main', { handle: 'main', access: [] }, 0);
    const row = findHandle(state, 1, Kind.wallet, 'w');
    const may = (keys: Uint8Array[]) => isGranted(state, 1, 'update', Kind.wallet, row, { keys, bearer: null });
    expect([may(strangers.slice(0, 200)), may(strangers)]).toEqual([false, false]);
    expect(looks).toBeLessThan(100 * 300);
    expect([may([last]), may([...strangers, last])]).toEqual([true, true]);
  });

  test('by quorums', () => {
    const { state } = open();
    const seats = compileSeats({ signer: { $record: 'owner' } });
    const isReachedBy = (keys: Uint8Array[]) =>
      isReached(seats, keys, new ProofScene(state, 1, Kind.wallet, recordOf(state, Kind.wallet, 'w')));
    expect(isReachedBy(strangers)).toBe(false);
    expect(looks).toBeLessThan(100 * 300);
    expect(isReachedBy([...strangers, last])).toBe(true);
  });
});
