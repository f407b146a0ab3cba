import { expect, test } from 'vitest';
import { KINDS, Kind, SCOPES } from '../../src/core/kinds.ts';
import { Norms, type PolicySort } from '../../src/core/norms.ts';

test('policies are asked in one order, whichever of them was changed last: a start from a snapshot knows no other', () => {
  const policy = { record: 'wallet', schema: 'status' };
  const norms = new Norms();
  for (const row of [3, 5, 9, 3, 5]) norms.changed(row, 0, Kind.policy, policy);
  const loaded = new Norms();
  for (const row of [3, 5, 9]) loaded.changed(row, 0, Kind.policy, policy);
  expect(loaded.policies(0, Kind.wallet, 'status')).toEqual([3, 5, 9]);
  expect(norms.policies(0, Kind.wallet, 'status')).toEqual([3, 5, 9]);
});

const SORTS: readonly PolicySort[] = ['status', 'labels'];
const LEDGERS = [0, 1, 2, SCOPES];

test('policies and schemas are found under their ledger, kind and sort alone, and those for any kind under each', () => {
  const norms = new Norms();
  const expected = new Map<string, number[]>();
  const anyOf = (ledger: number, sort: PolicySort) => expected.get(`${ledger} any ${sort}`) ?? [];
  let row = 0;
  for (const ledger of LEDGERS) {
    // One of each kind that has a name, every other kind, so that neighbours have none; one for any, in every other ledger.
    const names = KINDS.map(({ name }) => name).filter((_, kind) => (kind + ledger) % 2 === 0);
    for (const record of [...names, 'nothing there is', ...(ledger % 2 === 0 ? ['any'] : [])]) {
      for (const sort of SORTS) {
        norms.changed(++row, ledger, Kind.policy, { record, schema: sort });
        expected.set(`${ledger} ${record} ${sort}`, [row]);
      }
    }
    for (const record of names) norms.changed(++row, ledger, Kind.schema, { record });
  }
  for (const ledger of [...LEDGERS, 3, SCOPES - 1, SCOPES + 1]) {
    for (const [kind, { name }] of KINDS.entries()) {
      for (const sort of SORTS) {
        const rows = [...(expected.get(`${ledger} ${name} ${sort}`) ?? []), ...anyOf(ledger, sort)];
        expect([ledger, name, sort, norms.policies(ledger, Kind[name], sort)]).toEqual([ledger, name, sort, rows]);
      }
      const has = LEDGERS.includes(ledger) && (kind + ledger) % 2 === 0;
      expect([ledger, name, norms.hasSchemas(ledger, Kind[name])]).toEqual([ledger, name, has]);
    }
  }
});

test('a kind has schemas until the last of them is dropped', () => {
  const norms = new Norms();
  for (const row of [1, 2]) norms.changed(row, 0, Kind.schema, { record: 'wallet' });
  norms.dropped(1);
  // Dropped again, which it no longer is: so are rows of other kinds.
  norms.dropped(1);
  expect([norms.hasSchemas(0, Kind.wallet), norms.schemaKind(1), norms.schemaKind(2)]).toEqual([true, -1, Kind.wallet]);
  norms.changed(2, 0, Kind.schema, { record: 'symbol' });
  expect([norms.hasSchemas(0, Kind.wallet), norms.hasSchemas(0, Kind.symbol)]).toEqual([false, true]);
});
