/** Filters in records: what no event, claim or record could have is refused where it is asked for. */
import { describe, expect, test } from 'vitest';
import { misfitOf } from '../../src/cli/audit/shapes.ts';
import { Kind, type KindName } from '../../src/core/kinds.ts';
import { bodyOf } from './bodies.ts';
import { validate, withMember, wrongs } from './shapes.ts';

describe('conditions: what no filter can ask for came in under a name with a line end in it', () => {
  const NAMES = ['amount', 'amount\n', 'a\rb', '\u2028', 'a\u2029', '\n\n', '\u{1f600}\n', '__proto__', '__proto__\n'];
  const WRONG = [{ $in: null }, { $in: {} }, { $nin: 1 }, { $eq: {} }, { $fits: 1 }, {}, [1], null];
  /** Where each kind has filters, and what is wrong with this one there. */
  const filtersOf = (name: string, wish: unknown) =>
    (['wallet', 'effect', 'policy'] as const).map((kind) => {
      const path = `${{ wallet: 'intent.custom', effect: 'wallet.data.custom', policy: 'data.custom' }[kind]}.${name}`;
      const filter = { [path]: wish };
      const isRoute = kind === 'wallet';
      const told = wrongs(kind, withMember(kind, isRoute ? { routes: [{ action: 'accept', filter }] } : { filter }));
      return [kind, isRoute ? '/data/routes/0/filter' : '/data/filter', told] as const;
    });
  test.each(NAMES)('%j', (name) => {
    for (const wish of WRONG) {
      for (const [kind, where, told] of filtersOf(name, wish)) {
        expect(told, `${kind} ${JSON.stringify(wish)}`).toEqual(
          expect.arrayContaining([expect.stringContaining(`${where}/`)]),
        );
      }
    }
    for (const [kind, , told] of filtersOf(name, { $in: [1, 'a', true], $ne: 'b' })) expect(told, kind).toEqual([]);
  });
});

describe('a filter of an effect asks for what events of its signal have: with another it was taken, and told nothing', () => {
  const told = (signal: string, path: string) =>
    wrongs('effect', withMember('effect', { signal, filter: { [path]: 'a' } }));
  test.each([
    ['balance-received', 'wallet.data.handle'],
    ['balance-received', 'intent.meta.status'],
    ['wallet-limited', 'metric'],
    ['wallet-updated', 'wallet.data.handle'],
    ['wallet-updated', 'handle'],
    ['circle-signer-created', 'circle-signer.data.circle'],
    ['wallet-proofs-added', 'wallet'],
    ['wallet-proofs-added', 'proofs.public'],
    ['bridge-dropped', 'signal'],
  ])('%s: %s', (signal, path) => expect(told(signal, path)).toEqual([]));
  test.each([
    ['balance-received', 'metric'],
    ['balance-received', 'bridge.data.handle'],
    ['balance-received', 'wallet'],
    ['wallet-limited', 'symbol'],
    ['wallet-updated', 'intent.meta.status'],
    ['wallet-updated', 'wallet'],
    ['wallet-updated', 'proofs.public'],
    ['wallet-proofs-added', 'wallet.data.handle'],
    ['circle-signer-created', 'signer.data.handle'],
    ['bridge-created', 'amount'],
  ])('%s: %s is refused', (signal, path) => expect(told(signal, path)).toEqual(['/data/filter signal']));
});

describe('a filter asks for paths that lead somewhere there', () => {
  const told = (kind: KindName, path: string) => {
    const value = path.endsWith('moment') ? '2026-11-28' : 'a';
    const filter = JSON.parse(`{${JSON.stringify(path)}:"${value}"}`);
    return wrongs(kind, withMember(kind, kind === 'wallet' ? { routes: [{ action: 'accept', filter }] } : { filter }));
  };

  test.each<[KindName, string]>([
    ['policy', 'data.custom.city'],
    ['policy', 'meta.status'],
    ['policy', 'meta.labels'],
    ['policy', 'meta.moment'],
    ['effect', 'signal'],
    ['effect', 'amount'],
    ['effect', 'intent.data.claims.source'],
    ['effect', 'circle-signer.data.circle'],
    ['effect', 'wallet'],
    ['effect', 'intent.meta.status'],
    ['effect', 'symbol.luid'],
    ['effect', 'proofs.public'],
    ['wallet', 'source'],
    ['wallet', 'target.custom.till'],
    ['wallet', 'intent.claims.amount'],
    ['wallet', 'intent.handle'],
    ['wallet', 'action'],
    ['wallet', 'amount'],
    ['wallet', 'symbol.handle'],
    ['wallet', 'intent.custom.purpose'],
  ])('%s: %s', (kind, path) => expect(told(kind, path)).toEqual([]));

  test.each<[KindName, string]>([
    ['policy', 'dat.custom.city'],
    ['policy', 'data'],
    ['policy', 'meta.owners'],
    ['policy', 'meta.status.a'],
    ['policy', 'record.data.custom'],
    ['policy', 'data.'],
    ['policy', 'data.custom..a'],
    ['effect', 'wallet.handle'],
    ['effect', 'intent.status'],
    ['wallet', 'intent.data.custom.purpose'],
    ['wallet', 'intent.meta.status'],
    ['wallet', 'intent.custm.purpose'],
    ['wallet', 'intent'],
    ['wallet', 'amount.x'],
    ['wallet', 'symbol.hande'],
    ['wallet', 'source.data.handle'],
    ['wallet', 'target..'],
    ['effect', 'walet.data.handle'],
    ['effect', 'data.handle'],
    ['effect', 'wallets'],
    ['wallet', 'symbl.handle'],
    ['wallet', 'amounts'],
    ['wallet', 'wallet.handle'],
    ['wallet', 'amount\n'],
    ['wallet', ''],
    ['wallet', '__proto__'],
  ])('%s: %j is refused', (kind, path) => {
    const where = kind === 'wallet' ? '/data/routes/0/filter' : '/data/filter';
    expect(told(kind, path)).toEqual([`${where} additionalProperties`]);
  });
});

describe('a filter asks for what may be there: an index was met by nothing, so that under $ne a policy granted everything', () => {
  /** A record of the kind with a filter of this path; a policy says of which kind it speaks before that. */
  const dataOf = (kind: string, path: string) => {
    const filter = { [path]: { $ne: 'a' } };
    const [, record] = kind.split(' ');
    if (kind === 'route') return withMember('wallet', { routes: [{ action: 'accept' }, { action: 'accept', filter }] });
    if (record === undefined) return withMember('effect', { filter, signal: path.replace(/\..*/, '-updated') });
    return withMember('policy', { filter, record });
  };
  const kindOf = (kind: string) => (kind === 'route' ? 'wallet' : kind === 'effect' ? 'effect' : 'policy');
  const told = (kind: string, path: string, operation: 'create' | 'update' = 'create') =>
    wrongs(kindOf(kind), dataOf(kind, path), operation);

  const NOWHERE: [string, string][] = [
    ['policy intent', 'data.claims.0.amount'],
    ['policy intent', 'data.claims.x.amount'],
    ['policy intent-proof', 'data.claims.0.source.handle'],
    ['policy intent', 'data.claims.source.0'],
    ['policy intent', 'data.claims.00.custom'],
    ['policy intent', 'data.claims'],
    ['policy intent', 'data.config'],
    ['policy intent', 'data.factor'],
    ['policy intent', 'data.handle.0'],
    ['policy wallet', 'data.access.0.action'],
    ['policy wallet', 'data.access.signer.0'],
    ['policy wallet', 'data.routes.0.target'],
    ['policy wallet', 'data.claims.amount'],
    ['policy bridge', 'data.traits.0'],
    ['policy bridge', 'data.traits.x'],
    // Its members have dots in their names.
    ['policy ledger', 'data.config.access.strategy'],
    ['policy any', 'data.claims.0.amount'],
    ['policy any', 'data.foo'],
    ['policy server', 'data.foo'],
    ['policy circle-signer', 'data.handle'],
    ['policy wallet', 'data.__proto__.x'],
    ['policy wallet', 'data.constructor'],
    ['effect', 'intent.data.claims.0.action'],
    ['effect', 'intent.data.claims.x.amount'],
    ['effect', 'intent.data.foo'],
    ['effect', 'wallet.data.factor'],
    ['effect', 'intent.meta.proofs.0.public'],
    ['effect', 'intent.meta.labels.0'],
    ['effect', 'intent.meta.foo'],
    ['route', 'intent.claims.0.amount'],
    ['route', 'intent.claims.foo'],
    ['route', 'intent.access.0.action'],
    ['route', 'intent.config'],
    ['route', 'intent.handle.x'],
  ];
  test.each(NOWHERE)('%s: %s is refused', (kind, path) => {
    const where = kind === 'route' ? '/data/routes/1/filter' : '/data/filter';
    for (const operation of ['create', 'update'] as const)
      expect(told(kind, path, operation)).toEqual([`${where} path`]);
  });

  test.each(NOWHERE)('%s: %s in books of earlier builds is no misfit', (kind, path) => {
    expect(misfitOf(Kind[kindOf(kind)], 'create', dataOf(kind, path))).toBe(null);
  });

  test.each([
    ['policy intent', 'data.claims.amount'],
    ['policy intent', 'data.claims.source'],
    ['policy intent', 'data.claims.wallet.handle'],
    ['policy intent', 'data.claims.target.custom.0'],
    ['policy intent', 'data.config.commit'],
    ['policy intent', 'data.access.signer.public'],
    ['policy intent', 'data.custom'],
    // An index may be the name of a member there.
    ['policy intent', 'data.custom.prices.0'],
    ['policy wallet-proof', 'data.routes.filter.amount'],
    ['policy wallet', 'data.access.action.$in'],
    ['policy any', 'data.claims.amount'],
    ['policy any', 'data.public'],
    ['policy server', 'data.factor'],
    ['policy policy', 'data.values.signer.public'],
    ['policy schema', 'data.schema.properties.0'],
    ['policy bridge', 'data.config.0'],
    ['policy circle-signer', 'data.signer'],
    ['effect', 'intent.data.claims.action'],
    ['effect', 'intent.data.custom.tags.0'],
    ['effect', 'intent.meta.proofs.public'],
    ['effect', 'intent.meta.proofs.custom.0'],
    ['effect', 'intent.meta.owners'],
    ['effect', 'intent.meta.thread'],
    ['effect', 'intent.meta.routed'],
    ['effect', 'intent.hash'],
    ['effect', 'circle-signer.data.circle'],
    ['route', 'intent.claims.source.handle'],
    ['route', 'intent.claims.amount'],
    ['route', 'source.custom.0'],
    ['route', 'intent.custom.0.1'],
  ])('%s: %s', (kind, path) => expect(told(kind, path)).toEqual([]));

  test('the refusal says to leave an index out, and shows no more of a path than a part', () => {
    const errors = (path: string) => validate(Kind.policy, 'create', bodyOf(dataOf('policy intent', path)));
    expect(errors('data.claims.0.amount')).toEqual([
      {
        instancePath: '/data/filter',
        schemaPath: '#/properties/data/properties/filter/path',
        keyword: 'path',
        params: { path: 'data.claims.0.amount' },
        message:
          'must not ask for data.claims.0.amount, where nothing is that can be compared: elements of a list are asked for without an index, leave it out',
      },
    ]);
    expect(errors('data.claims.a1.amount')![0]!.message).toMatch(/compared$/);
    expect(errors(`data.${'x'.repeat(100_000)}`)![0]!.message.length).toBeLessThan(300);
  });

  test('of many routes no more are told than of other faults', () => {
    const routes = Array.from({ length: 1000 }, () => ({ action: 'accept', filter: { 'intent.claims.0.amount': 1 } }));
    expect(wrongs('wallet', withMember('wallet', { routes }))).toHaveLength(50);
  });
});
