/**
 * Who may do what, by hand: each row of the tables says who of a round of askers a rule lets through, and a model that
 * reads rules as they stand agrees.
 */
import { describe, expect, test } from 'vitest';
import {
  EVERY_ROW,
  GRANTED,
  grantingRules,
  isAllowed,
  isGranted,
  mayEnter,
  NO_ROW,
  NOBODY,
  proofTarget,
} from '../../src/core/access/index.ts';
import { isPart } from '../../src/core/access/matchers.ts';
import { findHandle } from '../../src/core/finding.ts';
import { Kind } from '../../src/core/kinds.ts';
import { ASKERS, ledger, type Row } from './access-kit.ts';
import { allowed } from './access-model.ts';
import { POLICIES_TABLE } from './access-policies-table.ts';
import { RULES_TABLE } from './access-rules-table.ts';
import { type Asker, textOf, World } from './access-world.ts';
import { Books } from './books.ts';

const TABLE = [...RULES_TABLE, ...POLICIES_TABLE];

function lettersOf(world: World, [, , action, target, subject]: Row): string {
  const isIn = ([, asker]: [string, Asker]) => world.core(asker, action, target, subject);
  return Object.entries(ASKERS)
    .filter(isIn)
    .map(([letter]) => letter)
    .join(' ');
}

describe('the table', () => {
  test.each(TABLE)('%s', (...row) => {
    const [, setup, action, target, subject, expected] = row;
    const world = new World(setup);
    expect(lettersOf(world, row)).toBe(expected);
    expect(lettersOf(world, row), 'asked again').toBe(expected);
    for (const [letter, asker] of Object.entries(ASKERS)) {
      const model = allowed(world.question(asker, action, target, subject));
      expect(model, `the model, for ${letter}`).toBe(expected.split(' ').includes(letter));
    }
  });
  test.each<[string, object]>([
    ['alone', { $record: 'owner' }],
    ['beside others', { $in: [{ handle: 'carl' }, { $record: 'owner' }] }],
  ])('owners of one record are not those of the next, however many rules name them %s', (_, signer) => {
    const rule = { action: 'any', record: 'any', signer };
    const world = new World(ledger(rule, rule, rule, rule, rule));
    const anna = { signs: ['anna'] };
    expect(world.core(anna, 'update', 'wallet', 'new')).toBe(true);
    expect(world.core(anna, 'update', 'wallet', 'mine')).toBe(false);
  });
  test('an owner is asked for beside many keys that decide by themselves', () => {
    const rule = { action: 'update', record: 'wallet' };
    const keys = ['a', 'b', 'c', 'd', 'e'].map((name) => ({ ...rule, signer: { public: textOf(name) } }));
    const world = new World(ledger(...keys, { ...rule, signer: { $record: 'owner' } }));
    const may = (name: string) => world.core({ signs: [name] }, 'update', 'wallet', 'mine');
    expect([may('ben'), may('c'), may('anna')]).toEqual([true, true, false]);
  });
  test('a gate that is open for some records of a kind is not open for every one', () => {
    const gate = { schema: 'access', record: 'wallet', values: [{ action: { $in: ['access', 'read'] } }] };
    const asks = (filter: Record<string, unknown>) => {
      const { state } = new World({ policyBased: true, policies: [{ ...gate, handle: 'p', filter }] });
      return [NO_ROW, EVERY_ROW].map((row) => mayEnter(state, 1, Kind.wallet, row, NOBODY));
    };
    expect([asks({}), asks({ 'data.handle': 'mine' })]).toEqual([
      [true, true],
      [true, false],
    ]);
  });
  test('lists within lists are compared once, not once more for every level', () => {
    let looks = 0;
    const nested = (levels: number): unknown => {
      const list = levels === 0 ? ['a', { b: 'c' }] : [nested(levels - 1)];
      const get = (target: unknown[], name: string | symbol): unknown => {
        if (name === 'length') looks++;
        return Reflect.get(target, name);
      };
      return new Proxy(list, { get });
    };
    expect(isPart({ tags: nested(20) }, { tags: nested(20), more: 1 })).toBe(true);
    expect(looks).toBeLessThan(200);
  });
  test.each<[string, unknown, unknown, boolean]>([
    ['an object in a list has no member more', [{ a: 1 }], [{ a: 1, b: 2 }], false],
    ['nor one less', [{ a: 1, b: 2 }], [{ a: 1 }], false],
    ['nor another', [{ a: 1 }], [{ b: 1 }], false],
    ['each of a list is the same', ['a', 'b'], ['a', 'c'], false],
    ['and each is the same', [{ a: 1, b: 2 }], [{ a: 1, b: 3 }], false],
    ['but its members in any order', [{ a: 1, b: [null] }], [{ b: [null], a: 1 }], true],
    ['a list is no object', [[]], [{}], false],
    ['and null is nothing else', [null], [{}], false],
    ['an empty list is no empty text', [], '', false],
    ['nor an object of no length', [], { length: 0 }, false],
    ['an object is no text', { a: 'b' }, 'b', false],
    ['nor an empty one', {}, 'b', false],
    ['nor null', { a: 'b' }, null, false],
    ['what every object has is no member', [JSON.parse('{"__proto__":{}}')], [{ a: 1 }], false],
  ])('%s', (_, part, whole, is) => {
    expect(isPart({ tags: part }, { tags: whole })).toBe(is);
    expect(isPart({ tags: whole }, { tags: part })).toBe(is);
  });
  test('what every object has is no member of a custom, and who has none has no member', () => {
    const part = JSON.parse('{"__proto__":{}}');
    expect([isPart(part, {}), isPart(part, part), isPart(part, undefined), isPart({}, undefined)]).toEqual([
      ...[false, true, false, false],
    ]);
  });
  test('has more than a thousand decisions', () => {
    expect(TABLE.length * Object.keys(ASKERS).length).toBeGreaterThan(1000);
  });
});

describe('a ledger beside an open one', () => {
  /** The open one has the number 1, and was asked before. */
  const beside = (...access: object[]) => {
    const books = Books.open().wallets('a');
    books.create(Kind.ledger, { handle: 'closed', access }, 0);
    const { state } = books;
    expect(isAllowed(state, 1, 'update', Kind.wallet, NO_ROW, NOBODY)).toBe(true);
    return { state, row: state.ledgers[2]!.row };
  };

  test('is changed by nobody who has no right in it, though they ask in the open one', () => {
    const { state, row } = beside({ action: 'access', record: 'any' });
    for (const target of [Kind.ledger, proofTarget(Kind.ledger)]) {
      expect(isAllowed(state, 1, 'update', target, row, NOBODY)).toBe(false);
      expect(isGranted(state, 1, 'update', target, row, NOBODY)).toBe(false);
    }
  });

  test('opens its gate to no token of the open one', () => {
    const { state, row } = beside({ action: 'access', record: 'any', bearer: { sub: 'desk' } });
    const bearer = { iss: 'desk', sub: 'desk', key: new Uint8Array(32), hsh: false };
    const isIn = (aud: string) => mayEnter(state, 1, Kind.ledger, row, { keys: [], bearer: { ...bearer, aud } });
    expect([isIn('main'), isIn('closed')]).toEqual([false, true]);
  });
});

describe('the rules of a record that names a policy', () => {
  const policy = (action: string) => ({ handle: 'p', schema: 'access', record: 'wallet', values: [{ action }] });
  /** Two ledgers that have a policy of one name, and a wallet with one list of rules: by these actions of the policies. */
  const twoLedgers = (...actions: [string, string]) => {
    const books = new Books();
    const { state } = books;
    for (const [n, action] of actions.entries()) {
      const access = [{ action: { $in: ['access', 'create'] }, record: 'any' }];
      books.create(Kind.ledger, { handle: `l${n}`, access }, 0);
      books.create(Kind.policy, policy(action), n + 1, GRANTED);
      books.create(Kind.wallet, { handle: 'w', access: [{ policy: 'p' }] }, n + 1, GRANTED);
    }
    const mayChange = () =>
      [1, 2].map((ledger) => {
        const row = findHandle(state, ledger, Kind.wallet, 'w');
        return isGranted(state, ledger, 'update', Kind.wallet, row, NOBODY);
      });
    return { books, mayChange };
  };

  test('are by the policy of its own ledger', () => {
    expect(twoLedgers('update', 'read').mayChange()).toEqual([true, false]);
    expect(twoLedgers('read', 'update').mayChange()).toEqual([false, true]);
  });

  test('are by the policy as it is now', () => {
    const { books, mayChange } = twoLedgers('update', 'read');
    expect(mayChange()).toEqual([true, false]);
    books.update(Kind.policy, 'p', policy('read'), 1);
    books.update(Kind.policy, 'p', policy('update'), 2);
    expect(mayChange()).toEqual([false, true]);
  });
});

test('the rules of a record say nothing of one of another kind, as which it is asked for', () => {
  const books = new Books();
  const access = [{ action: { $in: ['access', 'create'] }, record: 'any' }];
  books.create(Kind.ledger, { handle: 'main', access }, 0);
  books.create(Kind.wallet, { handle: 'w', access: [{ action: 'update' }] }, 1, GRANTED);
  const row = findHandle(books.state, 1, Kind.wallet, 'w');
  const mayChange = (kind: Kind) => isGranted(books.state, 1, 'update', kind, row, NOBODY);
  expect([mayChange(Kind.wallet), mayChange(Kind.symbol)]).toEqual([true, false]);
});

test('who may change such records alone as pass a filter makes no other of one', () => {
  const books = new Books();
  const access = [{ action: { $in: ['access', 'create'] }, record: 'any' }, { policy: 'low' }];
  books.create(Kind.ledger, { handle: 'main', access }, 0);
  const filter = { 'data.custom.class': 'low' };
  const low = { handle: 'low', schema: 'access', record: 'wallet', values: [{ action: 'update' }], filter };
  books.create(Kind.policy, low, 1, GRANTED);
  const made = (kind: string) => ({ handle: 'w', custom: { class: kind } });
  books.create(Kind.wallet, made('low'), 1, GRANTED);
  const row = findHandle(books.state, 1, Kind.wallet, 'w');
  const mayMake = (kind: string) =>
    isAllowed(books.state, 1, 'update', Kind.wallet, row, NOBODY, books.command(Kind.wallet, made(kind)));
  expect([mayMake('low'), mayMake('high')]).toEqual([true, false]);
});

test('no rule of a ledger grants anything to a token of another one', () => {
  const books = new Books();
  const access = [{ action: 'update', record: 'wallet', bearer: { sub: 'desk' } }];
  books.create(Kind.ledger, { handle: 'main', access }, 0);
  const bearer = { iss: 'desk', sub: 'desk', key: new Uint8Array(32), hsh: false };
  const rulesFor = (aud: string) =>
    grantingRules(books.state, 1, 'update', Kind.wallet, EVERY_ROW, { keys: [], bearer: { ...bearer, aud } });
  expect([rulesFor('main').length, rulesFor('other').length]).toEqual([1, 0]);
});
