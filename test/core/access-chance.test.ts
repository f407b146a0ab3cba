/**
 * Who may do what, by chance: on rules, policies and questions nobody thought of, the core answers as the model does.
 */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { often } from '../support/long.ts';
import { ASKERS } from './access-kit.ts';
import { gate, granted, type ModelPolicy, type RuleText } from './access-model.ts';
import { type Setup, SUBJECTS, type Subject, textOf, World } from './access-world.ts';

const RUNS = often(25, 2000);

const oneOf = <T>(...values: T[]) => fc.constantFrom(...values);
const optional = <T>(member: fc.Arbitrary<T>) => fc.option(member, { nil: undefined, freq: 2 });
const without = (value: object): object =>
  Object.fromEntries(Object.entries(value).filter(([, member]) => member !== undefined));
const oneOrIn = <T>(member: fc.Arbitrary<T>) =>
  fc.oneof(
    { weight: 4, arbitrary: member },
    fc.array(member, { maxLength: 3 }).map(($in) => ({ $in })),
  );

const signer = fc
  .record({
    public: optional(oneOf('anna', 'ben', 'carl', 'anna of two').map(textOf)),
    handle: optional(oneOf('anna', 'ben', 'carl')),
    schema: optional(oneOf('person', 'bank')),
    custom: optional(oneOf<object>({ role: 'cashier' }, { place: { floor: 2 } }, { tags: ['a'] }, { role: 'x' })),
    $circle: optional(oneOf('ops', 'audit', 'empty', 'nowhere')),
    $record: optional(oneOf('owner')),
    $ledger: optional(oneOf('owner')),
  })
  .chain((all) =>
    fc.subarray(Object.keys(all), { maxLength: 2 }).map((names) => {
      const picked = Object.fromEntries(names.map((name) => [name, all[name as keyof typeof all]]));
      return without(picked);
    }),
  );
const bearer = fc
  .record({
    iss: optional(oneOf('bank', 'shop')),
    sub: optional(oneOf('anna', 'ben')),
    aud: optional(oneOf('one', 'two')),
    hsh: optional(fc.boolean()),
    $signer: optional(oneOrIn(signer)),
  })
  .map(without);
const ACTIONS = ['any', 'access', 'create', 'read', 'update', 'spend', 'sign'];
const RECORDS = ['any', 'wallet', 'wallet-proof', 'ledger', 'symbol', 'server'];
const rule: fc.Arbitrary<RuleText> = fc
  .record({
    action: oneOrIn(oneOf(...ACTIONS)),
    record: optional(oneOf(...RECORDS)),
    signer: optional(oneOrIn(signer)),
    bearer: optional(oneOrIn(bearer)),
  })
  .map((value) => without(value) as RuleText);
const HANDLES = ['p', 'q', 'r'];
const anyRule = fc.oneof(
  { weight: 3, arbitrary: rule },
  oneOrIn(oneOf(...HANDLES)).map((handle) => ({ policy: handle }) as RuleText),
);
const filter = oneOf<Record<string, unknown> | undefined>(
  undefined,
  undefined,
  { 'data.schema': 'savings' },
  { 'data.schema': 'credit' },
  { 'data.custom.tier': { $in: ['gold', 'iron'] } },
  { 'data.handle': { $ne: 'mine' } },
  { 'meta.status': 'created' },
);
const policies = fc.tuple(
  ...HANDLES.map((handle) =>
    fc
      .record({
        record: oneOf('any', 'wallet', 'wallet-proof', 'ledger'),
        values: fc.array(anyRule, { maxLength: 3 }),
        extend: optional(fc.oneof(oneOf(...HANDLES), fc.subarray(HANDLES))),
        filter,
        schema: oneOf('access', 'access', 'access', 'status'),
      })
      .map((value) => without({ handle, ...value }) as ModelPolicy),
  ),
);
const rules = (one: fc.Arbitrary<RuleText>) => fc.array(one, { maxLength: 8 });
const setup: fc.Arbitrary<Setup> = fc.record({
  server: fc.oneof(fc.constant(undefined), rules(rule)),
  ledger: fc.oneof(
    rules(anyRule),
    rules(anyRule).map((list) => [{ action: 'access', record: 'any' }, ...list]),
  ),
  record: rules(anyRule),
  policies,
  policyBased: fc.boolean(),
});

test('rules by chance are read as the model reads them', () => {
  const seen = { yes: 0, no: 0 };
  fc.assert(
    fc.property(setup, (given) => {
      const world = new World(given);
      for (const asker of Object.values(ASKERS)) {
        for (const action of ['access', 'create', 'read', 'update', 'spend']) {
          for (const [target, subject] of TARGETS) {
            const question = world.question(asker, action, target, subject);
            const answer = granted(question);
            expect(world.core(asker, action, target, subject, 'act')).toBe(answer);
            expect(world.core(asker, action, target, subject, 'gate')).toBe(gate(question));
            seen[answer ? 'yes' : 'no']++;
          }
        }
      }
    }),
    { numRuns: RUNS },
  );
  // Both answers came often, or the comparison says little.
  expect(Math.min(seen.yes, seen.no)).toBeGreaterThan(12 * RUNS);
});

const TARGETS: [string, Subject][] = [
  ...SUBJECTS.filter((subject) => subject !== 'ledger').map((subject): [string, Subject] => ['wallet', subject]),
  ['wallet-proof', 'mine'],
  ['ledger', 'ledger'],
  ['ledger-proof', 'ledger'],
  ['ledger', 'kind'],
];
