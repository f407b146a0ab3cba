/** What is passed by in a chain is what is of no use there, and is passed by in a few steps once somebody came by it. */
import fc from 'fast-check';
import { describe, expect, test, vi } from 'vitest';
import { isGranted } from '../../src/core/access/index.ts';
import { findHandle } from '../../src/core/finding.ts';
import { Kind } from '../../src/core/kinds.ts';
import { Skips } from '../../src/core/skips.ts';
import { Chains } from '../../src/memory/index.ts';
import { often } from '../support/long.ts';
import { keyOf, textOf } from './access-world.ts';
import { Books } from './books.ts';

const UNDER = 7;

/** Nodes of the chain that are of use, as far as somebody looks, and how many were asked for. */
function look(chains: Chains, skips: Skips, gone: ReadonlySet<number>, wanted: number) {
  let asked = 0;
  const isUseless = (node: number) => {
    asked++;
    return gone.has(chains.value(node));
  };
  const found: number[] = [];
  let node = skips.past(chains, chains.head(UNDER), isUseless);
  while (node !== 0 && found.length < wanted) {
    found.push(chains.value(node));
    node = skips.past(chains, chains.next(node), isUseless);
  }
  return { found, asked };
}

const step = fc.record({
  more: fc.nat(30),
  go: fc.array(fc.nat(), { maxLength: 40 }),
  goAll: fc.boolean(),
  wanted: fc.constantFrom(1, 5, Number.POSITIVE_INFINITY),
});

test('whatever goes and comes, what is left of a chain is found, in its order', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 30, size: 'max' }), fc.constantFrom(1, 4, 64), (steps, min) => {
      const chains = new Chains('some', { segments: 2 });
      const skips = new Skips(min);
      const gone = new Set<number>();
      let made = 0;
      for (const { more, go, goAll, wanted } of steps) {
        for (let n = 0; n < more; n++) chains.push(n % 3 === 0 ? UNDER + 1 : UNDER, ++made);
        for (const one of go) gone.add(one % (made + 1));
        if (goAll) for (let n = 0; n < made - 3; n++) gone.add(n);
        const plain: number[] = [];
        for (let node = chains.head(UNDER); node !== 0; node = chains.next(node)) {
          if (!gone.has(chains.value(node))) plain.push(chains.value(node));
        }
        expect(look(chains, skips, gone, wanted).found).toEqual(plain.slice(0, wanted));
      }
      // The second time each node that is left is asked for, and what lies between two of them as one.
      const first = look(chains, skips, gone, Number.POSITIVE_INFINITY);
      const again = look(chains, skips, gone, Number.POSITIVE_INFINITY);
      expect(again.found).toEqual(first.found);
      expect(again.asked).toBeLessThanOrEqual((min + 1) * (first.found.length + 1));
    }),
    { numRuns: often(200, 5000) },
  );
});

test('no more stretches are remembered than there is room for: with one more all go', () => {
  const askedAgain = (stretches: number): number => {
    const chains = new Chains('some', { segments: 2 });
    const gone = new Set<number>();
    // Of each four nodes three are of no use.
    for (let value = 1; value <= 4 * stretches; value++) {
      chains.push(UNDER, value);
      if (value % 4 !== 0) gone.add(value);
    }
    const skips = new Skips(3);
    look(chains, skips, gone, Number.POSITIVE_INFINITY);
    return look(chains, skips, gone, Number.POSITIVE_INFINITY).asked / stretches;
  };
  expect([askedAgain(20_000), askedAgain(20_001)]).toEqual([expect.closeTo(2, 1), expect.closeTo(4, 1)]);
});

const times = (count: number, act: (n: number) => void) => {
  for (let n = 0; n < count; n++) act(n);
};

/** A ledger whose policies are its rules. */
function policyLedger() {
  const books = Books.open({ 'access.strategy': 'policy-based' });
  const policy = (handle: string, values: object[] = []) => ({ handle, schema: 'access', record: 'any', values });
  const make = (handle: string, values?: object[]) =>
    books.create(Kind.policy, policy(handle, values), 1, undefined, true);
  const change = (handle: string, values?: object[]) => books.update(Kind.policy, handle, policy(handle, values));
  const rule = { action: 'update', signer: { public: textOf('a') } };
  books.create(Kind.wallet, { handle: 'w' }, 1, undefined, true);
  const row = findHandle(books.state, 1, Kind.wallet, 'w');
  const ask = () => isGranted(books.state, 1, 'update', Kind.wallet, row, { keys: [keyOf('a')], bearer: null });
  /** How much of the index of policies, and of policies, a question takes. */
  const looksFor = (question: () => boolean, answer: boolean) => {
    const looks = [vi.spyOn(books.state.terms, 'value'), vi.spyOn(books.state.memo, 'policy')];
    expect(question()).toBe(answer);
    const count = looks.reduce((sum, { mock }) => sum + mock.calls.length, 0);
    for (const each of looks) each.mockRestore();
    return count;
  };
  return { books, make, change, rule, ask, looksFor };
}

describe('after a change of a policy a decision looks', () => {
  test('at none of thousands that say nothing of access, again', () => {
    const { books, make, rule, ask, looksFor } = policyLedger();
    make('p', [rule]);
    times(2000, (n) => make(`e${n}`));
    times(90, (n) => {
      const value = { handle: `l${n}`, schema: 'labels', record: 'wallet', values: [{ label: 'gold' }] };
      books.create(Kind.policy, value, 1, undefined, true);
    });
    expect(ask()).toBe(true);
    make('more');
    expect(looksFor(ask, true)).toBeLessThan(50);
  });

  test('at none of the thousands of versions that a policy had, again', () => {
    const { make, change, rule, ask, looksFor } = policyLedger();
    make('first', [rule]);
    make('p');
    times(2000, (n) => change('p', [{ ...rule, action: n % 2 === 0 ? 'spend' : 'update' }]));
    expect(ask()).toBe(true);
    change('p', []);
    expect(looksFor(ask, true)).toBeLessThan(50);
    change('first', []);
    expect(looksFor(ask, false)).toBeLessThan(50);
  });

  test('at none behind those that fill the list', () => {
    const { make, change, rule, ask, looksFor } = policyLedger();
    make('p', [rule]);
    times(2000, (n) => make(`old${n}`, [{ ...rule, action: 'spend' }]));
    times(10, (n) => make(`full${n}`, new Array(1000).fill({ ...rule, action: 'spend' })));
    expect(looksFor(ask, false)).toBeLessThan(100);
    change('full3');
    expect(ask()).toBe(false);
    times(10, (n) => change(`full${n}`));
    expect(ask()).toBe(true);
  });
});

test('the policy by which eight megabytes are passed still counts, and none behind it', () => {
  const { books, rule } = policyLedger();
  const filter = { 'data.handle': { $in: ['w', ...Array.from({ length: 1000 }, (_, n) => `${n}`.padEnd(1000, 'x'))] } };
  times(12, (n) => {
    const values = [{ ...rule, signer: { public: textOf(`${n}`) } }];
    books.create(Kind.policy, { handle: `p${n}`, schema: 'access', record: 'any', values, filter }, 1, undefined, true);
  });
  const row = findHandle(books.state, 1, Kind.wallet, 'w');
  const may = (n: number) =>
    isGranted(books.state, 1, 'update', Kind.wallet, row, { keys: [keyOf(`${n}`)], bearer: null });
  const granted = () => Array.from({ length: 12 }, (_, n) => n).filter(may);
  expect(granted()).toEqual([3, 4, 5, 6, 7, 8, 9, 10, 11]);
  books.update(Kind.policy, 'p11', { handle: 'p11', schema: 'access', record: 'any', values: [] });
  expect(granted()).toEqual([2, 3, 4, 5, 6, 7, 8, 9, 10]);
});

describe('whether a wallet is named is found without its thousands of old names', () => {
  const named = () => {
    const books = Books.open();
    books.wallets('a', 'b');
    const anchor = (handle: string, wallet: string) => ({ handle, wallet, target: wallet });
    books.create(Kind.anchor, anchor('last', 'a'));
    books.create(Kind.anchor, anchor('x', 'a'));
    times(2000, (n) => books.update(Kind.anchor, 'x', { ...anchor('x', 'a'), custom: { n } }));
    books.update(Kind.anchor, 'x', anchor('x', 'b'));
    const looksFor = (act: () => unknown) => {
      const looks = vi.spyOn(books.state.terms, 'value');
      const outcome = act();
      const count = looks.mock.calls.length;
      looks.mockRestore();
      return { count, outcome };
    };
    return { books, anchor, looksFor };
  };

  test('where it is', () => {
    const { books, looksFor } = named();
    for (const most of [Number.POSITIVE_INFINITY, 20]) {
      const { count, outcome } = looksFor(() => books.drop(Kind.wallet, 'a'));
      expect(outcome).toMatchObject({ reason: 'record.drop-rejected' });
      expect(count).toBeLessThan(most);
    }
  });

  test('where it is no more', () => {
    const { books, anchor, looksFor } = named();
    books.update(Kind.anchor, 'last', anchor('last', 'b'));
    for (const most of [Number.POSITIVE_INFINITY, 20, 20]) {
      const { count, outcome } = looksFor(() => books.drop(Kind.wallet, 'a'));
      expect(outcome).toMatchObject([{ handle: 'a' }]);
      expect(count).toBeLessThan(most);
      books.wallets('a');
    }
    books.update(Kind.anchor, 'x', anchor('x', 'a'));
    expect(books.drop(Kind.wallet, 'a')).toMatchObject({ reason: 'record.drop-rejected' });
  });
});
