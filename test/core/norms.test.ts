import { expect, test } from 'vitest';
import { Kind } from '../../src/core/kinds.ts';
import { Norms } from '../../src/core/norms.ts';

test('policies are asked in one order, whichever of them was changed last: a start from a snapshot knows no other', () => {
  const policy = { record: 'wallet', schema: 'status' };
  const norms = new Norms();
  for (const row of [3, 5, 9, 3, 5]) norms.changed(row, 0, Kind.policy, policy);
  const loaded = new Norms();
  for (const row of [3, 5, 9]) loaded.changed(row, 0, Kind.policy, policy);
  expect(loaded.policies(0, Kind.wallet, 'status')).toEqual([3, 5, 9]);
  expect(norms.policies(0, Kind.wallet, 'status')).toEqual([3, 5, 9]);
});
