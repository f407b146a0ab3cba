/** What waits for the disk is bounded by its bytes, wherever in a request they stand. */
import { expect, test } from 'vitest';
import type { Command } from '../../src/core/command.ts';
import { Kind } from '../../src/core/kinds.ts';
import { isRefusal } from '../../src/core/refusal.ts';
import { FakeDisk } from '../storage/fake-disk.ts';
import { CLIENT, House } from './house.ts';

const LONG = 'x'.repeat(20_000);
const PROOF = { public: CLIENT.public, result: new Uint8Array(64), custom: JSON.stringify({ LONG }) };

test.each<[string, (house: House) => Command]>([
  ['data', (house) => house.command(Kind.wallet, { handle: 'v', custom: { LONG } })],
  ['the custom of a proof', (house) => ({ ...house.command(Kind.wallet, { handle: 'v' }), proofs: [PROOF] })],
  [
    'a proof by itself',
    (house) => {
      const { luid, hash } = house.read(Kind.wallet, 'w')!.entry;
      const { ledger, kind, moment, caller } = house.command(Kind.wallet, { handle: 'v' });
      return { op: 'proof', ledger, kind, moment, caller, luid, hash, proof: PROOF };
    },
  ],
])('%s counts', async (_where, commandOf) => {
  const house = await House.open(new FakeDisk(1), { inboxBytesMax: 10_000 });
  house.create(Kind.wallet, { handle: 'w' });
  await house.quiet();
  const sent = house.submit(commandOf(house));
  expect(house.engine.overload()?.reason).toBe('api.rate-limit-exceeded');
  await house.quiet();
  expect(sent.outcome !== null && !isRefusal(sent.outcome)).toBe(true);
  expect(house.engine.overload()).toBe(null);
  await house.stop();
});
