/** What a bank makes at a ledger that it joins, and what it finds there. */
import { expect, test } from 'vitest';
import { join } from '../../src/bridge/join.ts';
import type { Ledger } from '../../src/bridge/ledger.ts';
import { keyPairFromSecret } from '../../src/proof/keys.ts';
import type { Json } from '../support/client.ts';

/** A ledger on which some of what is made is there already, with this hash, and an intent has this status. */
function joinTo(there: string[], hash: string, status = 'completed'): { made: Json[]; joined: Promise<void> } {
  const made: Json[] = [];
  const ask = async (method: string, path: string, body?: Json) => {
    const kind = path.split('/')[1]!;
    if (method === 'GET') return { status: 200, text: JSON.stringify({ hash, meta: { status } }) };
    if (there.includes(kind)) return { status: 409, text: '{}' };
    made.push(body);
    return { status: 201, text: JSON.stringify({ meta: { status } }) };
  };
  const joined = join({
    ...{ ledger: { ask } as unknown as Ledger, keys: keyPairFromSecret(Buffer.alloc(32, 1)), name: 'bank' },
    ...{ symbol: 'usd', url: 'http://127.0.0.1:1', header: null, limit: 500 },
  });
  return { made, joined };
}

test('a bank that joins takes the symbol as it is, and may owe as much as it was given', async () => {
  const { made, joined } = joinTo(['symbols'], 'of another factor');
  await joined;
  expect(made.map(({ data: { handle } }) => handle)).toEqual(['bank', 'bank', 'bank-may-owe-500']);
  expect(made[2].data.claims[0]).toMatchObject({ action: 'limit', metric: 'minBalance', amount: -500 });
});

test.each([
  ['bridges', 'the ledger has another bridge bank'],
  ['wallets', 'the ledger has another wallet bank'],
  ['intents', 'the ledger has another intent bank-may-owe-500'],
])('but of %s no other one of its name', async (kind, what) => {
  await expect(joinTo([kind], 'other').joined).rejects.toThrow(what);
});

test.each(['pending', 'rejected'])('nor a limit that is %s', async (status) => {
  await expect(joinTo([], '', status).joined).rejects.toThrow(`the limit of bank is ${status}`);
});
