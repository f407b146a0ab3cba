/**
 * What access remembers must never show: after every change of signers, circles, policies, ledgers and records, a
 * state that has been asked before answers like one that is asked for the first time.
 */
import fc from 'fast-check';
import { describe, expect, test, vi } from 'vitest';
import { GRANTED, isAllowed, isGranted, mayEnter, NO_ROW, setServerRules } from '../../src/core/access/index.ts';
import { KeyMap } from '../../src/core/access/key-map.ts';
import { AccessMemo, type LedgerFacts } from '../../src/core/access/memo.ts';
import type { People } from '../../src/core/access/people.ts';
import type { PolicyPart, Rules } from '../../src/core/access/rules.ts';
import { base64, bytesOfBase64 } from '../../src/core/bytes.ts';
import { findHandle } from '../../src/core/finding.ts';
import { Kind } from '../../src/core/kinds.ts';
import { memberHandle } from '../../src/core/memberships.ts';
import { readRow } from '../../src/core/records.ts';
import type { State } from '../../src/core/state.ts';
import { heldBytes } from '../support/collect.ts';
import { often } from '../support/long.ts';
import { type Asker, callerOf, keyOf, OPEN_GATE, OPEN_SERVER, textOf, World } from './access-world.ts';
import { Books } from './books.ts';

const RUNS = often(15, 1000);
const ANYBODY = { action: 'update', record: 'wallet' };

const ASKERS: Asker[] = [
  { signs: ['anna'] },
  { signs: ['ben'] },
  { signs: ['carl'] },
  { signs: [], token: 'anna' },
  { signs: ['anna'], token: 'ben' },
];

/** Answers to everything, as one text. */
function answersOf(state: State): string {
  const lines: string[] = [];
  for (const action of ['read', 'update', 'spend', 'create'] as const) {
    for (const asker of ASKERS) {
      for (const handle of ['mine', 'hers']) {
        const row = findHandle(state, 1, Kind.wallet, handle);
        lines.push(String(row >= 0 && isAllowed(state, 1, action, Kind.wallet, row, callerOf(asker))));
      }
      lines.push(String(isAllowed(state, 1, action, Kind.wallet, NO_ROW, callerOf(asker))));
    }
  }
  return lines.join(' ');
}

function answersAfresh(state: State): string {
  const forgetful: State = { ...state, memo: new AccessMemo() };
  setServerRules(forgetful, OPEN_SERVER);
  return answersOf(forgetful);
}

const SIGNERS = [
  { handle: 'anna' },
  { $circle: 'ops' },
  { schema: 'bank' },
  { public: textOf('carl') },
  { $record: 'owner' },
];
const access = fc.array(
  fc.oneof(
    fc.record({ action: fc.constantFrom('any', 'spend', 'update'), signer: fc.constantFrom(...SIGNERS) }),
    fc.record({ action: fc.constant('read'), bearer: fc.record({ $signer: fc.constantFrom(...SIGNERS) }) }),
    fc.constantFrom({ policy: 'p' }, { policy: 'q' }),
  ),
  { maxLength: 9 },
);
const change = fc.record({
  what: fc.constantFrom(
    'rules',
    'ledger',
    'open',
    'strategy',
    'policy',
    'drop policy',
    'rename',
    'key',
    'schema',
    'join',
    'leave',
    'circle',
    'new wallet',
  ),
  access,
  name: fc.constantFrom('anna', 'ben', 'carl'),
  circle: fc.constantFrom('ops', 'audit'),
  policy: fc.constantFrom('p', 'q'),
  more: fc.constantFrom<object>(
    {},
    { extend: 'q' },
    { extend: ['p', 'q', 'r'], record: 'wallet' },
    { filter: { 'data.handle': 'mine' } },
    { filter: { 'meta.status': { $in: ['created', 'gold'] } }, extend: 'p' },
    { schema: 'status', values: [] },
    { custom: { text: 'x'.repeat(5000), schema: 'status', values: [ANYBODY] } },
  ),
});
type Change = typeof change extends fc.Arbitrary<infer T> ? T : never;

class Life {
  readonly world = new World({ ledger: OPEN_GATE });
  config: Record<string, unknown> = {};
  rules: object[] = [...OPEN_GATE];

  do({ what, access, name, circle, policy, more }: Change): void {
    const { books, state } = this.world;
    const has = (kind: Kind, handle: string) => findHandle(state, 1, kind, handle) >= 0;
    const signer = { handle: name, public: textOf(name), format: 'ed25519-raw' };
    const values = access.map((rule) => ('policy' in rule ? { policy: 'q' } : rule));
    switch (what) {
      case 'rules':
        books.update(Kind.wallet, 'mine', { handle: 'mine', access });
        return;
      case 'new wallet':
        if (!has(Kind.wallet, 'hers')) this.world.make(Kind.wallet, { handle: 'hers', access }, 1, ['anna']);
        else books.drop(Kind.wallet, 'hers');
        return;
      case 'strategy':
        this.config = this.config['access.strategy'] ? {} : { 'access.strategy': 'policy-based' };
        break;
      case 'open':
        this.rules = [{ action: 'any', record: 'any' }];
        break;
      case 'ledger':
        this.rules = [
          ...OPEN_GATE,
          ...access.map((rule) => ({ ...rule, ...('policy' in rule ? {} : { record: 'wallet' }) })),
        ];
        break;
      case 'policy': {
        const value = { handle: policy, schema: 'access', record: 'any', values, ...more };
        if (has(Kind.policy, policy)) books.update(Kind.policy, policy, value);
        else this.world.make(Kind.policy, value, 1, ['lead']);
        return;
      }
      case 'drop policy':
        if (has(Kind.policy, policy)) books.drop(Kind.policy, policy);
        return;
      case 'rename':
        if (has(Kind.signer, name) && !has(Kind.signer, `${name}-2`))
          books.update(Kind.signer, name, { ...signer, handle: `${name}-2` });
        else if (!has(Kind.signer, name)) this.world.make(Kind.signer, signer, 1, ['lead']);
        return;
      case 'key':
        if (has(Kind.signer, name))
          books.update(Kind.signer, name, { ...signer, public: textOf(circle === 'ops' ? name : 'carl') });
        return;
      case 'schema':
        if (has(Kind.signer, name))
          books.update(Kind.signer, name, { ...signer, schema: circle === 'ops' ? 'bank' : 'person' });
        return;
      case 'join':
        if (has(Kind.circle, circle) && has(Kind.signer, name)) {
          books.create(Kind['circle-signer'], { circle, signer: name }, 1, undefined, true);
        }
        return;
      case 'leave':
        if (has(Kind.circle, circle) && has(Kind.signer, name)) this.leave(circle, name);
        return;
      case 'circle':
        if (has(Kind.circle, circle)) books.drop(Kind.circle, circle);
        else this.world.make(Kind.circle, { handle: circle }, 1, ['lead']);
        return;
    }
    const { config } = this;
    books.update(Kind.ledger, 'one', { handle: 'one', access: this.rules, config }, 0);
  }

  leave(circle: string, name: string): void {
    const { books, state } = this.world;
    const luid = (kind: Kind, handle: string) => readRow(state, findHandle(state, 1, kind, handle)).entry.luid;
    const handle = memberHandle(luid(Kind.circle, circle), luid(Kind.signer, name));
    if (findHandle(state, 1, Kind['circle-signer'], handle) >= 0) {
      books.drop(Kind['circle-signer'], handle, { circle, signer: name });
    }
  }
}

test('whatever changes, an asked state answers like one that never was', () => {
  let different = 0;
  fc.assert(
    fc.property(fc.array(change, { minLength: 10, maxLength: 40, size: 'max' }), (changes) => {
      const life = new Life();
      let before = answersOf(life.world.state);
      for (const each of changes) {
        life.do(each);
        const answers = answersOf(life.world.state);
        expect(answers, each.what).toBe(answersAfresh(life.world.state));
        if (answers !== before) different++;
        before = answers;
      }
    }),
    { numRuns: RUNS },
  );
  expect(different).toBeGreaterThan(RUNS);
});

describe('a name taken anew is not who had it', () => {
  const rule = [{ action: 'update', signer: { $circle: 'ops' } }];
  const mayUpdate = (world: World, name: string) => world.core({ signs: [name] }, 'update', 'wallet', 'mine');

  test('a circle made anew has no members', () => {
    const world = new World({ record: rule });
    expect(mayUpdate(world, 'anna')).toBe(true);
    world.books.drop(Kind.circle, 'ops');
    expect(mayUpdate(world, 'anna')).toBe(false);
    world.make(Kind.circle, { handle: 'ops' }, 1, ['lead']);
    expect(mayUpdate(world, 'anna')).toBe(false);
  });
  test('a signer made anew under a name is in no circle', () => {
    const world = new World({ record: rule });
    const anna = { handle: 'anna', public: textOf('anna'), format: 'ed25519-raw' };
    world.books.update(Kind.signer, 'anna', { ...anna, handle: 'anna-2' });
    world.make(Kind.signer, { ...anna, public: textOf('carl') }, 1, ['carl']);
    expect(mayUpdate(world, 'anna')).toBe(true);
    expect(mayUpdate(world, 'carl')).toBe(false);
  });
  test('a circle goes on under a new name, with its members', () => {
    const world = new World({ record: rule });
    world.books.update(Kind.circle, 'ops', { handle: 'ops-2' });
    expect(mayUpdate(world, 'anna')).toBe(false);
    world.books.update(Kind.wallet, 'mine', {
      handle: 'mine',
      access: [{ action: 'update', signer: { $circle: 'ops-2' } }],
    });
    expect(mayUpdate(world, 'anna')).toBe(true);
  });
  test.each<[string, object]>([
    ['its handle', { handle: 'anna' }],
    ['what it says of itself', { custom: {} }],
    ['its circle', { $circle: 'ops' }],
  ])('a key of a signer that was dropped is nobody’s, where a rule names %s', (_, signer) => {
    const world = new World({ record: [{ action: 'update', signer }] });
    expect(mayUpdate(world, 'anna')).toBe(true);
    world.books.drop(Kind.signer, 'anna');
    expect(mayUpdate(world, 'anna')).toBe(false);
  });
  test('a key that a signer gave up is nobody’s', () => {
    const world = new World({ record: [{ action: 'update', signer: { handle: 'anna' } }] });
    world.books.update(Kind.signer, 'anna', { handle: 'anna', public: textOf('carl'), format: 'ed25519-raw' });
    expect([mayUpdate(world, 'anna'), mayUpdate(world, 'carl')]).toEqual([false, true]);
  });
});

describe('two ledgers with equal names and equal rules never see each other', () => {
  const isOne = { signs: ['anna'] };
  const isTwo = { signs: ['anna of two'] };
  const policy = (signer: object) => ({
    handle: 'p',
    schema: 'access',
    record: 'wallet',
    values: [{ action: 'spend', signer }],
  });
  test.each<[string, object]>([
    ['by handle', { action: 'spend', signer: { handle: 'anna' } }],
    ['by circle', { action: 'spend', signer: { $circle: 'ops' } }],
    ['by custom', { action: 'spend', signer: { custom: { role: 'cashier' } } }],
    ['by owner', { action: 'spend', signer: { $record: 'owner' } }],
    ['by policy', { policy: 'p' }],
  ])('%s', (_name, rule) => {
    const world = new World({});
    for (const [ledger, asker] of [isOne, isTwo].entries()) {
      const [name] = asker.signs as [string];
      world.make(Kind.policy, policy({ public: textOf(name) }), ledger + 1, ['lead']);
      world.make(Kind.wallet, { handle: 'same', access: [rule] }, ledger + 1, [name]);
    }
    const may = (ledger: number, asker: Asker): boolean =>
      isGranted(
        world.state,
        ledger,
        'spend',
        Kind.wallet,
        findHandle(world.state, ledger, Kind.wallet, 'same'),
        callerOf(asker),
      );
    // Ledger two lets everybody do everything by its own rules; those are taken away for this.
    world.books.update(Kind.ledger, 'two', { handle: 'two', access: OPEN_GATE }, 0);
    for (let round = 0; round < 2; round++) {
      expect([may(2, isOne), may(2, isTwo), may(1, isOne), may(1, isTwo)]).toEqual([false, true, true, false]);
    }
  });
});

test('who the server’s rules mean by a name in one ledger is nobody in another one, however many rules there are', () => {
  const rule = { action: 'access', record: 'any', signer: { handle: 'anna' } };
  const world = new World({ server: [rule, rule, rule, rule, rule] });
  const { memo } = world.state;
  expect(memo.peopleEpoch(1)).toBe(memo.peopleEpoch(2));
  const mayEnterAt = (ledger: number, name: string): boolean =>
    mayEnter(world.state, ledger, Kind.wallet, NO_ROW, callerOf({ signs: [name] }));
  for (let round = 0; round < 2; round++) {
    expect([mayEnterAt(1, 'anna'), mayEnterAt(2, 'anna')]).toEqual([true, false]);
    expect([mayEnterAt(2, 'anna of two'), mayEnterAt(1, 'anna of two')]).toEqual([true, false]);
  }
});

test.each<[string, (world: World) => void]>([
  ['its ledger shuts', ({ books }) => books.update(Kind.ledger, 'one', { handle: 'one', access: OPEN_GATE }, 0)],
  ['the server shuts', ({ state }) => setServerRules(state, [])],
  ['the server shuts but for one kind', ({ state }) => setServerRules(state, [{ action: 'access', record: 'symbol' }])],
])('what was open to all is shut once %s', (_what, shut) => {
  const world = new World({ ledger: [{ action: 'any', record: 'any' }] });
  const ask = () => world.core({ signs: [] }, 'update', 'wallet', 'mine');
  expect([ask(), ask()]).toEqual([true, true]);
  shut(world);
  expect([ask(), ask()]).toEqual([false, false]);
});

test('a memo that overflows forgets, and answers the same', () => {
  const world = new World({ record: [{ action: 'update', signer: { handle: 'anna' } }] });
  const { memo } = world.state;
  for (let at = 1_000_000; at < 1_070_000; at++) memo.record(at);
  expect(world.core({ signs: ['anna'] }, 'update', 'wallet', 'mine')).toBe(true);
  expect(world.core({ signs: ['ben'] }, 'update', 'wallet', 'mine')).toBe(false);
});

const NO_RULES = { weight: 0, isOpen: false } as unknown as Rules;
const manyRules = () => ({ weight: 10_000, isOpen: false }) as unknown as Rules;
const MANY_RULES = manyRules();
const LONG_POLICY: PolicyPart = { narrowing: { record: 0, filters: [] }, values: [], extended: [], weight: 4_000 };
const MANY_OWNERS = Array.from({ length: 64 }, () => new Uint8Array(32));
const listText = (n: number) => `${n} `.padEnd(500_000, 'x');

/** Each time so many things that the first of them has to go, and the last may stay. */
test.each<
  [
    what: string,
    count: number,
    put: (memo: AccessMemo, n: number) => void,
    has: (memo: AccessMemo, n: number) => boolean,
  ]
>([
  [
    'lists of rules',
    9,
    (memo, n) => memo.setList(listText(n), NO_RULES),
    (memo, n) => memo.list(listText(n)) !== undefined,
  ],
  [
    'lists of many rules',
    9,
    (memo, n) => memo.setList(`${n}`, MANY_RULES),
    (memo, n) => memo.list(`${n}`) !== undefined,
  ],
  ['people of ledgers', 4097, (memo, n) => memo.setPeople(n, {} as People), (memo, n) => memo.people(n) !== undefined],
  [
    'people with much to say',
    17,
    (memo, n) => {
      memo.holdPeople(1_000_000);
      memo.setPeople(n, {} as People);
    },
    (memo, n) => memo.people(n) !== undefined,
  ],
  [
    'owners of records',
    6_000,
    (memo, n) => memo.setOwners(memo.record(n), MANY_OWNERS),
    (memo, n) => memo.record(n).owners !== null,
  ],
  ['policies', 16, (memo, n) => memo.setPolicy(n, LONG_POLICY), (memo, n) => memo.policy(n) !== undefined],
])('%s: what there is no room for is forgotten', (_what, count, put, has) => {
  const memo = new AccessMemo();
  for (let n = 0; n < count; n++) put(memo, n);
  expect([has(memo, 0), has(memo, count - 1)]).toEqual([false, true]);
});

test.each<[what: string, put: (memo: AccessMemo, n: number) => void]>([
  ['owners', (memo, n) => memo.setOwners(memo.record(n), MANY_OWNERS)],
  ['rules', (memo, n) => memo.setRecordRules(memo.record(n), { weight: 11 } as unknown as Rules)],
])('records that are asked for again take the room that their %s take', (_, put) => {
  const memo = new AccessMemo();
  const isKnown = (n: number) => {
    const { owners, rules } = memo.record(n);
    return owners !== null || rules !== null;
  };
  const [few, many] = [1500, 3000];
  for (let n = 0; n < many; n++) put(memo, n);
  for (let n = 0; n < few; n++) expect(isKnown(n)).toBe(true);
  for (let n = many; n < many + few; n++) put(memo, n);
  expect([isKnown(few), isKnown(many + few - 1)]).toEqual([false, true]);
});

test('what rules of ledgers and of the server were asked goes as well where all of it is too much', () => {
  const memo = new AccessMemo();
  const facts = {
    info: {},
    rules: null,
    before: null,
    skips: null,
    isOpen: false,
    owners: null,
  } as unknown as LedgerFacts;
  memo.ledgers[1] = facts;
  const forgetAnswers = vi.fn();
  memo.server = { forgetAnswers } as unknown as Rules;
  memo.setLedgerRules(facts, { list: [], weight: 0, isOpen: true } as unknown as Rules, 10);
  memo.setList('x', NO_RULES);
  memo.holdAnswer(3_999_999);
  expect([facts.rules !== null, memo.list('x') !== undefined, forgetAnswers.mock.calls.length]).toEqual([
    true,
    true,
    0,
  ]);
  memo.holdAnswer(2);
  expect([facts.rules, facts.isOpen, memo.list('x'), forgetAnswers.mock.calls.length]).toEqual([
    null,
    true,
    undefined,
    1,
  ]);
});

describe('a list of rules that records share', () => {
  const put = (memo: AccessMemo, at: number, rules: Rules) => {
    const facts = memo.record(at);
    facts.listing = { bytes: 1024, chars: 1024, unnamed: 0 };
    memo.setRecordRules(facts, rules);
  };

  test('takes room once', () => {
    const memo = new AccessMemo();
    const first = memo.record(0);
    for (let at = 0; at < 20_000; at++) put(memo, at, MANY_RULES);
    expect(memo.record(0)).toBe(first);
    for (let at = 0; at < 5; at++) put(memo, at, manyRules());
    expect(memo.record(0)).not.toBe(first);
  });

  test('takes room again once it was forgotten', () => {
    const memo = new AccessMemo();
    put(memo, 0, MANY_RULES);
    for (let at = 1; at <= 6; at++) put(memo, at, manyRules());
    const last = memo.record(7);
    for (let at = 8; at <= 11; at++) put(memo, at, at === 8 ? MANY_RULES : manyRules());
    expect(memo.record(7)).not.toBe(last);
  });
});

test.each<[what: string, count: number, put: (memo: AccessMemo, n: number) => unknown]>([
  [
    'records',
    100_000,
    (memo, n) => {
      const known = memo.record(n);
      memo.setOwners(known, known.owners ?? [new Uint8Array(32)]);
      return known;
    },
  ],
  [
    'lists of rules',
    40,
    (memo, n) => {
      const known = memo.list(listText(n)) ?? manyRules();
      if (memo.list(listText(n)) === undefined) memo.setList(listText(n), known);
      return known;
    },
  ],
  [
    'policies',
    40,
    (memo, n) => {
      const known = memo.policy(n) ?? { ...LONG_POLICY };
      if (memo.policy(n) === undefined) memo.setPolicy(n, known);
      return known;
    },
  ],
])(
  '%s: what is asked for all the time stays, however much somebody else asks for once: all went at once',
  (_what, count, ask) => {
    const memo = new AccessMemo();
    const known = ask(memo, 0);
    for (let n = 1; n < count; n++) {
      ask(memo, n);
      expect(ask(memo, 0) === known).toBe(true);
    }
  },
);

describe('rules of a megabyte each are remembered as far as there is room', () => {
  const long = (n: number) => ({
    action: 'update',
    record: 'wallet',
    signer: { $in: Array.from({ length: 1000 }, (_, i) => ({ custom: { id: `${n} ${i}`, text: 'x'.repeat(1000) } })) },
  });
  const mayEach = (state: State, ledgers: readonly number[], handles: readonly string[]) =>
    ledgers.flatMap((ledger) =>
      handles.map((handle) => {
        const row = findHandle(state, ledger, Kind.wallet, handle);
        return isGranted(state, ledger, 'update', Kind.wallet, row, callerOf({ signs: ['anna'] }));
      }),
    );

  test('those of ledgers', () => {
    const books = new Books();
    const ledgers = Array.from({ length: 40 }, (_, n) => n + 1);
    for (const n of ledgers) {
      books.create(Kind.ledger, { handle: `l${n}`, access: [...(n % 2 === 0 ? [ANYBODY] : []), long(n)] }, 0);
      books.create(Kind.wallet, { handle: 'w' }, n, GRANTED);
    }
    const { state } = books;
    for (let round = 0; round < 2; round++) {
      expect(mayEach(state, ledgers, ['w'])).toEqual(ledgers.map((n) => n % 2 === 0));
    }
    expect(state.memo.ledgers.filter((facts) => facts !== undefined && facts.rules !== null).length).toBeLessThan(35);
    expect(JSON.stringify(state.ledgers).length).toBeLessThan(10_000);
  });

  test('those of records', () => {
    const books = new Books();
    books.create(Kind.ledger, { handle: 'l' }, 0);
    const handles = Array.from({ length: 70 }, (_, n) => `w${n}`);
    for (const [n, handle] of handles.entries()) {
      books.create(Kind.wallet, { handle, access: [...(n % 2 === 0 ? [ANYBODY] : []), long(n)] }, 1, GRANTED);
    }
    const { state } = books;
    for (let round = 0; round < 2; round++) {
      expect(mayEach(state, [1], handles)).toEqual(handles.map((_, n) => n % 2 === 0));
    }
    const rulesOf = (handle: string) =>
      state.memo.record(state.rows.at.get(findHandle(state, 1, Kind.wallet, handle))).rules;
    expect(handles.filter((handle) => rulesOf(handle) !== null).length).toBeLessThan(65);
  });

  test('those of policies, with whatever list was made of them', () => {
    const books = new Books();
    const { state } = books;
    books.create(Kind.ledger, { handle: 'l', config: { 'access.strategy': 'policy-based' } }, 0);
    books.create(Kind.policy, { handle: 'p', schema: 'access', record: 'any', values: [long(0)] }, 1, GRANTED);
    books.create(Kind.wallet, { handle: 'w' }, 1, GRANTED);
    expect(mayEach(state, [1], ['w'])).toEqual([false]);
    expect(state.memo.ledgers[1]!.rules!.weight).toBeGreaterThan(1000);
  });
});

test('rules of ledgers whose few policies come to thousands of them are remembered as far as there is room', () => {
  const books = new Books();
  const { state } = books;
  const repeated = { policy: { $in: Array.from({ length: 10 }, () => 'p') } };
  const values = Array.from({ length: 100 }, (_, n) => ({ action: 'update', signer: { handle: `s${n}` } }));
  for (let ledger = 1; ledger <= 28; ledger++) {
    books.create(Kind.ledger, { handle: `l${ledger}`, config: { 'access.strategy': 'policy-based' } }, 0);
    const make = (value: object) =>
      books.create(Kind.policy, { schema: 'access', record: 'any', ...value }, ledger, GRANTED);
    make({ handle: 'p', values });
    for (let n = 0; n < 10; n++) make({ handle: `q${n}`, values: [repeated] });
    expect(isGranted(state, ledger, 'update', Kind.wallet, NO_ROW, callerOf({ signs: ['anna'] }))).toBe(false);
    expect(state.memo.ledgers[ledger]!.rules!.list).toHaveLength(10_000);
  }
  expect(state.memo.ledgers.filter((facts) => facts !== undefined && facts.rules !== null).length).toBeLessThan(27);
});

test('rules of ledgers whose policies name thousands of others are remembered as far as there is room', () => {
  const books = new Books();
  const names = Array.from({ length: 20_000 }, (_, n) => `nobody-${n}`);
  for (let ledger = 1; ledger <= 10; ledger++) {
    books.create(Kind.ledger, { handle: `l${ledger}`, config: { 'access.strategy': 'policy-based' } }, 0);
    const named = ledger % 2 === 0 ? { values: [{ policy: { $in: names } }] } : { values: [], extend: names };
    for (let n = 0; n < 2; n++) {
      books.create(Kind.policy, { handle: `p${n}`, schema: 'access', record: 'any', ...named }, ledger, GRANTED);
    }
    expect(isGranted(books.state, ledger, 'update', Kind.wallet, NO_ROW, callerOf({ signs: ['anna'] }))).toBe(false);
  }
  const remembered = books.state.memo.ledgers.map((facts) => facts !== undefined && facts.rules !== null);
  expect([remembered[1], remembered[10]]).toEqual([false, true]);
});

test('rules of records keep nothing of what else those have', () => {
  const books = new Books();
  books.create(Kind.ledger, { handle: 'l' }, 0);
  const custom = { text: 'x'.repeat(900_000) };
  const rowOf = (n: number) => findHandle(books.state, 1, Kind.wallet, `w${n}`);
  for (let n = 0; n < 40; n++) {
    const access = [{ action: 'update', signer: { handle: `nobody of this name ${n}` } }];
    books.create(Kind.wallet, { handle: `w${n}`, access, custom }, 1, GRANTED);
  }
  const before = heldBytes();
  for (let n = 0; n < 40; n++) {
    expect(isGranted(books.state, 1, 'update', Kind.wallet, rowOf(n), callerOf({ signs: ['anna'] }))).toBe(false);
    expect(books.state.memo.record(books.state.rows.at.get(rowOf(n))).rules).not.toBeNull();
  }
  expect(heldBytes() - before).toBeLessThan(15_000_000);
});

test('rules remember the keys that they were asked about as far as there is room', () => {
  const handles = Array.from({ length: 66 }, (_, n) => `w${n}`);
  const world = new World({});
  const { state } = world;
  for (const handle of handles) {
    const access = ['a', 'b', 'c', handle].map((name) => ({ action: 'update', signer: { public: textOf(name) } }));
    world.make(Kind.wallet, { handle, access }, 1, ['lead']);
  }
  const rowOf = (handle: string) => findHandle(state, 1, Kind.wallet, handle);
  const mayUpdate = (handle: string, key: Uint8Array) =>
    isAllowed(state, 1, 'update', Kind.wallet, rowOf(handle), { keys: [key], bearer: null });
  const key = new Uint8Array(32);
  let granted = 0;
  for (const handle of handles) {
    for (let n = 0; n < 4000; n++) {
      new DataView(key.buffer).setUint32(0, n);
      if (mayUpdate(handle, key)) granted++;
    }
  }
  expect(granted).toBe(0);
  const hasRules = (handle: string) => state.memo.record(state.rows.at.get(rowOf(handle))).rules !== null;
  expect([hasRules('w0'), hasRules('w65')]).toEqual([false, true]);
  expect(handles.map((handle) => mayUpdate(handle, keyOf(handle)))).toEqual(handles.map(() => true));
});

test('circles that rules name are remembered of signers as far as there is room', () => {
  const access = [
    { action: 'update', signer: { $in: Array.from({ length: 1000 }, (_, n) => ({ $circle: `c${n}` })) } },
  ];
  const world = new World({ record: access });
  const { state } = world;
  const names = Array.from({ length: 600 }, (_, n) => `signer-${n}`);
  for (const name of names) {
    world.make(Kind.signer, { handle: name, public: textOf(name), format: 'ed25519-raw' }, 1, ['lead']);
  }
  for (const name of names) expect(world.core({ signs: [name] }, 'update', 'wallet', 'mine')).toBe(false);
  const { byKey, epoch } = state.memo.people(1)!;
  const held = names.flatMap((name) => byKey.get(keyOf(name))?.carriers(state, epoch).counted[0]?.fact ?? []);
  expect(held.reduce((sum, { circles }) => sum + circles.size, 0)).toBeLessThan(500_000);
  // Whoever was forgotten is found again.
  world.make(Kind.circle, { handle: 'c7' }, 1, ['lead']);
  world.make(Kind['circle-signer'], { circle: 'c7', signer: names[0]! }, 1, ['lead']);
  expect(world.core({ signs: [names[0]!] }, 'update', 'wallet', 'mine')).toBe(true);
  expect(world.core({ signs: [names[1]!] }, 'update', 'wallet', 'mine')).toBe(false);
});

test('keys that begin alike are not taken for one another', () => {
  const map = new KeyMap<number>();
  const keys = [0, 1, 2].map((last) => Uint8Array.from({ length: 32 }, (_, i) => (i === 31 ? last : 9)));
  for (const [n, key] of keys.entries()) map.add(key, n);
  expect(keys.map((key) => map.get(key))).toEqual([0, 1, 2]);
  expect(map.get(keyOf('anna'))).toBeUndefined();
});

test('base64 as elsewhere', () => {
  for (const length of [0, 1, 2, 3, 31, 32, 33, 64]) {
    const bytes = Uint8Array.from({ length }, (_, i) => (i * 37 + length) & 255);
    expect(base64(bytes)).toBe(Buffer.from(bytes).toString('base64'));
    expect([...bytesOfBase64(base64(bytes))]).toEqual([...bytes]);
  }
});
