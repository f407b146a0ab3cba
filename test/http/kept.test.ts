/** What is kept of a request while it waits for the disk. */
import { createHash } from 'node:crypto';
import { queryObjects } from 'node:v8';
import { expect, test } from 'vitest';
import { turns } from '../engine/house.ts';
import { Desk } from '../fuzz/desk.ts';
import { makeKeys, proof, record } from '../support/client.ts';

const owner = makeKeys();
/** Lists in an intent's data, which can be told from all else that a server has in memory. */
const LISTS = 20_000;

/** Written by hand: no value of it is in memory. */
function bodyOf(): Buffer {
  const claims = '[{"action":"issue","amount":5,"symbol":{"handle":"usd"},"target":{"handle":"a"}}]';
  const data = `{"claims":${claims},"custom":{"lists":[${'[],'.repeat(LISTS - 1)}[]]},"handle":"i"}`;
  const hash = createHash('sha256').update(data).digest('hex');
  return Buffer.from(`{"hash":"${hash}","data":${data},"meta":{"proofs":[${JSON.stringify(proof(hash, owner))}]}}`);
}

test('an intent that waits is kept as text, not as the value that was read of it', async () => {
  const desk = await Desk.open();
  await desk.send('POST', '/v2/symbols', record({ handle: 'usd', factor: 100 }, owner));
  await desk.send('POST', '/v2/wallets', record({ handle: 'a' }, owner));
  const body = bodyOf();
  desk.house.disk.holdSyncs();
  const first = desk.send('POST', '/v2/wallets', record({ handle: 'b' }, owner));
  await turns(5);
  const before = queryObjects(Array) as number;
  // The disk is busy with the first: this one stands in the inbox.
  const second = desk.ask({ method: 'POST', path: '/v2/intents', body });
  await turns(5);
  expect(desk.house.engine.waiting).toBe(2);
  expect((queryObjects(Array) as number) - before).toBeLessThan(LISTS / 2);
  desk.house.disk.releaseSyncs();
  expect([(await first).status, (await second).status]).toEqual([201, 201]);
  expect((await second).body.data.custom.lists).toHaveLength(LISTS);
  await desk.close();
});
