/**
 * Who may do what, by hand and by chance: each row of the table says who of a round of askers a rule lets through, and
 * a model that reads rules as they stand agrees, on the table and on rules nobody thought of.
 */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { allowed, gate, granted, type ModelPolicy, type RuleText } from './access-model.ts';
import { type Asker, type Setup, SUBJECTS, type Subject, textOf, World } from './access-world.ts';

/** Letters of the table: small ones sign, capitals bring a token. */
const ASKERS: Record<string, Asker> = {
  '-': { signs: [] },
  a: { signs: ['anna'] },
  b: { signs: ['ben'] },
  c: { signs: ['carl'] },
  l: { signs: ['lead'] },
  A: { signs: [], token: 'anna' },
  B: { signs: [], token: 'ben', claims: { iss: 'shop', sub: 'ben', hsh: true } },
  C: { signs: [], token: 'carl', claims: { aud: 'two' } },
  aB: { signs: ['anna'], token: 'ben', claims: { iss: 'shop', sub: 'ben', hsh: true } },
  cb: { signs: ['carl', 'ben'] },
  // Anna and Ben of the other ledger: same names, other keys.
  x: { signs: ['anna of two', 'ben of two', 'lead of two'] },
  X: { signs: [], token: 'anna of two' },
};
const EVERYBODY = Object.keys(ASKERS).join(' ');
const SIGNERS = 'a b c l aB cb x';
const BEARERS = 'A B C aB X';

type Row = [what: string, setup: Setup, action: string, target: string, subject: Subject, who: string];

const own = (...record: RuleText[]): Setup => ({ record });
const ledger = (...rules: RuleText[]): Setup => ({ ledger: [{ action: 'access', record: 'any' }, ...rules] });
const spend = (signer: object): Setup => own({ action: 'spend', signer });
const policy = (more: Partial<ModelPolicy> = {}): ModelPolicy => ({
  handle: 'p',
  schema: 'access',
  record: 'wallet',
  values: [{ action: 'update', signer: { handle: 'anna' } }],
  ...more,
});
const ANNA = { public: textOf('anna') };

const TABLE: Row[] = [
  ['no rule at all', {}, 'read', 'wallet', 'mine', ''],
  ['no rule at all, for its owner', {}, 'update', 'wallet', 'mine', ''],
  ['a rule without signer and bearer', own({ action: 'update' }), 'update', 'wallet', 'mine', EVERYBODY],
  ['any action', own({ action: 'any' }), 'drop', 'wallet', 'mine', EVERYBODY],
  ['another action', own({ action: 'update' }), 'drop', 'wallet', 'mine', ''],
  ['actions in a list', own({ action: { $in: ['drop', 'spend'] } }), 'spend', 'wallet', 'mine', EVERYBODY],
  ['an empty list of actions', own({ action: { $in: [] } }), 'spend', 'wallet', 'mine', ''],
  ['a rule of a record is not about new ones', own({ action: 'any' }), 'create', 'wallet', 'new', ''],
  ['a rule of a record is not about the kind', own({ action: 'any', record: 'any' }), 'read', 'wallet', 'kind', ''],
  ['any signer', spend({}), 'spend', 'wallet', 'mine', SIGNERS],
  ['a key', spend(ANNA), 'spend', 'wallet', 'mine', 'a aB'],
  ['a key and its format', spend({ ...ANNA, format: 'ed25519-raw' }), 'spend', 'wallet', 'mine', 'a aB'],
  ['a handle', spend({ handle: 'ben' }), 'spend', 'wallet', 'mine', 'b cb'],
  ['a handle nobody has', spend({ handle: 'carl' }), 'spend', 'wallet', 'mine', ''],
  ['a handle of one and the key of another', spend({ ...ANNA, handle: 'ben' }), 'spend', 'wallet', 'mine', ''],
  ['a schema', spend({ schema: 'person' }), 'spend', 'wallet', 'mine', 'a b aB cb'],
  ['another schema', spend({ schema: 'bank' }), 'spend', 'wallet', 'mine', ''],
  ['custom', spend({ custom: { role: 'cashier' } }), 'spend', 'wallet', 'mine', 'a aB'],
  ['custom within', spend({ custom: { place: { city: 'Lima' } } }), 'spend', 'wallet', 'mine', 'a aB'],
  ['custom with another value', spend({ custom: { place: { city: 'Cusco' } } }), 'spend', 'wallet', 'mine', ''],
  ['custom with one member wrong', spend({ custom: { role: 'auditor', place: {} } }), 'spend', 'wallet', 'mine', ''],
  ['custom that asks nothing', spend({ custom: {} }), 'spend', 'wallet', 'mine', 'a b aB cb'],
  ['custom with a whole list', spend({ custom: { tags: ['a', 'b'] } }), 'spend', 'wallet', 'mine', 'a aB'],
  ['custom with half a list', spend({ custom: { tags: ['a'] } }), 'spend', 'wallet', 'mine', ''],
  ['a circle', spend({ $circle: 'ops' }), 'spend', 'wallet', 'mine', 'a aB'],
  ['a circle of two', spend({ $circle: 'audit' }), 'spend', 'wallet', 'mine', 'a b aB cb'],
  ['a circle of nobody', spend({ $circle: 'empty' }), 'spend', 'wallet', 'mine', ''],
  ['a circle that is not there', spend({ $circle: 'nowhere' }), 'spend', 'wallet', 'mine', ''],
  ['a circle and a role', spend({ $circle: 'audit', custom: { role: 'auditor' } }), 'spend', 'wallet', 'mine', 'b cb'],
  ['the owner of the record', spend({ $record: 'owner' }), 'spend', 'wallet', 'mine', 'b cb'],
  ['the owner of the ledger', spend({ $ledger: 'owner' }), 'spend', 'wallet', 'mine', 'l'],
  ['the owner, if in a circle', spend({ $record: 'owner', $circle: 'ops' }), 'spend', 'wallet', 'mine', ''],
  ['several signers', spend({ $in: [ANNA, { handle: 'ben' }] }), 'spend', 'wallet', 'mine', 'a b aB cb'],
  ['no signer of none', spend({ $in: [] }), 'spend', 'wallet', 'mine', ''],
  ['several with anybody', spend({ $in: [ANNA, {}] }), 'spend', 'wallet', 'mine', SIGNERS],
  ['any token', own({ action: 'read', bearer: {} }), 'read', 'wallet', 'mine', BEARERS],
  ['an issuer', own({ action: 'read', bearer: { iss: 'shop' } }), 'read', 'wallet', 'mine', 'B aB'],
  ['a subject', own({ action: 'read', bearer: { sub: 'anna' } }), 'read', 'wallet', 'mine', 'A C X'],
  ['an audience', own({ action: 'read', bearer: { aud: 'two' } }), 'read', 'wallet', 'mine', 'C'],
  ['a token for this request', own({ action: 'read', bearer: { hsh: true } }), 'read', 'wallet', 'mine', 'B aB'],
  ['a token for any request', own({ action: 'read', bearer: { hsh: false } }), 'read', 'wallet', 'mine', BEARERS],
  ['the key of a token', own({ action: 'read', bearer: { $signer: ANNA } }), 'read', 'wallet', 'mine', 'A'],
  [
    'the owner by token',
    own({ action: 'read', bearer: { $signer: { $record: 'owner' } } }),
    'read',
    'wallet',
    'mine',
    'B aB',
  ],
  [
    'a circle by token',
    own({ action: 'read', bearer: { $signer: { $circle: 'ops' } } }),
    'read',
    'wallet',
    'mine',
    'A',
  ],
  [
    'signers by token',
    own({ action: 'read', bearer: { $signer: { $in: [ANNA, { handle: 'ben' }] } } }),
    'read',
    'wallet',
    'mine',
    'A B aB',
  ],
  [
    'an issuer and a key',
    own({ action: 'read', bearer: { iss: 'bank', $signer: { handle: 'ben' } } }),
    'read',
    'wallet',
    'mine',
    '',
  ],
  [
    'several tokens',
    own({ action: 'read', bearer: { $in: [{ iss: 'shop' }, { aud: 'two' }] } }),
    'read',
    'wallet',
    'mine',
    'B C aB',
  ],
  [
    'signer and token',
    own({ action: 'update', signer: ANNA, bearer: { sub: 'ben' } }),
    'update',
    'wallet',
    'mine',
    'aB',
  ],
  ['a signer alone opens no read', own({ action: 'read', signer: {} }), 'read', 'wallet', 'mine', ''],
  ['a signer alone with any action opens no read', own({ action: 'any', signer: {} }), 'read', 'wallet', 'mine', ''],
  ['own rules are about proofs too', own({ action: 'any', signer: ANNA }), 'create', 'wallet-proof', 'mine', 'a aB'],
  [
    'own rules about proofs',
    own({ action: 'create', record: 'wallet-proof' }),
    'create',
    'wallet-proof',
    'mine',
    EVERYBODY,
  ],
  [
    'rules about proofs are about nothing else',
    own({ action: 'any', record: 'wallet-proof' }),
    'update',
    'wallet',
    'mine',
    '',
  ],
  [
    'rules about the record are not about proofs',
    own({ action: 'any', record: 'wallet' }),
    'create',
    'wallet-proof',
    'mine',
    '',
  ],
  ['the older name of adding a proof', own({ action: 'sign' }), 'create', 'wallet-proof', 'mine', EVERYBODY],
  ['the older name makes no record', ledger({ action: 'sign', record: 'any' }), 'create', 'wallet', 'new', ''],
  ['own rules about another kind', own({ action: 'any', record: 'intent' }), 'update', 'wallet', 'mine', ''],
  [
    'a ledger rule for the kind',
    ledger({ action: 'create', record: 'wallet', signer: ANNA }),
    'create',
    'wallet',
    'new',
    'a aB',
  ],
  [
    'a ledger rule for any kind',
    ledger({ action: 'any', record: 'any', signer: ANNA }),
    'update',
    'wallet',
    'mine',
    'a aB',
  ],
  ['a ledger rule for another kind', ledger({ action: 'any', record: 'symbol' }), 'update', 'wallet', 'mine', ''],
  ['a ledger rule without record', ledger({ action: 'any' }), 'update', 'wallet', 'mine', ''],
  ['a ledger rule without record, of the ledger', ledger({ action: 'any' }), 'update', 'ledger', 'ledger', EVERYBODY],
  [
    'a ledger rule for wallets, of the ledger',
    ledger({ action: 'any', record: 'wallet' }),
    'update',
    'ledger',
    'ledger',
    '',
  ],
  [
    'a ledger rule for owners of records',
    ledger({ action: 'any', record: 'any', signer: { $record: 'owner' } }),
    'update',
    'wallet',
    'mine',
    'b cb',
  ],
  [
    'whoever makes a record owns it',
    ledger({ action: 'create', record: 'wallet', signer: { $record: 'owner' } }),
    'create',
    'wallet',
    'new',
    SIGNERS,
  ],
  [
    'a token of whoever makes it',
    ledger({ action: 'create', record: 'wallet', bearer: { $signer: { $record: 'owner' } } }),
    'create',
    'wallet',
    'new',
    '',
  ],
  [
    'owners are of no kind',
    ledger({ action: 'read', record: 'wallet', bearer: { $signer: { $record: 'owner' } } }),
    'read',
    'wallet',
    'kind',
    '',
  ],
  [
    'reads of a whole kind',
    ledger({ action: 'read', record: 'wallet', bearer: { sub: 'anna' } }),
    'read',
    'wallet',
    'kind',
    'A C X',
  ],
  [
    'the owner of the ledger, for it',
    ledger({ action: 'update', signer: { $ledger: 'owner' } }),
    'update',
    'ledger',
    'ledger',
    'l',
  ],
  [
    'proofs by a ledger rule',
    ledger({ action: 'create', record: 'wallet-proof', signer: {} }),
    'create',
    'wallet-proof',
    'mine',
    SIGNERS,
  ],
  [
    'proofs by a ledger rule for wallets',
    ledger({ action: 'create', record: 'wallet' }),
    'create',
    'wallet-proof',
    'mine',
    '',
  ],
  [
    'rules add',
    {
      ...ledger({ action: 'update', record: 'wallet', signer: ANNA }),
      record: [{ action: 'update', signer: { handle: 'ben' } }],
    },
    'update',
    'wallet',
    'mine',
    'a b aB cb',
  ],
  [
    'no gate',
    { ledger: [{ action: 'update', record: 'any' }], record: [{ action: 'any' }] },
    'update',
    'wallet',
    'mine',
    '',
  ],
  [
    'a gate to another kind',
    { ledger: [{ action: 'access', record: 'symbol' }], record: [{ action: 'any' }] },
    'update',
    'wallet',
    'mine',
    '',
  ],
  [
    'a gate to the ledger record only',
    { ledger: [{ action: 'access' }], record: [{ action: 'any' }] },
    'update',
    'wallet',
    'mine',
    '',
  ],
  [
    'a gate for one',
    { ledger: [{ action: 'access', record: 'wallet', signer: ANNA }], record: [{ action: 'any' }] },
    'update',
    'wallet',
    'mine',
    'a aB',
  ],
  [
    'a gate for proofs through the kind',
    { ledger: [{ action: 'access', record: 'wallet' }], record: [{ action: 'any' }] },
    'create',
    'wallet-proof',
    'mine',
    EVERYBODY,
  ],
  [
    'a gate for the kind through proofs',
    { ledger: [{ action: 'access', record: 'wallet-proof' }], record: [{ action: 'any' }] },
    'update',
    'wallet',
    'mine',
    '',
  ],
  [
    'any opens the gate',
    { ledger: [{ action: 'any', record: 'wallet', bearer: { sub: 'anna' } }] },
    'read',
    'wallet',
    'mine',
    'A C X',
  ],
  ['a server that lets nobody in', { ...own({ action: 'any' }), server: [] }, 'update', 'wallet', 'mine', ''],
  [
    'a server that lets one in',
    { ...own({ action: 'any' }), server: [{ action: 'access', signer: ANNA }] },
    'update',
    'wallet',
    'mine',
    'a aB',
  ],
  [
    'the server grants',
    { server: [{ action: 'any', record: 'any', signer: ANNA }] },
    'update',
    'wallet',
    'mine',
    'a aB',
  ],
  [
    'the server grants, but the ledger has its gate',
    { ledger: [], server: [{ action: 'any', record: 'any' }] },
    'update',
    'wallet',
    'mine',
    '',
  ],
  ['a server rule without record grants no record', { server: [{ action: 'any' }] }, 'update', 'wallet', 'mine', ''],
  ['a policy named by a record', { ...own({ policy: 'p' }), policies: [policy()] }, 'update', 'wallet', 'mine', 'a aB'],
  ['a policy nobody names', { policies: [policy()] }, 'update', 'wallet', 'mine', ''],
  [
    'a policy named by the ledger',
    { ...ledger({ policy: 'p' }), policies: [policy()] },
    'update',
    'wallet',
    'mine',
    'a aB',
  ],
  ['a policy that is not there', own({ policy: 'p' }), 'update', 'wallet', 'mine', ''],
  [
    'policies in a list',
    { ...own({ policy: { $in: ['q', 'p'] } }), policies: [policy()] },
    'update',
    'wallet',
    'mine',
    'a aB',
  ],
  [
    'a policy about another kind',
    { ...own({ policy: 'p' }), policies: [policy({ record: 'symbol' })] },
    'update',
    'wallet',
    'mine',
    '',
  ],
  [
    'a policy about any kind',
    { ...own({ policy: 'p' }), policies: [policy({ record: 'any' })] },
    'update',
    'wallet',
    'mine',
    'a aB',
  ],
  [
    'a policy that is not about access',
    { ...own({ policy: 'p' }), policies: [policy({ schema: 'status' })] },
    'update',
    'wallet',
    'mine',
    '',
  ],
  [
    'a filter that fits',
    { ...own({ policy: 'p' }), policies: [policy({ filter: { 'data.schema': 'savings' } })] },
    'update',
    'wallet',
    'mine',
    'a aB',
  ],
  [
    'a filter that does not',
    { ...own({ policy: 'p' }), policies: [policy({ filter: { 'data.schema': 'credit' } })] },
    'update',
    'wallet',
    'mine',
    '',
  ],
  [
    'a filter half fits',
    {
      ...own({ policy: 'p' }),
      policies: [policy({ filter: { 'data.schema': 'savings', 'data.custom.tier': 'iron' } })],
    },
    'update',
    'wallet',
    'mine',
    '',
  ],
  [
    'a filter with operators',
    {
      ...own({ policy: 'p' }),
      policies: [policy({ filter: { 'data.custom.tier': { $in: ['gold'], $ne: 'silver' } } })],
    },
    'update',
    'wallet',
    'mine',
    'a aB',
  ],
  [
    'a filter nobody understands',
    { ...own({ policy: 'p' }), policies: [policy({ filter: { 'data.schema': { $like: 'savings' } } })] },
    'update',
    'wallet',
    'mine',
    '',
  ],
  [
    'a filter by status',
    { ...own({ policy: 'p' }), policies: [policy({ filter: { 'meta.status': 'created' } })] },
    'update',
    'wallet',
    'mine',
    'a aB',
  ],
  [
    'a filter on what is being made',
    {
      ...ledger({ policy: 'p' }),
      policies: [policy({ values: [{ action: 'create' }], filter: { 'data.custom.tier': 'silver' } })],
    },
    'create',
    'wallet',
    'new',
    EVERYBODY,
  ],
  [
    'a filter is about no kind',
    {
      ...ledger({ policy: 'p' }),
      policies: [policy({ values: [{ action: 'read' }], filter: { 'data.schema': 'savings' } })],
    },
    'read',
    'wallet',
    'kind',
    '',
  ],
  [
    'a policy that extends',
    {
      ...own({ policy: 'p' }),
      policies: [
        policy({ extend: 'q' }),
        policy({ handle: 'q', values: [{ action: 'update', signer: { handle: 'ben' } }] }),
      ],
    },
    'update',
    'wallet',
    'mine',
    'a b aB cb',
  ],
  [
    'extended by a list',
    { ...own({ policy: 'p' }), policies: [policy({ values: [], extend: ['q', 'r'] }), policy({ handle: 'r' })] },
    'update',
    'wallet',
    'mine',
    'a aB',
  ],
  [
    'extended about another kind',
    {
      ...own({ policy: 'p' }),
      policies: [policy({ values: [], extend: 'q' }), policy({ handle: 'q', record: 'symbol' })],
    },
    'update',
    'wallet',
    'mine',
    '',
  ],
  [
    'a filter narrows what it extends',
    {
      ...own({ policy: 'p' }),
      policies: [policy({ extend: 'q', filter: { 'data.schema': 'credit' } }), policy({ handle: 'q' })],
    },
    'update',
    'wallet',
    'mine',
    '',
  ],
  [
    'policies that extend each other',
    { ...own({ policy: 'p' }), policies: [policy({ extend: 'q' }), policy({ handle: 'q', extend: 'p' })] },
    'update',
    'wallet',
    'mine',
    'a aB',
  ],
  [
    'a policy within a policy',
    { ...own({ policy: 'p' }), policies: [policy({ values: [{ policy: 'q' }] }), policy({ handle: 'q' })] },
    'update',
    'wallet',
    'mine',
    'a aB',
  ],
  [
    'policies only: a policy',
    {
      ledger: [],
      policyBased: true,
      policies: [policy({ values: [{ action: { $in: ['access', 'update'] }, signer: ANNA }] })],
    },
    'update',
    'wallet',
    'mine',
    'a aB',
  ],
  [
    'policies only: what the ledger says counts for nothing',
    { ledger: [{ action: 'any', record: 'any' }], policyBased: true },
    'update',
    'wallet',
    'mine',
    '',
  ],
  [
    'policies only: what the record says counts for nothing',
    { ...own({ action: 'any' }), policyBased: true, policies: [policy({ values: [{ action: 'access' }] })] },
    'update',
    'wallet',
    'mine',
    '',
  ],
  [
    'policies only: each for its filter',
    { policyBased: true, policies: [policy({ values: [{ action: 'any' }], filter: { 'data.schema': 'credit' } })] },
    'update',
    'wallet',
    'mine',
    '',
  ],
];

/** So many rules that their answers are kept by key. */
const MANY = ['anna', 'ben', 'nobody', 'nobody else', 'anna'].map((handle) => ({ handle }));
TABLE.push(
  ['many signers', own(...MANY.map((signer) => ({ action: 'spend', signer }))), 'spend', 'wallet', 'mine', 'a b aB cb'],
  [
    'many signers open no read',
    own(...MANY.map((signer) => ({ action: 'any', signer }))),
    'read',
    'wallet',
    'mine',
    '',
  ],
  [
    'many signers behind a filter',
    {
      ...own({ policy: 'p' }),
      policies: [
        policy({ values: MANY.map((signer) => ({ action: 'update', signer })), filter: { 'data.schema': 'credit' } }),
      ],
    },
    'update',
    'wallet',
    'mine',
    '',
  ],
  [
    'many signers who need a token too',
    own(...MANY.map((signer) => ({ action: 'update', signer, bearer: { sub: 'ben' } }))),
    'update',
    'wallet',
    'mine',
    'aB',
  ],
);

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
  test('owners of one record are not those of the next, however many rules name them', () => {
    const rule = { action: 'any', record: 'any', signer: { $record: 'owner' } };
    const world = new World(ledger(rule, rule, rule, rule, rule));
    const anna = { signs: ['anna'] };
    expect(world.core(anna, 'update', 'wallet', 'new')).toBe(true);
    expect(world.core(anna, 'update', 'wallet', 'mine')).toBe(false);
  });
  test('has more than a thousand decisions', () => {
    expect(TABLE.length * Object.keys(ASKERS).length).toBeGreaterThan(1000);
  });
});

// ---------------------------------------------------------------- rules by chance

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
    { numRuns: 400 },
  );
  // Both answers came often, or the comparison says little.
  expect(Math.min(seen.yes, seen.no)).toBeGreaterThan(5000);
});

const TARGETS: [string, Subject][] = [
  ...SUBJECTS.filter((subject) => subject !== 'ledger').map((subject): [string, Subject] => ['wallet', subject]),
  ['wallet-proof', 'mine'],
  ['ledger', 'ledger'],
  ['ledger-proof', 'ledger'],
  ['ledger', 'kind'],
];
