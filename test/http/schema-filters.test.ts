/** Filters in records: what no event, claim or record could have is refused where it is asked for. */
import { describe, expect, test } from 'vitest';
import type { KindName } from '../../src/core/kinds.ts';
import { withMember, wrongs } from './shapes.ts';

describe('conditions: what no filter can ask for came in under a name with a line end in it', () => {
  const NAMES = ['amount', 'amount\n', 'a\rb', '\u2028', 'a\u2029', '\n\n', '\u{1f600}\n', '__proto__', '__proto__\n'];
  const WRONG = [{ $in: null }, { $in: {} }, { $nin: 1 }, { $eq: {} }, { $fits: 1 }, {}, [1], null];
  /** Where each kind has filters, and what is wrong with this one there. */
  const filtersOf = (name: string, wish: unknown) =>
    (['wallet', 'effect', 'policy'] as const).map((kind) => {
      const path = `${{ wallet: 'intent.custom', effect: 'wallet.data', policy: 'data' }[kind]}.${name}`;
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
