/** What is kept of a request while it waits for the disk. */
import { createHash } from 'node:crypto';
import { queryObjects } from 'node:v8';
import { describe, expect, test } from 'vitest';
import { Desk } from '../fuzz/desk.ts';
import { type Json, makeKeys, proof, record } from '../support/client.ts';
import { slow } from '../support/slow.ts';
import { turns } from '../support/turns.ts';

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

slow('an intent that waits is kept as text, not as the value that was read of it', async () => {
  const desk = await Desk.open();
  await desk.post('symbols', { handle: 'usd', factor: 100 }, owner);
  await desk.post('wallets', { handle: 'a' }, owner);
  const body = bodyOf();
  desk.house.disk.holdSyncs();
  const first = desk.post('wallets', { handle: 'b' }, owner);
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

describe('as it is kept, members in their order, the objects of a body have no more shapes than as it came', () => {
  /** The member that each has alone comes last as it is sent: one shape more for each. `first`: sorted, it comes first. */
  const objects = (first: string) =>
    Array.from({ length: 3000 }, (_, n) => ({ b: 0, c: 0, d: 0, e: 0, [`${first}-${n}`]: 'so that it is long' }));
  const refused = [400, 'api.body-malformed'];
  const seenOf = ({ status, body }: Json) => [status, body.data.reason];
  const intent = (more: Json = {}) => ({
    handle: 'i',
    claims: [{ action: 'issue', amount: 5, symbol: 'usd', target: 'a' }],
    ...more,
  });

  test.each([
    ['data', (list: Json) => record(intent({ custom: { list } }), owner)],
    ['the custom of a proof', (list: Json) => record(intent(), owner, [{ list }])],
    [
      'both together',
      (list: Json) => record(intent({ custom: { list: list.slice(1500) } }), owner, [{ list: list.slice(0, 1500) }]),
    ],
  ])('%s', async (_, bodyOf) => {
    const desk = await Desk.open();
    expect(seenOf(await desk.send('POST', '/v2/intents', bodyOf(objects('a'))))).toEqual(refused);
    expect((await desk.send('POST', '/v2/intents', bodyOf(objects('z')))).status).toBe(201);
    await desk.close();
  });

  test('a proof that is added', async () => {
    const desk = await Desk.open();
    const { body } = await desk.post('wallets', { handle: 'a' }, owner);
    const send = (first: string) =>
      desk.send('POST', '/v2/wallets/a/proofs', proof(body.hash, owner, { list: objects(first) }));
    expect(seenOf(await send('a'))).toEqual(refused);
    expect((await send('z')).status).toBe(200);
    await desk.close();
  });
});
