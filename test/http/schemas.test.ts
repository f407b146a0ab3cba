/**
 * The shape of bodies: what clients send passes, each rule has a row that breaks it. How what is wrong is told, and how
 * far it is looked for: schema-errors.test.ts.
 */
import { LedgerSdk } from '@minka/ledger-sdk';
import { describe, expect, test } from 'vitest';
import { Kind, type KindName } from '../../src/core/kinds.ts';
import { accessErrors, compileSchemas, isAccess, isUnsigned, type Operation } from '../../src/http/schemas.ts';
import { bodyOf, HASH, PROOF, PUBLIC, TRANSFER } from './bodies.ts';
import { LEAST, members, names, toldOf, validate, withMember, wrongs } from './shapes.ts';

const SECRET = 'BwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwc=';
const HANDLE_MESSAGE = 'handle must consist of letters, digits, underscore, hyphen, plus and period';
const CREDENTIALS = { schema: 'oauth2', tokenUrl: 'https://x/token', clientId: 'c', clientSecret: 's' };

describe.each(names)('%s', (kind) => {
  test('the least and the common members', () => {
    expect(wrongs(kind, LEAST[kind])).toEqual([]);
    const common = { custom: { a: [1, { b: null }] }, access: [{ action: 'any' }], parent: HASH };
    expect(wrongs(kind, withMember(kind, common), 'update')).toEqual([]);
  });

  test('each member is needed', () => {
    for (const name of Object.keys(LEAST[kind])) {
      const { [name]: _, ...rest } = LEAST[kind];
      // A policy's kind of values is named by its schema, so without one it has no branch to be told by.
      expect(wrongs(kind, rest).some((wrong) => wrong.startsWith('/data '))).toBe(true);
    }
  });

  test.each([['extra'], ['__proto__'], ['constructor'], ['toString'], [''], ['a/b~1c']])(
    'an unknown member %j',
    (name) => {
      const data = JSON.parse(JSON.stringify(LEAST[kind]).replace('{', `{${JSON.stringify(name)}:1,`)) as object;
      const errors = validate(Kind[kind], 'create', bodyOf(data));
      expect(errors).toMatchObject([
        { instancePath: '/data', keyword: 'additionalProperties', params: { additionalProperty: name } },
      ]);
    },
  );

  test.each(['é', '$wlt.AAAAAAAAAAAAAAAAA', 'a b', '', 'a/b', 'ａ'])('a bad handle %j', (handle) => {
    const errors = validate(Kind[kind], 'create', bodyOf(withMember(kind, { handle })));
    expect(errors).toMatchObject([{ instancePath: '/data/handle', keyword: 'pattern', message: HANDLE_MESSAGE }]);
  });

  test.each(['.', '..'])('%j, which no URL leads to: such an intent stopped the news of a bridge', (handle) => {
    const errors = validate(Kind[kind], 'create', bodyOf(withMember(kind, { handle })));
    const message = expect.stringContaining('must not be one period or two');
    expect(errors).toMatchObject([{ instancePath: '/data/handle', keyword: 'not', message }]);
    expect(validate(Kind[kind], 'create', bodyOf(withMember(kind, { handle: `${handle}a` })))).toBeNull();
  });

  test.each([
    ['hash', { hash: 'zz' }, ['/hash pattern']],
    ['hash of 65', { hash: `${HASH}0` }, ['/hash pattern']],
    ['upper-case hash', { hash: HASH.toUpperCase() }, []],
    ['luid', { luid: 'x' }, ['/luid pattern']],
    ['right luid', { luid: '$wlt.AAAAAAAAAAAAAAAAA' }, []],
    ['meta', { meta: 1 }, ['/meta type']],
    ['proofs', { meta: {} }, ['/meta required']],
    ['proofs as object', { meta: { proofs: {} } }, ['/meta/proofs type']],
    ['no proof', { meta: { proofs: [] } }, []],
    ["the server's meta", { meta: { proofs: [PROOF], status: 1, moment: 'x', owners: 7 } }, []],
    ['parent', { data: withMember(kind, { parent: 'x' }) }, ['/data/parent pattern']],
    ['custom', { data: withMember(kind, { custom: [] }) }, ['/data/custom type']],
    ['access', { data: withMember(kind, { access: {} }) }, ['/data/access type']],
  ])('%s', (_, part, expected) => {
    const body = { ...bodyOf(LEAST[kind]), ...part };
    expect(toldOf(kind, body)).toEqual(expected);
    expect(toldOf(kind, body, 'update')).toEqual(expected);
  });

  test.each([null, 1, 'x', true, [], [[]]])('a body that is %j', (body) => {
    for (const operation of ['create', 'update', 'drop', 'proof', 'check'] as const) {
      expect(toldOf(kind, body, operation)).toEqual([' type']);
    }
  });
});

describe('addresses', () => {
  const LONG = 'a'.repeat(256);
  test.each(['a', 'tel:+57300', 'a@b', 's:a@b.c', 'A-Z_0.9+', LONG])('%s', (handle) => {
    expect(wrongs('wallet', { handle })).toEqual([]);
  });
  test.each([':a', 'a:', 'a@', '@a', 'a:b:c', 'a@b@c', 'a@b:c', 'a\n', 'a\u0000'])('not %j', (handle) => {
    expect(wrongs('wallet', { handle })).toEqual(['/data/handle pattern']);
  });
  test('257 characters', () => {
    expect(wrongs('wallet', { handle: `${LONG}a` })).toEqual(['/data/handle maxLength']);
  });
  test('a ledger has a plain handle, of 128', () => {
    expect(wrongs('ledger', { handle: 'a'.repeat(128) })).toEqual([]);
    expect(wrongs('ledger', { handle: 'a'.repeat(129) })).toEqual(['/data/handle maxLength']);
    for (const handle of ['a:b', 'a@b']) expect(wrongs('ledger', { handle })).toEqual(['/data/handle pattern']);
  });
});

describe('proofs', () => {
  const tell = (proof: unknown) => toldOf('intent', proof, 'proof');
  test.each([
    ['as it is', {}, []],
    ['custom', { custom: { moment: 'x', status: 'committed' } }, []],
    ['empty custom', { custom: {} }, []],
    ['custom as text', { custom: 'x' }, ['/custom type']],
    ['custom as null', { custom: null }, ['/custom type']],
    ['another method', { method: 'ed25519' }, ['/method const']],
    ['unknown member', { status: 'x' }, [' additionalProperties']],
    ['upper-case digest', { digest: PROOF.digest.toUpperCase() }, ['/digest pattern']],
    ['short digest', { digest: 'ab' }, ['/digest pattern']],
    ['public of 31 bytes', { public: `${'A'.repeat(42)}==` }, ['/public pattern']],
    ['public with unused bits', { public: PUBLIC.replace('iw=', 'ix=') }, ['/public pattern']],
    ['public in base64url', { public: PUBLIC.replace('+', '-') }, ['/public pattern']],
    ['public without padding', { public: PUBLIC.slice(0, -1) }, ['/public pattern']],
    ['result with unused bits', { result: PROOF.result.replace('CQ==', 'CR==') }, ['/result pattern']],
    ['result of 32 bytes', { result: PUBLIC }, ['/result pattern']],
  ])('%s', (_, part, expected) => {
    expect(tell({ ...PROOF, ...part })).toEqual(expected);
  });
  test('each member is needed', () => {
    expect(tell({})).toEqual([' required', ' required', ' required', ' required']);
  });
  test('a wrong one is named by its place', () => {
    const body = { ...bodyOf(LEAST.wallet), meta: { proofs: [PROOF, { ...PROOF, digest: 'x' }] } };
    expect(toldOf('wallet', body)).toEqual(['/meta/proofs/1/digest pattern']);
  });
  test('more than the limit', () => {
    const body = { ...bodyOf(LEAST.wallet), meta: { proofs: Array.from({ length: 257 }, () => PROOF) } };
    expect(toldOf('wallet', body)).toEqual(['/meta/proofs maxItems']);
  });
  test.each([
    [{ meta: {} }, true],
    [{ meta: { proofs: [] } }, true],
    [{ meta: { proofs: [PROOF] } }, false],
  ])('%j is unsigned: %s', (body, expected) => {
    expect(isUnsigned(body)).toBe(expected);
  });
});

describe('claims', () => {
  const ISSUE = { action: 'issue', target: 'b', symbol: 'usd', amount: 1 };
  const DESTROY = { action: 'destroy', source: 'a', symbol: 'usd', amount: 1 };
  const LIMIT = { action: 'limit', wallet: 'a', symbol: 'usd', metric: 'minBalance', amount: -5 };
  const tell = (...claims: unknown[]) => wrongs('intent', { handle: 'i', claims });
  const MAX = Number.MAX_SAFE_INTEGER;

  test.each([
    ['objects', [TRANSFER]],
    ['bare handles', [{ ...TRANSFER, source: 'a', target: 's:b@c', symbol: 'usd' }]],
    ['all four', [TRANSFER, ISSUE, DESTROY, LIMIT]],
    ['custom of a reference', [{ ...TRANSFER, source: { handle: 'a', custom: { x: 1 } } }]],
    ['the largest amount', [{ ...ISSUE, amount: MAX }]],
    ['the lowest limit', [{ ...LIMIT, amount: -MAX }]],
    ['the highest limit', [{ ...LIMIT, amount: MAX, metric: 'maxBalance' }]],
    ['a limit of nothing', [{ ...LIMIT, amount: 0, metric: 'dailyCount' }]],
    ['dailyAmount', [{ ...LIMIT, metric: 'dailyAmount' }]],
  ])('%s', (_, claims) => {
    expect(tell(...claims)).toEqual([]);
  });

  test.each([
    ['nothing', [], ['/data/claims minItems']],
    ['no object', [1], ['/data/claims/0 type']],
    ['null', [null], ['/data/claims/0 type']],
    ['a list', [[]], ['/data/claims/0 type']],
    ['no action', [{}], ['/data/claims/0 required']],
    ['unknown action', [{ action: 'steal' }], ['/data/claims/0/action enum']],
    ['an action of the prototype', [{ action: 'constructor' }], ['/data/claims/0/action enum']],
    ['an action that is no text', [{ action: ['issue'] }], ['/data/claims/0/action enum']],
    ['amount 0', [{ ...ISSUE, amount: 0 }], ['/data/claims/0/amount minimum']],
    ['amount -1', [{ ...ISSUE, amount: -1 }], ['/data/claims/0/amount minimum']],
    ['amount 1.5', [{ ...ISSUE, amount: 1.5 }], ['/data/claims/0/amount type']],
    ['amount as text', [{ ...ISSUE, amount: '1' }], ['/data/claims/0/amount type']],
    ['amount 2^53', [{ ...ISSUE, amount: 2 ** 53 }], ['/data/claims/0/amount maximum']],
    ['amount without end', [{ ...ISSUE, amount: Number.POSITIVE_INFINITY }], ['/data/claims/0/amount type']],
    ['limit -2^53', [{ ...LIMIT, amount: -(2 ** 53) }], ['/data/claims/0/amount minimum']],
    ['unknown metric', [{ ...LIMIT, metric: 'x' }], ['/data/claims/0/metric enum']],
    ['source of an issue', [{ ...ISSUE, source: 'a' }], ['/data/claims/0 additionalProperties']],
    ['no target', [{ ...DESTROY, action: 'transfer' }], ['/data/claims/0 required']],
    ['second is wrong', [ISSUE, { ...ISSUE, amount: 0 }], ['/data/claims/1/amount minimum']],
    ['bad bare handle', [{ ...ISSUE, target: 'é' }], ['/data/claims/0/target pattern']],
    ['bad handle', [{ ...ISSUE, target: { handle: 'é' } }], ['/data/claims/0/target/handle pattern']],
    ['no handle', [{ ...ISSUE, target: {} }], ['/data/claims/0/target required']],
    [
      'unknown member of a reference',
      [{ ...ISSUE, target: { handle: 'a', x: 1 } }],
      ['/data/claims/0/target additionalProperties'],
    ],
    ['reference as number', [{ ...ISSUE, target: 1 }], ['/data/claims/0/target type']],
  ])('%s', (_, claims, expected) => {
    expect(tell(...claims)).toEqual(expected);
  });

  test('a member of the prototype in a claim', () => {
    expect(tell(JSON.parse('{"action":"issue","target":"b","symbol":"u","amount":1,"__proto__":{}}'))).toEqual([
      '/data/claims/0 additionalProperties',
    ]);
  });

  test('as many as allowed', () => {
    expect(tell(...Array.from({ length: 10_000 }, () => TRANSFER))).toEqual([]);
    expect(tell(...Array.from({ length: 10_001 }, () => TRANSFER))).toEqual(['/data/claims maxItems']);
    const few = compileSchemas({ claimsMax: 2, proofsMax: 1 });
    expect(few(Kind.intent, 'create', bodyOf({ handle: 'i', claims: [TRANSFER, TRANSFER, TRANSFER] }))).not.toBeNull();
  });

  test('everything that is wrong is told at once', () => {
    expect(wrongs('intent', { handle: 'é', claims: [{ ...ISSUE, amount: 0 }] })).toEqual([
      '/data/handle pattern',
      '/data/claims/0/amount minimum',
    ]);
  });
});

describe('members of kinds', () => {
  test.each<[KindName, Record<string, unknown>]>([
    ['ledger', { signer: 'owner', config: { 'intent.expiryThresholdMinutes': 5, 'anchor.walletRequired': false } }],
    ['ledger', { config: { 'access.strategy': 'policy-based' } }],
    ['signer', { secret: 'MIGbMFcGCSqGSIb3' }],
    ['symbol', { factor: 1 }],
    ['symbol', { factor: 10 ** 15 }],
    ['wallet', { bridge: 'b', schema: 'bank-wallet' }],
    [
      'wallet',
      { routes: [{ action: 'forward', target: 'x', filter: { 'symbol.handle': 'usd' } }, { action: 'accept' }] },
    ],
    ['anchor', { symbol: 'usd' }],
    ['intent', { config: { commit: 'manual' } }],
    ['intent', { schema: 'transfer', config: { commit: 'auto' } }],
    ['effect', { filter: { 'signer.data.schema': 'x' }, action: { schema: 'bridge', bridge: 'b' } }],
    ['effect', { action: { schema: 'webhook', endpoint: 'https://example.com/hook?x=1' } }],
    ['effect', { signal: 'balance-received' }],
    ['effect', { action: { schema: 'webhook', endpoint: 'HTTPS://HOST/x' } }],
    ['effect', { signal: 'bridge-entry-updated' }],
    ['bridge', { secure: [{ schema: 'header', key: 'host-key', value: 's' }] }],
    ['bridge', { secure: [{ schema: 'header', key: 'x-key', value: 's' }], traits: ['statuses'], schema: 'rest' }],
    ['bridge', { secure: [{ schema: 'oauth2', url: 'https://x', clientId: 'c', clientSecret: 's' }] }],
    ['bridge', { secure: [{ ...CREDENTIALS, scope: 'debits', audience: 'bank', grant: 'client_credentials' }] }],
    ['bridge', { secure: [{ schema: 'own', public: PUBLIC, secret: 's' }], config: { server: 'https://x', more: 1 } }],
    ['policy', { values: [{ action: 'read', bearer: { sub: 'x' } }], extend: 'other', filter: { 'data.schema': 'x' } }],
    ['policy', { schema: 'status', values: [{ status: 'active', signer: {} }], extend: ['a', 'b'] }],
    ['policy', { schema: 'labels', values: ['a', { label: 'b' }], record: 'wallet' }],
    ['schema', { schema: { type: 'object', properties: { custom: { $ref: '#/x' } } } }],
  ])('%s takes %j', (kind, member) => {
    expect(wrongs(kind, withMember(kind, member))).toEqual([]);
  });

  test.each<[KindName, Record<string, unknown>, string]>([
    ['ledger', { config: { 'access.strategi': 'x' } }, '/data/config additionalProperties'],
    ['ledger', { config: { 'access.strategy': 'x' } }, '/data/config/access.strategy enum'],
    [
      'ledger',
      { config: { 'intent.expiryThresholdMinutes': 0 } },
      '/data/config/intent.expiryThresholdMinutes minimum',
    ],
    ['signer', { public: 'x' }, '/data/public pattern'],
    ['signer', { format: 'ed25519' }, '/data/format const'],
    ['symbol', { factor: 0 }, '/data/factor enum'],
    ['symbol', { factor: 20 }, '/data/factor enum'],
    ['symbol', { factor: 0.1 }, '/data/factor enum'],
    ['symbol', { factor: 10 ** 16 }, '/data/factor enum'],
    ['symbol', { factor: '100' }, '/data/factor enum'],
    ['wallet', { bridge: 'é' }, '/data/bridge pattern'],
    ['wallet', { routes: [{ action: 'x' }] }, '/data/routes/0/action enum'],
    ['wallet', { routes: [{ action: 'forward', to: 'x' }] }, '/data/routes/0 additionalProperties'],
    ['anchor', { wallet: '$wlt.AAAAAAAAAAAAAAAAA' }, '/data/wallet pattern'],
    ['anchor', { symbol: { handle: 'usd' } }, '/data/symbol type'],
    ['intent', { config: { commit: 'later' } }, '/data/config/commit enum'],
    ['intent', { claims: {} }, '/data/claims type'],
    ['effect', { signal: 'intent-exploded' }, '/data/signal enum'],
    ['policy', { schema: 'status', record: 'intent', values: [] }, '/data/record enum'],
    ['effect', { action: { schema: 'webhook', endpoint: 'file:///etc/passwd' } }, '/data/action/endpoint pattern'],
    ['effect', { action: { bridge: 'b' } }, '/data/action required'],
    ['effect', { action: 'x' }, '/data/action type'],
    ['bridge', { config: {} }, '/data/config required'],
    ['bridge', { config: { server: 'ftp://x' } }, '/data/config/server pattern'],
    // Letter by letter any number is less than any text, so that would grant everything.
    ['policy', { filter: { 'meta.moment': { $lt: 978307200000 } } }, '/data/filter/meta.moment/$lt type'],
    ['policy', { filter: { 'meta.moment': '2026-11-28T10:17:01+05:00' } }, '/data/filter/meta.moment pattern'],
    [
      'effect',
      { filter: { 'wallet.meta.moment': { $in: ['soon'] } } },
      '/data/filter/wallet.meta.moment/$in/0 pattern',
    ],
    // All its calls would go to one path.
    ['bridge', { config: { server: 'http://x/y?z' } }, '/data/config/server pattern'],
    ['bridge', { config: { server: 'http://x:65536' } }, '/data/config/server format'],
    ['effect', { action: { schema: 'webhook', endpoint: 'http://[::1/x' } }, '/data/action/endpoint format'],
    ['bridge', { secure: [{ ...CREDENTIALS, tokenUrl: 'https://a%zz/' }] }, '/data/secure/0/tokenUrl format'],
    ['bridge', { config: { server: 'http://x/y#z' } }, '/data/config/server pattern'],
    ['bridge', { secure: [{ schema: 'header', key: 'x' }] }, '/data/secure/0 required'],
    ['bridge', { secure: [{ schema: 'header', key: 'x y', value: 'z' }] }, '/data/secure/0/key pattern'],
    // It was made, and its calls failed until it was given up, with the money set aside.
    ['bridge', { secure: [{ schema: 'header', key: 'Host', value: 'z' }] }, '/data/secure/0/key pattern'],
    ['bridge', { secure: [{ schema: 'header', key: 'content-LENGTH', value: '1' }] }, '/data/secure/0/key pattern'],
    ['bridge', { secure: [{ schema: 'header', key: 'x', value: 'a\r\nb: c' }] }, '/data/secure/0/value pattern'],
    ['bridge', { secure: [{ schema: 'header', key: 'x', value: '\u20ac' }] }, '/data/secure/0/value pattern'],
    ['bridge', { secure: [{ schema: 'oauth2', clientId: 'c', clientSecret: 's' }] }, '/data/secure/0 required'],
    ['bridge', { secure: [{ ...CREDENTIALS, tokenUrl: 'ftp://x' }] }, '/data/secure/0/tokenUrl pattern'],
    ['bridge', { secure: [{ schema: 'oauth2', tokenUrl: 'https://x', clientSecret: 's' }] }, '/data/secure/0 required'],
    ['bridge', { secure: [{ ...CREDENTIALS, clientSecret: '' }] }, '/data/secure/0/clientSecret minLength'],
    ['bridge', { secure: [{ ...CREDENTIALS, scope: ['a'] }] }, '/data/secure/0/scope type'],
    ['policy', { schema: 'other' }, '/data/schema enum'],
    ['policy', { record: 'x' }, '/data/record enum'],
    ['policy', { values: [{ action: 'x' }] }, '/data/values/0/action enum'],
    ['schema', { record: 'x' }, '/data/record enum'],
    ['schema', { schema: 'x' }, '/data/schema type'],
  ])('%s refuses %j', (kind, member, expected) => {
    expect(wrongs(kind, withMember(kind, member))).toEqual([expected]);
  });
});

describe('what the rules of one record, or the values of one policy, come to together', () => {
  const whole = (count: number, value: object) => Array.from({ length: count }, () => value);
  const rule = (chars: number) => ({ action: 'any', signer: { custom: { x: 'x'.repeat(chars) } } });
  /** So many characters as JSON, in rules that each may be. */
  const long = (chars: number) => {
    const rules = whole(Math.floor(chars / 1000), rule(900));
    return [...rules, rule(chars - JSON.stringify([...rules, rule(0)]).length)];
  };
  const many = (objects: number) => [
    ...whole(Math.floor(objects / 1000), { action: 'any', signer: { $in: whole(998, {}) } }),
    ...whole(objects % 1000, { action: 'any' }),
  ];
  const told = (kind: KindName, more: object) => wrongs(kind, withMember(kind, more as Record<string, unknown>));

  test.each<[KindName, string, (list: object[]) => object]>([
    ['wallet', 'access', (access) => ({ access })],
    ['intent', 'access', (access) => ({ access })],
    ['ledger', 'access', (access) => ({ access })],
    ['policy', 'access', (access) => ({ access })],
    ['policy', 'values', (values) => ({ values })],
    [
      'policy',
      'values',
      (list) => {
        const values = list.map(({ action: _, ...who }: { action?: string }) => ({ status: 'a', ...who }));
        return { schema: 'status', record: 'any', values };
      },
    ],
  ])('%s, %s', (kind, name, memberOf) => {
    expect(told(kind, memberOf(long(60_000)))).toEqual([]);
    expect(told(kind, memberOf(long(70_000)))).toEqual([`/data/${name} maxLength`]);
    expect(told(kind, memberOf(many(5000)))).toEqual([]);
    expect(told(kind, memberOf(many(5001)))).toEqual([`/data/${name} maxItems`]);
  });

  test('is told of rules with null in them', () => {
    const rules = [{ action: 'any', signer: { custom: { x: null, y: [null] } } }];
    expect(told('wallet', { access: rules })).toEqual([]);
    expect(told('policy', { values: [...rules, ...many(5000)] })).toEqual(['/data/values maxItems']);
  });

  test('is told by the very character and object', () => {
    expect(told('wallet', { access: long(65_536) })).toEqual([]);
    expect(told('wallet', { access: long(65_537) })).toEqual(['/data/access maxLength']);
    expect(told('wallet', { access: many(5000) })).toEqual([]);
    expect(told('wallet', { access: many(5001) })).toEqual(['/data/access maxItems']);
    expect(isAccess(long(65_537))).toBe(false);
    // The server's own rules are nobody's record.
    expect(accessErrors(long(65_537))).toBeNull();
    const ofBooks = compileSchemas({ claimsMax: 1, proofsMax: 1 }, true);
    const body = bodyOf(withMember('wallet', { access: long(900_000) }));
    expect(ofBooks(Kind.wallet, 'create', body), 'what the books have').toBeNull();
  });
});

describe('access rules', () => {
  const tell = (rule: unknown) => wrongs('wallet', { handle: 'w', access: [rule] });
  test.each<[unknown]>([
    [{ action: 'any', signer: { public: PUBLIC } }],
    [{ action: 'any', signer: { $record: 'owner' } }],
    [{ action: 'read', bearer: { $signer: { $record: 'owner' } } }],
    [{ action: 'any', record: 'any' }],
    [{ action: 'access', record: 'server' }],
    [{ action: 'sign', signer: {} }],
    [{ action: 'sign-intent', signer: {} }],
    [{ action: { $in: ['read', 'update'] }, record: 'wallet-proof' }],
    [{ action: 'spend', signer: { $in: [{ handle: 'a' }, { public: PUBLIC }] } }],
    [{ action: 'spend', signer: { $circle: 'ops', schema: 'person', custom: { a: 1 }, format: 'ed25519-raw' } }],
    [{ action: 'create', record: 'intent', signer: { $ledger: 'owner' }, bearer: { hsh: true } }],
    [{ action: 'read', bearer: { iss: 'i', sub: 's', aud: 'a', $signer: { handle: 'x' } } }],
    [{ action: 'read', bearer: { $in: [{ sub: 'a' }, { sub: 'b' }] } }],
    [{ policy: 'p' }],
    [{ policy: { $in: ['p', 'q'] } }],
  ])('%j', (rule) => {
    expect(tell(rule)).toEqual([]);
  });

  test.each<[unknown, string]>([
    [{}, '/data/access/0 required'],
    [1, '/data/access/0 type'],
    [{ action: 'fly' }, '/data/access/0/action enum'],
    [{ action: 'any', deny: true }, '/data/access/0 additionalProperties'],
    [{ action: 'any', record: 'x' }, '/data/access/0/record enum'],
    [{ action: 'any', signer: { $record: 'me' } }, '/data/access/0/signer/$record const'],
    [{ action: 'any', signer: { key: 'x' } }, '/data/access/0/signer additionalProperties'],
    [{ action: 'any', bearer: { $signer: { public: 'x' } } }, '/data/access/0/bearer/$signer/public pattern'],
    [{ policy: 1 }, '/data/access/0/policy type'],
  ])('not %j', (rule, expected) => {
    expect(tell(rule)[0]).toBe(expected);
  });
});

describe('bodies beside the records', () => {
  test.each<[Operation, unknown, string[]]>([
    ['drop', { hash: HASH, luid: '$eff.AAAAAAAAAAAAAAAAA', data: { parent: HASH }, meta: {} }, []],
    ['drop', { hash: HASH, data: { parent: HASH }, meta: { proofs: [PROOF] } }, []],
    ['drop', { hash: HASH, data: { parent: 'x' }, meta: {} }, ['/data/parent pattern']],
    ['drop', { hash: HASH, data: { parent: HASH, x: 1 }, meta: {} }, ['/data additionalProperties']],
    ['drop', { hash: HASH, data: { parent: HASH } }, [' required']],
    ['drop', { hash: HASH, data: { parent: HASH }, meta: { proofs: [1] } }, ['/meta/proofs/0 type']],
    ['check', bodyOf({ action: 'spend' }), []],
    ['check', bodyOf({ action: 'read', record: 'wallet' }), []],
    ['check', bodyOf({ action: 'fly' }), ['/data/action enum']],
  ])('%s %j', (operation, body, expected) => {
    expect(toldOf('circle', body, operation)).toEqual(expected);
  });
  test.each<Operation>(['create', 'drop'])('%s of a membership', (operation) => {
    expect(toldOf('circle-signer', bodyOf({ circle: 'c', signer: 's' }), operation)).toEqual([]);
    expect(toldOf('circle-signer', bodyOf({ circle: 'c' }), operation)).toEqual(['/data required']);
  });
});

describe('what the public package builds', () => {
  const sdk = new LedgerSdk({ server: 'http://127.0.0.1:1', ledger: 'main' } as never);
  const keyPair = { format: 'ed25519-raw', public: PUBLIC, secret: SECRET } as const;
  const clients: [KindName, { init(): unknown; from(record: never): unknown }][] = [
    ['ledger', sdk.ledger],
    ['signer', sdk.signer],
    ['symbol', sdk.symbol],
    ['wallet', sdk.wallet],
    ['effect', sdk.effect],
    ['bridge', sdk.bridge],
  ] as never;
  interface Builder {
    data(data: unknown): Builder;
    hash(): Builder;
    sign(signers: unknown[]): Builder;
    read(): Promise<unknown>;
  }
  const send = async (builder: unknown) => JSON.parse(JSON.stringify(await (builder as Builder).read())) as object;

  test.each(clients)('%s, created and updated', async (kind, client) => {
    const data = { ...LEAST[kind], custom: { name: 'Ñandú' }, access: [{ action: 'any', signer: { public: PUBLIC } }] };
    const built = (client.init() as Builder).data(data).hash().sign([{ keyPair }]);
    const record = await send(built);
    expect(toldOf(kind, record)).toEqual([]);
    const stored = { ...record, luid: '$wlt.AAAAAAAAAAAAAAAAA' };
    const changed = (client.from(stored as never) as Builder)
      .data({ custom: { name: 'b' } })
      .hash()
      .sign([{ keyPair }]);
    expect(toldOf(kind, await send(changed), 'update')).toEqual([]);
  });

  test('a signer that is locked with its own keys', async () => {
    const built = sdk.signer
      .init()
      .data({ handle: 's' } as never)
      .keys({ format: 'ed25519-raw' } as never)
      .hash();
    expect(toldOf('signer', await send(built.sign([{ keyPair }])))).toEqual([]);
  });

  test('an intent, and a proof on it', async () => {
    const built = sdk.intent
      .init()
      .data(LEAST.intent as never)
      .hash()
      .sign([{ keyPair }]);
    const record = (await send(built)) as { meta: { proofs: unknown[] } };
    expect(toldOf('intent', record)).toEqual([]);
    const signed = sdk.intent
      .from(record as never)
      .hash()
      .sign([{ keyPair, custom: { status: 'seen' } }] as never);
    const { meta } = (await send(signed)) as typeof record;
    expect(meta.proofs).toMatchObject([{}, { custom: { status: 'seen' } }]);
    expect(meta.proofs.map((proof) => toldOf('intent', proof, 'proof'))).toEqual([[], []]);
  });
});

describe('as much as there may be is taken, one more is told', () => {
  const long = (length: number) => 'a'.repeat(length);
  const url = (length: number) => `https://x/${long(length - 10)}`;
  const many = (length: number, item: unknown = 'a') => Array(length).fill(item);
  const rule = (more: object) => ({ access: [{ action: 'read', ...more }] });
  const secure = (more: object) => ({ secure: [more] });
  const values = (schema: string, value: object) => ({ schema, record: 'wallet', values: [value] });
  const SEAT = { signer: {} };

  test.each<[KindName, string, number, (size: number) => Record<string, unknown>]>([
    ['wallet', 'an address', 256, (size) => ({ handle: long(size) })],
    [
      'ledger',
      'minutes until an intent expires',
      5_256_000,
      (size) => ({ config: { 'intent.expiryThresholdMinutes': size } }),
    ],
    ['signer', 'a locked secret', 4096, (size) => ({ secret: long(size) })],
    ['wallet', 'routes', 1000, (size) => ({ routes: many(size, { action: 'accept' }) })],
    ['wallet', 'rules', 1000, (size) => ({ access: many(size, { action: 'any' }) })],
    ['wallet', 'signers of a rule', 1000, (size) => rule({ signer: { $in: many(size, { handle: 'a' }) } })],
    ['wallet', 'actions of a rule', 1000, (size) => ({ access: [{ action: { $in: many(size, 'read') } }] })],
    ['wallet', 'text about a bearer', 1024, (size) => rule({ bearer: { sub: long(size) } })],
    [
      'wallet',
      'members of a condition',
      1000,
      (size) => ({ routes: [{ action: 'accept', filter: members(size, 'intent.custom.') }] }),
    ],
    [
      'wallet',
      'values of a condition',
      1000,
      (size) => ({ routes: [{ action: 'accept', filter: { amount: { $in: many(size) } } }] }),
    ],
    ['bridge', 'a URL', 2048, (size) => ({ config: { server: url(size) } })],
    ['effect', 'a URL', 2048, (size) => ({ action: { schema: 'webhook', endpoint: url(size) } })],
    [
      'bridge',
      'what its claims are grouped by',
      3,
      (size) => ({ config: { server: 'http://x', 'debits.claims.groupBy': many(size, 'source') } }),
    ],
    [
      'bridge',
      'rules of how it is called',
      1000,
      (size) => ({ secure: many(size, { schema: 'header', key: 'k', value: 'v' }) }),
    ],
    ['bridge', 'traits', 1000, (size) => ({ traits: many(size) })],
    ['bridge', 'a header’s name', 1024, (size) => secure({ schema: 'header', key: long(size), value: 'v' })],
    ['bridge', 'a header’s value', 4096, (size) => secure({ schema: 'header', key: 'k', value: long(size) })],
    ['bridge', 'a client’s secret', 4096, (size) => secure({ ...CREDENTIALS, clientSecret: long(size) })],
    ['bridge', 'a client’s id', 4096, (size) => secure({ ...CREDENTIALS, clientId: long(size) })],
    ['bridge', 'a scope', 1024, (size) => secure({ ...CREDENTIALS, scope: long(size) })],
    ['policy', 'values', 1000, (size) => ({ values: many(size, { action: 'any' }) })],
    ['policy', 'what it extends', 1000, (size) => ({ extend: many(size) })],
    ['policy', 'a status', 32, (size) => values('status', { status: long(size) })],
    ['policy', 'statuses before it', 100, (size) => values('status', { status: 'a', from: many(size) })],
    ['policy', 'lines of a quorum', 8, (size) => values('status', { status: 'a', quorum: many(size, SEAT) })],
    ['policy', 'keys for a line', 16, (count) => values('status', { status: 'a', quorum: [{ ...SEAT, count }] })],
    ['policy', 'a label', 64, (size) => values('labels', { label: long(size) })],
  ])('%s, %s: %i', (kind, _what, most, memberOf) => {
    expect(wrongs(kind, withMember(kind, memberOf(most)))).toEqual([]);
    expect(wrongs(kind, withMember(kind, memberOf(most + 1)))).not.toEqual([]);
  });
});
