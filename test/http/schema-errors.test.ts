import { describe, expect, test } from 'vitest';
import { Kind, type KindName } from '../../src/core/kinds.ts';
import { refuseShape } from '../../src/core/refusal.ts';
import { bodyOf, HASH, PROOF, TRANSFER } from './bodies.ts';
import { LEAST, members, names, toldOf, validate, withMember, wrongs } from './shapes.ts';

const HANDLE_MESSAGE = 'handle must consist of letters, digits, underscore, hyphen, plus and period';

describe('errors have the form clients know', () => {
  test('one for each missing member', () => {
    expect(validate(Kind.wallet, 'create', {})).toEqual(
      ['hash', 'data', 'meta'].map((name) => ({
        instancePath: '',
        schemaPath: '#/required',
        keyword: 'required',
        params: { missingProperty: name },
        message: `must have required property '${name}'`,
      })),
    );
  });

  test('a pattern', () => {
    const [error] = validate(Kind.wallet, 'create', bodyOf({ handle: 'é' }))!;
    expect(error).toMatchObject({
      schemaPath: '#/properties/data/properties/handle/pattern',
      params: { pattern: expect.any(String) },
    });
  });

  test.each<[KindName, object, string]>([
    ['effect', { action: { schema: 'webhook' } }, "must have required property 'endpoint'"],
    ['effect', { action: { schema: 'bank' } }, "must have required property 'bridge'"],
    ['policy', { schema: 'other' }, 'must be equal to one of the allowed values'],
    ['policy', { filter: { 'dat.a': 1 } }, 'is asked for a path that a filter here cannot have'],
    ['policy', { filter: { 'data.a': { $fits: 1 } } }, 'must NOT have additional properties'],
    ['policy', { filter: { 'data.a': { $in: 'a' } } }, 'must be array'],
    ['policy', { filter: { 'data.a b': { $in: 'a' } } }, 'must be array'],
  ])('of %s with %j the fault of the shape that was meant', (kind, more, message) => {
    const errors = validate(Kind[kind], 'create', bodyOf(withMember(kind, { ...more })));
    expect(errors!.map((error) => error.message)).toEqual([message]);
  });

  test('a refusal says twice what would do', () => {
    const errors = validate(Kind.policy, 'create', bodyOf(withMember('policy', { schema: 'other' })))!;
    const detail = '/data/schema must be equal to one of the allowed values: access, status, labels';
    expect(refuseShape(errors).detail).toBe(detail);
  });

  test('never more than fifty', () => {
    const claims = Array.from({ length: 10_000 }, () => ({ action: 'transfer' }));
    expect(validate(Kind.intent, 'create', bodyOf({ handle: 'i', claims }))!.length).toBe(50);
    expect(validate(Kind.wallet, 'create', bodyOf({ handle: 'w', ...members(900) }))!.length).toBe(50);
  });
});

describe('where a body is wrong is looked for among so many parts', () => {
  const rule = { action: 'any', signer: { $in: Array(15).fill({}) } };
  /** Each rule has 18 parts beside its own place in the list. */
  const rules = (count: number) => Array(count).fill(rule);
  const WRONG = { nope: 1 };
  const LARGE = [' schema'];
  test.each<[KindName, Record<string, unknown>, string[]]>([
    ['wallet', { access: Array(10).fill({ action: { $in: Array(1000).fill('any') } }) }, []],
    [
      'wallet',
      { access: [...rules(500), WRONG] },
      ['/data/access/500 required', '/data/access/500 additionalProperties'],
    ],
    ['wallet', { access: [...rules(600), WRONG] }, LARGE],
    ['wallet', { access: rules(1000), schema: '!' }, ['/data/schema pattern']],
    ['policy', { values: [...rules(600), WRONG] }, LARGE],
    ['policy', { values: rules(600), record: 'nope' }, LARGE],
    ['effect', { filter: { amount: { $in: Array(1000).fill(1) } }, signal: '!' }, ['/data/signal enum']],
    [
      'effect',
      {
        filter: Object.fromEntries(
          Array.from({ length: 11 }, (_, i) => [`wallet.data.${i}`, { $in: Array(1000).fill(1) }]),
        ),
        signal: '!',
      },
      LARGE,
    ],
    ['wallet', { custom: { a: Array(100_000).fill(1) }, schema: '!' }, ['/data/schema pattern']],
    ['schema', { schema: { enum: Array(100_000).fill(1) }, record: '!' }, ['/data/record enum']],
    ['intent', { claims: Array(5000).fill(TRANSFER), schema: '!' }, ['/data/schema pattern']],
  ])('%s, row %#', (kind, more, errors) => expect(wrongs(kind, withMember(kind, more))).toEqual(errors));
});

describe('what is far too wide is told as that, and nobody looks into it', () => {
  const WIDE = members(60_000);
  test.each<[KindName, Record<string, unknown>, string[]]>([
    ['wallet', WIDE, ['/data maxProperties']],
    ['wallet', { access: [{ action: 'any', signer: WIDE }] }, ['/data/access/0/signer maxProperties']],
    ['wallet', { access: Array(100_000).fill(1) }, ['/data/access maxItems']],
    ['wallet', { routes: [{ action: 'accept', filter: WIDE }] }, ['/data/routes/0/filter maxProperties']],
    ['effect', { filter: members(1001) }, ['/data/filter maxProperties']],
    ['policy', WIDE, ['/data maxProperties']],
    ['bridge', { config: { server: 'http://x', ...WIDE } }, ['/data/config maxProperties']],
    ['intent', { claims: [TRANSFER, { ...TRANSFER, ...WIDE }] }, ['/data/claims/1 maxProperties']],
    ['intent', { claims: [{ ...TRANSFER, source: WIDE }] }, ['/data/claims/0/source maxProperties']],
  ])('%s, row %#', (kind, more, errors) => expect(wrongs(kind, withMember(kind, more))).toEqual(errors));

  test('a proof, and proofs of a body', () => {
    expect(toldOf('wallet', { ...PROOF, ...WIDE }, 'proof')).toEqual([' maxProperties']);
    const body = { hash: HASH, data: { handle: 'w' }, meta: { proofs: [{ ...PROOF, ...WIDE }] } };
    expect(toldOf('wallet', body)).toEqual(['/meta/proofs/0 maxProperties']);
  });

  test('an address of the network that is nearly right takes no more than a look at each character', () => {
    const server = `http://${'a'.repeat(1_000_000)} `;
    expect(wrongs('bridge', { ...LEAST.bridge, config: { server } })).toContain('/data/config/server pattern');
  });
  test('free content has no such end', () => {
    for (const kind of names) expect(wrongs(kind, withMember(kind, { custom: WIDE }))).toEqual([]);
    expect(wrongs('schema', withMember('schema', { schema: { properties: WIDE } }))).toEqual([]);
    const claim = { ...TRANSFER, source: { handle: 'a', custom: WIDE } };
    expect(wrongs('intent', withMember('intent', { claims: [claim], origin: 'a' }))).toEqual([]);
    expect(toldOf('wallet', { ...PROOF, custom: WIDE }, 'proof')).toEqual([]);
    expect(wrongs('effect', withMember('effect', { filter: members(1000, 'wallet.data.custom.') }))).toEqual([]);
  });
});

test.each<[KindName, Record<string, unknown>, string]>([
  ['wallet', { handle: 'a b' }, `/data/${HANDLE_MESSAGE}, perhaps as schema:handle@parent`],
  [
    'wallet',
    { handle: '..' },
    '/data/handle must not be one period or two, which the path of a URL takes for something else',
  ],
  ['wallet', { bridge: 'a:b:c' }, `/data/bridge ${HANDLE_MESSAGE}, perhaps as schema:handle@parent`],
  ['ledger', { handle: 'a:b' }, `/data/${HANDLE_MESSAGE}`],
])(
  'a refusal of an address says "handle" once, and that it may have parts where it may: %s %j',
  (kind, more, detail) => {
    const errors = validate(Kind[kind], 'create', bodyOf(withMember(kind, more)))!;
    expect(refuseShape(errors).detail).toBe(detail);
    expect(errors[0]!.message).toMatch(/^handle must /);
  },
);

describe('what is right is not looked through again, and hides nothing', () => {
  const right = { data: { ...LEAST.wallet, access: [{ action: 'read' }] }, proofs: [PROOF] };
  const rules = [{ action: 'read' }, { action: 'dance' }];
  const told = ({ data, proofs }: { data: object; proofs: unknown }) =>
    toldOf('wallet', { hash: HASH, data, meta: { proofs } });

  test.each([
    ['a wrong member beside right ones', { data: { ...right.data, handle: 'a b' } }, ['/data/handle pattern']],
    ['a member nobody knows', { data: { ...right.data, odd: 1 } }, ['/data additionalProperties']],
    ['a member that is missing', { data: { access: right.data.access } }, ['/data required']],
    ['a wrong rule', { data: { ...right.data, access: rules } }, ['/data/access/1/action enum']],
    ['no list of rules', { data: { ...right.data, access: {} } }, ['/data/access type']],
    ['a wrong proof', { proofs: [PROOF, { ...PROOF, method: 'x' }] }, ['/meta/proofs/1/method const']],
    ['no list of proofs', { proofs: 7 }, ['/meta/proofs type']],
    ['too many proofs', { proofs: Array.from({ length: 257 }, () => PROOF) }, ['/meta/proofs maxItems']],
  ])('%s', (_, part, errors) => {
    expect(told({ ...right, ...part })).toEqual(errors);
  });

  test('a body without data, or of another sort', () => {
    for (const body of [null, 7, 'x', [], {}, { data: null, meta: null }, { data: 'x', meta: 'y' }]) {
      expect(toldOf('wallet', body), JSON.stringify(body)).not.toEqual([]);
    }
  });
});
