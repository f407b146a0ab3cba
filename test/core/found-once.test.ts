/**
 * What is asked again and again, or is long, is found once: a filter is held, a key looked up, a record read no more often
 * than it takes, and what was found is remembered as far as there is room. What rules may take, and that nothing is granted
 * past that, is in effort.test.ts.
 */
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { GRANTED, grantingRules, isGranted } from '../../src/core/access/index.ts';
import { KeyMap } from '../../src/core/access/key-map.ts';
import { compileConditions } from '../../src/core/conditions.ts';
import type { IntentEntry } from '../../src/core/entry.ts';
import { findHandle } from '../../src/core/finding.ts';
import { Kind } from '../../src/core/kinds.ts';
import { compileSeats, isReached, ProofScene } from '../../src/core/quorum.ts';
import { Participants } from '../../src/core/routes.ts';
import { hashText } from '../../src/memory/index.ts';
import { policy, times } from './access-kit.ts';
import { World } from './access-world.ts';
import { Books } from './books.ts';
import { keyOf as keyOfLetter, make, only, openBooks, prove, recordOf, said } from './proof-world.ts';

const VIOLATION = 'record.status-policy-violation';
const anna = { signs: ['anna'] };

test("a policy's filter is held against a record once, not once for each of its thousand rules", () => {
  const values = times(1000, { action: 'update' });
  const world = new World({
    policies: [policy({ filter: { 'data.handle': 'other' }, values })],
    record: [{ policy: 'p' }],
  });
  const looks = vi.spyOn(Object, 'hasOwn');
  onTestFinished(() => looks.mockRestore());
  expect(world.core(anna, 'update', 'wallet', 'mine')).toBe(false);
  const held = looks.mock.calls.filter(([, name]) => name === 'data').length;
  expect(held).toBeGreaterThan(0);
  expect(held).toBeLessThan(10);
});

describe('what is asked again and again of one thing is found out once, and takes as much effort each time', () => {
  /** What is looked up in an object, by name. */
  const watched = <T extends object>(target: T) => {
    const looks: string[] = [];
    const note = (name: string | symbol) => void (typeof name === 'string' && looks.push(name));
    const proxy = new Proxy(target, {
      get: (of, name) => {
        note(name);
        return Reflect.get(of, name);
      },
      getOwnPropertyDescriptor: (of, name) => {
        note(name);
        return Reflect.getOwnPropertyDescriptor(of, name);
      },
    });
    return { proxy, looks };
  };

  test('whether conditions on an intent hold, by each of its claims', () => {
    const { proxy, looks } = watched({ custom: { text: 'x'.repeat(1000) } });
    const participants = new Participants(Books.open().state);
    const conditions = compileConditions({ 'intent.custom.text': 'x', amount: 1 });
    const lefts = [1, 2, 3].map((amount) => {
      participants.holdAll(conditions, { intent: proxy, amount });
      return participants.effort.left;
    });
    expect(lefts[0]! - lefts[1]!).toBe(lefts[1]! - lefts[2]!);
    expect(lefts[0]).toBeGreaterThan(lefts[1]!);
    expect(looks.filter((name) => name === 'custom').length).toBeLessThan(3);
  });

  test('who votes, by each rule: one key may have said a thing thousands of times', () => {
    const books = openBooks();
    make(books, Kind.wallet, { handle: 'w' });
    const scene = () => new ProofScene(books.state, 1, Kind.wallet, recordOf(books.state, Kind.wallet, 'w'));
    const { proxy, looks } = watched(times(3000, keyOfLetter('a')));
    const seats = compileSeats({ quorum: [{ signer: only('ab'), count: 2 }] });
    const asked = () => {
      const before = looks.length;
      const here = scene();
      return [isReached(seats, proxy, here), here.effort.left, looks.length - before > 100];
    };
    const [first, again] = [asked(), asked()];
    expect([first[0], first[2], again[2]]).toEqual([false, true, false]);
    expect(again[1]).toBe(first[1]);
  });

  test('which of thousands of keys may do something, by each claim', () => {
    const books = Books.open();
    const rules = Array.from({ length: 8 }, (_, n) => ({
      action: 'update',
      record: 'wallet',
      signer: { handle: `s${n}` },
    }));
    const access = [{ action: 'access', record: 'any' }, ...rules];
    books.create(Kind.ledger, { handle: 'own', access }, 0);
    books.create(Kind.wallet, { handle: 'mine' }, 2, GRANTED);
    const keys = Array.from({ length: 5000 }, (_, n) => new Uint8Array(32).map((_, i) => (n >> (8 * i)) & 255));
    const row = findHandle(books.state, 2, Kind.wallet, 'mine');
    const looks = vi.spyOn(KeyMap.prototype, 'get');
    onTestFinished(() => looks.mockRestore());
    const asked = () => {
      const budget = { left: 1_000_000 };
      const before = looks.mock.calls.length;
      const is = isGranted(books.state, 2, 'update', Kind.wallet, row, { keys, bearer: null }, null, budget);
      return [is, budget.left, looks.mock.calls.length - before >= 5000];
    };
    const [first, again] = [asked(), asked()];
    expect([first[0], first[2], again[2]]).toEqual([false, true, false]);
    expect(again[1]).toBe(first[1]);
    // Who is made a signer since is known at once.
    const text = Buffer.from(keys[4000]!).toString('base64');
    books.create(Kind.signer, { handle: 's3', format: 'ed25519-raw', public: text }, 2, GRANTED);
    expect(asked()[0]).toBe(true);
  });

  test('and what a rule shows names each action once: it was answered a thousand times, ten thousand rules over', () => {
    const world = new World({ record: [{ action: { $in: times(1000, 'update') } }] });
    const row = findHandle(world.state, 1, Kind.wallet, 'mine');
    const shown = grantingRules(world.state, 1, 'update', Kind.wallet, row, { keys: [], bearer: null });
    expect(shown).toContainEqual({ action: { $in: ['update'] } });
  });
});

describe('signers that are large', () => {
  const LARGE = { text: 'x'.repeat(60_000) };
  const keyOf = (n: number) => Uint8Array.from({ length: 32 }, (_, i) => (i < 2 ? n >> (8 * i) : 7));
  const ACCESS = [
    { action: 'access', record: 'any' },
    { action: 'update', record: 'wallet', signer: { custom: { role: 'clerk' } } },
  ];

  /** A wallet for whoever has the role, and signers that have a text instead, each with the key of its number. */
  function open(keys: readonly Uint8Array[]): { books: Books; may: (key: Uint8Array) => boolean } {
    const books = Books.open();
    books.create(Kind.ledger, { handle: 'own', access: ACCESS }, 0);
    books.create(Kind.wallet, { handle: 'mine' }, 2, GRANTED);
    for (const [n, key] of keys.entries()) {
      const signer = { handle: `s${n}`, format: 'ed25519-raw', public: Buffer.from(key).toString('base64') };
      books.create(Kind.signer, { ...signer, custom: { ...LARGE, n } }, 2, GRANTED);
    }
    const row = findHandle(books.state, 2, Kind.wallet, 'mine');
    const may = (key: Uint8Array) =>
      isGranted(books.state, 2, 'update', Kind.wallet, row, { keys: [key], bearer: null });
    return { books, may };
  }

  test('are read as far as they are short together, though thousands carry the key', () => {
    const { books, may } = open(times(100, keyOf(0)));
    const decode = vi.spyOn(books.state.codec, 'decode');
    try {
      expect(may(keyOf(0))).toBe(false);
      expect(decode.mock.calls.length).toBeLessThan(3);
    } finally {
      decode.mockRestore();
    }
  });

  test('speak for their own key, and not for another whose hash is the same, whichever of both is asked about first', () => {
    const seen = new Map<number, Uint8Array>();
    const { hashSeed } = Books.open().state;
    let pair: [bank: Uint8Array, stranger: Uint8Array] | null = null;
    for (let n = 0; pair === null; n++) {
      const key = new Uint8Array(32);
      new DataView(key.buffer).setUint32(0, n);
      const hash = hashText(hashSeed, Buffer.from(key).toString('base64'));
      const other = seen.get(hash);
      if (other !== undefined) pair = [other, key];
      seen.set(hash, key);
    }
    const [bank, stranger] = pair;
    const { books } = open([bank]);
    const access = [{ action: 'spend', signer: { custom: { n: 0 } } }];
    books.create(Kind.wallet, { handle: 'theirs', access }, 2, GRANTED);
    const row = findHandle(books.state, 2, Kind.wallet, 'theirs');
    const may = (...keys: Uint8Array[]) => isGranted(books.state, 2, 'spend', Kind.wallet, row, { keys, bearer: null });
    expect([may(bank), may(stranger), may(bank, stranger), may(stranger, bank)]).toEqual([true, false, true, true]);
  });

  test('and keys of nobody are remembered as far as there is room, in all ledgers together', () => {
    const books = Books.open();
    const [ledgers, each] = [5, 15_000];
    for (let n = 2; n < 2 + ledgers; n++) {
      books.create(Kind.ledger, { handle: `own${n}`, access: ACCESS }, 0);
      books.create(Kind.wallet, { handle: 'mine' }, n, GRANTED);
      const row = findHandle(books.state, n, Kind.wallet, 'mine');
      for (let k = 0; k < each; k++) {
        const key = new Uint8Array(32);
        new DataView(key.buffer).setUint32(0, k);
        expect(isGranted(books.state, n, 'update', Kind.wallet, row, { keys: [key], bearer: null })).toBe(false);
      }
    }
    let remembered = 0;
    for (let n = 2; n < 2 + ledgers; n++) remembered += books.state.memo.people(n)?.byKey.size ?? 0;
    expect([remembered > 1000, remembered < 65_000]).toEqual([true, true]);
  });

  test('are remembered as far as there is room', () => {
    const keys = Array.from({ length: 400 }, (_, n) => keyOf(n));
    const { books, may } = open(keys);
    const readsOf = (key: Uint8Array) => {
      const decode = vi.spyOn(books.state.codec, 'decode');
      may(key);
      const reads = decode.mock.calls.length;
      decode.mockRestore();
      return reads;
    };
    for (const key of keys) expect(may(key)).toBe(false);
    // The rules themselves remember who passes, until they change.
    books.update(Kind.ledger, 'own', { handle: 'own', access: ACCESS }, 0);
    may(keys[398]!);
    expect([readsOf(keys[399]!), readsOf(keys[0]!)]).toEqual([0, 1]);
  });
});

/** How many characters of JSON are read for a question. */
function readFor(ask: () => void): number {
  const parse = vi.spyOn(JSON, 'parse');
  try {
    ask();
    return parse.mock.calls.reduce((sum, [text]) => sum + String(text).length, 0);
  } finally {
    parse.mockRestore();
  }
}

describe('of a wallet of a megabyte no more is read than is asked', () => {
  const custom = { text: 'x'.repeat(900_000), tier: 'gold' };
  test.each<[string, object[], object]>([
    ['where filters look into it', [{ policy: 'p' }], {}],
    ['where it has rules of its own', [], { access: [{ action: 'spend' }] }],
  ])('%s', (_, rules, more) => {
    const books = Books.open();
    books.create(Kind.ledger, { handle: 'own', access: [{ action: 'access', record: 'any' }, ...rules] }, 0);
    const filter = { 'data.handle': { $ne: 'nobody' }, 'data.custom.tier': 'gold', 'meta.status': 'created' };
    const values = [{ action: 'spend', record: 'wallet' }];
    books.create(Kind.policy, { handle: 'p', schema: 'access', record: 'wallet', values, filter }, 2, GRANTED);
    books.create(Kind.wallet, { handle: 'w', custom, ...more }, 2, GRANTED);
    books.create(Kind.wallet, { handle: 'other', custom: { ...custom, tier: 'none' } }, 2, GRANTED);
    const may = (handle: string) => {
      const row = findHandle(books.state, 2, Kind.wallet, handle);
      return isGranted(books.state, 2, 'spend', Kind.wallet, row, { keys: [], bearer: null });
    };
    const read = readFor(() => expect([may('w'), may('other')]).toEqual([true, false]));
    expect(read).toBeLessThan(10_000);
  });
});

describe('a wallet of a megabyte that thousands of claims name is read once', () => {
  const rule = (action: string) => ({ action, record: 'wallet' });
  const filter = { 'data.handle': { $ne: 'nobody' } };
  const WALLETS = 5;

  test.each([
    ['where a filter looks into it', [{ policy: 'p' }], {}],
    ['where it has rules of its own', [], { access: [{ action: 'spend' }] }],
  ])('%s', (_, rules, more) => {
    const books = Books.open();
    const access = [{ action: 'access', record: 'any' }, { action: 'create', record: 'any' }, ...rules];
    books.create(Kind.ledger, { handle: 'own', access }, 0);
    const values = [rule('spend')];
    books.create(Kind.policy, { handle: 'p', schema: 'access', record: 'wallet', values, filter }, 2, GRANTED);
    books.create(Kind.symbol, { handle: 'usd', factor: 100 }, 2, GRANTED);
    const custom = { text: 'x'.repeat(900_000) };
    for (let n = 0; n < WALLETS; n++) books.create(Kind.wallet, { handle: `w${n}`, custom, ...more }, 2, GRANTED);
    // Each wallet gets what the one before it has, again and again.
    const claims = Array.from({ length: 10_000 }, (_, n) => ({
      ...{ action: 'transfer', source: `w${n % WALLETS}`, target: `w${(n + 1) % WALLETS}` },
      ...{ symbol: 'usd', amount: 1 },
    }));
    const command = books.command(Kind.intent, { handle: 'i', claims }, 2);
    const decode = vi.spyOn(books.state.codec, 'decode');
    const [intent] = books.do(command) as [IntentEntry];
    const reads = decode.mock.calls.length;
    decode.mockRestore();
    expect(intent.outcome.steps.at(-1)).toBe('completed');
    expect(reads).toBeLessThan(4 * WALLETS);
  });
});

describe('a policy of a megabyte is read when it is new, not whenever another one of its ledger changes', () => {
  const text = 'x'.repeat(10_000);
  const spend = { action: 'spend', record: 'wallet', signer: { handle: 'nobody' } };
  const long = (values: object[] = [spend], more: object = {}) => ({
    schema: 'access',
    record: 'any',
    values,
    ...more,
  });
  const update = { action: 'update', record: 'wallet' };

  test.each<[string, object]>([
    ['with much beside its rules', long([spend], { custom: { text: times(90, text) } })],
    ['of long rules', long(times(90, { ...spend, signer: { custom: { text } } }))],
    ['that names others', long([...times(90, { ...spend, signer: { custom: { text } } }), { policy: 'changed' }])],
    ['that extends others', long(times(90, { ...spend, signer: { custom: { text } } }), { extend: 'changed' })],
    ['of statuses', { ...long([]), schema: 'status', record: 'circle', custom: { text: times(90, text) } }],
  ])('%s', (_, value) => {
    const books = Books.open();
    const config = { 'access.strategy': 'policy-based' };
    const open = { handle: 'open', ...long([{ action: 'access', record: 'any' }]) };
    for (const [n, handle] of ['own', 'other'].entries()) {
      const ledger = 2 + n;
      books.create(Kind.ledger, { handle, config }, 0);
      books.create(Kind.policy, open, ledger, GRANTED);
      for (let n = 0; n < 70; n++) books.create(Kind.policy, { handle: `p${n}`, ...value }, ledger, GRANTED);
      books.create(Kind.policy, { handle: 'changed', ...long([spend]) }, ledger, GRANTED);
      books.create(Kind.wallet, { handle: 'w' }, ledger, GRANTED);
    }
    const may = (ledger = 2) => {
      const row = findHandle(books.state, ledger, Kind.wallet, 'w');
      return isGranted(books.state, ledger, 'update', Kind.wallet, row, { keys: [], bearer: null });
    };
    // The other ledger's are more than is remembered beside the lists.
    expect([may(), may(3)]).toEqual([false, false]);
    for (const [values, is] of [
      [[update], true],
      [[spend], false],
    ] as const) {
      books.update(Kind.policy, 'changed', { handle: 'changed', ...long([...values]) }, 2);
      const decode = vi.spyOn(books.state.codec, 'decode');
      const read = readFor(() => expect(may()).toBe(is));
      const decoded = decode.mock.calls.length;
      decode.mockRestore();
      expect([read < 100_000, decoded < 10]).toEqual([true, true]);
    }
    // The ledger's own record is read again, and no policy.
    books.update(Kind.ledger, 'own', { handle: 'own', config, custom: { n: 1 } }, 0);
    expect(readFor(() => expect(may()).toBe(false))).toBeLessThan(100_000);
  });
});

test('a hundred labels in one proof do not read the proofs of before a hundred times', () => {
  const words = Array.from({ length: 100 }, (_, n) => `l${n}`);
  const values = words.map((label) => ({ label, quorum: [{ signer: {}, count: 16 }] }));
  const books = openBooks();
  make(books, Kind.wallet, { handle: 'w' });
  make(books, Kind.policy, { handle: 'p', schema: 'labels', record: 'wallet', values });
  for (let n = 0; n < 10; n++) prove(books, Kind.wallet, 'w', `voter ${n}`, { labels: words });
  const parse = vi.spyOn(JSON, 'parse');
  try {
    expect(said(prove(books, Kind.wallet, 'w', 'a', { labels: words }))).toBe('ok');
    expect(parse.mock.calls.length).toBeLessThan(50);
  } finally {
    parse.mockRestore();
  }
});

test.each<[string, object, string]>([
  ['that anybody may put on', {}, 'ok'],
  ['that takes two', { quorum: [{ signer: only('ab'), count: 2 }] }, VIOLATION],
])(
  'a label %s, said a hundred times by many proofs, is not looked for in all of them a hundred times',
  (_, more, reason) => {
    const words = Array.from({ length: 99 }, (_, n) => `l${n}`);
    const books = openBooks();
    make(books, Kind.wallet, { handle: 'w' });
    const values = [...words, { label: 'z', ...more }];
    make(books, Kind.policy, { handle: 'p', schema: 'labels', record: 'wallet', values });
    prove(books, Kind.wallet, 'w', 'a', { labels: words });
    for (let n = 0; n < 30; n++) {
      for (const letter of 'ab')
        prove(books, Kind.wallet, 'w', letter, { labels: times(100, n % 2 === 0 ? 'z' : '-z') });
    }
    const includes = vi.spyOn(Array.prototype, 'includes');
    try {
      // Of the two one changes nothing.
      const told = ['z', '-z'].map((word) => said(prove(books, Kind.wallet, 'w', 'a', { labels: times(100, word) })));
      expect(told.sort()).toEqual([reason, 'ok'].sort());
      expect(includes.mock.calls.length).toBeLessThan(10_000);
    } finally {
      includes.mockRestore();
    }
  },
);
